//! Every word of the page's own that a reader sees. Words of skills, servers and providers come from
//! elsewhere.

use skillwire_core::CharClass;

use crate::model::{AnswerKind, ChangeKind, Section, Severity, SkillAct};

pub(crate) const LANGUAGE: &str = "en";
pub(crate) const SKIP: &str = "Skip to the content";
pub(crate) const NAVIGATION: &str = "Sections";
pub(crate) const SIGN_OUT: &str = "Sign out";
pub(crate) const SIGN_IN: &str = "Sign in";
pub(crate) const SIGN_IN_WITH: &str = "Sign in with";
pub(crate) const SIGN_IN_ELSEWHERE_LOST: &str =
    "This browser did not begin to sign in, or took too long. Begin again here.";
pub(crate) const TOKEN: &str = "Token";
pub(crate) const SIGNED_IN: &str = "You are signed in.";
pub(crate) const GO_ON: &str = "Open the page";
pub(crate) const NOT_SIGNED_IN: &str = "You are not signed in";
pub(crate) const WRONG_SECRET: &str =
    "This does not sign you in: it was used already, has expired, or was never valid.";
pub(crate) const STALE_FORM: &str =
    "This form belongs to another session, so nothing was done. Open the page again and repeat it.";
pub(crate) const NOT_FOUND: &str = "Not found";
pub(crate) const ALL_SKILLS: &str = "All skills";
pub(crate) const REFUSED: &str = "That is not possible";
pub(crate) const LIVE_NEWS: &str = "Something changed since you opened this page.";
pub(crate) const LIVE_SHOW: &str = "Show it";
pub(crate) const LIVE_LOST: &str =
    "The page lost its connection, so what you see may be old. It tries again by itself.";
pub(crate) const COPY: &str = "Copy";
pub(crate) const COPIED: &str = "Copied";
pub(crate) const SEARCH: &str = "Search";
pub(crate) const SEARCH_SKILLS: &str = "Search skills";
pub(crate) const SEARCH_HINT: &str = "Name, description, tag…";
pub(crate) const ANY: &str = "Any";
pub(crate) const APPLY: &str = "Apply";
pub(crate) const RESULTS: &str = "Skills";
pub(crate) const NO_SKILLS: &str = "There are no skills here yet.";
pub(crate) const NO_MATCH: &str = "No skill fits. Try fewer words or other filters.";
pub(crate) const PAGES: &str = "Pages";
pub(crate) const PREVIOUS: &str = "Previous";
pub(crate) const NEXT: &str = "Next";
pub(crate) const FIRST_PAGE: &str = "Show the first page";
pub(crate) const BEYOND_THE_END: &str = "The list ends before this page.";
pub(crate) const NOT_SCANNED: &str = "not scanned";
pub(crate) const NO_FINDINGS: &str = "no findings";
pub(crate) const NO_FINDINGS_SO_FAR: &str = "no findings in what was read";
pub(crate) const FROM: &str = "from";
pub(crate) const SIGNED_BY: &str = "signed by";

// A skill.
pub(crate) const VIEWS: &str = "Views of this skill";
pub(crate) const VIEW_TEXT: &str = "Instructions";
pub(crate) const VIEW_RAW: &str = "Raw text";
pub(crate) const VIEW_FILES: &str = "Files";
pub(crate) const VIEW_FINDINGS: &str = "Findings";
pub(crate) const VIEW_REACH: &str = "Reaches out to";
pub(crate) const VIEW_FACTS: &str = "Details";
pub(crate) const VIEW_VERSIONS: &str = "Versions";
pub(crate) const CONTENT_FRAME: &str = "Written by the skill's author. Nothing inside this frame is a button or a message of this page.";
pub(crate) const CONTENT_LABEL: &str = "Content of the skill";
pub(crate) const NOT_READ: &str =
    "This has not been read yet. Nothing is fetched from a server just to fill a page.";
pub(crate) const NOT_TEXT: &str = "This is not text.";
pub(crate) const READ_IT: &str = "Read it now";
pub(crate) const NO_BODY: &str = "It has no instructions beyond its description.";
pub(crate) const TEXT_CUT: &str = "The text goes on. The raw view shows all of it.";
pub(crate) const IMAGE_MARK: &str = "Image:";
pub(crate) const FRONTMATTER: &str = "Frontmatter";
pub(crate) const ORIGIN: &str = "Where it came from";
pub(crate) const REQUESTED_TOOLS: &str = "Tools it asks for";
pub(crate) const REQUESTED_SHORT: &str = "requested";
pub(crate) const NO_TOOLS: &str = "It asks for no tools.";
pub(crate) const TOOLS_UNKNOWN: &str =
    "Its `SKILL.md` was not read yet, so the tools it asks for are not known.";
