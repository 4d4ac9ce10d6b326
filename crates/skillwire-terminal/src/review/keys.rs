//! What each key does.

use super::{
    confirm::{Confirmation, Decision},
    model::{Effect, Pane, ReviewModel, SKILL_FILE, Tab},
    skill::{FileText, SkillNumber},
};
use crate::{
    screen::Key,
    text::{StyledLine, Tone},
};

/// Every key, for the help screen.
pub(super) const HELP: [(&str, &str); 16] = [
    ("a", "always: load it without asking until it changes"),
    ("o", "once: allow the next load, and none after it"),
    ("n", "no: decline it until it changes"),
    ("A", "all that waits of this server, as it is now"),
    ("l", "later: put it aside for this time"),
    ("Space", "mark it; a, o, n and l are then for all marked skills"),
    ("r", "read what is not read yet: nothing is read ahead"),
    ("/", "search names and descriptions; Esc shows all again"),
    ("1 2 3 4", "text, files, changes, evidence"),
    ("Left Right", "the tab before, the tab after"),
    ("Up Down, k j", "the skill before or after; a line up or down in the skill"),
    ("PgUp PgDn", "a page up or down in the skill"),
    ("Tab, Enter", "into the skill; Enter opens a file of the files tab"),
    ("Esc", "back to the list"),
    ("?", "this page"),
    ("q", "leave; what is not decided waits as before"),
];

impl ReviewModel {
    pub(super) fn key(&mut self, key: Key) -> Vec<Effect> {
        self.is_touched = true;
        let effects = self.key_pressed(key);
        self.settle();
        effects
    }

    fn key_pressed(&mut self, key: Key) -> Vec<Effect> {
        if key == Key::Ctrl('c') {
            return vec![Effect::Quit];
        }
        if self.confirmation.is_some() {
            return self.confirming(key);
        }
        if self.is_typing {
            self.typing(key);
            return Vec::new();
        }
        if self.shows_help {
            self.shows_help = false;
            return Vec::new();
        }
        self.notice = None;
        match key {
            Key::Char('q') => return vec![Effect::Quit],
            Key::Char('?') => self.shows_help = true,
            Key::Char('/') => self.is_typing = true,
            Key::Char('a') => self.ask(Decision::Always { tools: false }),
            Key::Char('o') => self.ask(Decision::Once),
            Key::Char('n') => self.ask(Decision::No),
            Key::Char('A') => self.ask_about_server(),
            Key::Char('l') => self.put_off(),
            Key::Char(' ') => self.mark(),
            Key::Char('r') => return self.read(),
            Key::Char(digit @ '1'..='4') => {
                let index = usize::from(digit as u8 - b'1');
                self.show_tab(Tab::ALL[index]);
            }
            Key::Left => self.turn_tab(Tab::ALL.len() - 1),
            Key::Right => self.turn_tab(1),
            Key::Tab | Key::BackTab => {
                let other = if self.pane == Pane::List { Pane::Detail } else { Pane::List };
                self.pane = other;
            }
            Key::Enter => return self.enter(),
            Key::Esc => self.back(),
            Key::Up | Key::Char('k') => self.step(-1),
            Key::Down | Key::Char('j') => self.step(1),
            Key::PageUp | Key::Ctrl('b' | 'u') => {
                self.scroll = self.scroll.saturating_sub(self.page().max(1));
            }
            Key::PageDown | Key::Ctrl('f' | 'd') => self.scroll += self.page().max(1),
            Key::Home | Key::Char('g') => self.jump(false),
            Key::End | Key::Char('G') => self.jump(true),
            Key::Char(_) | Key::Ctrl(_) | Key::Backspace => {}
        }
        Vec::new()
    }

