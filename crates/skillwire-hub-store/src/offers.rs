//! What upstreams offer, and what reviewers decided about it.
//!
//! The order of writes is that of a publication: blobs with their rows first, then one transaction with the
//! offer, its audit entry and its event. A crash leaves at most blobs that nothing names.

use std::collections::{BTreeMap, BTreeSet};

use skillwire_core::{ContentId, SkillUri};
use skillwire_hub::{
    Action, AuditAction, Caller, ContentFacts, Cursor, Decision, HubChange, NamespaceName,
    NewAuditEntry, OfferChange, OfferState, Page, PageRequest, Refusal, ReviewRules, RuleOutcome,
    Subject, Timestamp, Upstream, UpstreamSkill, UpstreamSkillId, Verdict, VersionFile,
};

use crate::{
    blobs,
    decisions::{decision_columns, decision_of, insert_decision},
    error::StoreError,
    hub_subject,
    lifecycle::check_reason,
    namespaces::load_required,
    publish::{UploadedFile, bounded, distinct_blobs, identify, require_blobs},
    records::{files_from_json, files_to_json, time_of},
    sql::{Row, Tx, Value, args, with_rows},
    store::{HubStore, ROWS_PER_STATEMENT, WriteTx, from_json, number, to_json},
    upstreams::require_upstream,
};

/// The longest entry, in bytes.
const MAX_ENTRY_BYTES: usize = 1 << 20;

/// The longest facts about a content, in bytes.
const MAX_FACTS_BYTES: usize = 256 << 10;

/// The most skills that one event names.
const SKILLS_PER_EVENT: usize = 200;

/// The most decisions about one skill that are looked at; older ones are about content of long ago.
const MAX_DECISIONS: i64 = 1_000;

/// A content that an upstream offers, with its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewOffer {
    /// The upstream's own URI of the skill.
    pub uri: SkillUri,
    /// Its files.
    pub files: Vec<UploadedFile>,
    /// The entry, as the upstream wrote it.
    pub entry: String,
    /// What inspecting the files showed.
    pub facts: ContentFacts,
}

impl NewOffer {
    /// An offer of some files.
    pub fn new(uri: SkillUri, files: Vec<UploadedFile>, entry: String) -> Self {
        Self { uri, files, entry, facts: ContentFacts::default() }
    }

    /// Says what inspecting the files showed.
    #[must_use]
    pub fn with_facts(mut self, facts: ContentFacts) -> Self {
        self.facts = facts;
        self
    }
}

/// A content of an upstream's skill that the hub keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferRecord {
    /// Its number, by which reviewers name it.
    pub id: u64,
    /// The skill.
    pub skill: UpstreamSkillId,
    /// The identity of its files.
    pub content: ContentId,
    /// Whether the upstream offers exactly this content now.
    pub offered: bool,
    /// When the hub first saw it.
    pub seen_at: Timestamp,
    /// The entry, as the upstream wrote it.
    pub entry: String,
    /// Its files, in order of their paths.
    pub files: Vec<VersionFile>,
    /// The bytes of its files together.
    pub size: u64,
    /// What inspecting it showed.
    pub facts: ContentFacts,
    /// The last decision about this content of this skill, whether it still holds or not.
    pub decision: Option<Decision>,
    /// Whether the content was revoked everywhere.
    pub revoked: bool,
}

impl OfferRecord {
    /// Where the content stands at a moment.
    pub fn state(&self, now: Timestamp) -> OfferState {
        match self.decision.as_ref().filter(|decision| decision.holds(now)) {
            _ if self.revoked => OfferState::Rejected,
            None => OfferState::Waiting,
            Some(decision) if decision.verdict == Verdict::Approve => OfferState::Approved,
            Some(_) => OfferState::Rejected,
        }
    }
}

