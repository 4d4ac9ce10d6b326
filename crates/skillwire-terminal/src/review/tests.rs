//! The view, by its keys and by what it draws.

use std::collections::BTreeMap;

use ratatui::{buffer::Buffer, layout::Rect, style::Modifier};

use super::*;
use crate::{
    markdown,
    screen::Key,
    text::{StyledLine, Tone},
};

fn skill(number: SkillNumber, handle: &str, kind: WaitingKind) -> WaitingSkill {
    let server = handle.split(':').next().unwrap_or_default().to_owned();
    let row = |path: &str| FileRow { path: path.to_owned(), size: "1 KiB".to_owned() };
    let changes = match kind {
        WaitingKind::New => Vec::new(),
        _ => vec![StyledLine::new("changed  SKILL.md", Tone::Warning)],
    };
    WaitingSkill {
        number,
        handle: handle.to_owned(),
        server,
        kind,
        description: format!("Does what {handle} does."),
        size: "2 files, 2 KiB".to_owned(),
        tools: Vec::new(),
        findings: 0,
        files: vec![row("SKILL.md"), row("scripts/run.sh")],
        can_last: true,
        is_unread: false,
        evidence: vec![StyledLine::plain("uri: skill://x")],
        is_compared: changes.is_empty(),
        changes,
        texts: BTreeMap::new(),
    }
}

/// Three skills of two servers, on a terminal of the usual size.
fn model() -> ReviewModel {
    let mut model = ReviewModel::new((80, 24));
    model.update(Message::Listed(vec![
        skill(0, "team:release", WaitingKind::Changed),
        skill(1, "team:deploy", WaitingKind::New),
    ]));
    let mut widened = skill(2, "acme:refunds", WaitingKind::Widened);
    widened.tools = vec!["Read".to_owned(), "Bash(git:*)".to_owned()];
    widened.findings = 2;
    model.update(Message::Listed(vec![widened]));
    model
}

fn press(model: &mut ReviewModel, keys: &str) -> Vec<Effect> {
    keys.chars().flat_map(|c| model.update(Message::Key(key(c)))).collect()
}

/// The key of a character; some stand for keys without one.
fn key(c: char) -> Key {
    match c {
        '\n' => Key::Enter,
        '\u{1b}' => Key::Esc,
        '\t' => Key::Tab,
        '↓' => Key::Down,
        '↑' => Key::Up,
        '→' => Key::Right,
        '←' => Key::Left,
        c => Key::Char(c),
    }
}

fn drawn_with(model: &ReviewModel, palette: Palette) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    draw(model, palette, &mut buffer);
    buffer
}

fn screen(model: &ReviewModel) -> String {
    let buffer = drawn_with(model, Palette::Colours);
    let row = |y: u16| -> String {
        let cells = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..buffer.area.height).map(row).collect::<Vec<_>>().join("\n")
}

fn handle_of_current(model: &ReviewModel) -> &str {
    model.looked_at().map_or("", |skill| &skill.handle)
}