    /// The keys while a decision is to be confirmed.
    fn confirming(&mut self, key: Key) -> Vec<Effect> {
        let Some(confirmation) = &mut self.confirmation else { return Vec::new() };
        match key {
            Key::Char('t') => {
                if let Decision::Always { tools } = &mut confirmation.decision {
                    *tools = !*tools;
                }
                Vec::new()
            }
            Key::Enter | Key::Char('y') => {
                let Confirmation { decision, skills, .. } = confirmation.clone();
                self.confirmation = None;
                self.deciding.extend(&skills);
                skills.into_iter().map(|number| Effect::Decide(number, decision)).collect()
            }
            Key::Esc | Key::Char('n' | 'q') | Key::Backspace => {
                self.confirmation = None;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The keys while the user types what to search for.
    fn typing(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.search.push(c),
            Key::Backspace => {
                self.search.pop();
            }
            Key::Ctrl('u') => self.search.clear(),
            Key::Esc => {
                self.search.clear();
                self.is_typing = false;
            }
            Key::Enter | Key::Tab | Key::Down | Key::Up => self.is_typing = false,
            _ => {}
        }
    }

    /// The marked skills, or else the one that is looked at, unless they are being decided.
    fn chosen(&self) -> Vec<SkillNumber> {
        let marked = self.listed().filter(|skill| self.marked.contains(&skill.number));
        let mut chosen: Vec<_> = marked.map(|skill| skill.number).collect();
        if chosen.is_empty() {
            chosen.extend(self.looked_at().map(|skill| skill.number));
        }
        chosen.retain(|number| !self.deciding.contains(number));
        chosen
    }

    fn ask(&mut self, decision: Decision) {
        let skills = self.chosen();
        self.ask_about(decision, &skills, None);
    }

    fn ask_about_server(&mut self) {
        let Some(server) = self.looked_at().map(|skill| skill.server.clone()) else { return };
        let of_server = self.skills.iter().filter(|skill| skill.server == server);
        let open = of_server.filter(|skill| !self.deciding.contains(&skill.number));
        let skills: Vec<_> = open.map(|skill| skill.number).collect();
        self.ask_about(Decision::Always { tools: false }, &skills, Some(server));
    }

    /// Asks the user to confirm. A skill that cannot be decided about is left out, with the reason.
    fn ask_about(&mut self, decision: Decision, skills: &[SkillNumber], server: Option<String>) {
        let lasts = matches!(decision, Decision::Always { .. });
        let known: Vec<_> = skills.iter().filter_map(|number| self.skill(*number)).collect();
        let unread: Vec<_> = known.iter().filter(|skill| skill.is_unread).collect();
        let mut notice = None;
        if let Some(first) = unread.first() {
            let words = match unread.len() {
                1 => format!(
                    "{} has to be read first: its server lists nothing to decide about. ",
                    first.handle
                ),
                many => format!(
                    "{many} skills have to be read first: their server lists nothing to decide about. "
                ),
            };
            let mut line = StyledLine::new(words, Tone::Warning);
            line.push("r", Tone::Note);
            line.push(" reads one.", Tone::Plain);
            notice = Some(line);
        }
        if lasts && known.iter().any(|skill| !skill.can_last) {
            let words = "A skill without digests may differ each time, so no approval of it can last; o allows one load.";
            notice = Some(StyledLine::new(words, Tone::Warning));
        }
        let fit = known.iter().filter(|skill| !skill.is_unread && (skill.can_last || !lasts));
        let skills: Vec<_> = fit.map(|skill| skill.number).collect();
        self.notice = notice;
        if !skills.is_empty() {
            self.confirmation = Some(Confirmation { decision, skills, server });
        }
    }

    fn put_off(&mut self) {
        let chosen = self.chosen();
        let next = chosen.last().and_then(|last| self.neighbour(*last));
        let words = match chosen.as_slice() {
            [] => return,
            [one] => self
                .skill(*one)
                .map_or_else(String::new, |skill| format!("{} waits until later.", skill.handle)),
            many => format!("{} skills wait until later.", many.len()),
        };
        self.notice = Some(StyledLine::new(words, Tone::Faint));
        for number in chosen {
            self.marked.remove(&number);
            self.later.insert(number);
        }
        self.look_at(next);
    }

    fn mark(&mut self) {
        let Some(number) = self.looked_at().map(|skill| skill.number) else { return };
        if !self.marked.remove(&number) {
            self.marked.insert(number);
        }
        self.step_skill(1);
    }

    /// Reads what the tab shows, unless it is there or on its way.
    fn read(&mut self) -> Vec<Effect> {
        let Some(skill) = self.looked_at() else { return Vec::new() };
        let number = skill.number;
        let tab = self.tab;
        if tab == Tab::Changes && !skill.changes.is_empty() {
            return if skill.is_compared { Vec::new() } else { vec![Effect::Compare(number)] };
        }
        let path = match tab {
            Tab::Files => skill.files.get(self.file_cursor).map(|row| row.path.clone()),
            Tab::Text => Some(self.file.clone()),
            Tab::Changes | Tab::Evidence => None,
        };
        let path = path.unwrap_or_else(|| SKILL_FILE.to_owned());
        let there = matches!(skill.texts.get(&path), Some(FileText::Read(_) | FileText::Reading));
        if there && !skill.is_unread {
            return Vec::new();
        }
        if let Some(skill) = self.skill_mut(number) {
            skill.texts.insert(path.clone(), FileText::Reading);
        }
        vec![Effect::Read(number, path)]
    }

    fn enter(&mut self) -> Vec<Effect> {
        if self.pane == Pane::List {
            self.pane = Pane::Detail;
            return Vec::new();
        }
        if self.tab != Tab::Files {
            return Vec::new();
        }
        let row = self.looked_at().and_then(|skill| skill.files.get(self.file_cursor));
        let Some(path) = row.map(|row| row.path.clone()) else { return Vec::new() };
        let effects = self.read();
        self.file = path;
        self.tab = Tab::Text;
        self.scroll = 0;
        effects
    }

    /// Goes back one step: from another file to `SKILL.md`, from the skill to the list, from a search
    /// to everything.
    fn back(&mut self) {
        if self.pane == Pane::Detail && self.tab == Tab::Text && self.file != SKILL_FILE {
            SKILL_FILE.clone_into(&mut self.file);
            self.show_tab(Tab::Files);
        } else if self.pane == Pane::Detail {
            self.pane = Pane::List;
        } else {
            self.search.clear();
        }
    }

    fn show_tab(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.scroll = 0;
        }
    }

    fn turn_tab(&mut self, by: usize) {
        let at = Tab::ALL.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        self.show_tab(Tab::ALL[(at + by) % Tab::ALL.len()]);
    }

    fn step(&mut self, by: isize) {
        match (self.pane, self.tab) {
            (Pane::List, _) => self.step_skill(by),
            (Pane::Detail, Tab::Files) => {
                let last = self.looked_at().map_or(0, |skill| skill.files.len().saturating_sub(1));
                self.file_cursor = self.file_cursor.saturating_add_signed(by).min(last);
                // The cursor stays in the window.
                let page = self.page().max(1);
                self.scroll = self
                    .scroll
                    .clamp((self.file_cursor + 1).saturating_sub(page), self.file_cursor);
            }
            (Pane::Detail, _) => self.scroll = self.scroll.saturating_add_signed(by),
        }
    }

    fn step_skill(&mut self, by: isize) {
        let numbers: Vec<_> = self.listed().map(|skill| skill.number).collect();
        let at = numbers.iter().position(|number| Some(*number) == self.current).unwrap_or(0);
        let at = at.saturating_add_signed(by).min(numbers.len().saturating_sub(1));
        self.look_at(numbers.get(at).copied());
    }

    fn jump(&mut self, to_end: bool) {
        match self.pane {
            Pane::Detail => self.scroll = if to_end { usize::MAX } else { 0 },
            Pane::List => {
                let end = if to_end { self.listed().last() } else { self.listed().next() };
                let end = end.map(|skill| skill.number);
                self.look_at(end);
            }
        }
    }
}
