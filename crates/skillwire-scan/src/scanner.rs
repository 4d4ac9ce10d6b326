//! Scans one skill.

use std::borrow::Cow;

use crate::{
    RuleSet, ScanReport, ScanRule, SkillFiles, UnseenReason, checks,
    file_kind::{self, FileKind},
    finding::Encoding,
    flow::{self, CodeChunk, FlowPair},
    language::Language,
    ledger, matching,
    rules::{Detector, FlowDetector},
    skill::FileContent,
    text::{
        decode::{self, Decoded},
        fold::{HiddenKind, HiddenRun, fold},
        mapped::MappedText,
        markdown::{self, DocumentLink},
        passage::{FileRole, Passage, PassageKind},
        tidy::tidy,
    },
};

/// The most bytes of one file that are looked at.
const MOST_FILE_BYTES: usize = 4 << 20;

/// The longest document that is read by its structure.
const MOST_MARKDOWN_BYTES: usize = 1 << 20;

/// The most decoded bytes of one file, for each of its bytes.
const MOST_DECODED: usize = 4;

/// Scans a skill: every file that was read, each by what it is.
///
/// The result depends on the files and the rules alone.
pub fn scan(skill: &SkillFiles, rules: &RuleSet) -> ScanReport {
    let mut report = ScanReport::default();
    let mut parts = SkillParts::default();
    for file in &skill.files {
        match &file.content {
            FileContent::Read(bytes) => parts.add(&file.path, bytes, &mut report),
            FileContent::Unread { size, reason } => {
                report.coverage.miss(&file.path, *size, *reason);
            }
        }
    }
    matching::apply(&parts, rules, &mut report);
    follow(&parts, rules, &mut report);
    checks::apply(&parts, skill, rules, &mut report);
    report.ledger = ledger::collect(&parts);
    report.sort();
    report
}

/// Everything that rules look at.
#[derive(Debug, Default)]
pub(crate) struct SkillParts<'a> {
    pub(crate) files: Vec<ScannedFile<'a>>,
    pub(crate) passages: Vec<Passage>,
    pub(crate) sections: usize,
}

/// A text file or an image.
#[derive(Debug)]
pub(crate) struct ScannedFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) role: FileRole,
    pub(crate) bytes: &'a [u8],
    pub(crate) text: Cow<'a, str>,
    pub(crate) hidden: Vec<HiddenRun>,
    pub(crate) links: Vec<DocumentLink>,
}

impl<'a> SkillParts<'a> {
    fn add(&mut self, path: &'a str, bytes: &'a [u8], report: &mut ScanReport) {
        let size = bytes.len() as u64;
        let unseen = match FileKind::of(bytes) {
            _ if bytes.len() > MOST_FILE_BYTES => Some(UnseenReason::TooLarge),
            FileKind::Compiled => Some(UnseenReason::Compiled),
            FileKind::Archive { .. } => Some(UnseenReason::Archive),
            FileKind::Binary => Some(UnseenReason::Binary),
            FileKind::Text | FileKind::Image => None,
        };
        if let Some(reason) = unseen {
            report.coverage.miss(path, Some(size), reason);
            let text = Cow::Borrowed("");
            let (hidden, links) = (Vec::new(), Vec::new());
            let role = FileRole::Data;
            self.files.push(ScannedFile { path, role, bytes, text, hidden, links });
            return;
        }
        report.coverage.files += 1;
        report.coverage.bytes += size;
        if FileKind::of(bytes) == FileKind::Image {
            self.add_image(path, bytes, report);
        } else {
            self.add_text(path, bytes, report);
        }
    }

    fn add_image(&mut self, path: &'a str, bytes: &'a [u8], report: &mut ScanReport) {
        let index = self.files.len();
        let (role, text) = (FileRole::Data, Cow::Borrowed(""));
        self.files.push(ScannedFile {
            path,
            role,
            bytes,
            text,
            hidden: Vec::new(),
            links: Vec::new(),
        });
        for text in file_kind::image_texts(bytes) {
            let text = MappedText::made(fold(&text).text.text, 0);
            let passage = self.passage(index, PassageKind::Comment, None, text);
            let passage = Passage { encodings: vec![Encoding::ImageText], ..passage };
            self.add_passage(passage, &mut 64_000, path, report);
        }
    }

    fn add_text(&mut self, path: &'a str, bytes: &'a [u8], report: &mut ScanReport) {
        let text = String::from_utf8_lossy(bytes);
        let folded = fold(&text);
        let language = Language::of_file(path, &folded.text.text);
        let role = file_kind::role(path, language);
        let index = self.files.len();
        let hidden = folded.hidden;
        self.files.push(ScannedFile { path, role, bytes, text, hidden, links: Vec::new() });
        let mut budget = bytes.len() * MOST_DECODED + 64_000;
        let is_document = matches!(role, FileRole::Instructions | FileRole::Reference);
        let passages = if is_document && bytes.len() <= MOST_MARKDOWN_BYTES {
            let document = markdown::read(index, &folded.text, &mut self.sections);
            self.files[index].links = document.links;
            document.passages
        } else {
            let kind = match role {
                FileRole::Script => PassageKind::Script,
                FileRole::Data => PassageKind::Data,
                FileRole::Instructions | FileRole::Reference => PassageKind::Prose,
            };
            let text =
                if role == FileRole::Script { tidy(&folded.text, language) } else { folded.text };
            vec![self.passage(index, kind, language, text)]
        };
        self.sections += 1;
        for passage in passages {
            self.add_passage(passage, &mut budget, path, report);
        }
        self.add_hidden(index, &mut budget, report);
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
        Passage { file, kind, language, text, section, warned: false, encodings: Vec::new() }
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
                let text = MappedText::made(fold(&text).text.text, from);
                let text = tidy(&text, Some(Language::Shell));
                waiting.push(Passage { text, encodings, language: None, ..passage.clone() });
            }
            self.passages.push(passage);
        }
    }
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
            CodeChunk { language, code, file, passage, offset: 0 }
        })
        .collect();
    let asked = matching::flow_rules(parts, rules);
    let pairs = pairs(&asked, rules);
    let flows = flow::follow(&rules.flow, &pairs, chunks, |passage| {
        let file = &parts.files[parts.passages[passage].file];
        let bytes = Some(file.bytes.len() as u64);
        report.coverage.miss(file.path, bytes, UnseenReason::NotParsed);
    });
    matching::add_flows(parts, rules, &asked, &flows, report);
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
