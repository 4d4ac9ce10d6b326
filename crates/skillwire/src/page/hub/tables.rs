//! The log, the upstreams, the namespaces and the tokens of a hub.

use serde_json::{Value, json};
use skillwire_hub::{AuditAction, AuditEntry, AuditFilter, Caller, PageRequest, TokenRecord};
use skillwire_hub_server::{UpstreamHealth, UpstreamStatus};
use skillwire_page::{
    Filled, PageProblem,
    model::{
        Cell, FilterChoice, FilterGroup, RowAct, Section, TableQuery, TableRow, TableView, Tone,
    },
};

use super::{HubPage, may_audit, problem};
use crate::page::{exported::exported, texts};

/// The most entries that one export has, and that pages go back.
const MAX_EXPORTED: usize = 100_000;

/// The most characters of details in a row.
const MAX_DETAILS: usize = 300;

impl HubPage {
    pub(super) async fn section_table(
        &self,
        caller: &Caller,
        section: Section,
        query: &TableQuery,
    ) -> Filled<TableView> {
        match section {
            Section::Audit => self.audit_table(caller, query).await,
            Section::Servers => self.upstream_table(caller).await,
            Section::Namespaces => self.namespace_table(caller, query).await,
            Section::Tokens => self.token_table(caller, query).await,
            _ => Err(PageProblem::NotFound),
        }
    }

    /// The newest entries that fit a query, at most so many.
    async fn entries(
        &self,
        caller: &Caller,
        query: &TableQuery,
        most: usize,
    ) -> Filled<Vec<AuditEntry>> {
        if !may_audit(caller) {
            return Err(PageProblem::NotFound);
        }
        let filter = filter(query)?;
        let mut found: Vec<AuditEntry> = Vec::new();
        let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
        loop {
            let page = self.store().audit(caller, &filter, &request).await.map_err(problem)?;
            found.extend(page.items);
            match page.next {
                Some(next) if found.len() < most => request = request.after(Some(next)),
                _ => {
                    found.truncate(most);
                    return Ok(found);
                }
            }
        }
    }

    async fn audit_table(&self, caller: &Caller, query: &TableQuery) -> Filled<TableView> {
        let first = query.page.saturating_mul(TableQuery::PAGE).min(MAX_EXPORTED);
        let entries = self.entries(caller, query, first + TableQuery::PAGE + 1).await?;
        let has_more = entries.len() > first + TableQuery::PAGE;
        let rows = entries.iter().skip(first).take(TableQuery::PAGE).map(entry_row).collect();
        let choice = |action: AuditAction| FilterChoice {
            value: action.as_str().to_owned(),
            label: action.as_str().to_owned(),
        };
        Ok(TableView {
            about: texts::HUB_LOG_ABOUT.to_owned(),
            columns: texts::HUB_LOG_COLUMNS.to_vec(),
            rows,
            total: None,
            has_more,
            filters: vec![FilterGroup {
                name: "action",
                label: texts::WHAT_HAPPENED.to_owned(),
                choices: AuditAction::ALL.into_iter().map(choice).collect(),
            }],
            has_search: true,
            notices: Vec::new(),
            empty: texts::HUB_LOG_EMPTY.to_owned(),
            exports: vec!["jsonl", "csv"],
        })
    }

    pub(super) async fn export_audit(
        &self,
        caller: &Caller,
        section: Section,
        query: &TableQuery,
        format: &str,
    ) -> Filled<String> {
        if section != Section::Audit {
            return Err(PageProblem::NotFound);
        }
        // One more tells whether something is left out.
        let mut entries = self.entries(caller, query, MAX_EXPORTED + 1).await?;
        let left_out = (entries.len() > MAX_EXPORTED).then(|| texts::export_ends(MAX_EXPORTED));
        entries.truncate(MAX_EXPORTED);
        let names = ["number", "at", "actor", "action", "target", "content", "details", "hash"];
        exported(entries.iter().map(entry_json), &names, format, left_out)
    }

