//! One queue for reviewers: versions that wait, and what upstreams offer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{extract::State, response::Response};
use serde::Deserialize;
use skillwire_core::{Frontmatter, RelPath, frontmatter_differences, skill_file};
use skillwire_hub::{
    ChannelName, ContentFacts, Decision, NamespaceName, OfferState, Refusal, Verdict, VersionFile,
};
use skillwire_hub_store::{OfferDecision, ReviewFilter, ReviewRecord, StoreError, last_approved};

use super::{
    ApiState, FactChanges, FieldChange, NewDecision, Page, Problem, ProblemKind, ReviewDecided,
    ReviewDetail, ReviewInfo, SetChange, TakenDecision,
    extract::{JsonBody, Paging, Parameters, Segments, Sender, json, page_of},
    malformed,
    skills::{compare, file_response, inspected},
    states::parse_content,
};
use crate::auth::Authenticated;

fn info(state: &ApiState, record: &ReviewRecord) -> ReviewInfo {
    let now = state.store.now();
    let millis = now.as_millis().saturating_sub(record.since().as_millis()).max(0);
    let (kind, skill, upstream, version, publisher, decision, worst) = match record {
        ReviewRecord::Version { version, .. } => (
            "version",
            version.skill.to_string(),
            None,
            Some(version.version.to_string()),
            Some(version.publisher.to_string()),
            None,
            inspected(version).0,
        ),
        ReviewRecord::Offer(offer) => (
            "upstream",
            offer.skill.uri.as_str().to_owned(),
            Some(offer.skill.upstream.to_string()),
            None,
            None,
            offer.decision.as_ref().map(taken),
            offer.facts.worst_finding().to_owned(),
        ),
        other => {
            ("unknown", other.namespace().to_string(), None, None, None, None, "unknown".to_owned())
        }
    };
    ReviewInfo {
        id: record.id(),
        kind: kind.to_owned(),
        skill,
        upstream,
        version,
        content: record.content().to_string(),
        state: record.state(now).to_string(),
        since: record.since().to_string(),
        age_seconds: millis.unsigned_abs() / 1_000,
        worst_finding: worst,
        publisher,
        decision,
    }
}

fn taken(decision: &Decision) -> TakenDecision {
    let verdict = match decision.verdict {
        Verdict::Approve => "approve",
        Verdict::Reject => "reject",
    };
    TakenDecision {
        verdict: verdict.to_owned(),
        by: decision.by.to_string(),
        at: decision.at.to_string(),
        reason: decision.reason.clone(),
        until: decision.until.map(|until| until.to_string()),
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewsQuery {
    /// Only what this upstream offers.
    upstream: Option<String>,
    /// `waiting`, `approved` or `rejected`; what waits without it.
    state: Option<String>,
    /// The cursor of a page before.
    cursor: Option<String>,
    /// The most elements, at most 1000.
    limit: Option<u32>,
}

/// Lists what the caller reviews, the oldest first: versions that wait, and what upstreams offer.
#[utoipa::path(get, operation_id = "listReviews",
    path = "/api/v1/reviews", tag = "reviews", params(ReviewsQuery), responses(
    (status = 200, body = Page<ReviewInfo>),
))]
pub(crate) async fn list(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Parameters(query): Parameters<ReviewsQuery>,
) -> Result<Response, Problem> {
    let ReviewsQuery { upstream, state: wanted, cursor, limit } = query;
    let upstream = upstream.as_deref().map(NamespaceName::parse).transpose();
    let mut filter = ReviewFilter::default();
    filter.upstream = upstream.map_err(|error| malformed(&error))?;
    filter.state = match wanted.as_deref() {
        None | Some("waiting") => OfferState::Waiting,
        Some("approved") => OfferState::Approved,
        Some("rejected") => OfferState::Rejected,
        Some(_) => {
            let detail = "A state is one of `waiting`, `approved` and `rejected`.";
            return Err(ProblemKind::Malformed.because(detail));
        }
    };
    let request = Paging { cursor, limit }.request()?;
    let page = state.store.reviews(&sender.caller, &filter, &request).await?;
    Ok(json(&page_of(page, |record| info(&state, &record))))
}

/// What is approved now, for comparison.
struct Baseline {
    content: String,
    files: Vec<VersionFile>,
    facts: Option<ContentFacts>,
}

