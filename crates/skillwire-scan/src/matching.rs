//! Applies rules to passages, and judges what they match.

use std::{collections::HashMap, ops::Range};

use crate::{
    Evidence, RuleSet, ScanFinding, ScanReport, ScanRule, Severity, UnseenReason, Usage, code,
    flow::Flow,
    pattern::Pattern,
    rules::{Detector, FlowDetector, TextDetector, Window},
    scanner::SkillParts,
    text::passage::{FileRole, Passage, PassageKind},
    usage,
};
use skillwire_core::Span;

/// The most findings of one rule in one file; more are counted.
const MOST_OF_ONE_RULE: usize = 3;

/// The most matches of one pattern in one passage that are judged.
const MOST_JUDGED: usize = 200;

/// The longest text of a piece of evidence.
const LONGEST_TEXT: usize = 400;

/// How near in a long file two texts are.
const NEAR: usize = 1_200;

/// Applies every rule that looks for texts.
pub(crate) fn apply(parts: &SkillParts<'_>, rules: &RuleSet, report: &mut ScanReport) {
    let mut sections: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (index, passage) in parts.passages.iter().enumerate() {
        sections.entry((passage.file, passage.section)).or_default().push(index);
    }
    let mut matcher = Matcher {
        parts,
        sections,
        windows: HashMap::new(),
        found: Findings::default(),
        unjudged: Vec::new(),
    };
    let mut candidates = vec![false; rules.rules.len()];
    for (index, passage) in parts.passages.iter().enumerate() {
        candidates.fill(false);
        for found in rules.needed.find_overlapping_iter(&passage.text.text) {
            candidates[rules.needed_by[found.pattern().as_usize()]] = true;
        }
        for (rule, _) in rules.rules.iter().zip(&candidates).filter(|(_, candidate)| **candidate) {
            if let Detector::Text(detector) = &rule.detector {
                matcher.passage(rule, detector, index);
            }
        }
    }
    report.findings.extend(matcher.found.finish());
    for file in matcher.unjudged {
        let file = &parts.files[file];
        report.coverage.miss(file.path, None, UnseenReason::TooMany);
    }
}

/// Adds the findings of rules about data that travels.
pub(crate) fn add_flows(
    parts: &SkillParts<'_>,
    rules: &RuleSet,
    asked: &[&ScanRule],
    flows: &[Flow],
    report: &mut ScanReport,
) {
    let mut found = Findings::default();
    for rule in asked {
        let Detector::Flow(FlowDetector { from, to, claims }) = &rule.detector else { continue };
        for flow in flows {
            let (source, sink) = (&rules.flow.kinds[flow.from], &rules.flow.kinds[flow.to]);
            if !from.contains(&source.name) || !to.contains(&sink.name) {
                continue;
            }
            let claimed = claims.iter().filter_map(|claim| claimed(parts, claim));
            add_flow(parts, rules, rule, flow, claimed.collect(), &mut found);
        }
    }
    report.findings.extend(found.finish());
}

/// Adds a finding for code that cannot be parsed to its end and has a source and a sink of a rule at `high`
/// or above. Whether data travels between them is not known.
pub(crate) fn add_unparsed(
    parts: &SkillParts<'_>,
    rules: &RuleSet,
    asked: &[&ScanRule],
    unparsed: &[Flow],
    report: &mut ScanReport,
) {
    let Some(rule) = rules.rule("obfuscation/unparsed-code") else { return };
    let is_severe = |flow: &&Flow| {
        let (source, sink) = (&rules.flow.kinds[flow.from].name, &rules.flow.kinds[flow.to].name);
        asked.iter().filter(|it| it.severity >= Severity::High).any(|it| match &it.detector {
            Detector::Flow(rule) => rule.from.contains(source) && rule.to.contains(sink),
            Detector::Text(_) | Detector::BuiltIn => false,
        })
    };
    let mut found = Findings::default();
    for flow in unparsed.iter().filter(is_severe) {
        add_flow(parts, rules, rule, flow, Vec::new(), &mut found);
    }
    report.findings.extend(found.finish());
}