    async fn upstream_table(&self, caller: &Caller) -> Filled<TableView> {
        let all = self.store().upstreams(caller).await.map_err(problem)?;
        let reviewed = self.store().reviewed_namespaces(caller).await.map_err(problem)?;
        let rows = all.iter().map(|record| {
            let upstream = &record.upstream;
            let status = self.readers().upstream_status(&upstream.label);
            let (state, skills, listed) = match status {
                // Another replica may follow it.
                None => {
                    (Cell::State(Tone::Plain, texts::NOT_FOLLOWED.to_owned()), String::new(), None)
                }
                Some(status) => (
                    Cell::State(health_tone(status.health), status.health.as_str().to_owned()),
                    upstream_words(&status, reviewed.contains(&upstream.label)),
                    status.listed_at,
                ),
            };
            let listed = listed
                .map_or_else(|| Cell::Text(String::new()), |listed| Cell::Time(listed.to_string()));
            TableRow {
                cells: vec![
                    Cell::Detailed(upstream.label.to_string(), upstream.source.to_string()),
                    state,
                    Cell::Text(skills),
                    listed,
                    Cell::Code(upstream.mode.as_str().to_owned()),
                    Cell::Time(record.created_at.to_string()),
                    Cell::Text(record.created_by.to_string()),
                ],
                acts: Vec::new(),
            }
        });
        Ok(TableView {
            about: texts::UPSTREAMS_ABOUT.to_owned(),
            columns: texts::UPSTREAM_COLUMNS.to_vec(),
            rows: rows.collect(),
            empty: texts::NO_UPSTREAMS.to_owned(),
            ..TableView::default()
        })
    }

    async fn namespace_table(&self, caller: &Caller, query: &TableQuery) -> Filled<TableView> {
        let all = self.store().all_namespaces().await.map_err(problem)?;
        let words = query.words.to_lowercase();
        let mine = all.iter().filter(|namespace| {
            caller.may(skillwire_hub::Action::Read, namespace)
                && namespace.name.as_str().contains(&words)
        });
        let mine: Vec<_> = mine.collect();
        let first = query.page.saturating_mul(TableQuery::PAGE);
        let rows = mine.iter().skip(first).take(TableQuery::PAGE).map(|namespace| {
            let mut roles: Vec<&str> =
                caller.roles_in(namespace).map(skillwire_hub::Role::as_str).collect();
            roles.sort_unstable();
            roles.dedup();
            if caller.administrator {
                roles.push(texts::ADMINISTRATOR);
            }
            let review = match namespace.review {
                skillwire_hub::ReviewPolicy::Required => (Tone::Good, texts::REVIEW_REQUIRED),
                skillwire_hub::ReviewPolicy::None => (Tone::Plain, texts::REVIEW_NONE),
            };
            TableRow {
                cells: vec![
                    Cell::Code(namespace.name.to_string()),
                    Cell::Text(roles.join(", ")),
                    Cell::State(review.0, review.1.to_owned()),
                    Cell::Text(namespace.usage.skills.to_string()),
                    Cell::Text(if namespace.protected { texts::YES } else { texts::NO }.to_owned()),
                ],
                acts: Vec::new(),
            }
        });
        Ok(TableView {
            about: texts::NAMESPACES_ABOUT.to_owned(),
            columns: texts::NAMESPACE_COLUMNS.to_vec(),
            rows: rows.collect(),
            total: Some(mine.len()),
            has_more: first + TableQuery::PAGE < mine.len(),
            has_search: true,
            empty: texts::NO_NAMESPACES.to_owned(),
            ..TableView::default()
        })
    }