/// The content of a skill that was approved last, besides the offer with the number `except`.
pub fn last_approved<'a>(
    offers: &'a [OfferRecord],
    skill: &UpstreamSkillId,
    except: Option<u64>,
    now: Timestamp,
) -> Option<&'a OfferRecord> {
    let others = offers.iter().filter(|it| it.skill == *skill && Some(it.id) != except);
    let approved = others.filter(|it| it.state(now) == OfferState::Approved);
    approved.max_by_key(|it| it.decision.as_ref().map(|decision| decision.at))
}

/// What rules of an upstream say about each content that waits and is offered, the oldest first.
pub fn try_rules<'a>(
    rules: &ReviewRules,
    offers: &'a [OfferRecord],
    now: Timestamp,
) -> Vec<(&'a OfferRecord, RuleOutcome)> {
    // Decisions of people are never replaced by a rule, not even those that ended.
    let waits = |it: &&OfferRecord| it.offered && it.decision.is_none() && !it.revoked;
    let trial = |offer: &'a OfferRecord| {
        let before = last_approved(offers, &offer.skill, Some(offer.id), now);
        (offer, rules.decide(&offer.facts, before.map(|before| &before.facts)))
    };
    let mut tried: Vec<_> = offers.iter().filter(waits).map(trial).collect();
    tried.sort_by_key(|(offer, _)| offer.id);
    tried
}

/// The reason of a decision that rules took.
fn reason_of_rules(because: &[&str]) -> String {
    format!("rules of the upstream: {}", because.join(", "))
}

/// What a reviewer decides about an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfferDecision {
    /// What was decided.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// The content that the reviewer saw; an offer of other content is not decided.
    pub seen: Option<ContentId>,
    /// When an approval ends.
    pub until: Option<Timestamp>,
    /// Codes of the findings that were open.
    pub open_findings: Vec<String>,
}

impl OfferDecision {
    /// A decision with its reason.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { verdict, reason, seen: None, until: None, open_findings: Vec::new() }
    }

    /// Says which content the reviewer saw.
    #[must_use]
    pub fn with_seen(mut self, content: Option<ContentId>) -> Self {
        self.seen = content;
        self
    }

    /// Says when an approval ends.
    #[must_use]
    pub fn with_until(mut self, until: Option<Timestamp>) -> Self {
        self.until = until;
        self
    }

    /// Says which findings were open.
    #[must_use]
    pub fn with_open_findings(mut self, codes: Vec<String>) -> Self {
        self.open_findings = codes;
        self
    }
}

/// The columns that [`offer_of`] reads, of `offers o` with its last decision `d`.
macro_rules! select_offers {
    ($rest:literal) => {
        concat!(
            "SELECT o.id, o.upstream, o.uri, o.content, o.offered, o.seen_at, o.entry, o.files, o.size,
                o.facts, (SELECT count(*) FROM revoked_content r WHERE r.content = o.content),
                d.id, d.content, d.place, d.verdict, d.decided_by, d.at, d.reason, d.until_at,
                d.findings
                FROM offers o LEFT JOIN decisions d ON d.id = (SELECT max(l.id) FROM decisions l
                    WHERE l.content = o.content AND l.place = o.upstream || ':' || o.uri) ",
            $rest
        )
    };
}

/// Where the columns of the decision begin.
const DECISION: usize = 11;