/// Adds a finding with the steps of a flow, and more evidence behind them.
fn add_flow(
    parts: &SkillParts<'_>,
    rules: &RuleSet,
    rule: &ScanRule,
    flow: &Flow,
    more: Vec<Evidence>,
    found: &mut Findings,
) {
    let (source, sink) = (&rules.flow.kinds[flow.from], &rules.flow.kinds[flow.to]);
    let last = flow.steps.len().saturating_sub(1);
    let steps = flow.steps.iter().enumerate().map(|(step, (passage, range))| {
        let mut evidence = evidence(parts, &parts.passages[*passage], range);
        evidence.step = match step {
            0 => Some(source.step.clone()),
            step if step == last => Some(sink.step.clone()),
            _ => Some("passes it on".to_owned()),
        };
        evidence
    });
    let evidence = steps.chain(more).collect();
    let Some((passage, range)) = flow.steps.last() else { return };
    let passage = &parts.passages[*passage];
    let warned = passage.kind == PassageKind::Code
        && (passage.warned || usage::only_placeholders(command_around(passage, range)));
    let context = if warned { Context::Warned } else { Context::Used };
    let severity = judge(rule, false, context, passage, parts);
    found.add(rule, severity, context.usage(), evidence);
}

/// The rules about data that travels which can match this skill.
pub(crate) fn flow_rules<'a>(parts: &SkillParts<'_>, rules: &'a RuleSet) -> Vec<&'a ScanRule> {
    let can_match = |rule: &&ScanRule| match &rule.detector {
        Detector::Flow(flow) => flow.claims.iter().all(|it| claimed(parts, it).is_some()),
        Detector::Text(_) | Detector::BuiltIn => false,
    };
    rules.rules.iter().filter(can_match).collect()
}

/// Where the frontmatter of the skill says something of the skill.
fn claimed(parts: &SkillParts<'_>, claim: &Pattern) -> Option<Evidence> {
    parts.passages.iter().find_map(|passage| {
        let says = passage.kind == PassageKind::Frontmatter
            && passage.encodings.is_empty()
            && parts.files[passage.file].role == FileRole::Instructions;
        let place = says.then(|| claim.find(&passage.text.text)).flatten()?;
        let mut evidence = evidence(parts, passage, &place);
        evidence.step = Some("says of itself".to_owned());
        Some(evidence)
    })
}

struct Matcher<'a> {
    parts: &'a SkillParts<'a>,
    /// The passages of each section of a file.
    sections: HashMap<(usize, usize), Vec<usize>>,
    /// Where a pattern matches in a section, a file or the skill. Each is searched once: a skill may have
    /// thousands of passages that ask for the same.
    windows: HashMap<WindowKey, Option<(usize, Range<usize>)>>,
    found: Findings,
    /// Files in which a pattern matches more often than is judged.
    unjudged: Vec<usize>,
}

/// A pattern, by its address, and the part of the skill that it is searched in.
type WindowKey = (usize, Option<usize>, Option<usize>);

