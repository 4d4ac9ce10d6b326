//! All skills that the host knows, with their standing, and one page of them at a time.

use std::{collections::BTreeSet, sync::Arc};

use skillwire_host::{Discovered, Host};
use skillwire_page::model::{
    CatalogueQuery, CatalogueRow, CatalogueView, FilterChoice, FilterGroup, Notice, QueueItem,
    QueueView, RowAct, SkillState, Tone,
};
#[cfg(feature = "search")]
use skillwire_search::{SearchIndex, SkillText};
use skillwire_trust::{
    Handle, KnownSkill, Registry, RegistryItem, SignatureCheck, SkillId, Standing,
};

use super::{HostPage, ListingState, key_of, lock, sentence};
use crate::{
    page::{
        scanned::{finding_filter, fits_finding},
        texts,
    },
    session::card,
};

/// The longest description in a list.
const MAX_DESCRIPTION: usize = 400;

/// The standing of a skill without its details, which take memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandingWord {
    New,
    Approved,
    Changed,
    Declined,
    Disabled,
}

impl StandingWord {
    const ALL: [Self; 5] =
        [Self::New, Self::Changed, Self::Approved, Self::Declined, Self::Disabled];

    pub(super) fn of(standing: &Standing) -> Self {
        match standing {
            Standing::New => Self::New,
            Standing::Approved(_) => Self::Approved,
            Standing::Changed(_) => Self::Changed,
            Standing::Declined => Self::Declined,
            Standing::Disabled => Self::Disabled,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Approved => "approved",
            Self::Changed => "changed",
            Self::Declined => "declined",
            Self::Disabled => "disabled",
        }
    }

    pub(super) fn state(self) -> SkillState {
        let tone = match self {
            Self::New => Tone::Waiting,
            Self::Approved => Tone::Good,
            Self::Changed => Tone::Warning,
            Self::Declined => Tone::Bad,
            Self::Disabled => Tone::Plain,
        };
        SkillState::new(self.word(), tone)
    }
}

/// Every skill that the host knows, and how each stands with the user.
#[derive(Default)]
pub(super) struct KnownSkills {
    found: Arc<FoundSkills>,
    standings: Vec<StandingWord>,
}

#[derive(Default)]
struct FoundSkills {
    registry: Registry,
    refused: Vec<String>,
    origins: BTreeSet<String>,
    #[cfg(feature = "search")]
    index: Arc<std::sync::OnceLock<SearchIndex>>,
}

impl KnownSkills {
    /// Takes over what the host found, and reads the records once.
    pub(super) fn new(host: &Host, found: Discovered) -> Self {
        let items = found.registry.items();
        let origins = items.iter().map(|item| item.skill.id().origin.to_string()).collect();
        let refused = found.refused.iter().map(|refusal| {
            let about = refusal.subject.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{about}: {}", sentence(refusal))
        });
        let found = FoundSkills {
            refused: refused.collect(),
            origins,
            registry: found.registry,
            #[cfg(feature = "search")]
            index: Arc::default(),
        };
        Self { found: Arc::new(found), standings: Vec::new() }.with_standings(host)
    }

    /// Returns the same skills with their standing as the records have it now.
    pub(super) fn with_standings(&self, host: &Host) -> Self {
        let skills: Vec<&KnownSkill> = self.items().iter().map(|item| &item.skill).collect();
        let standings = host.standings(&skills).iter().map(StandingWord::of).collect();
        Self { found: Arc::clone(&self.found), standings }
    }

    /// Takes over the index of the same skills, so that it is not built again.
    #[cfg_attr(not(feature = "search"), expect(unused_mut, reason = "there is no index"))]
    pub(super) fn with_index_of(mut self, other: &Self) -> Self {
        #[cfg(feature = "search")]
        if self.items() == other.items()
            && let Some(found) = Arc::get_mut(&mut self.found)
        {
            found.index = Arc::clone(&other.found.index);
        }
        #[cfg(not(feature = "search"))]
        let _ = other;
        self
    }

