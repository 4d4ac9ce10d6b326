//! Scans one skill.

use std::borrow::Cow;

use crate::{
    RuleSet, ScanReport, ScanRule, SkillFiles, UnseenReason,
    archive::Unpacked,
    checks,
    code::ParsedOnce,
    file_kind::{self, FileKind},
    finding::Encoding,
    flow::{self, CodeChunk, FlowPair},
    image,
    language::Language,
    ledger, matching,
    rules::{Detector, FlowDetector},
    skill::FileContent,
    text::{
        decode::{self, Decoded},
        fold::{HiddenKind, HiddenRun, fold},
        mapped::MappedText,
        markdown::{self, DocumentLink},
        passage::{FileRole, Passage, PassageKind, Unfolded},
        tidy::tidy,
    },
};

/// The most bytes of one file that are looked at.
pub(crate) const MOST_FILE_BYTES: usize = 4 << 20;

/// The longest piece of a document that is read by its structure.
const MOST_MARKDOWN_BYTES: usize = 1 << 20;

/// The most decoded bytes of one file, for each of its bytes.
const MOST_DECODED: usize = 4;

/// Scans a skill: every file that was read, each by what it is.
///
/// The result depends on the files and the rules alone.
pub fn scan(skill: &SkillFiles, rules: &RuleSet) -> ScanReport {
    let mut report = ScanReport::default();
    let unpacked = Unpacked::of(skill, &mut report.coverage);
    let mut parts = SkillParts::default();
    for file in &skill.files {
        match &file.content {
            FileContent::Read(bytes) => {
                let opened = unpacked.opened(&file.path);
                parts.add(&file.path, bytes, opened, &mut report);
            }
            FileContent::Unread { size, reason } => {
                report.coverage.miss(&file.path, *size, *reason);
            }
        }
    }
    for file in &unpacked.files {
        parts.add(&file.path, &file.bytes, unpacked.opened(&file.path), &mut report);
    }
    matching::apply(&parts, rules, &mut report);
    follow(&parts, rules, &mut report);
    report.ledger = ledger::collect(&parts);
    checks::apply(&parts, skill, rules, &mut report);
    report.sort();
    report
}

/// Everything that rules look at.
#[derive(Debug, Default)]
pub(crate) struct SkillParts<'a> {
    pub(crate) files: Vec<ScannedFile<'a>>,
    pub(crate) passages: Vec<Passage>,
    /// The parsed code of each passage: rules, checks and data flow ask for the same.
    pub(crate) trees: Vec<ParsedOnce>,
    pub(crate) sections: usize,
}

/// A text file or an image.
#[derive(Debug)]
pub(crate) struct ScannedFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: FileKind,
    pub(crate) role: FileRole,
    pub(crate) bytes: &'a [u8],
    pub(crate) text: Cow<'a, str>,
    pub(crate) hidden: Vec<HiddenRun>,
    pub(crate) links: Vec<DocumentLink>,
}

impl<'a> SkillParts<'a> {
    /// Adds a file; `opened` says whether it is an archive whose files are added as well.
    fn add(&mut self, path: &'a str, bytes: &'a [u8], opened: bool, report: &mut ScanReport) {
        let size = bytes.len() as u64;
        let kind = FileKind::of(bytes);
        let unseen = match kind {
            _ if bytes.len() > MOST_FILE_BYTES => Some(UnseenReason::TooLarge),
            FileKind::Compiled => Some(UnseenReason::Compiled),
            FileKind::Archive if !opened => Some(UnseenReason::Archive),
            FileKind::Binary => Some(UnseenReason::Binary),
            FileKind::Text if file_kind::has_other_parts(bytes) => {
                report.coverage.miss(path, None, UnseenReason::Binary);
                None
            }
            FileKind::Archive | FileKind::Text | FileKind::Image => None,
        };
        if let Some(reason) = unseen {
            report.coverage.miss(path, Some(size), reason);
        } else {
            report.coverage.files += 1;
            report.coverage.bytes += size;
        }
        // A shell or an interpreter reads over a few bytes that are none of a text.
        let read_as_text = kind == FileKind::Text || file_kind::is_read_as_text(bytes);
        if unseen == Some(UnseenReason::TooLarge) {
            self.add_file(path, kind, bytes);
        } else if kind == FileKind::Image {
            self.add_image(path, bytes, report);
        } else if !read_as_text {
            self.add_file(path, kind, bytes);
        }
        if read_as_text && unseen != Some(UnseenReason::TooLarge) {
            self.add_text(path, kind, bytes, report);
        }
    }