impl Matcher<'_> {
    fn passage(&mut self, rule: &ScanRule, detector: &TextDetector, index: usize) {
        let passage = &self.parts.passages[index];
        let kind = passage.kind;
        // Text that was hidden may be anything, so every rule looks at it.
        let was_hidden = passage.encodings.iter().any(|encoding| encoding.hides());
        let fits = detector.kinds.is_empty() || detector.kinds.contains(&kind);
        if !was_hidden && (detector.decoded_only || !fits) {
            return;
        }
        let text = &passage.text.text;
        if detector.gate.as_ref().is_some_and(|gate| !gate.is_match(text)) {
            return;
        }
        let most =
            rule.severity.max(judge(rule, detector.firm, Context::Used, passage, self.parts));
        for regex in &detector.any {
            // Where the last match ends that matters as much as one can. Another one in its line adds nothing,
            // and a line may be long.
            let mut judged: Option<usize> = None;
            for (count, found) in regex.find_iter(text).enumerate() {
                if count == MOST_JUDGED {
                    self.unjudged.push(passage.file);
                    break;
                }
                if judged.is_some_and(|end| !text[end.min(found.start)..found.start].contains('\n'))
                {
                    judged = Some(found.end);
                    continue;
                }
                if is_excused(detector, passage, &found) {
                    continue;
                }
                let Some(others) = self.near(detector, index, &found) else { continue };
                let context = self.context(detector, index, &found);
                let severity = judge(rule, detector.firm, context, passage, self.parts);
                if !self.found.wants(rule, severity, self.parts.files[passage.file].path) {
                    continue;
                }
                let mut places = vec![evidence(self.parts, passage, &found)];
                for (other, range) in others {
                    let other = evidence(self.parts, &self.parts.passages[other], &range);
                    if !places
                        .iter()
                        .any(|known| known.line == other.line && known.file == other.file)
                    {
                        places.push(other);
                    }
                }
                self.found.add(rule, severity, context.usage(), places);
                judged = (severity >= most).then_some(found.end);
            }
        }
    }

    /// The places near a match where the other texts of the rule stand; `None` if one is missing.
    fn near(
        &mut self,
        detector: &TextDetector,
        index: usize,
        place: &Range<usize>,
    ) -> Option<Vec<(usize, Range<usize>)>> {
        detector.with.iter().map(|regex| self.find_near(detector, regex, index, place)).collect()
    }

    fn find_near(
        &mut self,
        detector: &TextDetector,
        regex: &Pattern,
        index: usize,
        place: &Range<usize>,
    ) -> Option<(usize, Range<usize>)> {
        let passage = &self.parts.passages[index];
        let text = passage.text.text.as_str();
        let within = detector.within;
        if within == Window::Line {
            return find_in(detector, regex, passage, line_range(text, place))
                .map(|found| (index, found));
        }
        // A script is one passage, and what stands at its two ends has little to do with each other.
        let start = floor(text, place.start.saturating_sub(NEAR));
        let end = floor(text, (place.end + NEAR).min(text.len()));
        if let Some(found) = find_in(detector, regex, passage, start..end) {
            return Some((index, found));
        }
        let (file, section) = match within {
            Window::Line | Window::Passage => return None,
            Window::Section => (Some(passage.file), Some(passage.section)),
            Window::File => (Some(passage.file), None),
            Window::Skill => (None, None),
        };
        let key = (std::ptr::from_ref(regex).addr(), file, section);
        if let Some(known) = self.windows.get(&key) {
            return known.clone();
        }
        let all = self.parts.passages.iter().enumerate();
        let search = |(other, candidate): (usize, &Passage)| {
            Some((other, find_in(detector, regex, candidate, 0..candidate.text.text.len())?))
        };
        let found = match (file, section) {
            (Some(file), Some(section)) => {
                let within = self.sections.get(&(file, section)).map_or(&[][..], Vec::as_slice);
                within.iter().find_map(|other| search((*other, &self.parts.passages[*other])))
            }
            (Some(file), None) => {
                all.filter(|(_, candidate)| candidate.file == file).find_map(search)
            }
            _ => all.into_iter().find_map(search),
        };
        self.windows.insert(key, found.clone());
        found
    }

    /// Whether the skill does what was matched or speaks of it.
    fn context(&self, detector: &TextDetector, index: usize, place: &Range<usize>) -> Context {
        let passage = &self.parts.passages[index];
        let text = passage.text.text.as_str();
        let before = &text[..place.start];
        let warned = match passage.kind {
            PassageKind::Script => {
                if !passage.encodings.is_empty() {
                    return Context::Used;
                }
                let Some(language) = passage.language else { return Context::Used };
                let parsed = self.parts.trees[index].of(language, text);
                let is_parsed = place.end <= parsed.length;
                let Some(tree) = parsed.tree.as_ref().filter(|_| is_parsed) else {
                    return Context::Used;
                };
                return match code::usage_at(tree, language, text, place.start, place.end) {
                    Usage::Used => Context::Used,
                    Usage::Mentioned => Context::Shown,
                };
            }
            PassageKind::Code if !detector.firm && is_comment_line(text, place) => {
                return Context::Shown;
            }
            _ if detector.firm => false,
            _ if usage::only_placeholders(command_around(passage, place)) => true,
            PassageKind::Prose => {
                passage.warned || usage::is_forbidden(before) || is_warning_line(text, place)
            }
            PassageKind::Code
            | PassageKind::Frontmatter
            | PassageKind::Comment
            | PassageKind::Data => passage.warned,
        };
        if warned { Context::Warned } else { Context::Used }
    }
}

/// How a match is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    /// The skill does it, or tells its reader to.
    Used,
    /// Words or made-up hosts around the match say that it is an example. An attacker can write such words, so
    /// they count for less than structure.
    Warned,
    /// The match itself is a comment of code, or a text that code only shows or searches for.
    Shown,
}

impl Context {
    fn usage(self) -> Usage {
        if self == Self::Used { Usage::Used } else { Usage::Mentioned }
    }
}

/// The first match of a pattern in a part of a passage that nothing beside it excuses.
fn find_in(
    detector: &TextDetector,
    regex: &Pattern,
    passage: &Passage,
    part: Range<usize>,
) -> Option<Range<usize>> {
    let found = regex.find_iter(&passage.text.text[part.clone()]).take(MOST_JUDGED);
    found
        .map(|it| part.start + it.start..part.start + it.end)
        .find(|it| !is_excused(detector, passage, it))
}