    /// Tells whether both have the same skills in the same states.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.standings == other.standings
            && self.found.refused == other.found.refused
            && self.items() == other.items()
    }

    /// Tells whether every skill stands as in `other`.
    pub(super) fn has_states_of(&self, other: &Self) -> bool {
        self.standings == other.standings
    }

    fn items(&self) -> &[RegistryItem] {
        self.found.registry.items()
    }

    /// The skills with their standing.
    pub(super) fn all(&self) -> impl Iterator<Item = (&RegistryItem, StandingWord)> {
        self.items().iter().zip(self.standings.iter().copied())
    }

    pub(super) fn find(&self, id: &SkillId) -> Option<&KnownSkill> {
        let handle = Handle::Uri(id.origin.clone(), id.uri.clone());
        self.found.registry.find(&handle).ok().map(|item| &item.skill)
    }

    /// Returns the handle that names a skill on the command line.
    pub(super) fn handle(&self, id: &SkillId) -> Option<&str> {
        let handle = Handle::Uri(id.origin.clone(), id.uri.clone());
        self.found.registry.find(&handle).ok().map(|item| item.handle.as_str())
    }

    /// Returns the skills that wait for a decision, the changed ones first.
    pub(super) fn waiting_skills(&self) -> impl Iterator<Item = (&RegistryItem, StandingWord)> {
        let of = |wanted: StandingWord| {
            self.all().filter(move |(item, standing)| {
                *standing == wanted && item.skill.id().origin.server().is_some()
            })
        };
        of(StandingWord::Changed).chain(of(StandingWord::New))
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting_skills().count()
    }

    #[cfg(feature = "search")]
    fn index(&self) -> &SearchIndex {
        self.found.index.get_or_init(|| {
            let text = |item: &RegistryItem| {
                let entry = item.skill.entry();
                let fields = entry.frontmatter.fields();
                SkillText::new(item.skill.name().as_str(), &item.handle, fields)
            };
            self.items().iter().map(text).collect()
        })
    }

    /// Returns the positions on a page of the skills that fit, and how many fit.
    fn search(&self, query: &CatalogueQuery, fits: impl Fn(usize) -> bool) -> (Vec<usize>, usize) {
        let range = query.range();
        if query.words.trim().is_empty() {
            let mut total = 0;
            let mut page = Vec::new();
            for position in (0..self.items().len()).filter(|position| fits(*position)) {
                if range.contains(&total) {
                    page.push(position);
                }
                total += 1;
            }
            return (page, total);
        }
        self.by_words(&query.words, range, fits)
    }

    #[cfg(feature = "search")]
    fn by_words(
        &self,
        words: &str,
        range: std::ops::Range<usize>,
        fits: impl Fn(usize) -> bool,
    ) -> (Vec<usize>, usize) {
        let hits = self.index().search(words, range.end, fits);
        (hits.best.into_iter().skip(range.start).collect(), hits.total)
    }

    #[cfg(not(feature = "search"))]
    fn by_words(
        &self,
        words: &str,
        range: std::ops::Range<usize>,
        fits: impl Fn(usize) -> bool,
    ) -> (Vec<usize>, usize) {
        let words = words.to_lowercase();
        let has = |position: &usize| {
            let entry = self.items()[*position].skill.entry();
            let text = format!("{} {}", entry.frontmatter.name(), entry.frontmatter.description());
            let text = text.to_lowercase();
            fits(*position) && words.split_whitespace().all(|word| text.contains(word))
        };
        let all: Vec<usize> = (0..self.items().len()).filter(has).collect();
        let total = all.len();
        (all.into_iter().skip(range.start).take(range.len()).collect(), total)
    }
}

/// A filter with some values.
fn filter(
    name: &'static str,
    label: &str,
    values: impl Iterator<Item = (String, String)>,
) -> FilterGroup {
    let choices = values.map(|(value, label)| FilterChoice { value, label }).collect();
    FilterGroup { name, label: label.to_owned(), choices }
}

fn same(word: impl Into<String>) -> (String, String) {
    let word = word.into();
    (word.clone(), word)
}

impl HostPage {
    pub(super) fn catalogue_page(&self, query: &CatalogueQuery) -> CatalogueView {
        let known = self.known();
        let origin = query.filter("origin");
        let state = query.filter("state");
        let finding = query.filter("finding");
        let signer = query.filter("signer");
        let fits = |position: usize| {
            let item = &known.items()[position];
            let id = item.skill.id();
            origin.is_none_or(|origin| id.origin.label() == origin)
                && state.is_none_or(|state| known.standings[position].word() == state)
                && finding
                    .is_none_or(|finding| fits_finding(finding, self.scans.result(&item.skill)))
                && signer.is_none_or(|signer| self.signer(&item.skill).as_deref() == Some(signer))
        };
        let (page, total) = known.search(query, fits);
        let rows = page.into_iter().map(|position| self.row(&known, position)).collect();
        let all = known.items().len();
        CatalogueView {
            rows,
            total,
            all,
            filters: self.filters(&known),
            notices: self.notices(&known),
            empty: Some(self.nothing_known().to_owned()),
        }
    }