    /// Adds a file without text.
    fn add_file(&mut self, path: &'a str, kind: FileKind, bytes: &'a [u8]) {
        let (role, text) = (FileRole::Data, Cow::Borrowed(""));
        let (hidden, links) = (Vec::new(), Vec::new());
        self.files.push(ScannedFile { path, kind, role, bytes, text, hidden, links });
    }

    fn add_image(&mut self, path: &'a str, bytes: &'a [u8], report: &mut ScanReport) {
        let index = self.files.len();
        self.add_file(path, FileKind::Image, bytes);
        let parts = image::parts(bytes);
        if !parts.complete {
            report.coverage.miss(path, Some(bytes.len() as u64), UnseenReason::TooDeep);
        }
        if parts.broken {
            report.coverage.miss(path, Some(bytes.len() as u64), UnseenReason::Unreadable);
        }
        for text in parts.texts {
            let folded = fold(&text).text;
            let unfolded = Unfolded::of(text, &folded);
            let text = MappedText::made(folded.text, 0);
            let passage = self.passage(index, PassageKind::Comment, None, text);
            let passage = Passage { encodings: vec![Encoding::ImageText], unfolded, ..passage };
            self.add_passage(passage, &mut 64_000, path, report);
        }
    }

    fn add_text(
        &mut self,
        path: &'a str,
        kind: FileKind,
        bytes: &'a [u8],
        report: &mut ScanReport,
    ) {
        let text = match file_kind::utf16_text(bytes) {
            Some(text) => Cow::Owned(text),
            None => String::from_utf8_lossy(file_kind::without_padding(bytes)),
        };
        let folded = fold(&text);
        let language = Language::of_file(path, &folded.text.text);
        let role = file_kind::role(path, language);
        if language.is_none() && file_kind::is_unparsed_code(path) {
            report.coverage.miss(path, Some(bytes.len() as u64), UnseenReason::NoParser);
        }
        let index = self.files.len();
        let hidden = folded.hidden;
        self.files.push(ScannedFile { path, kind, role, bytes, text, hidden, links: Vec::new() });
        let mut budget = bytes.len() * MOST_DECODED + 64_000;
        let kind = match role {
            FileRole::Script => PassageKind::Script,
            FileRole::Data => PassageKind::Data,
            FileRole::Instructions | FileRole::Reference => PassageKind::Prose,
        };
        let passages = match role {
            FileRole::Instructions | FileRole::Reference => {
                self.document(index, &folded.text, path, report)
            }
            FileRole::Script => {
                vec![self.passage(index, kind, language, tidy(&folded.text, language))]
            }
            FileRole::Data => vec![self.passage(index, kind, language, folded.text)],
        };
        self.sections += 1;
        for passage in passages {
            self.add_passage(passage, &mut budget, path, report);
        }
        self.add_hidden(index, &mut budget, report);
    }

    /// Reads a document by its structure. One that is too long for that is read in pieces, and reported:
    /// a block of code may be cut in two.
    fn document(
        &mut self,
        index: usize,
        text: &MappedText,
        path: &str,
        report: &mut ScanReport,
    ) -> Vec<Passage> {
        let mut passages = Vec::new();
        let mut at = 0;
        while at < text.text.len() {
            let end = piece_end(&text.text, at);
            let whole = at == 0 && end == text.text.len();
            let piece = if whole { Cow::Borrowed(text) } else { Cow::Owned(text.slice(at, end)) };
            let document = markdown::read(index, &piece, &mut self.sections);
            self.files[index].links.extend(document.links);
            passages.extend(document.passages);
            at = end;
        }
        if text.text.len() > MOST_MARKDOWN_BYTES {
            let bytes = Some(text.text.len() as u64);
            report.coverage.miss(path, bytes, UnseenReason::NotParsed);
        }
        passages
    }

