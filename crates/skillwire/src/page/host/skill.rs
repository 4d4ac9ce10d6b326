//! One skill, its files, and what changed in it.

use std::collections::BTreeSet;

use bytes::Bytes;
use skillwire_core::{Resources, SKILL_FILE, SkillResource, media_type};
use skillwire_page::{
    FileComparer, Filled, PageProblem,
    model::{
        ChangeKind, DiffView, FactRow, FileChange, FileContent, FileLines, FileRow, FileView,
        Image, SkillAct, SkillText, SkillView, Tone,
    },
    text_of,
};
use skillwire_trust::{
    DecisionCheck, Dialect, KnownSkill, ListedSkill, Origin, SignatureCheck, Standing,
    requested_tools,
};

use super::{HostPage, catalogue::StandingWord, key_of, lock, refused};
use crate::{
    page::{
        listing::{field_change, field_text},
        scanned::SkillEvidence,
        texts,
    },
    refusals::argument,
    session::card,
};

/// Texts that are larger are shown from their beginning.
const MAX_TEXT_BYTES: usize = 64 << 20;

impl HostPage {
    pub(super) async fn skill_view(&self, skill: &KnownSkill) -> Filled<SkillView> {
        let Ok(listed) = skill.certain() else { return self.unread_view(skill) };
        let standing = self.host.standing(listed).map_err(|refusal| refused(&refusal))?;
        let evidence = self.evidence(listed, &standing).await;
        Ok(self.listed_view(listed, &standing, evidence))
    }

    /// A skill that an older server only mentions, or contradicts itself about.
    fn unread_view(&self, skill: &KnownSkill) -> Filled<SkillView> {
        let standing = self.host.standing_of_known(skill).map_err(|refusal| refused(&refusal))?;
        let state = StandingWord::of(&standing).state();
        let mut view = SkillView::new(key_of(skill.id()), skill.name().as_str(), state);
        self.describe(&mut view, skill);
        view.acts = vec![SkillAct::Refresh];
        Ok(view)
    }

    /// Fills in what a listing says.
    fn describe(&self, view: &mut SkillView, skill: &KnownSkill) {
        let entry = skill.entry();
        let id = skill.id();
        entry.frontmatter.description().clone_into(&mut view.description);
        view.origin = card::origin(&id.origin);
        view.frontmatter = entry
            .frontmatter
            .fields()
            .iter()
            .map(|(name, field)| FactRow::words(name, field_text(field)))
            .collect();
        view.facts.push(FactRow::words(texts::ORIGIN, card::origin(&id.origin)));
        view.facts.push(FactRow::code(texts::URI, id.uri.as_str()));
        if let Some(directory) = self.host.directory_of(id) {
            view.facts.push(FactRow::code(texts::FOLDER, directory.display().to_string()));
        }
        if let Origin::Server(label) = &id.origin {
            if let Some(config) = self.configured.servers.get(label) {
                view.facts.push(FactRow::code(texts::SERVER, config.to_string()));
            }
            if skill.dialect() != Dialect::V1 {
                let dialect = skill.dialect();
                let how = format!("{}, {}", dialect.code(), dialect.title());
                view.facts.push(FactRow::words(texts::DIALECT, how));
            }
        }
        if let Some(content) = skill.content() {
            view.facts.push(FactRow::code(texts::FINGERPRINT, content.fingerprint().to_string()));
            if let Ok(id) = content.content_id() {
                view.facts.push(FactRow::code(texts::CONTENT, id.to_string()));
            }
        }
        if let Some(handle) = self.known().handle(id) {
            let line = texts::load_line(&argument(handle));
            view.facts.push(FactRow::code(texts::COMMAND_LINE, line));
        }
    }

    pub(super) fn listed_view(
        &self,
        listed: &ListedSkill,
        standing: &Standing,
        evidence: SkillEvidence,
    ) -> SkillView {
        let id = listed.id();
        let entry = listed.entry();
        let word = StandingWord::of(standing);
        let mut state = word.state();
        if let (StandingWord::Approved, Some(channel)) = (word, self.host.decided_through(id)) {
            state = state.detail(channel.words());
        }
        let mut view = SkillView::new(key_of(id), entry.frontmatter.name().as_str(), state);
        self.describe(&mut view, &listed.clone().into());
        view.facts.push(FactRow::words(texts::COMPARED_WITH, integrity_words(listed)));
        view.facts.extend(decision_facts(&self.host.known_decision(listed)));
        let granted = match standing {
            Standing::Approved(grants) => {
                view.grants.push(grants.sentence());
                view.grants.extend(grants.run_lines());
                grants.tools.clone()
            }
            _ => BTreeSet::new(),
        };
        let tools = requested_tools(&entry.frontmatter).into_iter();
        let with_grant = |tool: String| (tool.clone(), granted.contains(&tool));
        view.tools = Some(tools.map(with_grant).collect());
        view.files = self.file_rows(listed);
        view.text = self.text(listed);
        view.signature = Some(signature_words(&self.host.known_signature(listed)));
        view.evidence = evidence.view;
        let of_server = id.origin.server().is_some();
        view.has_diff = matches!(standing, Standing::Changed(_));
        view.can_review = of_server && !matches!(standing, Standing::Disabled);
        if view.unread().0 > 0 {
            view.acts.push(SkillAct::ReadFiles);
        }
        if of_server {
            view.acts.push(SkillAct::Refresh);
        }
        match standing {
            Standing::Disabled => view.acts.push(SkillAct::Enable),
            Standing::Approved(_) if of_server => {
                view.acts.extend([SkillAct::Revoke, SkillAct::Disable]);
            }
            _ => view.acts.push(SkillAct::Disable),
        }
        view
    }