    async fn token_table(&self, caller: &Caller, query: &TableQuery) -> Filled<TableView> {
        let first = query.page.saturating_mul(TableQuery::PAGE).min(MAX_EXPORTED);
        let mut tokens: Vec<TokenRecord> = Vec::new();
        let mut request = PageRequest::first(PageRequest::MAX_LIMIT);
        loop {
            let page = self.store().tokens(caller, &request).await.map_err(problem)?;
            tokens.extend(page.items);
            match page.next {
                Some(next) if tokens.len() <= first + TableQuery::PAGE => {
                    request = request.after(Some(next));
                }
                _ => break,
            }
        }
        let now = self.store().now();
        let rows = tokens.iter().skip(first).take(TableQuery::PAGE).map(|token| {
            let (tone, state) = match token {
                token if token.revoked_at.is_some() => (Tone::Bad, texts::REVOKED),
                token if !token.is_valid(now) => (Tone::Warning, texts::EXPIRED),
                _ => (Tone::Good, texts::VALID),
            };
            let scopes: Vec<String> = token.scopes.iter().map(ToString::to_string).collect();
            let end = token.expires_at.map_or_else(
                || Cell::Text(texts::NEVER.to_owned()),
                |end| Cell::Time(end.to_string()),
            );
            let revoke = RowAct {
                name: "revoke-token",
                about: token.id.to_string(),
                label: texts::REVOKE.to_owned(),
            };
            TableRow {
                cells: vec![
                    Cell::Detailed(token.name.clone(), token.subject.to_string()),
                    Cell::State(tone, state.to_owned()),
                    Cell::Text(scopes.join(", ")),
                    Cell::Time(token.created_at.to_string()),
                    end,
                ],
                acts: if token.is_valid(now) { vec![revoke] } else { Vec::new() },
            }
        });
        Ok(TableView {
            about: texts::TOKENS_ABOUT.to_owned(),
            columns: texts::TOKEN_COLUMNS.to_vec(),
            rows: rows.collect(),
            total: None,
            has_more: first + TableQuery::PAGE < tokens.len(),
            empty: texts::NO_TOKENS.to_owned(),
            ..TableView::default()
        })
    }
}

fn health_tone(health: UpstreamHealth) -> Tone {
    match health {
        UpstreamHealth::Starting => Tone::Waiting,
        UpstreamHealth::Answering => Tone::Good,
        UpstreamHealth::Failing => Tone::Bad,
        UpstreamHealth::Paused => Tone::Warning,
    }
}

/// What an upstream listed, and why it did not.
fn upstream_words(status: &UpstreamStatus, is_reviewer: bool) -> String {
    let listed = match status.skills {
        1 => "1 skill".to_owned(),
        skills => format!("{skills} skills"),
    };
    let mut words = listed;
    // What waits, and how much of it, is unknown to everyone else.
    if status.unfetched > 0 && is_reviewer {
        words.push_str(&texts::unfetched(status.unfetched));
    }
    if let Some(failure) = &status.failure {
        words.push_str("; ");
        words.extend(failure.chars().take(MAX_DETAILS));
    }
    words
}

fn filter(query: &TableQuery) -> Filled<AuditFilter> {
    let mut filter = AuditFilter::default();
    if let Some(word) = query.filter("action") {
        filter.action = Some(word.parse().map_err(|()| PageProblem::NotFound)?);
    }
    let words = query.words.trim();
    if words.starts_with("sha256:") {
        let refused = || texts::NO_CONTENT.to_owned();
        filter.content = Some(words.parse().map_err(|_| PageProblem::Refused(refused()))?);
    } else if words.contains('/') || words.contains(' ') {
        filter.target = Some(words.to_owned());
    } else if !words.is_empty() {
        filter.actor = Some(words.to_owned());
    }
    Ok(filter)
}

fn entry_row(entry: &AuditEntry) -> TableRow {
    let target = match entry.target.parse::<skillwire_hub::VersionRef>() {
        Ok(_) => Cell::Skill(
            skillwire_page::model::SkillKey::new(entry.target.clone()),
            entry.target.clone(),
        ),
        Err(_) => Cell::Code(entry.target.clone()),
    };
    TableRow {
        cells: vec![
            Cell::Time(entry.at.to_string()),
            Cell::Text(entry.actor.clone()),
            Cell::State(Tone::Plain, entry.action.to_string()),
            target,
            Cell::Code(entry.details.chars().take(MAX_DETAILS).collect()),
        ],
        acts: Vec::new(),
    }
}

fn entry_json(entry: &AuditEntry) -> Value {
    json!({
        "number": entry.number,
        "at": entry.at.to_string(),
        "actor": entry.actor,
        "action": entry.action.to_string(),
        "target": entry.target,
        "content": entry.content.map(|content| content.to_string()),
        "details": entry.details,
        "hash": entry.hash.digest().to_string(),
    })
}
