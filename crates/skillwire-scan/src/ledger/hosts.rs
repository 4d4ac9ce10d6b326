//! The hosts that addresses and commands name, as the files have them.
//!
//! Rules look at folded text, in which a letter of another script is the ASCII letter that it looks like.
//! A host must not be folded: `\u{430}pi.github.com` with a Cyrillic letter is another machine.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use crate::{
    language::Language,
    pattern::Pattern,
    scanner::SkillParts,
    text::{
        fold::look_alike,
        mapped::MappedText,
        passage::{Passage, PassageKind},
    },
};

/// The most bytes between two letters of a host that folding may have dropped.
const LONGEST_GAP: usize = 64;

/// How much of a line before a command is looked at.
const LONGEST_LINE: usize = 600;

/// A part of a passage with the letters that the file has.
pub(super) fn as_written<'a>(
    parts: &'a SkillParts<'_>,
    passage: &'a Passage,
    place: Range<usize>,
) -> Cow<'a, str> {
    let folded = &passage.text.text[place.clone()];
    let (source, map): (&str, &MappedText) = match &passage.unfolded {
        Some(unfolded) => (&unfolded.source, &unfolded.text),
        None if passage.encodings.is_empty() => (&parts.files[passage.file].text, &passage.text),
        None => return Cow::Borrowed(folded),
    };
    if source.is_ascii() {
        return Cow::Borrowed(folded);
    }
    let mut out = String::with_capacity(folded.len());
    let mut last: Option<Range<usize>> = None;
    for (offset, letter) in folded.char_indices() {
        let at = map.letter(place.start + offset);
        let written = source.get(at..).and_then(|rest| rest.chars().next()).unwrap_or(letter);
        // An ASCII letter is never folded: where another one stands, the text was put there.
        if written != letter && written.is_ascii() {
            out.push(letter);
            last = None;
            continue;
        }
        if last.as_ref().is_some_and(|last| last.start == at) && !written.is_ascii() {
            continue;
        }
        if let Some(last) = &last
            && (last.end..last.end + LONGEST_GAP).contains(&at)
        {
            let dropped = source.get(last.end..at).unwrap_or_default();
            out.extend(dropped.chars().filter(|c| !c.is_ascii()));
        }
        out.push(written);
        last = Some(at..at + written.len_utf8());
    }
    Cow::Owned(out)
}

/// An address in which no letter can be taken for another one: what is not ASCII in the host is escaped, and
/// behind it what looks like ASCII or like nothing.
pub(super) fn escaped_url(url: &str) -> String {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    let misleads = |c: char| !c.is_ascii() && (!c.is_alphanumeric() || look_alike(c).is_some());
    format!("{}{}", escaped(&url[..end], |c| !c.is_ascii()), escaped(&url[end..], misleads))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_escaped(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// The host of an address; none if it is a placeholder.
pub(super) fn of_url(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let is_named = !host.is_empty() && !host.contains(['$', '{', '<', '*', '%']);
    is_named.then(|| escaped(&host.to_ascii_lowercase(), |c| !c.is_ascii()))
}

static CONNECTING: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::fixed(concat!(
        r"(?m)(?:^|[\s;|&(`/])(curl|wget|nc|ncat|netcat|telnet|ssh|scp|sftp|rsync|ftp)[ \t]+([^\n;|&`)]*)|",
        r"/dev/(?:tcp|udp)/([\w.-]+)/"
    ))
});

/// The hosts that commands connect to, where they are not in an address with a scheme; each with its place.
pub(super) fn of_commands(parts: &SkillParts<'_>, passage: &Passage) -> Vec<(String, usize)> {
    let text = passage.text.text.as_str();
    let mut found = Vec::new();
    for groups in CONNECTING.groups_iter(text) {
        let group = |index: usize| groups.get(index).cloned().flatten();
        if let Some(host) = group(3) {
            found.push(host);
        } else if let (Some(tool), Some(rest)) = (group(1), group(2))
            && is_command(passage, text, tool.start)
        {
            found.extend(named(&text[tool], text, rest));
        }
    }
    let written = |place: Range<usize>| {
        let at = place.start;
        let host = as_written(parts, passage, place).to_ascii_lowercase();
        (escaped(&host, |c| !c.is_ascii()), at)
    };
    found.into_iter().map(written).collect()
}

/// Tells whether a word is where a shell's command is: in code of a shell, or between backticks of a sentence.
fn is_command(passage: &Passage, text: &str, at: usize) -> bool {
    match passage.kind {
        _ if !passage.encodings.is_empty() => true,
        PassageKind::Code => matches!(passage.language, None | Some(Language::Shell)),
        PassageKind::Script => passage.language == Some(Language::Shell),
        PassageKind::Prose | PassageKind::Comment | PassageKind::Frontmatter => {
            let near =
                text.as_bytes()[at.saturating_sub(LONGEST_LINE)..at].rsplit(|it| *it == b'\n');
            let line = near.into_iter().next().unwrap_or_default();
            line.split(|byte| *byte == b'`').count() % 2 == 0
        }
        PassageKind::Data => false,
    }
}

/// Options of the programs that have a value as the next word.
const WITH_VALUE: [&str; 34] = [
    "-o",
    "-O",
    "-d",
    "-H",
    "-X",
    "-F",
    "-u",
    "-A",
    "-T",
    "-b",
    "-c",
    "-e",
    "-i",
    "-p",
    "-P",
    "-l",
    "-L",
    "-R",
    "-D",
    "-J",
    "-w",
    "-m",
    "-K",
    "-E",
    "-q",
    "-U",
    "--data",
    "--header",
    "--output",
    "--request",
    "--user",
    "--form",
    "--cert",
    "--key",
];

/// The hosts among the words behind a program.
fn named(tool: &str, text: &str, rest: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in text[rest.clone()].split_whitespace() {
        if word.starts_with('#') {
            break;
        }
        if word.ends_with(['<', '>']) {
            is_value = true;
            continue;
        }
        if std::mem::take(&mut is_value) && !(tool == "curl" && word.contains("://")) {
            continue;
        }
        if word.starts_with('-') {
            // `wget` writes what it gets to a file with `-O`; `curl -O` has no value.
            is_value = WITH_VALUE.contains(&word) && !(tool == "curl" && word == "-O");
            continue;
        }
        let bare = word.trim_matches(['"', '\'']);
        let after_user = bare.rsplit_once('@').map_or(bare, |(_, host)| host);
        let copies = matches!(tool, "scp" | "rsync");
        let Some(host) = after_user.split([':', '/']).next() else { continue };
        let is_remote = !copies || after_user[host.len()..].starts_with(':');
        if word.contains("://") || !is_remote || !is_host(host) {
            continue;
        }
        let at = host.as_ptr().addr() - text.as_ptr().addr();
        found.push(at..at + host.len());
        if !matches!(tool, "curl" | "wget" | "scp" | "rsync") {
            // What follows is a port, or a command for the other machine.
            break;
        }
    }
    found
}

/// Tells whether a word can be a name with a domain, or an address of four numbers.
fn is_host(word: &str) -> bool {
    let labels: Vec<_> = word.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty()
            && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-' || it >= 0x80)
    };
    let number = |label: &&str| label.parse::<u8>().is_ok();
    let last = labels.last().copied().unwrap_or_default();
    labels.len() >= 2
        && labels.iter().all(is_label)
        && ((labels.len() == 4 && labels.iter().all(number))
            || (last.len() >= 2 && last.bytes().all(|it| it.is_ascii_alphabetic() || it >= 0x80)))
}