async fn baseline(
    state: &ApiState,
    sender: &Authenticated,
    record: &ReviewRecord,
) -> Result<Option<Baseline>, Problem> {
    match record {
        ReviewRecord::Offer(offer) => {
            let skill = &offer.skill;
            let offers = state.store.offers_of(&skill.upstream, Some(&skill.uri)).await?;
            let before = last_approved(&offers, skill, Some(offer.id), state.store.now());
            Ok(before.map(|before| Baseline {
                content: before.content.to_string(),
                files: before.files.clone(),
                facts: Some(before.facts.clone()),
            }))
        }
        ReviewRecord::Version { version, .. } => {
            let skill = state.store.skill(&sender.caller, &version.skill).await?;
            let latest = ChannelName::latest();
            let pointer = skill.channels.iter().find(|it| it.name == latest && it.served);
            let Some(pointer) = pointer.filter(|it| it.version != version.version) else {
                return Ok(None);
            };
            let before = state.version(&sender.caller, &version.skill, &pointer.version).await?;
            let content = before.content.to_string();
            Ok(Some(Baseline { content, files: before.files, facts: None }))
        }
        _ => Ok(None),
    }
}

/// Refuses the bytes of content that was revoked or erased.
fn refuse_gone(record: &ReviewRecord) -> Result<(), Problem> {
    let gone = match record {
        ReviewRecord::Version { version, .. } => {
            version.purged || version.state == skillwire_hub::VersionState::Revoked
        }
        ReviewRecord::Offer(offer) => offer.revoked,
        _ => true,
    };
    if gone {
        let detail = format!("The bytes of review {} are refused.", record.id());
        return Err(ProblemKind::Forbidden.because(detail).coded("revoked"));
    }
    Ok(())
}