pub(crate) const GRANTED: &str = "granted";
pub(crate) const NOT_GRANTED: &str = "not granted";
pub(crate) const TOOLS_NOTE: &str = "Loading a skill gives it none of these.";
pub(crate) const APPROVED_FOR: &str = "What the approval allows";
pub(crate) const SIGNATURE: &str = "Signature";
pub(crate) const NO_SIGNATURE_RULES: &str =
    "No rules about signers are set, so signatures are not checked.";
pub(crate) const INSTALL: &str = "Use this skill";
pub(crate) const DYNAMIC_FILES: &str =
    "Its origin does not say which files it has: they may differ each time.";
pub(crate) const NO_FILES: &str = "It has no files.";
pub(crate) const FILE: &str = "File";
pub(crate) const TYPE: &str = "Type";
pub(crate) const SIZE: &str = "Size";
pub(crate) const FILE_UNREAD: &str = "not read yet";
pub(crate) const DIGEST: &str = "SHA-256";
pub(crate) const BINARY: &str =
    "This file is neither text nor an image that is safe to draw, so it is only described.";
pub(crate) const SVG: &str = "An SVG image can hold scripts, so it is shown as text.";
pub(crate) const EARLIER_LINES: &str = "Earlier lines";
pub(crate) const LATER_LINES: &str = "Later lines";
pub(crate) const NEW_MARK: &str = "new";
pub(crate) const MENTIONED: &str = "only mentioned";
pub(crate) const DECODED: &str = "decodes to";
pub(crate) const SCAN_CLEAN: &str = "The scanner found nothing in what was read. That is no promise: instructions in plain prose are for you to judge.";
pub(crate) const SCAN_NONE: &str =
    "Nothing was scanned: no file was read yet, or this build has no scanner.";
pub(crate) const UNSEEN: &str = "What the scanner did not look at";
pub(crate) const REACH_NONE: &str =
    "It names no host, package, program, variable or path outside itself in what was read.";
pub(crate) const NEWEST: &str = "shown";
pub(crate) const COMPARE: &str = "Compare";

// A difference.
pub(crate) const WHAT_CHANGED: &str = "What changed";
pub(crate) const DIFF_LAYOUT: &str = "Layout of the comparison";
pub(crate) const SPLIT: &str = "Side by side";
pub(crate) const UNIFIED: &str = "One column";
pub(crate) const NOTHING_CHANGED: &str = "The two versions have the same files and frontmatter.";
pub(crate) const NEWLY_CONTACTS: &str = "Newly reaches out to";
pub(crate) const NO_LONGER: &str = "No longer reaches out to";
pub(crate) const NEW_FINDINGS: &str = "New findings";
pub(crate) const CHANGED_FIELDS: &str = "Frontmatter";
pub(crate) const CHANGED_FILES: &str = "Files";
pub(crate) const FIELD: &str = "Field";
pub(crate) const BEFORE: &str = "Before";
pub(crate) const AFTER: &str = "Now";
pub(crate) const ABSENT: &str = "(absent)";
pub(crate) const LINES_NOT_TEXT: &str = "Not text; only size and digest can be compared.";
pub(crate) const LINES_TOO_LARGE: &str = "Too large to be compared line by line.";
pub(crate) const LINES_NOT_READ: &str = "The new version has not been read yet.";
pub(crate) const LINES_NOT_KEPT: &str =
    "The old version is no longer on this machine, so lines cannot be compared.";
pub(crate) const LINES_LEFT_OUT: &str = "Show the lines of this file";
pub(crate) const SAME_LINES: &str =
    "The lines are the same; only their ends or the order of bytes differ.";

// Reviewing.
pub(crate) const QUEUE_EMPTY: &str = "Nothing waits for you. A skill appears here when a server lists it for the first time, or changes it after you approved it.";
pub(crate) const DECIDE: &str = "Decide";
pub(crate) const SELECT: &str = "Select";
pub(crate) const SELECT_ALL: &str = "Select all on this page";
/// The number takes the place of `{}`.
pub(crate) const SELECTED: &str = "{} selected";
pub(crate) const WITH_SELECTED: &str = "With the selected skills";
pub(crate) const REVIEW_SELECTED: &str = "Approve selected…";
pub(crate) const BATCH_TITLE: &str = "Check before you decide";
pub(crate) const BATCH_MOVED: &str =
    "This changed since you selected it. It is left out; look at it again.";
