//! The state of the view.

use std::collections::BTreeSet;

use super::{
    confirm::{Confirmation, Decision},
    layout::{Areas, LEAST},
    skill::{FileText, SkillNumber, WaitingSkill},
};
use crate::{
    screen::Key,
    text::{StyledLine, Tone},
};

/// The file that every skill has.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The user pressed a key.
    Key(Key),
    /// The terminal has this many columns and rows.
    Resized(u16, u16),
    /// These skills wait, of a server that has answered.
    Listed(Vec<WaitingSkill>),
    /// These servers have not answered yet.
    WaitingFor(Vec<String>),
    /// Something the user should know.
    Notice(StyledLine),
    /// More is known about a skill.
    Updated(Box<WaitingSkill>),
    /// A file was read, or could not be.
    FileRead(SkillNumber, String, FileText),
    /// A decision was recorded; the words say which.
    Decided(SkillNumber, String),
    /// A decision was not recorded, for this reason.
    NotDecided(SkillNumber, StyledLine),
    /// A decision was refused, because the skill is no longer what was shown.
    Moved(Box<WaitingSkill>),
}

/// What the program has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read a file of a skill and show it.
    Read(SkillNumber, String),
    /// Compare the changed files of a skill line by line.
    Compare(SkillNumber),
    /// Record a decision, if the skill is still what was shown.
    Decide(SkillNumber, Decision),
    /// Leave the view.
    Quit,
}

/// A side of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The list of skills.
    List,
    /// The skill that is looked at.
    Detail,
}

/// What is shown of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// A file, at first its `SKILL.md`.
    Text,
    /// Its files.
    Files,
    /// How it differs from what was approved.
    Changes,
    /// Who offers it, what it asks for, what the scanner found.
    Evidence,
}

impl Tab {
    /// Every tab, in order.
    pub const ALL: [Self; 4] = [Self::Text, Self::Files, Self::Changes, Self::Evidence];

    /// Returns the word on the tab.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "Text",
            Self::Files => "Files",
            Self::Changes => "Changes",
            Self::Evidence => "Evidence",
        }
    }
}

/// The state of the view.
#[derive(Debug, Clone)]
pub struct ReviewModel {
    pub(super) skills: Vec<WaitingSkill>,
    /// Skills that the user put off until another time.
    pub(super) later: BTreeSet<SkillNumber>,
    /// Skills whose decision is being recorded.
    pub(super) deciding: BTreeSet<SkillNumber>,
    pub(super) marked: BTreeSet<SkillNumber>,
    /// The skill that is looked at.
    pub(super) current: Option<SkillNumber>,
    pub(super) pane: Pane,
    pub(super) tab: Tab,
    /// The file that the text tab shows.
    pub(super) file: String,
    pub(super) file_cursor: usize,
    /// The first line of the skill that is visible.
    pub(super) scroll: usize,
    pub(super) search: String,
    pub(super) is_typing: bool,
    pub(super) shows_help: bool,
    pub(super) confirmation: Option<Confirmation>,
    pub(super) notice: Option<StyledLine>,
    pub(super) waiting_for: Vec<String>,
    /// How many decisions were recorded.
    pub(super) decided: usize,
    /// Whether the user has pressed a key. Until then the view stays at the first skill, whichever
    /// server answers first.
    pub(super) is_touched: bool,
    pub(super) size: (u16, u16),
}

impl ReviewModel {
    /// Creates the view before any server has answered.
    pub fn new(size: (u16, u16)) -> Self {
        Self {
            skills: Vec::new(),
            later: BTreeSet::new(),
            deciding: BTreeSet::new(),
            marked: BTreeSet::new(),
            current: None,
            pane: Pane::List,
            tab: Tab::Text,
            file: SKILL_FILE.to_owned(),
            file_cursor: 0,
            scroll: 0,
            search: String::new(),
            is_typing: false,
            shows_help: false,
            confirmation: None,
            notice: None,
            waiting_for: Vec::new(),
            decided: 0,
            is_touched: false,
            size,
        }
    }

