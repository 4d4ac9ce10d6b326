//! Turns a skill into what the view shows of it.

use skillwire_core::{Resources, SKILL_FILE, SkillUri};
use skillwire_host::Inspected;
use skillwire_terminal::{
    StyledLine, Tone, from_ansi,
    review::{FileRow, FileText, Message, SkillNumber, WaitingKind, WaitingSkill},
};
use skillwire_trust::{ApprovalCard, Refusal, requested_tools};

use super::super::approve::comparison;
use super::{Done, HeldSkill, held};
use crate::{
    output::byte_size,
    refusals::RefusalText,
    session::{
        Session, card, preview,
        scanned::{self, ScannedFiles},
    },
};

/// Makes the line of a skill in the list: what is known without looking into records and caches.
pub(super) fn row(number: SkillNumber, held: &HeldSkill, kind: WaitingKind) -> WaitingSkill {
    let entry = held.known.entry();
    let server = held.known.id().origin.label().to_owned();
    WaitingSkill {
        number,
        handle: held.handle.clone(),
        server,
        kind,
        description: skillwire_core::visible::one_line(entry.frontmatter.description()),
        size: if held.listed.is_some() { card::size(entry) } else { "not read".to_owned() },
        tools: requested_tools(&entry.frontmatter),
        findings: 0,
        files: files(held),
        can_last: held.listed.as_ref().is_none_or(|listed| !listed.integrity().is_dynamic()),
        is_unread: held.listed.is_none(),
        evidence: Vec::new(),
        changes: Vec::new(),
        is_compared: true,
        texts: std::collections::BTreeMap::new(),
    }
}

/// Makes the whole view of a skill, and holds the review whose card it shows.
pub(super) fn skill(session: &Session, number: SkillNumber, held: &mut HeldSkill) -> WaitingSkill {
    let standing = session.host().standing_of_known(&held.known);
    let kind = standing.map_or(WaitingKind::New, |standing| held::kind(&held.known, &standing));
    let mut shown = row(number, held, kind);
    let Some(listed) = &held.listed else {
        shown.evidence = unread_evidence(held);
        return shown;
    };
    match session.host().review(listed) {
        Ok(review) => {
            let card = review.card();
            let scanned = scanned::look(session, card);
            shown.findings = scanned.findings().count();
            shown.evidence = evidence(&held.handle, card, &scanned);
            shown.changes = changes(card, &listed.id().uri);
            let changed = card.changes.as_ref().map_or(0, |changes| changes.changed.len());
            shown.is_compared = changed == 0 || !held.diff.is_empty();
            shown.changes.extend(held.diff.iter().cloned());
            held.review = Some(review);
        }
        Err(refusal) => shown.evidence = refused(&refusal),
    }
    shown
}

fn files(held: &HeldSkill) -> Vec<FileRow> {
    let Some(listed) = &held.listed else { return Vec::new() };
    let uri = &held.known.id().uri;
    let mut rows = match &listed.entry().resources {
        Resources::Listed(files) => files
            .iter()
            .map(|file| FileRow { path: card::path(uri, file), size: byte_size(file.size) })
            .collect(),
        Resources::Dynamic => vec![FileRow { path: SKILL_FILE.to_owned(), size: String::new() }],
    };
    for (path, size) in listed.other_files().unwrap_or_default() {
        if rows.iter().all(|row| row.path != path.as_str()) {
            let size = size.map_or_else(String::new, byte_size);
            rows.push(FileRow { path: path.to_string(), size });
        }
    }
    rows
}

/// What the card of `approve` says, and what the scanner found in files that were read.
fn evidence(handle: &str, card: &ApprovalCard, scanned: &ScannedFiles) -> Vec<StyledLine> {
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = card::write(&mut text, handle, card);
    let _ = scanned.write(&mut text, handle);
    from_ansi(&String::from_utf8_lossy(&text))
}

fn unread_evidence(held: &HeldSkill) -> Vec<StyledLine> {
    let dialect = held.known.dialect();
    let words = format!(
        "Its server speaks {} ({}), which lists a name and a description and nothing to decide about. \
         r reads its SKILL.md.",
        dialect.code(),
        dialect.title()
    );
    vec![StyledLine::new(held.known.id().to_string(), Tone::Faint), StyledLine::plain(words)]
}

fn changes(card: &ApprovalCard, uri: &SkillUri) -> Vec<StyledLine> {
    let Some(changes) = &card.changes else { return Vec::new() };
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = card::changes(&mut text, uri, changes);
    from_ansi(&String::from_utf8_lossy(&text))
}

/// Reads a file because the user asked for it.
pub(super) async fn read(
    session: &Session,
    number: SkillNumber,
    held: HeldSkill,
    path: &str,
) -> Vec<Done> {
    let mut held = match with_entry(session, held).await {
        Ok(held) => held,
        Err(refusal) => return vec![failed(number, path, &refusal)],
    };
    let Some(listed) = &held.listed else { return Vec::new() };
    session.host().read_signature(listed).await;
    let text = match session.host().inspect(listed, path).await {
        Ok(inspected) => FileText::Read(text(&inspected)),
        Err(refusal) => return vec![failed(number, path, &refusal)],
    };
    let view = skill(session, number, &mut held);
    vec![
        Done::Held(number, Box::new(held)),
        Done::Tell(Message::Updated(Box::new(view))),
        Done::Tell(Message::FileRead(number, path.to_owned(), text)),
    ]
}

/// Compares the changed files of a skill with what was approved, line by line.
pub(super) async fn compare(
    session: &Session,
    number: SkillNumber,
    mut held: HeldSkill,
) -> Vec<Done> {
    let Some(listed) = &held.listed else { return Vec::new() };
    let review = match session.host().review(listed) {
        Ok(review) => review,
        Err(refusal) => return vec![Done::Tell(Message::Notice(super::worded(&refusal)))],
    };
    let mut diff = vec![StyledLine::default()];
    for (before, after) in review.card().changes.iter().flat_map(|changes| &changes.changed) {
        let host = session.host();
        let compared = host.compare_versions(listed, before, after, comparison::MAX_BYTES).await;
        let path = card::path(&listed.id().uri, after);
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = comparison::write(&mut text, &path, &compared);
        diff.extend(from_ansi(&String::from_utf8_lossy(&text)));
    }
    held.diff = diff;
    let view = skill(session, number, &mut held);
    vec![Done::Held(number, Box::new(held)), Done::Tell(Message::Updated(Box::new(view)))]
}

/// Asks the server of an older dialect for the skill, if its entry is not known.
async fn with_entry(session: &Session, held: HeldSkill) -> Result<HeldSkill, Refusal> {
    if held.listed.is_some() {
        return Ok(held);
    }
    let listed = session.host().refresh(&held.known).await?;
    Ok(held.with_entry(listed))
}

fn failed(number: SkillNumber, path: &str, refusal: &Refusal) -> Done {
    let text = FileText::Failed(refused(refusal));
    Done::Tell(Message::FileRead(number, path.to_owned(), text))
}

fn refused(refusal: &Refusal) -> Vec<StyledLine> {
    from_ansi(&RefusalText(refusal).to_string())
}

/// The text of a file: Markdown as it reads, everything else as it is written.
fn text(file: &Inspected) -> Vec<StyledLine> {
    let mut notes = Vec::new();
    // Writing into memory does not fail.
    let _ = preview::notes(&mut notes, file);
    let mut lines = from_ansi(&String::from_utf8_lossy(&notes));
    lines.push(StyledLine::default());
    lines.extend(preview::lines(file));
    lines
}
