//! Approvals, servers and settings.

use skillwire_host::Listing;
use skillwire_page::{
    Filled, PageProblem,
    model::{
        Cell, FilterChoice, FilterGroup, RowAct, Section, TableQuery, TableRow, TableView, Tone,
    },
};
use skillwire_trust::{DecisionChannel, Record, RecordStore as _};

use super::{HostPage, ListingState, key_of, lock, searched_text, sentence};
use crate::{failure::Failure, output::counted, page::texts};

/// The act that forbids approvals without a question. There is none that allows them: the page only makes
/// settings stricter, and a file that the user writes loosens them.
pub(super) const FORBID_UNATTENDED: &str = "forbid-unattended";

/// A failure as text for the page.
pub(super) fn plain(failure: &Failure) -> String {
    anstream::adapter::strip_str(&failure.to_string()).to_string()
}

fn time(time: std::time::SystemTime) -> Cell {
    Cell::Time(humantime::format_rfc3339_seconds(time).to_string())
}

fn act(name: &'static str, about: &impl ToString, label: &str) -> RowAct {
    RowAct { name, about: about.to_string(), label: label.to_owned() }
}

impl HostPage {
    pub(super) fn section_table(&self, section: Section, query: &TableQuery) -> Filled<TableView> {
        match section {
            Section::Approvals => Ok(self.approvals(query)),
            Section::Context => self.context_table(),
            Section::Runs | Section::Audit => self.log_table(section, query),
            Section::Servers => Ok(self.servers()),
            Section::Settings => self.settings_table(),
            Section::Catalogue
            | Section::Review
            | Section::Connect
            | Section::Namespaces
            | Section::Tokens => Err(PageProblem::NotFound),
        }
    }

    fn approvals(&self, query: &TableQuery) -> TableView {
        let (records, errors) = self.settings.records().all();
        let words = query.words.to_lowercase();
        let fits = |record: &&Record| {
            let decided = record.approval.is_some() || record.declined.is_some() || record.disabled;
            (decided || record.next_load.is_some())
                && query.filter("decision").is_none_or(|wanted| wanted == decision_of(record).1)
                && searched_text(&record.id).contains(&words)
        };
        let mut fitting: Vec<&Record> = records.iter().filter(fits).collect();
        fitting.sort_by_key(|record| {
            std::cmp::Reverse(record.approval.as_ref().map(|approval| approval.at))
        });
        let total = fitting.len();
        let first = query.page.saturating_mul(TableQuery::PAGE);
        let rows = fitting.into_iter().skip(first).take(TableQuery::PAGE);
        let rows = rows.map(|record| approval_row(record, self.skill_cell(&record.id)));
        let notices = errors.iter().map(|error| skillwire_page::model::Notice {
            tone: Tone::Bad,
            text: texts::record_unreadable(&error.to_string()),
            act: None,
        });
        TableView {
            about: texts::APPROVALS_ABOUT.to_owned(),
            columns: texts::APPROVAL_COLUMNS.to_vec(),
            rows: rows.collect(),
            total: Some(total),
            has_more: first + TableQuery::PAGE < total,
            filters: vec![FilterGroup {
                name: "decision",
                label: texts::DECISION.to_owned(),
                choices: DECISIONS
                    .map(|word| FilterChoice { value: word.to_owned(), label: word.to_owned() })
                    .to_vec(),
            }],
            has_search: true,
            notices: notices.collect(),
            empty: if query.words.is_empty() && query.filters.is_empty() {
                texts::NO_APPROVALS.to_owned()
            } else {
                texts::NO_APPROVAL_FITS.to_owned()
            },
            ..TableView::default()
        }
    }

    fn servers(&self) -> TableView {
        let listings = lock(&self.listings);
        let rows = self.configured.servers.iter().map(|(label, config)| {
            let (state, skills, at, changed) = match listings.get(label) {
                None => (
                    Cell::State(Tone::Plain, texts::NOT_ASKED.to_owned()),
                    String::new(),
                    None,
                    None,
                ),
                Some(ListingState::Asked) => (
                    Cell::State(Tone::Waiting, texts::WAITING.to_owned()),
                    String::new(),
                    None,
                    None,
                ),
                Some(ListingState::Listed { at, listing, changed }) => (
                    Cell::State(Tone::Good, texts::LISTED.to_owned()),
                    listed_words(listing),
                    Some(*at),
                    Some(changed.map_or_else(|| Cell::Text(texts::NO_CHANGE.to_owned()), time)),
                ),
                Some(ListingState::Failed { at, refusal }) => (
                    Cell::State(Tone::Bad, texts::FAILED.to_owned()),
                    sentence(refusal),
                    Some(*at),
                    None,
                ),
            };
            let nothing = || Cell::Text(String::new());
            TableRow {
                cells: vec![
                    Cell::Detailed(label.to_string(), config.to_string()),
                    state,
                    Cell::Sentence(skills),
                    at.map_or_else(nothing, time),
                    changed.unwrap_or_else(nothing),
                ],
                acts: vec![act("list", label, texts::ASK_AGAIN)],
            }
        });
        TableView {
            about: texts::SERVERS_ABOUT.to_owned(),
            columns: texts::SERVER_COLUMNS.to_vec(),
            rows: rows.collect(),
            empty: texts::NO_SERVERS.to_owned(),
            ..TableView::default()
        }
    }

