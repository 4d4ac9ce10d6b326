//! Choosing among the skills of a source: by marks at a terminal, by names elsewhere.

use std::io::{BufRead, Write};

use skillwire_core::visible::{one_line, one_line_within};

use super::fetch::OfferedSkill;
use crate::{
    failure::Failure,
    output::{ADDED, FAINT, STRONG},
};

/// The most skills that are shown at once; a search shows the others.
const MOST_SHOWN: usize = 40;

/// The columns before a description: mark, number and spaces.
const BEFORE: usize = 12;

/// A list to mark skills in, one line of input at a time. It needs no key but Enter, so it works over
/// any connection and with a screen reader.
pub(super) struct SkillPicker<'a, R, W> {
    input: R,
    output: W,
    offered: &'a [OfferedSkill],
    marked: Vec<bool>,
    /// The words that shown skills have.
    search: Vec<String>,
    width: usize,
}

impl<'a, R: BufRead, W: Write> SkillPicker<'a, R, W> {
    pub(super) fn new(input: R, output: W, offered: &'a [OfferedSkill], width: usize) -> Self {
        let marked = vec![false; offered.len()];
        Self { input, output, offered, marked, search: Vec::new(), width }
    }

    /// Lets the user mark skills; `preview` shows one of them.
    pub(super) fn pick(
        &mut self,
        mut preview: impl FnMut(&OfferedSkill) -> Result<(), Failure>,
    ) -> Result<Vec<&'a OfferedSkill>, Failure> {
        self.show()?;
        loop {
            let Some(typed) = self.ask()? else { return Ok(Vec::new()) };
            match typed.as_str() {
                "" => {
                    let marked = self.offered.iter().zip(&self.marked);
                    return Ok(marked.filter(|(_, marked)| **marked).map(|(it, _)| it).collect());
                }
                "q" | "quit" => return Ok(Vec::new()),
                "all" => self.shown().into_iter().for_each(|at| self.marked[at] = true),
                "none" => self.marked.fill(false),
                typed => {
                    if let Some(words) = typed.strip_prefix('/') {
                        self.search = words.split_whitespace().map(str::to_lowercase).collect();
                    } else if let Some(which) = typed.strip_prefix('?') {
                        match self.find(which.trim()) {
                            Some(at) => preview(&self.offered[at])?,
                            None => self.say(which)?,
                        }
                    } else if !self.toggle(typed)? {
                        continue;
                    }
                }
            }
            self.show()?;
        }
    }

    /// Marks or unmarks the skills that words name; nothing if one names none.
    fn toggle(&mut self, typed: &str) -> Result<bool, Failure> {
        let mut chosen = Vec::new();
        for word in typed.split([' ', ',']).filter(|word| !word.is_empty()) {
            let Some(at) = self.find(word) else {
                self.say(word)?;
                return Ok(false);
            };
            chosen.push(at);
        }
        for at in chosen {
            self.marked[at] = !self.marked[at];
        }
        Ok(true)
    }

    fn find(&self, word: &str) -> Option<usize> {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        number
            .filter(|at| *at < self.offered.len())
            .or_else(|| self.offered.iter().position(|skill| skill.label() == word))
    }

    fn say(&mut self, word: &str) -> Result<(), Failure> {
        let word = one_line(word);
        writeln!(self.output, "There is no skill `{word}`. Type a number or a name of the list.")?;
        Ok(())
    }

    /// The places of the skills that the search finds.
    fn shown(&self) -> Vec<usize> {
        let fits = |skill: &OfferedSkill| {
            let text = format!("{} {}", skill.label(), skill.description).to_lowercase();
            self.search.iter().all(|word| text.contains(word.as_str()))
        };
        let places = self.offered.iter().enumerate().filter(|(_, skill)| fits(skill));
        places.map(|(at, _)| at).collect()
    }

    fn show(&mut self) -> Result<(), Failure> {
        let shown = self.shown();
        let labels = shown.iter().map(|at| self.offered[*at].label().chars().count());
        let widest = labels.max().unwrap_or(0).min(40);
        for at in shown.iter().copied().take(MOST_SHOWN) {
            let skill = &self.offered[at];
            let mark =
                if self.marked[at] { format!("{ADDED}[x]{ADDED:#}") } else { "[ ]".to_owned() };
            let room = self.width.saturating_sub(BEFORE + widest).max(10);
            let description = one_line_within(&skill.description, room);
            let label = one_line_within(skill.label(), 60);
            writeln!(
                self.output,
                "{mark} {:>3}  {STRONG}{label:widest$}{STRONG:#}  {FAINT}{description}{FAINT:#}",
                at + 1
            )?;
        }
        if shown.len() > MOST_SHOWN {
            let more = shown.len() - MOST_SHOWN;
            writeln!(self.output, "{FAINT}and {more} more; `/word` searches.{FAINT:#}")?;
        }
        if shown.is_empty() {
            writeln!(self.output, "No skill has these words; `/` shows all again.")?;
        }
        Ok(())
    }

    /// Asks for one line; `None` at the end of the input.
    fn ask(&mut self) -> Result<Option<String>, Failure> {
        let count = self.marked.iter().filter(|marked| **marked).count();
        writeln!(
            self.output,
            "{FAINT}Numbers or names mark, /word searches, ?1 shows one, all, none, q; Enter goes on.{FAINT:#}"
        )?;
        write!(self.output, "{STRONG}{count} marked{STRONG:#}: ")?;
        self.output.flush()?;
        let mut typed = String::new();
        match self.input.read_line(&mut typed)? {
            0 => Ok(None),
            _ => Ok(Some(typed.trim().to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(names: &[&str]) -> Vec<OfferedSkill> {
        let skill = |name: &&str| OfferedSkill {
            folder: format!("skills/{name}"),
            name: Some((*name).to_owned()),
            description: format!("Does {name}. Use when testing."),
            text: String::new(),
        };
        names.iter().map(skill).collect()
    }

    /// What the user saw and chose, and which skills were shown.
    fn picked(offered: &[OfferedSkill], typed: &str) -> (String, Vec<String>, Vec<String>) {
        let mut seen = anstream::StripStream::new(Vec::new());
        let mut previewed = Vec::new();
        let mut picker = SkillPicker::new(typed.as_bytes(), &mut seen, offered, 80);
        let chosen = picker
            .pick(|skill| {
                previewed.push(skill.label().to_owned());
                Ok(())
            })
            .unwrap();
        let chosen = chosen.iter().map(|skill| skill.label().to_owned()).collect();
        (String::from_utf8(seen.into_inner()).unwrap(), chosen, previewed)
    }

    #[test]
    fn skills_are_marked_by_number_and_name_across_searches() {
        let offered = offered(&["pdf", "docx", "refunds"]);
        let (seen, chosen, previewed) = picked(&offered, "1\n/REF\nall\n/\n?docx\ndocx 1\n\n");
        assert_eq!(chosen, ["docx", "refunds"]);
        assert_eq!(previewed, ["docx"]);
        assert!(seen.contains("[x]   1  pdf      Does pdf. Use when testing."), "{seen}");
        assert!(seen.contains("2 marked: "), "{seen}");
    }

    #[test]
    fn nothing_is_chosen_by_mistake() {
        let offered = offered(&["pdf", "docx"]);
        for typed in ["", "\n", "q\n", "pdf\nq\n", "1\n1\n\n", "pdf\nnone\n\n"] {
            assert_eq!(picked(&offered, typed).1, [""; 0], "{typed:?}");
        }
        let (seen, chosen, _) = picked(&offered, "1 nope\n9\n\n");
        assert_eq!(chosen, [""; 0]);
        assert!(seen.contains("There is no skill `nope`.") && seen.contains("`9`"), "{seen}");
    }

    #[test]
    fn names_and_descriptions_cannot_draw_and_many_are_not_all_shown() {
        let mut many = offered(&["a"; 60].map(|_| "x"));
        many[0].description = "\u{1b}[2Jclear\nnext".to_owned();
        let (seen, _, _) = picked(&many, "\n");
        assert!(!seen.contains('\u{1b}'), "{seen:?}");
        assert!(seen.contains("and 20 more"), "{seen}");
    }
}