#[test]
fn everything_that_waits_is_listed_by_server() {
    let mut model = model();
    press(&mut model, "↓");
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn nothing_is_read_ahead_and_a_key_reads_hst_53() {
    let mut model = model();
    assert!(screen(&model).contains("Its text was not read yet. r reads it from server"));
    assert_eq!(press(&mut model, "↓↓↑1234\t\t"), [], "looking around reads nothing");
    let mut model = self::model();
    assert_eq!(press(&mut model, "r"), [Effect::Read(2, "SKILL.md".to_owned())]);
    assert!(screen(&model).contains("Reading from server acme"));
    assert_eq!(press(&mut model, "r"), [], "it is on its way");
    let text = FileText::Read(markdown("# Refunds\n\nRefund **only** within 30 days.\n"));
    model.update(Message::FileRead(2, "SKILL.md".to_owned(), text));
    assert!(screen(&model).contains("Refund only within 30 days."), "{}", screen(&model));
    assert_eq!(press(&mut model, "r"), [], "it is there");
    let failed = FileText::Failed(vec![StyledLine::plain("error: gone")]);
    model.update(Message::FileRead(2, "SKILL.md".to_owned(), failed));
    assert_eq!(press(&mut model, "r").len(), 1, "what failed can be tried again");
}

#[test]
fn a_decision_is_confirmed_with_its_price() {
    let mut model = model();
    assert_eq!(press(&mut model, "a"), []);
    let asked = screen(&model);
    assert!(
        asked.contains("Always load acme:refunds? It loads without asking until it changes."),
        "{asked}"
    );
    assert!(asked.contains("You have not read its text."), "{asked}");
    assert!(asked.contains("Without the tools Bash(git:*), Read; t grants them."), "{asked}");
    assert_eq!(press(&mut model, "\u{1b}"), [], "Esc decides nothing");
    assert_eq!(press(&mut model, "\n"), [], "Enter is for the question alone");
    assert_eq!(
        press(&mut model, "\u{1b}at\n"),
        [Effect::Decide(2, Decision::Always { tools: true })]
    );
    assert_eq!(press(&mut model, "a"), [], "it is being decided");
    assert_eq!(model.confirmation, None);
    let mut model = self::model();
    assert_eq!(press(&mut model, "o\n"), [Effect::Decide(2, Decision::Once)]);
    let mut model = self::model();
    assert_eq!(press(&mut model, "ny"), [Effect::Decide(2, Decision::No)]);
}

#[test]
fn all_of_a_server_is_one_question_and_no_other_server_s() {
    let mut model = model();
    press(&mut model, "↓A");
    let asked = screen(&model);
    assert!(
        asked.contains("Approve all 2 skills that wait of server team? What it lists now loads"),
        "{asked}"
    );
    let always = Decision::Always { tools: false };
    let effects = press(&mut model, "\n");
    assert_eq!(effects, [Effect::Decide(1, always), Effect::Decide(0, always)]);
}

#[test]
fn marked_skills_are_decided_together_and_later_puts_aside() {
    let mut model = model();
    press(&mut model, "↓  ");
    assert!(screen(&model).contains("2 marked"), "{}", screen(&model));
    assert_eq!(
        press(&mut model, "o\n"),
        [Effect::Decide(1, Decision::Once), Effect::Decide(0, Decision::Once)]
    );
    let mut model = self::model();
    assert_eq!(press(&mut model, "l"), []);
    assert!(!screen(&model).contains("> refunds"), "{}", screen(&model));
    assert_eq!(handle_of_current(&model), "team:deploy");
    press(&mut model, "ll");
    assert!(screen(&model).contains("Everything else waits"), "{}", screen(&model));
    assert_eq!(model.waiting(), 3, "nothing was decided");
    assert_eq!(press(&mut model, "aAonr\n"), [], "there is nothing to decide about");
}

#[test]
fn a_decided_skill_leaves_and_the_next_one_is_looked_at() {
    let mut model = model();
    press(&mut model, "↓n\n");
    model.update(Message::Decided(1, "Declined team:deploy.".to_owned()));
    assert_eq!(
        (handle_of_current(&model), model.decided(), model.waiting()),
        ("team:release", 1, 2)
    );
    assert!(screen(&model).contains("Declined team:deploy."));
    press(&mut model, "a\n");
    model.update(Message::NotDecided(0, StyledLine::plain("the server is away")));
    assert!(screen(&model).contains("the server is away"));
    assert_eq!(press(&mut model, "a\n").len(), 1, "it can be tried again");
}

#[test]
fn a_skill_that_moved_is_shown_again_with_nothing_of_the_earlier_text() {
    let mut model = model();
    let text = FileText::Read(markdown("earlier"));
    model.update(Message::FileRead(2, "SKILL.md".to_owned(), text));
    assert!(screen(&model).contains("earlier"));
    press(&mut model, "a\n");
    model.update(Message::Moved(Box::new(skill(2, "acme:refunds", WaitingKind::Changed))));
    let shown = screen(&model);
    assert!(shown.contains("changed while you looked: nothing was recorded"), "{shown}");
    assert!(!shown.contains("earlier") && shown.contains("was not read yet"), "{shown}");
    assert_eq!(press(&mut model, "a\n").len(), 1, "the user may decide about it as it is now");
}

#[test]
fn a_skill_that_lists_nothing_has_to_be_read_before_it_is_decided() {
    let mut model = ReviewModel::new((80, 24));
    let mut old = skill(0, "old:thing", WaitingKind::New);
    old.is_unread = true;
    let mut dynamic = skill(1, "old:live", WaitingKind::New);
    dynamic.can_last = false;
    model.update(Message::Listed(vec![old, dynamic]));
    press(&mut model, "a");
    assert!(screen(&model).contains("so no approval of it can last"), "{}", screen(&model));
    assert_eq!(press(&mut model, "o\n"), [Effect::Decide(1, Decision::Once)]);
    press(&mut model, "↓a");
    assert!(screen(&model).contains("old:thing has to be read first"), "{}", screen(&model));
    assert_eq!(press(&mut model, "\u{1b}r"), [Effect::Read(0, "SKILL.md".to_owned())]);
}

#[test]
fn a_search_narrows_the_list_and_escape_shows_all() {
    let mut model = model();
    press(&mut model, "/TEAM does depl");
    assert!(screen(&model).contains("Search: TEAM does depl_"), "{}", screen(&model));
    press(&mut model, "\n");
    assert_eq!(handle_of_current(&model), "team:deploy");
    assert!(screen(&model).contains("1 of 3  with \"TEAM does depl\""), "{}", screen(&model));
    press(&mut model, "/nothing\n");
    assert!(screen(&model).contains("No skill has these words."), "{}", screen(&model));
    press(&mut model, "\u{1b}");
    assert_eq!(model.listed().count(), 3);
}

#[test]
fn files_are_opened_by_keyboard_and_escape_leads_back() {
    let mut model = model();
    press(&mut model, "\t2↓");
    assert!(screen(&model).contains(">     1 KiB  scripts/run.sh  not read"), "{}", screen(&model));
    assert_eq!(press(&mut model, "\n"), [Effect::Read(2, "scripts/run.sh".to_owned())]);
    let text = FileText::Read(vec![StyledLine::plain("set -e")]);
    model.update(Message::FileRead(2, "scripts/run.sh".to_owned(), text));
    assert!(screen(&model).contains("set -e"));
    press(&mut model, "\u{1b}");
    assert_eq!(model.tab, Tab::Files);
    press(&mut model, "\u{1b}");
    assert_eq!(model.pane, Pane::List);
}

#[test]
fn changes_are_compared_when_the_user_asks() {
    let mut model = model();
    press(&mut model, "↓↓3");
    assert!(screen(&model).contains("r reads them"), "{}", screen(&model));
    assert_eq!(press(&mut model, "r"), [Effect::Compare(0)]);
    press(&mut model, "↑");
    assert!(screen(&model).contains("nothing to compare it with"), "{}", screen(&model));
}

#[test]
fn a_long_text_scrolls_to_its_end_and_not_beyond() {
    let mut model = model();
    let lines: Vec<_> = (0..100).map(|line| StyledLine::plain(format!("line {line}"))).collect();
    model.update(Message::FileRead(2, "SKILL.md".to_owned(), FileText::Read(lines)));
    press(&mut model, "\tG");
    assert!(screen(&model).contains("line 99") && screen(&model).contains("100/100"));
    press(&mut model, "↓↓↑");
    assert!(!screen(&model).contains("line 99") && screen(&model).contains("line 98"));
    model.update(Message::Resized(120, 60));
    assert!(screen(&model).contains("line 99"), "a larger window shows more");
}

#[test]
fn every_size_can_be_drawn_and_narrow_screens_show_one_pane() {
    let mut model = model();
    for (width, height) in
        [(0, 0), (1, 1), (10, 3), (36, 8), (40, 10), (71, 24), (72, 24), (80, 24), (300, 100)]
    {
        model.update(Message::Resized(width, height));
        for keys in ["", "\t", "a", "\u{1b}", "?", " ", "/x", "\u{1b}", "3", "1", "\u{1b}"] {
            press(&mut model, keys);
            let drawn = screen(&model);
            assert_eq!(drawn.is_empty(), width == 0, "{width}x{height} {keys:?}: {drawn}");
        }
    }
    let mut model = self::model();
    model.update(Message::Resized(40, 12));
    assert!(screen(&model).contains("> refunds") && !screen(&model).contains("1 Text"));
    press(&mut model, "\n");
    assert!(!screen(&model).contains("> refunds") && screen(&model).contains("1 Text"));
}

#[test]
fn without_colours_the_cursor_and_the_tab_are_still_seen() {
    let buffer = drawn_with(&model(), Palette::Plain);
    let colours = buffer.content.iter().map(|cell| (cell.fg, cell.bg));
    assert!(
        colours
            .clone()
            .all(|colours| colours == (ratatui::style::Color::Reset, ratatui::style::Color::Reset))
    );
    let reversed = |y: u16| {
        let cells = (0..80).map(|x| &buffer[(x, y)]);
        cells.filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count()
    };
    assert_eq!((reversed(1), reversed(2) > 20), (0, true), "the row of the cursor is reversed");
    assert!(screen(&model()).contains("> "), "and marked");
}

#[test]
fn every_key_of_the_help_does_something_or_is_a_range() {
    let mut model = model();
    press(&mut model, "?");
    let help = screen(&model);
    for word in ["always", "once", "decline", "later", "read", "search", "leave"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert_eq!(press(&mut model, "q"), [], "any key leaves the help");
    assert_eq!(press(&mut model, "q"), [Effect::Quit]);
    assert_eq!(model.update(Message::Key(Key::Ctrl('c'))), [Effect::Quit]);
}

#[test]
fn servers_that_are_waited_for_are_named() {
    let mut model = ReviewModel::new((80, 24));
    model.update(Message::WaitingFor(vec!["team".to_owned()]));
    assert!(screen(&model).contains("waiting for team …"), "{}", screen(&model));
    assert!(screen(&model).contains("The servers are asked"), "{}", screen(&model));
    model.update(Message::WaitingFor(Vec::new()));
    assert!(screen(&model).contains("Nothing waits for you."), "{}", screen(&model));
}