    /// The files of a skill; `None` if its origin does not say.
    fn file_rows(&self, listed: &ListedSkill) -> Option<Vec<FileRow>> {
        let mut rows = Vec::new();
        if let Resources::Listed(files) = &listed.entry().resources {
            rows.extend(files.iter().map(|file| self.file_row(listed, file)));
        } else if listed.offer().is_none() {
            return None;
        }
        for (path, size) in listed.other_files().unwrap_or_default() {
            if !rows.iter().any(|row| row.path == path.as_str()) {
                let media_type = media_type::of(path.as_str(), b"").to_owned();
                let path = path.to_string();
                rows.push(FileRow { path, size, media_type, is_read: false });
            }
        }
        rows.sort_by(|a, b| (a.path != SKILL_FILE, &a.path).cmp(&(b.path != SKILL_FILE, &b.path)));
        Some(rows)
    }

    fn file_row(&self, listed: &ListedSkill, file: &SkillResource) -> FileRow {
        let path = plain_path(listed, file);
        let bytes = self.bytes_of(listed, file);
        let media_type = media_type::of(&path, bytes.as_deref().unwrap_or_default()).to_owned();
        FileRow { path, size: Some(file.size), media_type, is_read: bytes.is_some() }
    }

    /// Returns the bytes of a file that are on this machine, listed or not.
    pub(super) fn read_bytes(&self, listed: &ListedSkill, path: &str) -> Option<Bytes> {
        if let Resources::Listed(files) = &listed.entry().resources
            && let Some(file) = files.iter().find(|file| plain_path(listed, file) == path)
        {
            return self.bytes_of(listed, file);
        }
        let id = listed.id();
        let kept = lock(&self.inspected);
        let mut of_skill = kept.iter().filter(|((skill, _), _)| skill == id);
        let found = of_skill
            .find(|((_, uri), _)| id.uri.below(uri).is_some_and(|below| below.as_str() == path));
        found.map(|(_, bytes)| bytes.clone())
    }

    fn text(&self, listed: &ListedSkill) -> SkillText {
        match self.read_bytes(listed, SKILL_FILE) {
            None => SkillText::NotRead,
            Some(bytes) => match text_of(&bytes) {
                Some(text) => SkillText::Read(text.to_owned()),
                None => SkillText::NotText,
            },
        }
    }

    pub(super) fn file_view(&self, listed: &ListedSkill, path: &str) -> Filled<FileView> {
        let rows = self.file_rows(listed).unwrap_or_default();
        let bytes = self.read_bytes(listed, path);
        let known = rows.into_iter().find(|row| row.path == path);
        let file = match (known, &bytes) {
            (Some(row), _) => row,
            (None, Some(bytes)) => FileRow {
                path: path.to_owned(),
                size: Some(bytes.len() as u64),
                media_type: media_type::of(path, bytes).to_owned(),
                is_read: true,
            },
            (None, None) => return Err(PageProblem::NotFound),
        };
        let digest = match &listed.entry().resources {
            Resources::Listed(files) => {
                let found = files.iter().find(|file| plain_path(listed, file) == path);
                found.map(|file| file.digest.hex())
            }
            Resources::Dynamic => None,
        };
        let content = match &bytes {
            None => FileContent::NotRead,
            Some(bytes) => match text_of(bytes) {
                Some(text) => {
                    FileContent::Text(text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned())
                }
                None if Image::of(bytes).is_some() => FileContent::Image,
                None => FileContent::Other,
            },
        };
        let skill = listed.entry().frontmatter.name().to_string();
        Ok(FileView { key: key_of(listed.id()), skill, file, digest, content })
    }

    /// What changed since the user's approval; with a path, the lines of that file alone.
    pub(super) async fn diff_view(
        &self,
        listed: &ListedSkill,
        path: Option<&str>,
    ) -> Filled<Option<DiffView>> {
        let standing = self.host.standing(listed).map_err(|refusal| refused(&refusal))?;
        let evidence = self.evidence(listed, &standing).await;
        Ok(self.diff_of(listed, &standing, &evidence, path))
    }