impl HubStore {
    /// Compares a listing of an upstream with what the hub knows. Returns the skills whose content the hub
    /// has to fetch, because it does not keep it.
    ///
    /// Skills that a complete listing leaves out are no longer offered, and neither is content in whose place
    /// the upstream lists other content, even while the hub cannot fetch that.
    #[tracing::instrument(skip_all, fields(%label, skills = listed.len()))]
    pub async fn compare_listing(
        &self,
        label: &NamespaceName,
        listed: &BTreeMap<SkillUri, ContentId>,
        is_complete: bool,
    ) -> Result<BTreeSet<SkillUri>, StoreError> {
        let known = self.offer_heads(label).await?;
        let mut missing = BTreeSet::new();
        let mut changed = Vec::new();
        for (uri, content) in listed {
            match known.get(uri) {
                Some(skill) if skill.offered == Some(*content) => {}
                Some(skill) if skill.kept.contains(content) => changed.push(uri.clone()),
                known => {
                    if known.is_some_and(|skill| skill.offered.is_some()) {
                        changed.push(uri.clone());
                    }
                    missing.insert(uri.clone());
                }
            }
        }
        let gone = known.iter().filter(|(uri, skill)| {
            is_complete && skill.offered.is_some() && !listed.contains_key(uri)
        });
        let gone: Vec<SkillUri> = gone.map(|(uri, _)| uri.clone()).collect();
        if changed.is_empty() && gone.is_empty() {
            return Ok(missing);
        }
        let hub = hub_subject()?;
        let mut tx = self.begin_write(&hub).await?;
        let result = async {
            require_upstream(tx.tx(), label).await?;
            for uri in changed.iter().chain(&gone) {
                let id = UpstreamSkillId::new(label.clone(), uri.clone());
                let skill = load_upstream_skill(tx.tx(), &id).await?;
                let steps = match listed.get(uri) {
                    Some(content) if skill.kept.contains(content) => skill.offer(*content),
                    // It has to be fetched first.
                    Some(_) | None => skill.withdraw(),
                };
                apply_changes(&mut tx, &id, &steps, None).await?;
            }
            announce_offers(&mut tx, label, changed.iter().chain(&gone)).await
        }
        .await;
        tx.finish(result).await?;
        Ok(missing)
    }

    /// Keeps contents that an upstream offers, which the hub has fetched.
    #[tracing::instrument(skip_all, fields(%label, offers = offers.len()))]
    pub async fn keep_offers(
        &self,
        label: &NamespaceName,
        offers: Vec<NewOffer>,
    ) -> Result<Vec<(SkillUri, ContentId)>, StoreError> {
        let checked = blobs::blocking(move || {
            offers.into_iter().map(CheckedOffer::new).collect::<Result<Vec<_>, Refusal>>()
        })
        .await??;
        let hub = hub_subject()?;
        let mut attempts = 0;
        loop {
            let all =
                checked.iter().flat_map(|offer| distinct_blobs(&offer.offer.files, &offer.files));
            self.keep_blobs(&hub, all.collect()).await?;
            let mut tx = self.begin_write(&hub).await?;
            let result = commit_offers(&mut tx, label, &checked).await;
            match tx.finish(result).await {
                // A purge erased the same bytes in between.
                Err(StoreError::BlobMissing { .. }) if attempts < 3 => attempts += 1,
                Err(error) => return Err(error),
                Ok(()) => {
                    let ids = checked.into_iter().map(|offer| (offer.offer.uri, offer.content));
                    return Ok(ids.collect());
                }
            }
        }
    }

    /// Takes a decision about an offer.
    #[tracing::instrument(skip_all, fields(offer))]
    pub async fn decide_offer(
        &self,
        caller: &Caller,
        offer: u64,
        decision: OfferDecision,
    ) -> Result<OfferRecord, StoreError> {
        check_reason(&decision.reason)?;
        if let Some(at) = decision.until.filter(|until| *until <= self.now()) {
            return Err(Refusal::InThePast { what: "approval", at }.into());
        }
        let mut tx = self.begin_write(&caller.subject).await?;
        let result = async {
            let record = require_offer(tx.tx(), caller, offer).await?;
            commit_decision(&mut tx, &caller.subject, &record, decision).await?;
            let after = load_offer(tx.tx(), offer).await?;
            Ok(after.unwrap_or(record))
        }
        .await;
        tx.finish(result).await
    }

