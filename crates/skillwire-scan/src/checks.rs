//! Checks that texts and patterns cannot express. Their words are in the files of rules, too.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use crate::{
    Encoding, Evidence, RuleSet, ScanReport, SkillFiles, UnseenReason, Usage, archive,
    file_kind::FileKind,
    loops,
    matching::{evidence, evidence_at, finding, shortened},
    pattern::Pattern,
    scanner::{ScannedFile, SkillParts},
    text::{
        fold::{HiddenKind, look_alike},
        passage::{FileRole, PassageKind},
    },
};

/// How many empty lines push text out of a reader's sight.
const MANY_BLANKS: usize = 200;

/// The most misleading links of one file that are reported.
const MOST_LINKS: usize = 3;

/// How many spaces in a line do.
const MANY_SPACES: usize = 400;

/// How many characters without width, one after the other, spell something: two letters in bits.
const ZERO_WIDTH_BITS: usize = 16;

/// Code that runs something else.
static RUNS: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r"(?i)\b(?:eval|exec|execSync|system|popen|Popen|spawn|__import__|require|iex)\s*\(|",
        r"\b(?:curl|wget|base64|nc|powershell)\b|\|\s*(?:ba|z)?sh\b"
    ))
});

/// Adds the findings of all checks; the report has the ledger already.
pub(crate) fn apply(
    parts: &SkillParts<'_>,
    skill: &SkillFiles,
    rules: &RuleSet,
    report: &mut ScanReport,
) {
    let mut checks = Checks { parts, rules, report };
    for index in 0..parts.files.len() {
        checks.hidden_characters(index);
        checks.links(index);
        checks.bytes(index);
        checks.blanks(index);
    }
    checks.endless_loops();
    checks.byte_code_without_source(skill);
    checks.names();
    checks.packages();
}

struct Checks<'a, 'b> {
    parts: &'a SkillParts<'a>,
    rules: &'a RuleSet,
    report: &'b mut ScanReport,
}

impl Checks<'_, '_> {
    /// Reports a finding of a built-in rule, at its own severity.
    fn report(&mut self, id: &str, evidence: Vec<Evidence>) {
        let Some(rule) = self.rules.rule(id) else { return };
        self.report.findings.push(finding(rule, rule.severity, Usage::Used, evidence));
    }

    fn at(&self, file: usize, place: Range<usize>) -> Evidence {
        evidence_at(self.parts, file, place)
    }

    /// Characters that no reader sees.
    fn hidden_characters(&mut self, index: usize) {
        let file = &self.parts.files[index];
        let of = |kind: HiddenKind| file.hidden.iter().filter(move |run| run.kind == kind);
        let spelt = |kind: HiddenKind, encoding: Encoding| {
            of(kind).find(|run| run.spells.trim().len() >= 4).map(|run| {
                let mut evidence = self.at(index, run.at..run.at + 1);
                evidence.encodings = vec![encoding];
                evidence.decoded = Some(shortened(&run.spells));
                evidence
            })
        };
        let tags = spelt(HiddenKind::Tag, Encoding::TagCharacters);
        let selectors = spelt(HiddenKind::Selector, Encoding::VariationSelectors);
        // Words that are divided by characters without width, often or at length, are not a slip.
        let zero_width: Vec<_> = of(HiddenKind::ZeroWidth).collect();
        let long = zero_width.iter().filter(|run| run.count >= 3).count();
        let dividing = zero_width.iter().filter(|run| run.inside_word).count();
        let first_zero = zero_width.first().map(|run| self.at(index, run.at..run.at + 1));
        let bidirectional = of(HiddenKind::Bidirectional)
            .next()
            .filter(|_| file.role != FileRole::Data && !has_right_to_left(&file.text))
            .map(|run| self.at(index, run.at..run.at + 1));
        for evidence in tags.into_iter().chain(selectors) {
            self.report("hidden/invisible-text", vec![evidence]);
        }
        let spells_bits = zero_width.iter().any(|run| run.count >= ZERO_WIDTH_BITS);
        if long >= 3 || dividing >= 5 || spells_bits {
            self.report("hidden/zero-width-text", first_zero.into_iter().collect());
        } else if !zero_width.is_empty() {
            self.report("hidden/zero-width-characters", first_zero.into_iter().collect());
        }
        if let Some(evidence) = bidirectional {
            self.report("hidden/reordered-text", vec![evidence]);
        }
    }