/// Returns a review with what differs from the content that is approved now.
#[utoipa::path(get, operation_id = "showReview",
    path = "/api/v1/reviews/{id}", tag = "reviews", params(("id" = u64, Path)),
    responses((status = 200, body = ReviewDetail),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn show(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(id): Segments<u64>,
) -> Result<Response, Problem> {
    let record = state.store.review(&sender.caller, id).await?;
    refuse_gone(&record)?;
    let before = baseline(&state, &sender, &record).await?;
    let old = before.as_ref().map(|before| before.files.as_slice()).unwrap_or_default();
    let files = compare(&state.store, old, record.files(), &BTreeMap::new()).await?;
    let (was, is) = (frontmatter(&state, old).await?, frontmatter(&state, record.files()).await?);
    let facts = match &record {
        ReviewRecord::Offer(offer) => {
            let none = ContentFacts::default();
            let before = before.as_ref().and_then(|before| before.facts.as_ref());
            Some(fact_changes(before.unwrap_or(&none), &offer.facts))
        }
        _ => None,
    };
    Ok(json(&ReviewDetail {
        review: info(&state, &record),
        approved: before.map(|before| before.content),
        files,
        frontmatter: field_changes(was.as_ref(), is.as_ref()),
        facts,
    }))
}

/// The frontmatter of the `SKILL.md` among some files, if it can be read.
async fn frontmatter(
    state: &ApiState,
    files: &[VersionFile],
) -> Result<Option<Frontmatter>, Problem> {
    let path = RelPath::skill_file();
    let Some(file) = files.iter().find(|file| file.path == path) else { return Ok(None) };
    let bytes = state.store.read_blob(&file.digest, file.size).await?;
    Ok(skill_file::check(&bytes).0.map(|file| file.frontmatter))
}

fn field_changes(before: Option<&Frontmatter>, after: Option<&Frontmatter>) -> Vec<FieldChange> {
    match (before, after) {
        (Some(before), Some(after)) => frontmatter_differences(before, after)
            .into_iter()
            .map(|it| FieldChange { field: it.pointer, before: it.before, after: it.after })
            .collect(),
        (None, Some(after)) => {
            let fields = after.fields().iter();
            let field = |(name, value): (&String, &serde_json::Value)| FieldChange {
                field: format!("/{name}"),
                before: None,
                after: Some(value.clone()),
            };
            fields.map(field).collect()
        }
        (_, None) => Vec::new(),
    }
}

fn fact_changes(before: &ContentFacts, now: &ContentFacts) -> FactChanges {
    let new = now.findings.iter().filter(|code| !before.findings.contains(code));
    FactChanges {
        links: set_change(&before.links, &now.links),
        packages: set_change(&before.packages, &now.packages),
        requests: set_change(&before.requests, &now.requests),
        scripts: set_change(&before.scripts, &now.scripts),
        binaries: set_change(&before.binaries, &now.binaries),
        signers: set_change(&before.signers, &now.signers),
        new_findings: new.cloned().collect(),
        findings: now.findings.clone(),
    }
}

fn set_change(before: &BTreeSet<String>, now: &BTreeSet<String>) -> SetChange {
    SetChange {
        added: now.difference(before).cloned().collect(),
        removed: before.difference(now).cloned().collect(),
        same: now.intersection(before).cloned().collect(),
    }
}

/// Returns the bytes of a file that is reviewed.
#[utoipa::path(get, operation_id = "readReviewFile",
    path = "/api/v1/reviews/{id}/files/{path}", tag = "reviews",
    params(("id" = u64, Path), ("path" = String, Path, description = "Slashes are part of it.")),
    responses((status = 200, content_type = "application/octet-stream"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn file(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments((id, path)): Segments<(u64, String)>,
) -> Result<Response, Problem> {
    let record = state.store.review(&sender.caller, id).await?;
    refuse_gone(&record)?;
    let file = record.files().iter().find(|file| file.path.as_str() == path);
    let file = file.ok_or_else(|| ProblemKind::NotFound.because("The review has no such file."))?;
    let bytes = state.store.read_blob(&file.digest, file.size).await?;
    Ok(file_response(file, bytes))
}

/// Approves or rejects a content. Refused if the content moved meanwhile.
#[utoipa::path(post, operation_id = "decideReview",
    path = "/api/v1/reviews/{id}/decision", tag = "reviews",
    params(("id" = u64, Path)), request_body = NewDecision, responses(
    (status = 200, body = ReviewDecided),
    (status = 403, body = Problem, content_type = "application/problem+json"),
    (status = 404, body = Problem, content_type = "application/problem+json"),
    (status = 409, body = Problem, content_type = "application/problem+json",
        description = "The content moved; `actual` is the content now, and the detail names its review."),
))]
pub(crate) async fn decide(
    State(state): State<Arc<ApiState>>,
    Sender(sender): Sender,
    Segments(id): Segments<u64>,
    JsonBody(new): JsonBody<NewDecision>,
) -> Result<Response, Problem> {
    let caller = &sender.caller;
    let verdict = match new.verdict.as_str() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        _ => {
            let detail = "A verdict is `approve` or `reject`.";
            return Err(ProblemKind::Malformed.because(detail));
        }
    };
    let seen = parse_content(&new.content)?;
    let until = new.until.as_deref().map(str::parse).transpose();
    let until = until.map_err(|_| {
        let detail = "`until` is written as RFC 3339 in UTC, for example `2026-01-31T12:00:00Z`.";
        ProblemKind::Malformed.because(detail)
    })?;
    let before = state.store.review(caller, id).await.ok();
    let open = match &before {
        Some(ReviewRecord::Offer(offer)) => offer.facts.findings.clone(),
        _ => Vec::new(),
    };
    let decision = OfferDecision::new(verdict, new.reason)
        .with_seen(Some(seen))
        .with_until(until)
        .with_open_findings(open);
    let decided = match state.writer(new.dry_run).decide_review(caller, id, decision).await {
        Ok(decided) => decided,
        Err(error) => return Err(with_new_review(&state, &sender, error).await),
    };
    if !new.dry_run {
        state.settle().await;
    }
    let changed = before.as_ref() != Some(&decided);
    let review = info(&state, &decided);
    Ok(json(&ReviewDecided { review, changed, dry_run: new.dry_run }))
}

/// Names the review of the content that an upstream went to.
async fn with_new_review(state: &ApiState, sender: &Authenticated, error: StoreError) -> Problem {
    let actual = match error.refusal() {
        Some(Refusal::ContentMoved { actual, .. }) => Some(*actual),
        _ => None,
    };
    let mut problem = Problem::from(error);
    if let Some(actual) = actual
        && let Ok(Some(id)) = state.store.offer_with(&sender.caller, &actual).await
    {
        problem.detail = format!("{} Review {id} has it.", problem.detail);
    }
    problem
}