    /// Approves an offer in the name of the hub, because rules of the upstream say so.
    #[tracing::instrument(skip_all, fields(%skill, %content))]
    pub async fn approve_by_rules(
        &self,
        skill: &UpstreamSkillId,
        content: &ContentId,
        because: &[&str],
    ) -> Result<(), StoreError> {
        let hub = hub_subject()?;
        let mut tx = self.begin_write(&hub).await?;
        let result = async {
            let offers = load_offers(tx.tx(), &skill.upstream, Some(&skill.uri)).await?;
            let record = offers.into_iter().find(|offer| offer.content == *content);
            // Decisions of people are never replaced by a rule.
            let Some(record) = record.filter(|offer| offer.decision.is_none()) else {
                return Ok(());
            };
            approve_by_rules(&mut tx, &hub, &record, because).await
        }
        .await;
        tx.finish(result).await
    }

    /// Returns every content that the hub keeps of an upstream, or of one of its skills; for replicas.
    pub async fn offers_of(
        &self,
        label: &NamespaceName,
        uri: Option<&SkillUri>,
    ) -> Result<Vec<OfferRecord>, StoreError> {
        let mut tx = self.begin_read().await?;
        let offers = load_offers(&mut tx, label, uri).await;
        tx.commit().await?;
        offers
    }

    /// Lists what upstreams offer that no decision covers, the oldest first; only what the caller reviews.
    pub async fn waiting_offers(
        &self,
        caller: &Caller,
        label: Option<&NamespaceName>,
        page: &PageRequest,
    ) -> Result<Page<OfferRecord>, StoreError> {
        let after = match &page.after {
            Some(cursor) => cursor.number("offers")?,
            None => 0,
        };
        let mut reviewed = self.reviewed_namespaces(caller).await?;
        reviewed.retain(|name| label.is_none_or(|label| label == name));
        let wanted = page.limit() as usize + 1;
        let found = self.offers_after(&reviewed, OfferState::Waiting, after, wanted).await?;
        Ok(Page::cut(found, page.limit(), |last: &OfferRecord| {
            Cursor::new("offers", &[&last.id.to_string()])
        }))
    }