    /// Loops of scripts that never end.
    fn endless_loops(&mut self) {
        for (passage, tree) in self.parts.passages.iter().zip(&self.parts.trees) {
            let Some(language) = passage.language.filter(|_| passage.kind == PassageKind::Script)
            else {
                continue;
            };
            let text = &passage.text.text;
            if !loops::may_be_in(language, text) {
                continue;
            }
            let parsed = tree.of(language, text);
            let found = parsed.tree.as_ref().map(|tree| loops::endless(text, tree));
            let (found, complete) = found.unwrap_or((None, true));
            let cut = (!complete).then_some(UnseenReason::NotParsed);
            if let Some(reason) = parsed.unparsed.or(cut) {
                let file = &self.parts.files[passage.file];
                self.report.coverage.miss(file.path, Some(file.bytes.len() as u64), reason);
            }
            if let Some(place) = found {
                let evidence = evidence(self.parts, passage, &place);
                self.report("weakness/endless-loop", vec![evidence]);
            }
        }
    }

    /// Links whose text names another host than their target.
    fn links(&mut self, index: usize) {
        let mut found: Vec<Evidence> = Vec::new();
        for link in &self.parts.files[index].links {
            if found.len() == MOST_LINKS {
                break;
            }
            let shown = link.text.trim_matches(|c| matches!(c, '`' | '*' | '_' | '<' | '>'));
            let (Some(shown), Some(target)) = (host(shown), host(&link.target)) else { continue };
            let belongs = shown == target
                || target.ends_with(&format!(".{shown}"))
                || shown.ends_with(&format!(".{target}"));
            if !belongs {
                found.push(self.at(index, link.at..link.at + 1));
            }
        }
        for evidence in found {
            self.report("hidden/link-elsewhere", vec![evidence]);
        }
    }

    /// Files whose bytes are not what their name says, or that cannot be read.
    fn bytes(&mut self, index: usize) {
        let file = &self.parts.files[index];
        let kind = file.kind;
        let whole = vec![Evidence {
            file: file.path.to_owned(),
            line: None,
            end_line: None,
            text: format!("{} bytes", file.bytes.len()),
            encodings: Vec::new(),
            decoded: None,
            step: None,
        }];
        let end = file.path.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
        let end = end.unwrap_or_default();
        let says_image =
            matches!(end.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp" | "ico" | "svg");
        let says_text =
            matches!(end.as_str(), "md" | "txt" | "json" | "yaml" | "yml" | "csv" | "toml");
        match kind {
            FileKind::Compiled if says_image || says_text => {
                self.report("obfuscation/disguised-program", whole);
            }
            FileKind::Compiled if end != "pyc" && end != "wasm" => {
                self.report("obfuscation/compiled-program", whole);
            }
            FileKind::Archive if archive::needs_password(file.bytes) => {
                self.report("obfuscation/encrypted-archive", whole);
            }
            FileKind::Archive if says_image || says_text => {
                self.report("obfuscation/disguised-archive", whole);
            }
            FileKind::Text
                if says_image && end != "svg" && !file.bytes.is_empty() && is_script(file) =>
            {
                self.report("obfuscation/disguised-program", whole);
            }
            _ => {}
        }
    }

    /// Empty space that pushes text out of sight.
    fn blanks(&mut self, index: usize) {
        let file = &self.parts.files[index];
        if !matches!(file.role, FileRole::Instructions | FileRole::Reference | FileRole::Script) {
            return;
        }
        let mut blank = 0;
        let mut at = 0;
        let mut place = None;
        for line in file.text.split_inclusive('\n') {
            let shown = line.trim();
            if shown.is_empty() {
                blank += 1;
            } else {
                let indent = line.len() - line.trim_start().len();
                if blank >= MANY_BLANKS || indent >= MANY_SPACES || inner_gap(shown) {
                    place = Some(at + indent..at + indent + shown.len());
                    break;
                }
                blank = 0;
            }
            at += line.len();
        }
        if let Some(place) = place {
            let runs = file.role == FileRole::Script && RUNS.is_match(&file.text[place.clone()]);
            let rule = if runs { "hidden/code-out-of-sight" } else { "hidden/pushed-out-of-sight" };
            let evidence = self.at(index, place);
            self.report(rule, vec![evidence]);
        }
    }

    /// Python's byte code without the source that it was made from.
    fn byte_code_without_source(&mut self, skill: &SkillFiles) {
        let sources: HashSet<_> = skill.files.iter().map(|file| file.path.as_str()).collect();
        let mut found = Vec::new();
        for file in &skill.files {
            let Some(path) = file.path.strip_suffix(".pyc") else { continue };
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let stem = name.split('.').next().unwrap_or(name);
            let above = folder.strip_suffix("__pycache__").unwrap_or(folder).trim_end_matches('/');
            let source =
                if above.is_empty() { format!("{stem}.py") } else { format!("{above}/{stem}.py") };
            if !sources.contains(source.as_str()) {
                found.push(Evidence {
                    file: file.path.clone(),
                    line: None,
                    end_line: None,
                    text: format!("there is no `{source}`"),
                    encodings: Vec::new(),
                    decoded: None,
                    step: None,
                });
            }
        }
        for evidence in found {
            self.report("obfuscation/byte-code-without-source", vec![evidence]);
        }
    }

    /// The skill's name against names that others imitate.
    fn names(&mut self) {
        let is_skill_file = |path: &str| path.eq_ignore_ascii_case("SKILL.md");
        let Some((index, file)) =
            self.parts.files.iter().enumerate().find(|(_, file)| is_skill_file(file.path))
        else {
            return;
        };
        let Some(at) = file.text.find("\nname:") else { return };
        let line = file.text[at + 6..].lines().next().unwrap_or_default();
        let name = line.trim().trim_matches(|c| matches!(c, '"' | '\'')).to_owned();
        let place = at + 1..at + 6 + line.len();
        if let Some(known) = imitated(&name, &self.rules.names.skills) {
            let mut evidence = self.at(index, place);
            evidence.step = Some(format!("looks like `{known}`"));
            self.report("names/look-alike-skill", vec![evidence]);
        }
    }

    /// Packages that are installed, against names that others imitate.
    fn packages(&mut self) {
        let mut found = Vec::new();
        for entry in self.report.ledger.entries(crate::LedgerKind::Package) {
            let name = entry.value.split_once(':').map_or(entry.value.as_str(), |(_, name)| name);
            if let Some(known) = imitated(name, &self.rules.names.packages) {
                found.push(Evidence {
                    file: entry.file.clone(),
                    line: Some(entry.line),
                    end_line: Some(entry.line),
                    text: entry.value.clone(),
                    encodings: Vec::new(),
                    decoded: None,
                    step: Some(format!("looks like `{known}`")),
                });
            }
        }
        for evidence in found.into_iter().take(5) {
            self.report("supply-chain/look-alike-package", vec![evidence]);
        }
    }
}

fn is_script(file: &ScannedFile<'_>) -> bool {
    file.text.starts_with("#!") || file.text.contains("import ") || file.text.contains("function ")
}

/// A gap inside a line that pushes the rest of it out of sight.
fn inner_gap(line: &str) -> bool {
    line.len() > MANY_SPACES && {
        let mut spaces = 0;
        line.bytes().any(|byte| {
            spaces = if byte == b' ' { spaces + 1 } else { 0 };
            spaces >= MANY_SPACES
        })
    }
}

fn has_right_to_left(text: &str) -> bool {
    text.chars().any(|c| matches!(u32::from(c), 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfeff))
}

/// The host of a text that is an address.
fn host(text: &str) -> Option<String> {
    let (scheme, rest) = text.trim().split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let host = rest.split(['/', '?', '#', ':', ' ']).next()?;
    let host = host.rsplit('@').next()?.to_ascii_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    (host.contains('.') && !host.contains(['<', '{', '$', '['])).then(|| host.to_owned())
}

/// The known name that a name imitates: one edit away, or the same to a reader's eye.
fn imitated<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let shape = |name: &str| -> String {
        let mut out = String::new();
        for c in name.chars() {
            let c = look_alike(c).unwrap_or(c);
            out.push(match c {
                '0' => 'o',
                '1' | 'I' | '|' => 'l',
                '5' => 's',
                '_' | '.' => '-',
                c => c.to_ascii_lowercase(),
            });
        }
        out
    };
    if known.iter().any(|known| known == name) {
        return None;
    }
    let shaped = shape(name);
    let length = name.chars().count();
    known.iter().map(String::as_str).find(|known| {
        if known.chars().count().abs_diff(length) > 1 {
            return false;
        }
        let same = shaped == shape(known);
        // Short names are near many others.
        same || (known.len() >= 6 && one_edit(name, known))
    })
}

