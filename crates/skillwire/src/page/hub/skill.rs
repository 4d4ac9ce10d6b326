//! One version or offer: its text, files, facts and evidence, and how it differs from another.

use skillwire_core::{Frontmatter, SKILL_FILE, frontmatter_differences, media_type};
use skillwire_hub::{Caller, Provenance, VersionRecord};
use skillwire_hub_server::{SignedDecision, changed_files};
use skillwire_page::{
    FileComparer, Filled, MAX_COMPARED_BYTES, PageProblem,
    model::{
        ChangeKind, DiffView, FactRow, FieldChange, FileChange, FileContent, FileLines, FileRow,
        FileView, Image, SkillText, SkillView, Tone, VersionRow,
    },
    text_of,
};

use super::{
    HubPage, problem,
    shown::{ShownContent, version_key, version_state},
};
use crate::page::{
    listing::{description, field_change, field_rows, tools_of},
    scanned::SkillEvidence,
    texts,
};

/// The most bytes of one content that are scanned to show it.
#[cfg(feature = "scan")]
const MAX_SCANNED_BYTES: u64 = 32 << 20;

impl HubPage {
    pub(super) async fn skill_view(
        &self,
        caller: &Caller,
        shown: &ShownContent,
    ) -> Filled<SkillView> {
        let evidence = self.evidence(shown, None).await;
        self.filled_view(caller, shown, evidence).await
    }

    pub(super) async fn filled_view(
        &self,
        caller: &Caller,
        shown: &ShownContent,
        evidence: SkillEvidence,
    ) -> Filled<SkillView> {
        let fields = shown.fields();
        let mut view = SkillView::new(shown.key(), shown.name(), shown.state(self));
        view.description = description(&fields);
        view.origin = shown.origin();
        view.frontmatter = field_rows(&fields);
        view.tools = tools_of(fields);
        view.files = Some(shown.files().iter().map(file_row).collect());
        view.text = match self.bytes_at(caller, shown, SKILL_FILE).await {
            Ok(bytes) => match text_of(&bytes) {
                Some(text) => SkillText::Read(text.to_owned()),
                None => SkillText::NotText,
            },
            Err(problem) => SkillText::Failed(problem.to_string()),
        };
        view.evidence = evidence.view;
        view.has_diff = self.earlier(caller, shown).await?.is_some();
        view.can_review = shown.is_waiting(self) && self.may_decide(caller, shown).await?;
        match shown {
            ShownContent::Version(record) => {
                view.facts = vec![
                    FactRow::code(texts::SKILL, record.skill.to_string()),
                    FactRow::code(texts::VERSION, record.version.to_string()),
                    FactRow::code(texts::CONTENT, record.content.to_string()),
                    FactRow::words(texts::PUBLISHED, record.published_at.to_string()),
                    FactRow::words(texts::BY, record.publisher.to_string()),
                ];
                view.facts.extend(provenance(&record.provenance));
                view.signature = Some(self.signed_words(record));
                let all = self.readers().versions(caller, &record.skill).await.map_err(problem)?;
                view.versions = all
                    .iter()
                    .map(|other| VersionRow {
                        key: version_key(other),
                        number: other.version.to_string(),
                        state: version_state(other.state),
                        at: other.published_at.to_string(),
                        by: other.publisher.to_string(),
                        is_shown: other.version == record.version,
                    })
                    .collect();
            }
            ShownContent::Offer(offer) => {
                view.facts = vec![
                    FactRow::code(texts::UPSTREAM, offer.skill.upstream.to_string()),
                    FactRow::code(texts::URI, offer.skill.uri.to_string()),
                    FactRow::code(texts::CONTENT, offer.content.to_string()),
                    FactRow::words(texts::FIRST_SEEN_AT, offer.seen_at.to_string()),
                ];
                if let Some(decision) = &offer.decision {
                    let words = format!("{} by {}: {}", decision.at, decision.by, decision.reason);
                    view.facts.push(FactRow::words(texts::LAST_DECISION, words));
                }
                let signers = offer.facts.signers.iter();
                let signed: Vec<_> =
                    signers.map(|signer| (Tone::Good, texts::signed_by(signer))).collect();
                view.signature = Some(signed).filter(|signed| !signed.is_empty());
            }
        }
        Ok(view)
    }

    /// What the hub signs about a version, as sentences.
    fn signed_words(&self, record: &VersionRecord) -> Vec<(Tone, String)> {
        let Some(SignedDecision { decision, keys, .. }) = self.readers().signed_decision(record)
        else {
            let why =
                if self.readers().signs() { texts::HUB_NOT_SIGNED } else { texts::HUB_HAS_NO_KEY };
            return vec![(Tone::Plain, why.to_owned())];
        };
        let until = humantime::format_rfc3339_seconds(decision.expires);
        let (policy, keys) = (decision.policy.replace('`', ""), keys.join(", "));
        vec![
            (Tone::Good, texts::HUB_SIGNED.to_owned()),
            (Tone::Plain, texts::hub_decision(&policy, &until.to_string(), &keys)),
        ]
    }