    /// Returns the first offers after a number that stand somewhere; of those that wait, only what is
    /// offered now.
    pub(crate) async fn offers_after(
        &self,
        reviewed: &BTreeSet<NamespaceName>,
        state: OfferState,
        after: u64,
        wanted: usize,
    ) -> Result<Vec<OfferRecord>, StoreError> {
        let (now, mut after, mut found) = (self.now(), number(after), Vec::new());
        if reviewed.is_empty() {
            return Ok(found);
        }
        while found.len() < wanted {
            let offered =
                select_offers!("WHERE o.offered = 1 AND o.id > $1 ORDER BY o.id LIMIT 200");
            let all = select_offers!("WHERE o.id > $1 ORDER BY o.id LIMIT 200");
            let select = if state == OfferState::Waiting { offered } else { all };
            let rows = self.database().rows(select, args![after]).await?;
            let Some(last) = rows.last() else { break };
            after = last.int(0)?;
            for row in &rows {
                let offer = offer_of(row)?;
                if offer.state(now) == state && reviewed.contains(&offer.skill.upstream) {
                    found.push(offer);
                }
            }
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// Returns an offer that the caller may review.
    pub async fn offer(&self, caller: &Caller, offer: u64) -> Result<OfferRecord, StoreError> {
        let mut tx = self.begin_read().await?;
        let found = require_offer(&mut tx, caller, offer).await;
        tx.commit().await?;
        found
    }

    /// What the hub keeps of each skill of an upstream, without decisions.
    async fn offer_heads(
        &self,
        label: &NamespaceName,
    ) -> Result<BTreeMap<SkillUri, UpstreamSkill>, StoreError> {
        let select = "SELECT uri, content, offered FROM offers WHERE upstream = $1";
        let mut skills = BTreeMap::new();
        for row in self.database().rows(select, args![label.as_str()]).await? {
            let uri = uri_of(&row, 0)?;
            let id = UpstreamSkillId::new(label.clone(), uri.clone());
            let skill = skills.entry(uri).or_insert_with(|| UpstreamSkill::new(id));
            keep_row(skill, row.parsed(1, "content")?, row.flag(2)?);
        }
        Ok(skills)
    }
}

fn keep_row(skill: &mut UpstreamSkill, content: ContentId, is_offered: bool) {
    skill.kept.insert(content);
    if is_offered {
        skill.offered = Some(content);
    }
}

fn uri_of(row: &Row, column: usize) -> Result<SkillUri, StoreError> {
    let text = row.text(column)?;
    SkillUri::parse(&text).map_err(|_| StoreError::corrupt(format!("the skill's URI `{text}`")))
}

/// An offer whose bytes were hashed.
struct CheckedOffer {
    offer: NewOffer,
    content: ContentId,
    files: Vec<VersionFile>,
    size: u64,
}

impl CheckedOffer {
    fn new(mut offer: NewOffer) -> Result<Self, Refusal> {
        bounded("entry", &offer.entry, MAX_ENTRY_BYTES)?;
        let (files, content) = identify(&mut offer.files)?;
        let size = files.iter().map(|file| file.size).sum();
        Ok(Self { offer, content, files, size })
    }
}

async fn commit_offers(
    tx: &mut WriteTx,
    label: &NamespaceName,
    offers: &[CheckedOffer],
) -> Result<(), StoreError> {
    require_upstream(tx.tx(), label).await?;
    for offer in offers {
        let blobs: Vec<_> = distinct_blobs(&offer.offer.files, &offer.files).into_keys().collect();
        require_blobs(tx.tx(), &blobs).await?;
        let id = UpstreamSkillId::new(label.clone(), offer.offer.uri.clone());
        let skill = load_upstream_skill(tx.tx(), &id).await?;
        let changes = skill.offer(offer.content);
        apply_changes(tx, &id, &changes, Some(offer)).await?;
    }
    announce_offers(tx, label, offers.iter().map(|offer| &offer.offer.uri)).await
}

async fn approve_by_rules(
    tx: &mut WriteTx,
    hub: &Subject,
    record: &OfferRecord,
    because: &[&str],
) -> Result<(), StoreError> {
    let decision = OfferDecision::new(Verdict::Approve, reason_of_rules(because))
        .with_open_findings(record.facts.findings.clone());
    commit_decision(tx, hub, record, decision).await
}

/// Approves what waits of an upstream and what its rules approve as they are now.
pub(crate) async fn apply_rules(tx: &mut WriteTx, upstream: &Upstream) -> Result<(), StoreError> {
    if !upstream.mode.is_reviewed() || upstream.rules.is_empty() {
        return Ok(());
    }
    let hub = hub_subject()?;
    let offers = load_offers(tx.tx(), &upstream.label, None).await?;
    for (offer, outcome) in try_rules(&upstream.rules, &offers, tx.now) {
        if let RuleOutcome::Approve { because } = outcome {
            approve_by_rules(tx, &hub, offer, &because).await?;
        }
    }
    Ok(())
}

pub(crate) async fn commit_decision(
    tx: &mut WriteTx,
    by: &Subject,
    record: &OfferRecord,
    decision: OfferDecision,
) -> Result<(), StoreError> {
    let skill = load_upstream_skill(tx.tx(), &record.skill).await?;
    if decision.verdict == Verdict::Approve && record.revoked {
        return Err(Refusal::ContentRevoked(record.content).into());
    }
    if let Some(decided) = decision.seen.filter(|seen| *seen != record.content) {
        return Err(Refusal::ContentMoved { decided, actual: record.content }.into());
    }
    let changes = skill.decide(Decision {
        content: record.content,
        place: record.skill.place(),
        verdict: decision.verdict,
        by: by.clone(),
        at: tx.now,
        reason: decision.reason,
        until: decision.until,
        open_findings: decision.open_findings,
    })?;
    if changes.is_empty() {
        return Ok(());
    }
    apply_changes(tx, &record.skill, &changes, None).await?;
    announce_offers(tx, &record.skill.upstream, [&record.skill.uri]).await
}

/// Writes what the rules decided; `new` has the files of a content that is kept from now on.
async fn apply_changes(
    tx: &mut WriteTx,
    id: &UpstreamSkillId,
    changes: &[OfferChange],
    new: Option<&CheckedOffer>,
) -> Result<(), StoreError> {
    let (label, uri) = (id.upstream.as_str(), id.uri.as_str());
    for change in changes {
        match change {
            OfferChange::Kept(_) => {
                let Some(offer) = new else {
                    return Err(StoreError::corrupt("an offer without its files"));
                };
                insert_offer(tx, id, offer).await?;
            }
            OfferChange::Offered(now) => {
                let update = "UPDATE offers SET offered = 0 WHERE upstream = $1 AND uri = $2";
                tx.execute(update, args![label, uri]).await?;
                let update = "UPDATE offers SET offered = 1
                    WHERE upstream = $1 AND uri = $2 AND content = $3";
                if let Some(content) = now {
                    tx.execute(update, args![label, uri, content.to_string()]).await?;
                }
                tx.audit(NewAuditEntry {
                    action: AuditAction::Offer,
                    target: id.to_string(),
                    content: *now,
                    details: serde_json::json!({"offered": now.is_some()}).to_string(),
                })
                .await?;
            }
            OfferChange::Dropped(content) => {
                let of_offer = "DELETE FROM offer_blobs WHERE offer IN (SELECT id FROM offers
                    WHERE upstream = $1 AND uri = $2 AND content = $3)";
                tx.execute(of_offer, args![label, uri, content.to_string()]).await?;
                let offer = "DELETE FROM offers WHERE upstream = $1 AND uri = $2 AND content = $3";
                tx.execute(offer, args![label, uri, content.to_string()]).await?;
            }
            OfferChange::Decided(decision) => insert_decision(tx, decision).await?,
        }
    }
    Ok(())
}

async fn insert_offer(
    tx: &mut WriteTx,
    id: &UpstreamSkillId,
    offer: &CheckedOffer,
) -> Result<(), StoreError> {
    let key = tx.next_key();
    // Facts beyond the bound are left out, and no rule approves what is kept without them.
    let facts = to_json(&offer.offer.facts)?;
    let facts =
        if facts.len() > MAX_FACTS_BYTES { to_json(&ContentFacts::too_many())? } else { facts };
    let insert =
        "INSERT INTO offers (id, upstream, uri, content, offered, seen_at, entry, files, size,
        facts) VALUES ($1, $2, $3, $4, 0, $5, $6, $7, $8, $9)";
    let values = args![
        key,
        id.upstream.as_str(),
        id.uri.as_str(),
        offer.content.to_string(),
        tx.now.as_millis(),
        offer.offer.entry.as_str(),
        files_to_json(&offer.files),
        number(offer.size),
        facts,
    ];
    tx.execute(insert, values).await?;
    let digests: BTreeSet<String> = offer.files.iter().map(|file| file.digest.hex()).collect();
    let digests: Vec<String> = digests.into_iter().collect();
    for chunk in digests.chunks(ROWS_PER_STATEMENT) {
        let sql = with_rows("INSERT INTO offer_blobs (digest, offer) VALUES", 2, chunk.len(), "");
        let values: Vec<Value> = chunk.iter().flat_map(|hex| args![hex, key]).collect();
        tx.tx().execute_built(sql, values).await?;
    }
    Ok(())
}