pub(crate) const BATCH_NONE: &str = "No skill is selected.";
pub(crate) const BATCH_GRANTS: &str = "Loading alone is allowed: no tools, and no scripts.";
pub(crate) const CANCEL: &str = "Back, without deciding";
pub(crate) const REASON: &str = "Reason (optional, kept in the log)";
pub(crate) const GRANTS: &str = "Grants beside loading";
pub(crate) const GRANTS_NOTE: &str =
    "None is needed to load the skill. Grant only what you would give its author.";
pub(crate) const GRANT_RUN: &str =
    "Run its scripts in isolation, without network, variables or files of yours";
pub(crate) const DECISION: &str = "Your decision";
pub(crate) const SKIP_SKILL: &str = "Decide later";
pub(crate) const BACK_TO_QUEUE: &str = "Back to the queue";
pub(crate) const DECIDED_NOW: &str = "Decided just now";
pub(crate) const UNDO: &str = "Undo";
pub(crate) const UNDO_NOTE: &str = "You can undo these until you leave the review.";
pub(crate) const NO_UNDO: &str = "Nothing was undone: the review was left meanwhile, perhaps in another tab. The decision stands, and you can decide again.";
pub(crate) const KEYS: &str = "Keys";
pub(crate) const KEYS_OFF: &str = "Switch keys off";
pub(crate) const KEYS_ON: &str = "Switch keys on";
pub(crate) const KEYS_ARE_OFF: &str = "Keys are off in this browser.";
pub(crate) const UNREAD_CAUTION: &str = "You have not read all of its files.";
pub(crate) const MOVED: &str = "Nothing was recorded: the skill is not what you were shown.";

// Tables.
pub(crate) const ACTS: &str = "Actions";
pub(crate) const EXPORT: &str = "Export";
pub(crate) const NO_ROWS: &str = "Nothing fits.";
pub(crate) const PRESENT: &str = "found on this machine";
pub(crate) const CONNECTED: &str = "connected";
pub(crate) const PUT_INTO: &str = "Put this into";
pub(crate) const CONNECT_ALL: &str = "Let the program do it for every client on this machine:";
pub(crate) const CONNECT_ONE: &str = "Or write the entry of a client yourself:";

/// The name of a section.
pub(crate) fn section(section: Section) -> &'static str {
    match section {
        Section::Catalogue => "Skills",
        Section::Review => "Review",
        Section::Approvals => "Approvals",
        Section::Context => "In context",
        Section::Runs => "Runs",
        Section::Audit => "Log",
        Section::Servers => "Servers",
        Section::Namespaces => "Namespaces",
        Section::Tokens => "Tokens",
        Section::Connect => "Connect",
        Section::Settings => "Settings",
    }
}

/// The words of an answer, as a button.
pub(crate) fn answer(answer: AnswerKind) -> &'static str {
    match answer {
        AnswerKind::Always => "Allow until it changes",
        AnswerKind::Once => "Allow once",
        AnswerKind::No => "Decline",
        AnswerKind::Approve => "Approve",
        AnswerKind::Reject => "Reject",
    }
}

/// The words of an answer that several selected skills get.
pub(crate) fn refuse_selected(answer: AnswerKind) -> &'static str {
    match answer {
        AnswerKind::Reject => "Reject selected…",
        _ => "Decline selected…",
    }
}

/// The words of an answer that was given.
pub(crate) fn answered(answer: AnswerKind) -> &'static str {
    match answer {
        AnswerKind::Always => "allowed until it changes",
        AnswerKind::Once => "allowed once",
        AnswerKind::No => "declined",
        AnswerKind::Approve => "approved",
        AnswerKind::Reject => "rejected",
    }
}

/// The key of an answer.
pub(crate) fn key(answer: AnswerKind) -> &'static str {
    match answer {
        AnswerKind::Always | AnswerKind::Approve => "a",
        AnswerKind::Once => "o",
        AnswerKind::No | AnswerKind::Reject => "d",
    }
}

/// The keys of the review.
pub(crate) const KEY_HELP: [(&str, &str); 8] = [
    ("a", "allow until it changes, or approve"),
    ("o", "allow once"),
    ("d", "decline, or reject"),
    ("j", "next skill"),
    ("k", "back to the queue"),
    ("x", "select, in the queue"),
    ("u", "undo the last decision"),
    ("/", "search"),
];