/// Tells whether what stands right around a match says that the rule does not mean it. A word elsewhere in
/// the passage says nothing about it: an attacker who wants to hide a match would add that word.
fn is_excused(detector: &TextDetector, passage: &Passage, place: &Range<usize>) -> bool {
    if detector.unless.is_empty() {
        return false;
    }
    let is_code =
        matches!(passage.kind, PassageKind::Code | PassageKind::Script | PassageKind::Data);
    let clause = &passage.text.text[clause_range(&passage.text.text, place, is_code)];
    detector.unless.iter().any(|regex| regex.is_match(clause))
}

/// The command or sentence that a place stands in.
fn clause_range(text: &str, place: &Range<usize>, is_code: bool) -> Range<usize> {
    let first = floor(text, place.start.saturating_sub(NEAR));
    let last = floor(text, (place.end + NEAR).min(text.len()));
    let ends = |at: usize| {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b';', ..] | [b'&', b'&', ..] | [b'|', b'|', ..] | [b'\n', b'\n', ..] => true,
            [b'\n', ..] => is_code,
            [b'.' | b'!' | b'?', b' ' | b'\n', ..] => !is_code,
            _ => false,
        }
    };
    let start = (first..place.start).rev().find(|at| ends(*at)).map_or(first, |at| at + 1);
    let end = (place.end..last).find(|at| ends(*at)).unwrap_or(last);
    start..end
}

/// The command that a place stands in, without a comment behind it: an address in a comment, in another
/// command or elsewhere in a sentence says nothing about where the command goes.
fn command_around<'a>(passage: &'a Passage, place: &Range<usize>) -> &'a str {
    let text = passage.text.text.as_str();
    if passage.kind == PassageKind::Code || passage.kind == PassageKind::Data {
        let clause = clause_range(text, place, true);
        let rest = &text[place.start..clause.end];
        let comments = [" #", "\t#", " // ", "\t// "];
        let comment = comments.iter().filter_map(|mark| rest.find(mark)).min();
        return &text[clause.start..comment.map_or(clause.end, |at| place.start + at)];
    }
    let line = line_range(text, place);
    let before = &text[line.start..place.start];
    if before.bytes().filter(|byte| *byte == b'`').count() % 2 == 1 {
        let start = before.rfind('`').map_or(line.start, |at| line.start + at);
        let end = text[place.end..line.end].find('`').map_or(line.end, |at| place.end + at);
        return &text[start..end];
    }
    &text[line]
}

/// Tells whether the line of a match is a comment of the code.
fn is_comment_line(text: &str, place: &Range<usize>) -> bool {
    let start = line_range(text, place).start;
    let before = text[start..place.start].trim_start();
    before.starts_with('#') || before.starts_with("//") || before.starts_with("REM ")
}

/// Tells whether the line of a match warns of it.
fn is_warning_line(text: &str, place: &Range<usize>) -> bool {
    let line = line_range(text, place);
    usage::warns(&text[line.start..place.start]) || usage::warns(&text[place.end..line.end])
}

/// How much a match matters.
fn judge(
    rule: &ScanRule,
    firm: bool,
    context: Context,
    passage: &Passage,
    parts: &SkillParts<'_>,
) -> Severity {
    if context == Context::Shown {
        return rule.severity.lowered(2);
    }
    let hides = passage.encodings.iter().any(|encoding| encoding.hides());
    let warned = usize::from(context == Context::Warned);
    let aside = matches!(parts.files[passage.file].role, FileRole::Reference | FileRole::Data);
    if hides && rule.severity >= Severity::Medium {
        // A document about attacks shows what they look like, encoded ones as well.
        let quoted = usize::from(aside && context == Context::Warned);
        return rule.severity.raised().lowered(warned + quoted);
    }
    // No warning excuses a firm match where the reader is told what to do; elsewhere it may be a quotation.
    let aside = usize::from(aside && (!firm || passage.warned));
    rule.severity.lowered(warned + aside)
}

/// The line of a place, or as much of it as stands near: a line may be the whole file.
fn line_range(text: &str, place: &Range<usize>) -> Range<usize> {
    let first = floor(text, place.start.saturating_sub(NEAR));
    let last = floor(text, (place.end + NEAR).min(text.len()));
    let start = text[first..place.start].rfind('\n').map_or(first, |at| first + at + 1);
    let end = text[place.end..last].find('\n').map_or(last, |at| place.end + at);
    start..end
}

fn line<'a>(text: &'a str, place: &Range<usize>) -> &'a str {
    &text[line_range(text, place)]
}

pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The evidence for a match: the lines of the file, and the text that the rule saw if that differs.
pub(crate) fn evidence(
    parts: &SkillParts<'_>,
    passage: &Passage,
    place: &Range<usize>,
) -> Evidence {
    let file = &parts.files[passage.file];
    let start = passage.text.origin(place.start);
    let end = passage.text.origin(place.end.saturating_sub(1).max(place.start)) + 1;
    let mut evidence = evidence_at(parts, passage.file, start..end.max(start + 1));
    let seen = line(&passage.text.text, place).trim();
    if !passage.encodings.is_empty() || !file.text.contains(seen) {
        evidence.decoded = Some(shortened(seen));
        evidence.encodings.clone_from(&passage.encodings);
    }
    evidence
}

/// The evidence at some bytes of a file.
pub(crate) fn evidence_at(parts: &SkillParts<'_>, file: usize, place: Range<usize>) -> Evidence {
    let file = &parts.files[file];
    // Offsets are those of the text, which has other bytes only where the file is not UTF-8.
    let bytes = file.text.as_bytes();
    let start = place.start.min(bytes.len());
    let end = place.end.clamp(start, bytes.len());
    let line = bytes[..start].split(|byte| *byte == b'\n').count();
    let end_line = line + bytes[start..end].split(|byte| *byte == b'\n').count() - 1;
    let excerpt = skillwire_core::Excerpt::of(bytes, Span::new(start, end));
    Evidence {
        file: file.path.to_owned(),
        line: (!bytes.is_empty()).then_some(line),
        end_line: (!bytes.is_empty()).then_some(end_line),
        text: around_mark(&excerpt),
        encodings: Vec::new(),
        decoded: None,
        step: None,
    }
}

/// The part of an excerpt around its mark: a line may be very long.
fn around_mark(excerpt: &skillwire_core::Excerpt) -> String {
    let text = excerpt.text();
    if text.len() <= LONGEST_TEXT {
        return text.trim().to_owned();
    }
    let start = floor(text, excerpt.marked().start.saturating_sub(80));
    shortened(text[start..].trim())
}

/// Shortens a text for a report.
pub(crate) fn shortened(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.to_owned();
    }
    format!("{}…", &text[..floor(text, LONGEST_TEXT)])
}

/// Findings as they are collected: each place once, and not too many of one rule.
#[derive(Default)]
struct Findings {
    found: Vec<ScanFinding>,
    /// The findings of a rule in a file.
    known: HashMap<(String, String), Vec<usize>>,
}

impl Findings {
    /// Tells whether another finding of a rule in a file would be listed, and counts it if not.
    fn wants(&mut self, rule: &ScanRule, severity: Severity, file: &str) -> bool {
        let key = (rule.id.clone(), file.to_owned());
        let Some(known) = self.known.get(&key).filter(|it| it.len() >= MOST_OF_ONE_RULE) else {
            return true;
        };
        let least = known.iter().copied().min_by_key(|index| self.found[*index].severity);
        let Some(least) = least.and_then(|index| self.found.get_mut(index)) else { return true };
        if severity > least.severity {
            return true;
        }
        least.repeated += 1;
        false
    }

    fn add(&mut self, rule: &ScanRule, severity: Severity, usage: Usage, evidence: Vec<Evidence>) {
        let file = evidence.first().map_or_else(String::new, |it| it.file.clone());
        let line = evidence.first().and_then(|it| it.line);
        let known = self.known.entry((rule.id.clone(), file)).or_default();
        if let Some(index) = known.iter().find(|index| self.found[**index].line() == line) {
            let same = &mut self.found[*index];
            if severity > same.severity {
                (same.severity, same.usage, same.evidence) = (severity, usage, evidence);
            }
            return;
        }
        if known.len() >= MOST_OF_ONE_RULE {
            let least = known.iter().copied().min_by_key(|index| self.found[*index].severity);
            if let Some(index) = least {
                let least = &mut self.found[index];
                least.repeated += 1;
                if severity > least.severity {
                    (least.severity, least.usage, least.evidence) = (severity, usage, evidence);
                }
            }
            return;
        }
        known.push(self.found.len());
        self.found.push(finding(rule, severity, usage, evidence));
    }

    fn finish(self) -> Vec<ScanFinding> {
        self.found
    }
}

/// A finding of a rule.
pub(crate) fn finding(
    rule: &ScanRule,
    severity: Severity,
    usage: Usage,
    evidence: Vec<Evidence>,
) -> ScanFinding {
    ScanFinding {
        rule: rule.id.clone(),
        severity,
        title: rule.title.clone(),
        usage,
        owasp: rule.owasp.clone(),
        evidence,
        repeated: 0,
    }
}