    /// Adds what hidden characters spell.
    fn add_hidden(&mut self, file: usize, budget: &mut usize, report: &mut ScanReport) {
        let spelt: Vec<_> = self.files[file]
            .hidden
            .iter()
            .filter(|run| run.spells.len() >= 4)
            .map(|run| (run.at, run.kind, run.spells.clone()))
            .collect();
        let path = self.files[file].path;
        for (at, kind, text) in spelt {
            let encoding = match kind {
                HiddenKind::Tag => Encoding::TagCharacters,
                _ => Encoding::VariationSelectors,
            };
            let text = MappedText::made(text, at);
            let passage = self.passage(file, PassageKind::Comment, None, text);
            let passage = Passage { encodings: vec![encoding], ..passage };
            self.add_passage(passage, budget, path, report);
        }
    }

    fn passage(
        &self,
        file: usize,
        kind: PassageKind,
        language: Option<Language>,
        text: MappedText,
    ) -> Passage {
        let section = self.sections;
        let (encodings, unfolded) = (Vec::new(), None);
        Passage { file, kind, language, text, section, warned: false, encodings, unfolded }
    }

    /// Adds a passage and everything that is encoded in it.
    fn add_passage(
        &mut self,
        passage: Passage,
        budget: &mut usize,
        path: &str,
        report: &mut ScanReport,
    ) {
        let mut waiting = vec![passage];
        while let Some(passage) = waiting.pop() {
            for Decoded { range, encoding, text } in decode::decode(&passage.text.text) {
                if passage.encodings.len() >= decode::MAX_DEPTH || text.len() > *budget {
                    report.coverage.miss(path, Some(text.len() as u64), UnseenReason::TooDeep);
                    continue;
                }
                *budget -= text.len();
                let mut encodings = passage.encodings.clone();
                encodings.push(encoding);
                let from = passage.text.origin(range.start);
                let tidied = tidy(&fold(&text).text, Some(Language::Shell));
                let unfolded = Unfolded::of(text, &tidied);
                let text = MappedText::made(tidied.text, from);
                let language = None;
                waiting.push(Passage { language, text, encodings, unfolded, ..passage.clone() });
            }
            self.passages.push(passage);
            self.trees.push(ParsedOnce::default());
        }
    }
}

/// Where a piece of a long document ends that begins at `at`: at an empty line, if there is one.
fn piece_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    if rest.len() <= MOST_MARKDOWN_BYTES {
        return text.len();
    }
    let mut most = MOST_MARKDOWN_BYTES;
    while !rest.is_char_boundary(most) {
        most -= 1;
    }
    let piece = &rest[..most];
    let end = piece.rfind("\n\n").or_else(|| piece.rfind('\n')).map_or(most, |end| end + 1);
    at + end
}

/// Follows data through the code of all files.
fn follow(parts: &SkillParts<'_>, rules: &RuleSet, report: &mut ScanReport) {
    let chunk = |(passage, it): (usize, &'_ Passage)| {
        let language = it.language.or_else(|| {
            let guessed = it.kind == PassageKind::Code && it.encodings.is_empty();
            guessed.then_some(Language::Shell)
        })?;
        Some((language, passage))
    };
    let chunks: Vec<CodeChunk<'_>> = parts
        .passages
        .iter()
        .enumerate()
        .filter_map(chunk)
        .map(|(language, passage)| {
            let Passage { text, file, .. } = &parts.passages[passage];
            let (code, file) = (text.text.as_str(), parts.files[*file].path);
            let tree = Some(&parts.trees[passage]);
            CodeChunk { language, code, file, passage, offset: 0, tree }
        })
        .collect();
    let asked = matching::flow_rules(parts, rules);
    let pairs = pairs(&asked, rules);
    let followed = flow::follow(&rules.flow, &pairs, chunks, |passage, reason| {
        let file = &parts.files[parts.passages[passage].file];
        report.coverage.miss(file.path, Some(file.bytes.len() as u64), reason);
    });
    matching::add_flows(parts, rules, &asked, &followed.flows, report);
    matching::add_unparsed(parts, rules, &asked, &followed.unparsed, report);
}

/// The kinds of sources and sinks that rules ask about.
fn pairs(asked: &[&ScanRule], rules: &RuleSet) -> Vec<FlowPair> {
    let mut pairs = Vec::new();
    for rule in asked {
        let Detector::Flow(FlowDetector { from, to, .. }) = &rule.detector else { continue };
        for from in rules.flow.named(from) {
            pairs.extend(rules.flow.named(to).map(|to| FlowPair { from, to }));
        }
    }
    pairs
}