    /// Takes what happened, and returns what the program has to do.
    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) => return self.key(key),
            Message::Resized(width, height) => self.size = (width, height),
            Message::Listed(skills) => {
                self.skills.extend(skills);
                self.skills.sort_by(|a, b| (&a.server, a.name()).cmp(&(&b.server, b.name())));
                if !self.is_touched {
                    self.look_at(None);
                }
            }
            Message::WaitingFor(servers) => self.waiting_for = servers,
            Message::Notice(line) => self.notice = Some(line),
            Message::Updated(skill) => self.replace(*skill),
            Message::FileRead(number, path, text) => {
                if let Some(skill) = self.skill_mut(number) {
                    skill.texts.insert(path, text);
                }
            }
            Message::Decided(number, words) => {
                let next = self.neighbour(number);
                self.deciding.remove(&number);
                self.marked.remove(&number);
                self.skills.retain(|skill| skill.number != number);
                self.decided += 1;
                self.notice = Some(StyledLine::new(words, Tone::Added));
                if self.current == Some(number) {
                    self.look_at(next);
                }
            }
            Message::NotDecided(number, line) => {
                self.deciding.remove(&number);
                self.notice = Some(line);
            }
            Message::Moved(skill) => {
                self.deciding.remove(&skill.number);
                self.marked.remove(&skill.number);
                let words = format!(
                    "{} changed while you looked: nothing was recorded. Look again.",
                    skill.handle
                );
                self.notice = Some(StyledLine::new(words, Tone::Warning));
                // What was read is the text of the earlier content.
                if let Some(held) = self.skill_mut(skill.number) {
                    held.texts.clear();
                }
                self.look_at(Some(skill.number));
                self.replace(*skill);
            }
        }
        self.settle();
        Vec::new()
    }

    /// Returns the skill that is looked at.
    pub fn current(&self) -> Option<SkillNumber> {
        self.current
    }

    /// Returns how many decisions were recorded.
    pub fn decided(&self) -> usize {
        self.decided
    }

    /// Returns how many skills still wait.
    pub fn waiting(&self) -> usize {
        self.skills.len()
    }

    /// Replaces what is known about a skill; texts that were read stay.
    fn replace(&mut self, skill: WaitingSkill) {
        if let Some(held) = self.skill_mut(skill.number) {
            let mut texts = std::mem::take(&mut held.texts);
            texts.extend(skill.texts.clone());
            *held = WaitingSkill { texts, ..skill };
        }
    }

    pub(super) fn skill(&self, number: SkillNumber) -> Option<&WaitingSkill> {
        self.skills.iter().find(|skill| skill.number == number)
    }

    pub(super) fn skill_mut(&mut self, number: SkillNumber) -> Option<&mut WaitingSkill> {
        self.skills.iter_mut().find(|skill| skill.number == number)
    }

    /// The skills that the list shows, in its order.
    pub(super) fn listed(&self) -> impl Iterator<Item = &WaitingSkill> {
        let is_listed = |skill: &&WaitingSkill| {
            !self.later.contains(&skill.number) && skill.is_found(&self.search)
        };
        self.skills.iter().filter(is_listed)
    }

    /// The skill that is looked at, if the list shows it.
    pub(super) fn looked_at(&self) -> Option<&WaitingSkill> {
        self.listed().find(|skill| Some(skill.number) == self.current)
    }

    /// The skill after one in the list, or the one before the last.
    pub(super) fn neighbour(&self, number: SkillNumber) -> Option<SkillNumber> {
        let numbers: Vec<_> = self.listed().map(|skill| skill.number).collect();
        let at = numbers.iter().position(|other| *other == number)?;
        numbers.get(at + 1).or_else(|| at.checked_sub(1).and_then(|at| numbers.get(at))).copied()
    }

    pub(super) fn look_at(&mut self, number: Option<SkillNumber>) {
        if self.current != number {
            self.current = number;
            SKILL_FILE.clone_into(&mut self.file);
            self.file_cursor = 0;
            self.scroll = 0;
        }
    }

    /// Keeps the cursor on a skill that is listed, and the text in the window.
    pub(super) fn settle(&mut self) {
        if self.looked_at().is_none() {
            let first = self.listed().next().map(|skill| skill.number);
            self.look_at(first);
        }
        if self.looked_at().is_none() {
            self.pane = Pane::List;
        }
        self.scroll = self.scroll.min(self.most_scroll());
    }

    /// The areas of the screen, as [`super::draw`] uses them.
    pub(super) fn areas(&self) -> Areas {
        let lines = self.notice_lines().len();
        Areas::new(self.size, self.pane == Pane::Detail, u16::try_from(lines).unwrap_or(u16::MAX))
    }

    pub(super) fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// The lines of the question, the search or the notice, as they fit the screen.
    pub(super) fn notice_lines(&self) -> Vec<StyledLine> {
        let width = usize::from(self.size.0);
        let lines = if let Some(confirmation) = &self.confirmation {
            let skills: Vec<_> =
                confirmation.skills.iter().filter_map(|number| self.skill(*number)).collect();
            confirmation.lines(&skills)
        } else if self.is_typing {
            let mut line = StyledLine::new("Search: ", Tone::Strong);
            line.push(format!("{}_", self.search), Tone::Plain);
            vec![line]
        } else {
            self.notice.iter().cloned().collect()
        };
        lines.iter().flat_map(|line| line.wrapped(width)).collect()
    }

    /// The lines that the tab shows, before they are fitted to the pane.
    pub(super) fn content(&self, skill: &WaitingSkill) -> Vec<StyledLine> {
        match self.tab {
            Tab::Text => self.text(skill),
            Tab::Files => self.files(skill),
            Tab::Changes => Self::changes(skill),
            Tab::Evidence => skill.evidence.clone(),
        }
    }

    fn text(&self, skill: &WaitingSkill) -> Vec<StyledLine> {
        let name = if self.file == SKILL_FILE { "Its text" } else { &self.file };
        match skill.texts.get(&self.file) {
            Some(FileText::Read(lines)) => {
                let mut all = Vec::new();
                if self.file != SKILL_FILE {
                    all.push(StyledLine::new(&self.file, Tone::Faint));
                    all.push(StyledLine::default());
                }
                all.extend(lines.iter().cloned());
                all
            }
            Some(FileText::Failed(lines)) => lines.clone(),
            Some(FileText::Reading) => {
                vec![StyledLine::new(
                    format!("Reading from server {} …", skill.server),
                    Tone::Faint,
                )]
            }
            None => {
                let mut line = StyledLine::new(format!("{name} was not read yet. "), Tone::Faint);
                line.push("r", Tone::Note);
                line.push(format!(" reads it from server {}.", skill.server), Tone::Faint);
                let description = StyledLine::plain(&skill.description);
                vec![description, StyledLine::default(), line]
            }
        }
    }

    fn files(&self, skill: &WaitingSkill) -> Vec<StyledLine> {
        if skill.files.is_empty() {
            return vec![StyledLine::new("Its server lists no files.", Tone::Faint)];
        }
        let row = |(index, row): (usize, &super::skill::FileRow)| {
            let is_here = self.pane == Pane::Detail && index == self.file_cursor;
            let mut line = StyledLine::new(if is_here { "> " } else { "  " }, Tone::Strong);
            line.push(format!("{:>9}  ", row.size), Tone::Faint);
            let read = match skill.texts.get(&row.path) {
                Some(FileText::Read(_)) => "",
                Some(FileText::Reading) => "  reading …",
                Some(FileText::Failed(_)) => "  could not be read",
                None => "  not read",
            };
            line.push(&row.path, if is_here { Tone::Strong } else { Tone::Plain });
            line.push(read, Tone::Faint);
            line.hanging(13)
        };
        skill.files.iter().enumerate().map(row).collect()
    }

    fn changes(skill: &WaitingSkill) -> Vec<StyledLine> {
        if skill.changes.is_empty() {
            return vec![StyledLine::new(
                "You have approved nothing to compare it with.",
                Tone::Faint,
            )];
        }
        let mut lines = skill.changes.clone();
        if !skill.is_compared {
            lines.push(StyledLine::default());
            let mut line = StyledLine::new("Changed files were not read yet. ", Tone::Faint);
            line.push("r", Tone::Note);
            line.push(
                format!(" reads them from server {} and compares them.", skill.server),
                Tone::Faint,
            );
            lines.push(line);
        }
        lines
    }

    /// The lines of the skill that is looked at, fitted to the pane.
    pub(super) fn fitted(&self) -> Vec<StyledLine> {
        let (Some(skill), Some(detail)) = (self.looked_at(), self.areas().detail) else {
            return Vec::new();
        };
        let width = usize::from(detail.width.saturating_sub(1));
        self.content(skill).iter().flat_map(|line| line.wrapped(width)).collect()
    }

    /// How many lines of the skill the pane shows; its title and tabs take two.
    pub(super) fn page(&self) -> usize {
        self.areas().detail.map_or(0, |detail| usize::from(detail.height.saturating_sub(2)))
    }

    pub(super) fn most_scroll(&self) -> usize {
        self.fitted().len().saturating_sub(self.page())
    }
}