/// Tells replicas which skills of an upstream to load again.
async fn announce_offers<'a>(
    tx: &mut WriteTx,
    label: &NamespaceName,
    skills: impl IntoIterator<Item = &'a SkillUri>,
) -> Result<(), StoreError> {
    let skills: BTreeSet<String> = skills.into_iter().map(|uri| uri.as_str().to_owned()).collect();
    let skills: Vec<String> = skills.into_iter().collect();
    for chunk in skills.chunks(SKILLS_PER_EVENT) {
        let (upstream, skills) = (label.clone(), chunk.to_vec());
        tx.announce(HubChange::OffersChanged { upstream, skills }).await?;
    }
    Ok(())
}

/// Loads what the rules need to know of an upstream's skill.
pub(crate) async fn load_upstream_skill(
    tx: &mut Tx,
    id: &UpstreamSkillId,
) -> Result<UpstreamSkill, StoreError> {
    let mut skill = UpstreamSkill::new(id.clone());
    let select = "SELECT content, offered FROM offers WHERE upstream = $1 AND uri = $2";
    for row in tx.rows(select, args![id.upstream.as_str(), id.uri.as_str()]).await? {
        keep_row(&mut skill, row.parsed(0, "content")?, row.flag(1)?);
    }
    let select = concat!(
        "SELECT ",
        decision_columns!(),
        " FROM decisions WHERE place = $1 ORDER BY id DESC LIMIT $2"
    );
    for row in tx.rows(select, args![id.place(), MAX_DECISIONS]).await? {
        let (_, decision) = decision_of(&row, 0)?;
        skill.decisions.entry(decision.content).or_insert(decision);
    }
    Ok(skill)
}

