//! Draws the view into a buffer of cells.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier, Style},
};

use super::{
    keys::HELP,
    model::{Pane, ReviewModel, Tab},
    skill::{WaitingKind, WaitingSkill},
};
use crate::text::{StyledLine, Tone};

/// How tones look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// In colours.
    Colours,
    /// In bold, dim and reversed letters alone.
    Plain,
}

impl Palette {
    fn style(self, tone: Tone) -> Style {
        let style = Style::new();
        let coloured = |colour: Color| match self {
            Self::Colours => style.fg(colour),
            Self::Plain => style,
        };
        match tone {
            Tone::Plain => style,
            Tone::Strong => style.add_modifier(Modifier::BOLD),
            Tone::Faint => style.add_modifier(Modifier::DIM),
            Tone::Code => coloured(Color::Magenta),
            Tone::Link => coloured(Color::Blue).add_modifier(Modifier::UNDERLINED),
            Tone::Added => coloured(Color::Green),
            Tone::Removed => coloured(Color::Red),
            Tone::Warning => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
            Tone::Heading | Tone::Note => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
            Tone::Error => coloured(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

/// Draws the whole view.
pub fn draw(model: &ReviewModel, palette: Palette, buffer: &mut Buffer) {
    let mut canvas = Canvas { buffer, palette };
    if model.is_too_small() {
        let line = StyledLine::plain("Make the window larger, or press q.");
        canvas.lines(canvas.buffer.area, &line.wrapped(usize::from(model.size.0)));
        return;
    }
    let areas = model.areas();
    canvas.title(model, areas.title);
    if model.shows_help {
        canvas.help(model.size);
        return;
    }
    if let Some(list) = areas.list {
        canvas.list(model, list);
    }
    if let Some(detail) = areas.detail {
        if areas.list.is_some() {
            for y in detail.top()..detail.bottom() {
                canvas.text(detail.x - 1, y, &StyledLine::new("│", Tone::Faint), 1);
            }
        }
        canvas.detail(model, detail);
    }
    canvas.lines(areas.notice, &model.notice_lines());
    canvas.keys(model, areas.keys);
}

struct Canvas<'a> {
    buffer: &'a mut Buffer,
    palette: Palette,
}

impl Canvas<'_> {
    /// Draws a line, cut to so many columns.
    fn text(&mut self, x: u16, y: u16, line: &StyledLine, width: u16) {
        let mut at = x;
        let end = x.saturating_add(width);
        for span in line.cut(usize::from(width)).spans() {
            let style = self.palette.style(span.tone);
            let room = usize::from(end.saturating_sub(at));
            (at, _) = self.buffer.set_stringn(at, y, &span.text, room, style);
        }
    }

    fn lines(&mut self, area: Rect, lines: &[StyledLine]) {
        for (y, line) in (area.top()..area.bottom()).zip(lines) {
            self.text(area.x, y, line, area.width);
        }
    }

    /// Reverses a row, which shows where the cursor is without colours, too.
    fn reverse(&mut self, area: Rect, y: u16) {
        let row = Rect::new(area.x, y, area.width, 1);
        self.buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
    }

    fn title(&mut self, model: &ReviewModel, area: Rect) {
        let mut line = StyledLine::new("Skills that wait for you", Tone::Strong);
        let listed = model.listed().count();
        let wait = match (listed, model.skills.len()) {
            (some, all) if some == all => format!("  {all}"),
            (some, all) => format!("  {some} of {all}"),
        };
        line.push(wait, Tone::Strong);
        if !model.search.is_empty() && !model.is_typing {
            line.push(format!("  with \"{}\"", model.search), Tone::Note);
        }
        if !model.marked.is_empty() {
            line.push(format!("  {} marked", model.marked.len()), Tone::Note);
        }
        if !model.waiting_for.is_empty() {
            line.push(format!("  waiting for {} …", model.waiting_for.join(", ")), Tone::Warning);
        }
        self.text(area.x, area.y, &line, area.width);
    }

    fn list(&mut self, model: &ReviewModel, area: Rect) {
        let mut rows: Vec<(Option<usize>, StyledLine)> = Vec::new();
        let mut before = None;
        for skill in model.listed() {
            if before != Some(&skill.server) {
                let line = StyledLine::new(format!("server {}", skill.server), Tone::Faint);
                rows.push((None, line));
                before = Some(&skill.server);
            }
            rows.push((Some(skill.number), row(model, skill, usize::from(area.width))));
        }
        if rows.is_empty() {
            rows.extend(nothing(model).into_iter().flat_map(|line| {
                line.wrapped(usize::from(area.width)).into_iter().map(|line| (None, line))
            }));
        }
        let height = usize::from(area.height);
        let at = rows.iter().position(|(number, _)| number.is_some() && *number == model.current);
        let first = at.map_or(0, |at| (at + 2).saturating_sub(height));
        for (y, (number, line)) in (area.top()..area.bottom()).zip(rows.iter().skip(first)) {
            self.text(area.x, y, line, area.width);
            if number.is_some() && *number == model.current {
                self.reverse(area, y);
            }
        }
    }

    fn detail(&mut self, model: &ReviewModel, area: Rect) {
        let Some(skill) = model.looked_at() else { return };
        let mut title = StyledLine::new(&skill.handle, Tone::Strong);
        title.push(format!("  {}", skill.kind.word()), tone(skill.kind));
        title.push(format!("  {}", skill.size), Tone::Faint);
        self.text(area.x, area.y, &title, area.width);
        let mut x = area.x;
        for (number, tab) in Tab::ALL.into_iter().enumerate() {
            let word = format!(" {} {} ", number + 1, tab.word());
            let style = match (tab == model.tab, model.pane) {
                (true, Pane::Detail) => {
                    Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
                }
                (true, Pane::List) => Style::new().add_modifier(Modifier::REVERSED),
                (false, _) => self.palette.style(Tone::Faint),
            };
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = self.buffer.set_stringn(x, area.y + 1, word, room, style);
        }
        let lines = model.fitted();
        let page = model.page();
        if lines.len() > page {
            let last = (model.scroll + page).min(lines.len());
            let place = format!("{last}/{}", lines.len());
            let width = u16::try_from(place.len()).unwrap_or(0);
            if x + width < area.right() {
                let line = StyledLine::new(place, Tone::Faint);
                self.text(area.right() - width, area.y + 1, &line, width);
            }
        }
        let body = Rect::new(area.x, area.y + 2, area.width, area.height.saturating_sub(2));
        self.lines(body, lines.get(model.scroll..).unwrap_or_default());
    }

    fn keys(&mut self, model: &ReviewModel, area: Rect) {
        let keys: &[(&str, &str)] = match model {
            _ if model.confirmation.is_some() => return,
            _ if model.is_typing => &[("Enter", "keep"), ("Esc", "show all")],
            _ if model.looked_at().is_none() => &[("q", "leave"), ("/", "search"), ("?", "keys")],
            _ => &[
                ("a", "always"),
                ("o", "once"),
                ("n", "no"),
                ("A", "all of server"),
                ("l", "later"),
                ("r", "read"),
                ("/", "find"),
                ("?", "keys"),
                ("q", "quit"),
            ],
        };
        let mut line = StyledLine::default();
        for (key, word) in keys {
            if !line.is_empty() {
                line.push("  ", Tone::Plain);
            }
            line.push(*key, Tone::Note);
            line.push(format!(" {word}"), Tone::Plain);
        }
        self.text(area.x, area.y, &line, area.width);
    }

    fn help(&mut self, (width, height): (u16, u16)) {
        let mut lines = Vec::new();
        for (key, words) in HELP {
            let mut line = StyledLine::new(format!("  {key:<13} "), Tone::Note);
            line.push(words, Tone::Plain);
            lines.extend(line.hanging(16).wrapped(usize::from(width)));
        }
        lines.push(StyledLine::new("  Any key goes back.", Tone::Faint));
        self.lines(Rect::new(0, 1, width, height - 1), &lines);
    }
}

fn tone(kind: WaitingKind) -> Tone {
    match kind {
        WaitingKind::New => Tone::Added,
        WaitingKind::Changed | WaitingKind::Widened => Tone::Warning,
    }
}

/// A row of the list: mark, name, findings, and why the skill waits at the right.
fn row(model: &ReviewModel, skill: &WaitingSkill, width: usize) -> StyledLine {
    let mut line = StyledLine::default();
    let is_current = Some(skill.number) == model.current;
    line.push(if is_current { ">" } else { " " }, Tone::Strong);
    if model.marked.contains(&skill.number) {
        line.push("*", Tone::Note);
    } else {
        line.push(" ", Tone::Strong);
    }
    let why = if model.deciding.contains(&skill.number) { "…" } else { skill.kind.word() };
    let findings = if skill.findings > 0 { format!("!{} ", skill.findings) } else { String::new() };
    let right = findings.chars().count() + why.chars().count();
    let room = width.saturating_sub(3 + right);
    let name = StyledLine::plain(skill.name()).cut(room);
    let pad = room.saturating_sub(name.width()) + 1;
    for span in name.spans() {
        line.push(&span.text, span.tone);
    }
    line.push(" ".repeat(pad), Tone::Plain);
    line.push(findings, Tone::Error);
    line.push(why, tone(skill.kind));
    line
}

/// What the list says while it has no skill.
fn nothing(model: &ReviewModel) -> Vec<StyledLine> {
    let words = match model {
        _ if !model.search.is_empty() => "No skill has these words. Esc shows all.",
        _ if !model.waiting_for.is_empty() => "The servers are asked what they list.",
        _ if !model.later.is_empty() => "Everything else waits until later. q leaves.",
        _ => "Nothing waits for you. q leaves.",
    };
    vec![StyledLine::plain(words)]
}