    pub(super) async fn file_view(
        &self,
        caller: &Caller,
        shown: &ShownContent,
        path: &str,
    ) -> Filled<FileView> {
        let file = shown.files().iter().find(|file| file.path.as_str() == path);
        let file = file.ok_or(PageProblem::NotFound)?;
        let content = match self.bytes_at(caller, shown, path).await {
            Err(problem) => FileContent::Failed(problem.to_string()),
            Ok(bytes) => match text_of(&bytes) {
                Some(text) => FileContent::Text(text.to_owned()),
                None if Image::of(&bytes).is_some() => FileContent::Image,
                None => FileContent::Other,
            },
        };
        Ok(FileView {
            key: shown.key(),
            skill: shown.name(),
            file: file_row(file),
            digest: Some(file.digest.hex()),
            content,
        })
    }

    /// What a scan finds, and what of it an earlier content did not have.
    #[cfg_attr(
        not(feature = "scan"),
        expect(
            clippy::unused_async,
            reason = "only a build with the scanner has work to wait for"
        )
    )]
    pub(super) async fn evidence(
        &self,
        shown: &ShownContent,
        before: Option<&ShownContent>,
    ) -> SkillEvidence {
        #[cfg(feature = "scan")]
        {
            let (now, is_whole) = self.scannable(shown).await;
            let before = match before {
                Some(before) => Some(self.scannable(before).await.0),
                None => None,
            };
            let work = move || crate::page::scanned::compare(&now, before.as_ref());
            let evidence = tokio::task::spawn_blocking(work).await.unwrap_or_default();
            if is_whole {
                self.scans().keep(shown.content(), &evidence.view);
            }
            evidence
        }
        #[cfg(not(feature = "scan"))]
        {
            let _ = (shown, before);
            SkillEvidence::default()
        }
    }

    /// The files of a content, and whether all of them were read.
    #[cfg(feature = "scan")]
    async fn scannable(&self, shown: &ShownContent) -> (skillwire_scan::SkillFiles, bool) {
        let mut files = skillwire_scan::SkillFiles::new();
        let mut is_whole = true;
        let mut room = MAX_SCANNED_BYTES;
        for file in shown.files() {
            let fits = room.checked_sub(file.size);
            let bytes = match fits {
                Some(left) => {
                    room = left;
                    self.bytes(shown, file).await.ok()
                }
                None => None,
            };
            if let Some(bytes) = bytes {
                files.add(file.path.to_string(), bytes);
            } else {
                is_whole = false;
                let reason = skillwire_scan::UnseenReason::NotFetched;
                files.add_unread(file.path.to_string(), Some(file.size), reason);
            }
        }
        (files, is_whole)
    }

    pub(super) async fn diff_view(
        &self,
        before: &ShownContent,
        after: &ShownContent,
        path: Option<&str>,
    ) -> Filled<DiffView> {
        let evidence = self.evidence(after, Some(before)).await;
        self.diff_with(before, after, &evidence, path).await
    }

    pub(super) async fn diff_with(
        &self,
        before: &ShownContent,
        after: &ShownContent,
        evidence: &SkillEvidence,
        path: Option<&str>,
    ) -> Filled<DiffView> {
        let mut changed = changed_files(before.files(), after.files());
        changed.retain(|file| path.is_none_or(|path| path == file.path.as_str()));
        changed.sort_by_key(|file| (file.path.as_str() != SKILL_FILE, file.path.clone()));
        let mut comparer = FileComparer::default();
        let mut files = Vec::new();
        for file in changed {
            let size = file.old.into_iter().chain(file.new).map(|side| side.size).max();
            let lines = if size.is_some_and(|size| size > MAX_COMPARED_BYTES) {
                FileLines::TooLarge
            } else {
                let old = match file.old {
                    Some(old) => self.bytes(before, old).await?,
                    None => bytes::Bytes::new(),
                };
                let new = match file.new {
                    Some(new) => self.bytes(after, new).await?,
                    None => bytes::Bytes::new(),
                };
                comparer.compare(&old, &new)
            };
            let kind = match (file.old, file.new) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
                _ => ChangeKind::Changed,
            };
            files.push(FileChange {
                path: file.path.to_string(),
                kind,
                before: file.old.map(|side| side.size),
                after: file.new.map(|side| side.size),
                lines,
            });
        }
        Ok(DiffView {
            key: after.key(),
            name: after.name(),
            before: before.edition(),
            after: after.edition(),
            fields: field_changes(before, after),
            files,
            reach_added: evidence.reach_added.clone(),
            reach_removed: evidence.reach_removed.clone(),
            findings: evidence.new_findings.clone(),
            unread: 0,
        })
    }
}

fn file_row(file: &skillwire_hub::VersionFile) -> FileRow {
    FileRow {
        path: file.path.to_string(),
        size: Some(file.size),
        media_type: media_type::of(file.path.file_name(), b"").to_owned(),
        is_read: true,
    }
}

fn field_changes(before: &ShownContent, after: &ShownContent) -> Vec<FieldChange> {
    let parsed = |shown: &ShownContent| Frontmatter::from_fields(shown.fields()).ok();
    let (Some(before), Some(after)) = (parsed(before), parsed(after)) else { return Vec::new() };
    let differing = frontmatter_differences(&before, &after).into_iter();
    differing.map(|field| field_change(&field)).collect()
}

fn provenance(provenance: &Provenance) -> Vec<FactRow> {
    let named = [
        (texts::HOW, &provenance.method),
        (texts::SOURCE, &provenance.source),
        (texts::REVISION, &provenance.revision),
        (texts::WORKFLOW, &provenance.workflow),
    ];
    let known = named.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    known.map(|(name, value)| FactRow::code(name, value)).collect()
}