/// Tells whether two names differ by one letter that was added, left out, replaced or swapped with
/// the next. Digits at the end and plurals are how honest names differ.
fn one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |from_a: usize, from_b: usize| a.get(same + from_a..) == b.get(same + from_b..);
    match a.len().abs_diff(b.len()) {
        0 if same == a.len() => false,
        0 => {
            let swapped = a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same);
            let letter = |name: &[char]| name.get(same).is_some_and(char::is_ascii_alphabetic);
            (rest(1, 1) && letter(&a) && letter(&b)) || (swapped && rest(2, 2))
        }
        1 => {
            let longer = if a.len() > b.len() { &a } else { &b };
            let plural = same + 1 == longer.len()
                && longer.last().is_some_and(|c| *c == 's' || c.is_ascii_digit());
            let dash = longer.get(same) == Some(&'-');
            !plural && !dash && (rest(1, 0) || rest(0, 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_found() {
        let known = ["requests".to_owned(), "react-devtools".to_owned()];
        for imitation in ["reqeusts", "request5", "requessts", "react-devtooIs", "rеquests"] {
            assert!(imitated(imitation, &known).is_some(), "{imitation}");
        }
        for honest in ["requests", "request", "react-devtools2", "grequests-async"] {
            assert!(imitated(honest, &known).is_none(), "{honest}");
        }
    }
}