/// The words of an act.
pub(crate) fn act(act: SkillAct) -> &'static str {
    match act {
        SkillAct::ReadFiles => "Read all files",
        SkillAct::Refresh => "Ask the server again",
        SkillAct::Revoke => "Withdraw the approval",
        SkillAct::Disable => "Switch off",
        SkillAct::Enable => "Switch on",
    }
}

/// How a file differs.
pub(crate) fn change(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

/// A number of things.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(count)) }
}

/// A number with its digits in groups.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in bytes.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// How many skills fit.
pub(crate) fn found(total: usize, all: usize) -> String {
    if total == all {
        counted(all, "skill")
    } else {
        format!("{} of {}", grouped(total), counted(all, "skill"))
    }
}

/// Which page of how many.
pub(crate) fn page_of(page: usize, pages: usize) -> String {
    format!("Page {} of {}", grouped(page + 1), grouped(pages))
}

/// How many wait.
pub(crate) fn waiting(count: usize) -> String {
    format!("{} waiting", grouped(count))
}

/// The files that were not read.
pub(crate) fn unread(files: usize, bytes: u64) -> String {
    format!("{} not read yet ({})", counted(files, "file"), size(bytes))
}

/// How many characters of a line are not shown.
pub(crate) fn more_characters(count: usize) -> String {
    format!(" … {} more characters", grouped(count))
}

/// Which lines of a file are shown.
pub(crate) fn lines_of(first: usize, last: usize, all: usize) -> String {
    format!("Lines {} to {} of {}", grouped(first), grouped(last), grouped(all))
}

/// How many more places a finding has.
pub(crate) fn more_places(count: usize) -> String {
    format!("and {} of the same kind in this file", counted(count, "more place"))
}

/// How many more things a skill reaches out to.
pub(crate) fn more_reach(count: usize) -> String {
    format!("and {} more", grouped(count))
}

/// How often the reader was asked.
pub(crate) fn asked_before(times: usize) -> String {
    format!("You were asked about this skill {} before.", counted(times, "time"))
}

/// How many findings of a severity.
pub(crate) fn findings(count: usize, severity: Severity) -> String {
    format!("{} {}", grouped(count), severity.word())
}

/// What a kind of thing is called that a skill reaches out to.
pub(crate) fn reach_kind(kind: &str) -> &'static str {
    match kind {
        "host" => "Hosts",
        "url" => "Addresses",
        "package" => "Packages",
        "command" => "Programs",
        "variable" => "Variables",
        _ => "Paths",
    }
}

/// Titles of a comparison.
pub(crate) fn compared(before: &str, after: &str) -> String {
    format!("From {before} to {after}.")
}

/// A question before several decisions.
pub(crate) fn batch_question(answer: AnswerKind, count: usize) -> String {
    let skills = counted(count, "skill");
    match answer {
        AnswerKind::No => format!("Decline {skills}"),
        AnswerKind::Approve => format!("Approve {skills}"),
        AnswerKind::Reject => format!("Reject {skills}"),
        AnswerKind::Always | AnswerKind::Once => format!("Allow {skills} until they change"),
    }
}

/// What became of several decisions.
pub(crate) fn batch_done(done: usize, left_out: usize) -> String {
    let done = counted(done, "decision");
    match left_out {
        0 => format!("Recorded {done}."),
        left_out => format!(
            "Recorded {done}; {} left out because they changed or were refused.",
            grouped(left_out)
        ),
    }
}

/// The page of a title.
pub(crate) fn title(view: &str, site: &str) -> String {
    format!("{view} · {site}")
}

/// What hidden characters are called.
pub(crate) fn hidden_characters(class: CharClass, count: usize) -> String {
    let thing = match class {
        CharClass::TerminalEscape => "terminal escape",
        CharClass::Control => "control character",
        CharClass::Bidirectional => "bidirectional control",
        CharClass::Tag => "tag character",
        CharClass::VariationSelector => "variation selector",
        CharClass::LineSeparator => "line separator",
        CharClass::Joiner => "joiner",
        CharClass::Noncharacter => "noncharacter",
        CharClass::Invisible => "invisible character",
    };
    counted(count, thing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_are_easy_to_read() {
        assert_eq!(grouped(100_000), "100,000");
        assert_eq!(
            (counted(1, "file"), counted(1_234, "file")),
            ("1 file".into(), "1,234 files".into())
        );
        assert_eq!(
            (size(999), size(1_250), size(2_500_000)),
            ("999 B".into(), "1.2 KB".into(), "2.5 MB".into())
        );
    }
}