    fn settings_table(&self) -> Filled<TableView> {
        let user = self.settings.user();
        let user = user.map_err(|failure| PageProblem::Refused(plain(&failure)))?;
        let state = self.settings.state();
        let row = |name: &str, value: Cell, how: String| TableRow {
            cells: vec![Cell::Sentence(name.to_owned()), value, Cell::Sentence(how)],
            acts: Vec::new(),
        };
        let unattended = if user.unattended_approvals {
            Cell::State(Tone::Warning, texts::ALLOWED.to_owned())
        } else {
            Cell::State(Tone::Good, texts::FORBIDDEN.to_owned())
        };
        let forbid = user
            .unattended_approvals
            .then(|| act(FORBID_UNATTENDED, &"unattended-approvals", texts::FORBID));
        let settings = state.join("settings.toml");
        let signers = state.join("trust.toml");
        // Rules that cannot be read stop every other command, so the page says so.
        let rules = match self.settings.signature_rules_in_words() {
            Ok((true, words)) => Cell::State(Tone::Good, words),
            Ok((false, words)) => Cell::State(Tone::Plain, words),
            Err(failure) => Cell::Sentence(plain(&failure)),
        };
        let folder = |path: Option<&std::path::Path>| {
            Cell::Code(path.map_or_else(String::new, |path| path.display().to_string()))
        };
        let rows = vec![
            TableRow {
                acts: forbid.into_iter().collect(),
                ..row(
                    texts::UNATTENDED,
                    unattended,
                    texts::setting_in("`unattended-approvals`", &settings),
                )
            },
            row(
                texts::FORGE,
                Cell::Code(user.forge.clone()),
                texts::setting_in("`forge`", &settings),
            ),
            row(texts::SIGNER_RULES, rules, texts::setting_in("`signers` and `rules`", &signers)),
            row(texts::YOUR_STATE, folder(Some(&state)), texts::STATE_WHERE.to_owned()),
            row(texts::YOUR_FOLDERS, folder(self.settings.home()), texts::FOLDERS_WHERE.to_owned()),
            row(texts::PROJECT, folder(self.settings.project()), texts::PROJECT_WHERE.to_owned()),
        ];
        Ok(TableView {
            about: texts::SETTINGS_ABOUT.to_owned(),
            columns: texts::SETTING_COLUMNS.to_vec(),
            rows,
            ..TableView::default()
        })
    }
}

/// How many skills a server listed, and how.
fn listed_words(listing: &Listing) -> String {
    let skills = counted(listing.skills.len(), "skill");
    match listing.dialect {
        Some(dialect) => format!("{skills}; {}, {}", dialect.code(), dialect.title()),
        None => texts::listed_here(&skills),
    }
}

/// Every decision, in the order of the filter.
const DECISIONS: [&str; 5] =
    ["approved", "changed since", "allowed once", "declined", "switched off"];

/// What the user decided, in a word of [`DECISIONS`].
fn decision_of(record: &Record) -> (Tone, &'static str) {
    match &record.approval {
        _ if record.disabled => (Tone::Plain, "switched off"),
        Some(approval) if approval.revoked => (Tone::Warning, "changed since"),
        Some(_) => (Tone::Good, "approved"),
        None if record.next_load.is_some() => (Tone::Waiting, "allowed once"),
        None => (Tone::Bad, "declined"),
    }
}

fn approval_row(record: &Record, skill: Cell) -> TableRow {
    let approval = record.approval.as_ref();
    let (tone, word) = decision_of(record);
    let next = record.next_load.as_ref();
    let how = approval.and_then(|approval| approval.channel).map_or("", DecisionChannel::words);
    // Another's word has a key and may have an end.
    let voucher = approval.and_then(|approval| approval.voucher.as_ref());
    let voucher =
        voucher.map_or_else(String::new, |voucher| texts::voucher(&voucher.signer, voucher.until));
    let grants = approval.map(|approval| &approval.grants).or(next.map(|next| &next.grants));
    let grants = grants.map(skillwire_trust::Grants::sentence).unwrap_or_default();
    let since = approval.map(|approval| approval.at).or(next.map(|next| next.at));
    let key = key_of(&record.id);
    let mut acts = Vec::new();
    if approval.is_some() || next.is_some() {
        acts.push(act("revoke", &key, texts::WITHDRAW));
    }
    if record.disabled {
        acts.push(act("enable", &key, texts::SWITCH_ON));
    }
    TableRow {
        cells: vec![
            skill,
            Cell::State(tone, word.to_owned()),
            since.map_or_else(|| Cell::Text(String::new()), time),
            Cell::Detailed(how.to_owned(), voucher),
            Cell::Text(grants),
        ],
        acts,
    }
}