pub(crate) async fn load_offers(
    tx: &mut Tx,
    label: &NamespaceName,
    uri: Option<&SkillUri>,
) -> Result<Vec<OfferRecord>, StoreError> {
    let all = select_offers!("WHERE o.upstream = $1 ORDER BY o.uri, o.id");
    let one = select_offers!("WHERE o.upstream = $1 AND o.uri = $2 ORDER BY o.id");
    let rows = match uri {
        None => tx.rows(all, args![label.as_str()]).await?,
        Some(uri) => tx.rows(one, args![label.as_str(), uri.as_str()]).await?,
    };
    rows.iter().map(offer_of).collect()
}

pub(crate) async fn load_offer(tx: &mut Tx, id: u64) -> Result<Option<OfferRecord>, StoreError> {
    let row = tx.row(select_offers!("WHERE o.id = $1"), args![number(id)]).await?;
    row.map(|row| offer_of(&row)).transpose()
}

/// Loads an offer; one of an upstream that the caller does not review is unknown to it.
async fn require_offer(tx: &mut Tx, caller: &Caller, id: u64) -> Result<OfferRecord, StoreError> {
    let unknown = || Refusal::UnknownRecord { what: "review", id: id.to_string() };
    let offer = load_offer(tx, id).await?.ok_or_else(unknown)?;
    match load_required(tx, caller, &offer.skill.upstream, Action::Review).await {
        Ok(_) => Ok(offer),
        Err(error) if error.refusal().is_some_and(Refusal::is_unknown) => Err(unknown().into()),
        Err(error) => Err(error),
    }
}

fn offer_of(row: &Row) -> Result<OfferRecord, StoreError> {
    let decision = match row.optional_int(DECISION)? {
        None => None,
        Some(_) => Some(decision_of(row, DECISION)?.1),
    };
    Ok(OfferRecord {
        id: row.count(0)?,
        skill: UpstreamSkillId::new(row.parsed(1, "upstream")?, uri_of(row, 2)?),
        content: row.parsed(3, "content")?,
        offered: row.flag(4)?,
        seen_at: time_of(row, 5)?,
        entry: row.text(6)?,
        files: files_from_json(&row.text(7)?)?,
        size: row.count(8)?,
        facts: from_json(&row.text(9)?, "facts about a content")?,
        revoked: row.int(10)? > 0,
        decision,
    })
}