    /// What to do about a list without any skill.
    fn nothing_known(&self) -> &'static str {
        if self.configured.servers.is_empty() { texts::NO_SKILLS } else { texts::NOTHING_LISTED }
    }

    fn filters(&self, known: &KnownSkills) -> Vec<FilterGroup> {
        let mut filters = vec![
            filter("origin", texts::ORIGIN, known.found.origins.iter().map(same)),
            filter(
                "state",
                texts::STATE,
                StandingWord::ALL.into_iter().map(|word| same(word.word())),
            ),
            finding_filter(),
        ];
        if !self.signers.is_empty() {
            filters.push(filter("signer", texts::SIGNER, self.signers.iter().map(same)));
        }
        filters
    }

    fn notices(&self, known: &KnownSkills) -> Vec<Notice> {
        let again = |label: &str| RowAct {
            name: "list",
            about: label.to_owned(),
            label: texts::ASK_AGAIN.to_owned(),
        };
        let mut notices = Vec::new();
        for (label, listing) in &*lock(&self.listings) {
            match listing {
                ListingState::Asked => notices.push(Notice {
                    tone: Tone::Waiting,
                    text: texts::not_answered(label),
                    act: None,
                }),
                ListingState::Failed { refusal, .. } => notices.push(Notice {
                    tone: Tone::Bad,
                    text: texts::not_listed(label, &sentence(refusal)),
                    act: Some(again(label.as_str())),
                }),
                ListingState::Listed { .. } => {}
            }
        }
        if self.offline && self.configured.servers.is_empty() && known.items().is_empty() {
            notices.clear();
        }
        let refused = known.found.refused.iter().take(5).map(|text| Notice {
            tone: Tone::Warning,
            text: texts::left_out(text),
            act: None,
        });
        notices.extend(refused);
        notices
    }

    fn row(&self, known: &KnownSkills, position: usize) -> CatalogueRow {
        let item = &known.items()[position];
        let skill = &item.skill;
        let description = skill.entry().frontmatter.description();
        let mut marks = Vec::new();
        if item.shares_name {
            marks.push(texts::SHARES_NAME.to_owned());
        }
        if skill.integrity().is_first_seen() {
            marks.push(texts::FIRST_SEEN.to_owned());
        }
        if skill.integrity().is_dynamic() {
            marks.push(texts::DYNAMIC.to_owned());
        }
        CatalogueRow {
            key: key_of(skill.id()),
            name: skill.name().to_string(),
            description: description.chars().take(MAX_DESCRIPTION).collect(),
            origin: card::origin(&skill.id().origin),
            state: known.standings[position].state(),
            scan: self.scans.result(skill),
            signer: self.signer(skill),
            marks,
        }
    }

    /// Who vouches for a skill, as far as that was read.
    fn signer(&self, skill: &KnownSkill) -> Option<String> {
        let SignatureCheck::Vouched(vouchers) = self.host.known_signature(skill.certain().ok()?)
        else {
            return None;
        };
        Some(vouchers.first()?.name.to_string())
    }

    pub(super) fn queue_page(&self, query: &CatalogueQuery) -> QueueView {
        let known = self.known();
        let origin = query.filter("origin");
        let state = query.filter("state");
        let fits = |item: &RegistryItem, standing: StandingWord| {
            origin.is_none_or(|origin| item.skill.id().origin.label() == origin)
                && state.is_none_or(|state| standing.word() == state)
        };
        let waiting: Vec<_> =
            known.waiting_skills().filter(|(item, standing)| fits(item, *standing)).collect();
        let page = waiting.iter().skip(query.range().start).take(CatalogueQuery::PAGE);
        let items = page.map(|(item, standing)| {
            let skill = &item.skill;
            let shown = skill.certain().ok().and_then(|listed| self.host.review(listed).ok());
            let description = skill.entry().frontmatter.description();
            QueueItem {
                key: key_of(skill.id()),
                name: skill.name().to_string(),
                description: description.chars().take(MAX_DESCRIPTION).collect(),
                origin: card::origin(&skill.id().origin),
                state: standing.state(),
                scan: self.scans.result(skill),
                shown: shown.map_or_else(String::new, |review| self.shown(skill.id(), &review)),
            }
        });
        let origins: BTreeSet<&str> =
            known.waiting_skills().map(|(item, _)| item.skill.id().origin.label()).collect();
        let states = [StandingWord::Changed, StandingWord::New];
        QueueView {
            items: items.collect(),
            total: waiting.len(),
            page: query.page,
            filters: vec![
                filter("origin", texts::ORIGIN, origins.into_iter().map(same)),
                filter("state", texts::STATE, states.into_iter().map(|word| same(word.word()))),
            ],
            query: query.clone(),
            has_batch: true,
            ..QueueView::default()
        }
    }
}