    pub(super) fn diff_of(
        &self,
        listed: &ListedSkill,
        standing: &Standing,
        evidence: &SkillEvidence,
        path: Option<&str>,
    ) -> Option<DiffView> {
        let Standing::Changed(changes) = standing else { return None };
        let mut comparer = FileComparer::default();
        let sides = changes
            .added
            .iter()
            .map(|file| (None, Some(file)))
            .chain(changes.removed.iter().map(|file| (Some(file), None)))
            .chain(changes.changed.iter().map(|(before, after)| (Some(before), Some(after))));
        let mut sides: Vec<_> = sides
            .filter_map(|(before, after)| {
                Some((plain_path(listed, after.or(before)?), before, after))
            })
            .filter(|(file, _, _)| path.is_none_or(|path| path == file))
            .collect();
        sides.sort_by(|(a, ..), (b, ..)| (*a != SKILL_FILE, a).cmp(&(*b != SKILL_FILE, b)));
        let mut unread = 0;
        let mut files = Vec::new();
        for (path, before, after) in sides {
            let old = before.map(|file| self.bytes_of(listed, file));
            let new = after.map(|file| self.bytes_of(listed, file));
            let lines = match (&old, &new) {
                (_, Some(None)) => {
                    unread += 1;
                    FileLines::NotRead
                }
                (Some(None), _) => FileLines::NotKept,
                (old, new) => {
                    let bytes =
                        |side: &Option<Option<Bytes>>| side.clone().flatten().unwrap_or_default();
                    comparer.compare(&bytes(old), &bytes(new))
                }
            };
            let kind = match (before, after) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
                _ => ChangeKind::Changed,
            };
            let size = |file: Option<&SkillResource>| file.map(|file| file.size);
            files.push(FileChange { path, kind, before: size(before), after: size(after), lines });
        }
        let fields = changes.frontmatter.iter().map(field_change);
        Some(DiffView {
            key: key_of(listed.id()),
            name: listed.entry().frontmatter.name().to_string(),
            before: texts::APPROVED_BEFORE.to_owned(),
            after: texts::LISTED_NOW.to_owned(),
            fields: fields.collect(),
            files,
            reach_added: evidence.reach_added.clone(),
            reach_removed: evidence.reach_removed.clone(),
            findings: evidence.new_findings.clone(),
            unread,
        })
    }
}

/// The path of a file in its skill, as its author wrote it.
pub(super) fn plain_path(listed: &ListedSkill, file: &SkillResource) -> String {
    let below = listed.id().uri.below(&file.uri);
    below.map_or_else(|| file.uri.to_string(), |path| path.to_string())
}

fn integrity_words(listed: &ListedSkill) -> &'static str {
    if listed.integrity().is_dynamic() {
        texts::NO_DIGESTS
    } else if listed.integrity().is_first_seen() {
        texts::FIRST_READ
    } else {
        texts::ALL_DIGESTS
    }
}

/// What is known about the signed decision that the server of a skill carries. Only what a trusted key
/// signed is shown as more than a claim.
fn decision_facts(decision: &DecisionCheck) -> Vec<FactRow> {
    let decision = match decision {
        DecisionCheck::NotAsked => return Vec::new(),
        DecisionCheck::None => {
            return vec![FactRow::words(texts::SIGNED_DECISION, texts::NO_DECISION)];
        }
        DecisionCheck::Refused(problem) => {
            let words = texts::decision_refused(problem);
            return vec![FactRow::words(texts::SIGNED_DECISION, words)];
        }
        DecisionCheck::Decided(decision) => decision,
    };
    let time = |time| humantime::format_rfc3339_seconds(time).to_string();
    let end = decision.voucher.until.map_or_else(|| texts::NEVER.to_owned(), time);
    let mut facts = vec![
        FactRow::words(texts::SIGNED_DECISION, &*decision.policy),
        FactRow::code(texts::DECIDED_BY, &*decision.voucher.signer),
        FactRow::words(texts::DECIDED, time(decision.decided_at)),
        FactRow::words(texts::DECISION_ENDS, end),
    ];
    let signed = decision.provenance.iter();
    facts.extend(signed.map(|(word, value)| FactRow::code(texts::signed_fact(word), value)));
    facts
}

/// What is known about a signature, as sentences.
fn signature_words(signature: &SignatureCheck) -> Vec<(Tone, String)> {
    match signature {
        SignatureCheck::NotAsked => Vec::new(),
        SignatureCheck::Unsigned => vec![(Tone::Warning, texts::NOT_SIGNED.to_owned())],
        SignatureCheck::NotRead => vec![(Tone::Plain, texts::SIGNATURE_NOT_READ.to_owned())],
        SignatureCheck::Refused(problem) => {
            vec![(Tone::Bad, texts::signature_refused(problem))]
        }
        SignatureCheck::Vouched(vouchers) => vouchers
            .iter()
            .map(|voucher| (Tone::Good, texts::vouched(&voucher.name, &voucher.signer)))
            .collect(),
    }
}
