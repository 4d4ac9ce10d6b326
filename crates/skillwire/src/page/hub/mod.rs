//! The page of a hub: its skills, what waits for a reviewer, and what happened, for readers who sign in.

mod acts;
mod catalogue;
mod connect;
mod live;
mod review;
mod shown;
mod sign_in;
mod skill;
mod tables;

use std::{sync::Arc, time::Duration};

use skillwire_hub::{Action, Caller};
use skillwire_hub_server::{HubReaders, SignedReader};
use skillwire_hub_store::{HubStore, StoreError};
use skillwire_page::{
    Filled, LiveState, PageProblem, PageProvider, SignInAnswer, SignInPlace,
    model::{
        ActOutcome, CatalogueQuery, CatalogueView, ConnectView, DiffView, FileView, Image, PageAct,
        QueueView, ReviewView, Section, Site, SkillKey, SkillView, TableQuery, TableView,
    },
};
use tokio::sync::watch;

use super::{listing::SkillListing, scanned::KnownScans, texts};

/// Changes that come faster are looked at together.
const PAUSE: Duration = Duration::from_millis(250);

/// Fills the page of a hub; clones share everything.
#[derive(Clone)]
pub(crate) struct HubPage(Arc<Inner>);

struct Inner {
    readers: HubReaders,
    name: String,
    /// The address of the hub as clients write it, without a path.
    url: String,
    listing: SkillListing,
    seen: live::SeenSkills,
    scans: KnownScans,
    /// Held by the request that scans what waits, so that it is scanned once.
    scanning: tokio::sync::Mutex<()>,
    /// Held while a decision is recorded: the state that its reader was shown is looked at first.
    deciding: tokio::sync::Mutex<()>,
}

impl HubPage {
    pub(crate) fn new(readers: HubReaders, name: String, url: String) -> Self {
        Self(Arc::new(Inner {
            readers,
            name,
            url,
            listing: SkillListing::default(),
            seen: live::SeenSkills::default(),
            scans: KnownScans::default(),
            scanning: tokio::sync::Mutex::default(),
            deciding: tokio::sync::Mutex::default(),
        }))
    }

    fn readers(&self) -> &HubReaders {
        &self.0.readers
    }

    fn scans(&self) -> &KnownScans {
        &self.0.scans
    }

    fn store(&self) -> &HubStore {
        self.0.readers.store()
    }

    /// The rights of a reader now.
    async fn caller(&self, reader: &SignedReader) -> Filled<Caller> {
        self.readers().caller(reader).await.ok_or(PageProblem::NotFound)
    }

    /// What has changed as far as a reader may know.
    ///
    /// Trust boundary: the numbers follow from what the reader sees. A count of all changes would tell of
    /// those that are hidden from them.
    async fn live_state(&self, caller: &Caller) -> Filled<LiveState> {
        let (catalog, view) = self.readers().catalogue(caller).await.map_err(problem)?;
        let served = catalog.now(view).map_or(0, |snapshot| self.0.seen.mark(view, &snapshot));
        let waiting = if self.reviews_anything(caller).await? {
            self.waiting(caller).await?
        } else {
            Vec::new()
        };
        let position = *self.readers().changes().borrow();
        Ok(LiveState {
            skills: live::mark_of((
                served,
                waiting.iter().map(live::waiting_mark).collect::<Vec<_>>(),
            )),
            events: if may_audit(caller) { position } else { 0 },
            waiting: waiting.len(),
        })
    }

    async fn reviews_anything(&self, caller: &Caller) -> Filled<bool> {
        let namespaces = self.store().all_namespaces().await.map_err(problem)?;
        Ok(namespaces.iter().any(|namespace| caller.may(Action::Review, namespace)))
    }
}

fn may_audit(caller: &Caller) -> bool {
    caller.require_administrator(Action::ReadAudit).is_ok()
}

/// Why the store refused something, for a reader: what is unknown to them is not there.
#[expect(clippy::needless_pass_by_value, reason = "made for `map_err`")]
fn problem(error: StoreError) -> PageProblem {
    match error.refusal() {
        Some(refusal) if refusal.is_unknown() => PageProblem::NotFound,
        Some(refusal) => PageProblem::Refused(refusal.to_string()),
        None => {
            tracing::error!(%error, "a page could not be filled");
            PageProblem::Refused(texts::HUB_UNREADABLE.to_owned())
        }
    }
}

impl PageProvider for HubPage {
    type Reader = SignedReader;

    async fn sign_in(&self, secret: &str) -> Option<SignedReader> {
        self.readers().sign_in(secret).await
    }

    fn sign_in_places(&self) -> Vec<SignInPlace> {
        self.places()
    }

    async fn sign_in_address(&self, place: &str, secret: &str, back: &str) -> Filled<String> {
        self.address_at(place, secret, back).await
    }

    async fn signed_in_at(&self, answer: SignInAnswer<'_>) -> Filled<SignedReader> {
        self.reader_of(answer).await
    }

    async fn is_current(&self, reader: &SignedReader) -> bool {
        self.readers().caller(reader).await.is_some()
    }

    async fn site(&self, reader: &SignedReader) -> Site {
        let caller = self.readers().caller(reader).await;
        let caller = caller.unwrap_or_else(Caller::anonymous);
        let mut sections = vec![Section::Catalogue];
        if self.reviews_anything(&caller).await.unwrap_or_default() {
            sections.push(Section::Review);
        }
        if may_audit(&caller) {
            sections.push(Section::Audit);
        }
        sections.extend([Section::Servers, Section::Namespaces, Section::Tokens, Section::Connect]);
        Site {
            name: self.0.name.clone(),
            place: self.0.url.clone(),
            sections,
            live: self.live_state(&caller).await.unwrap_or_default(),
            reader: Some(caller.subject.to_string()),
        }
    }

    async fn catalogue(
        &self,
        reader: &SignedReader,
        query: &CatalogueQuery,
    ) -> Filled<CatalogueView> {
        self.catalogue_page(&self.caller(reader).await?, query).await
    }

    async fn skill(&self, reader: &SignedReader, key: &SkillKey) -> Filled<SkillView> {
        let caller = self.caller(reader).await?;
        let shown = self.shown(&caller, key).await?;
        self.skill_view(&caller, &shown).await
    }

    async fn file(&self, reader: &SignedReader, key: &SkillKey, path: &str) -> Filled<FileView> {
        let caller = self.caller(reader).await?;
        let shown = self.shown(&caller, key).await?;
        self.file_view(&caller, &shown, path).await
    }

    async fn image(&self, reader: &SignedReader, key: &SkillKey, path: &str) -> Filled<Image> {
        let caller = self.caller(reader).await?;
        let shown = self.shown(&caller, key).await?;
        let bytes = self.bytes_at(&caller, &shown, path).await?;
        Image::of(&bytes).ok_or(PageProblem::NotFound)
    }

    async fn diff(
        &self,
        reader: &SignedReader,
        key: &SkillKey,
        since: Option<&str>,
        path: Option<&str>,
    ) -> Filled<DiffView> {
        let caller = self.caller(reader).await?;
        let shown = self.shown(&caller, key).await?;
        let before = match since {
            Some(since) => self.shown(&caller, &SkillKey::new(since)).await?,
            None => self.earlier(&caller, &shown).await?.ok_or(PageProblem::NotFound)?,
        };
        self.diff_view(&before, &shown, path).await
    }

    async fn queue(&self, reader: &SignedReader, query: &CatalogueQuery) -> Filled<QueueView> {
        self.queue_page(&self.caller(reader).await?, query).await
    }

    async fn review(&self, reader: &SignedReader, key: &SkillKey) -> Filled<ReviewView> {
        let caller = self.caller(reader).await?;
        let shown = self.shown(&caller, key).await?;
        self.review_view(&caller, &shown).await
    }

    async fn table(
        &self,
        reader: &SignedReader,
        section: Section,
        query: &TableQuery,
    ) -> Filled<TableView> {
        self.section_table(&self.caller(reader).await?, section, query).await
    }

    async fn export(
        &self,
        reader: &SignedReader,
        section: Section,
        query: &TableQuery,
        format: &str,
    ) -> Filled<String> {
        self.export_audit(&self.caller(reader).await?, section, query, format).await
    }

    async fn connect(&self, _: &SignedReader) -> Filled<ConnectView> {
        Ok(connect::view(&self.0.name, &self.0.url))
    }

    async fn act(&self, reader: &SignedReader, act: PageAct) -> Filled<ActOutcome> {
        self.carry_out(&self.caller(reader).await?, act).await
    }

    async fn live(&self, reader: &SignedReader) -> Option<watch::Receiver<LiveState>> {
        let mut changes = self.readers().changes();
        changes.borrow_and_update();
        let caller = self.caller(reader).await.ok()?;
        let (sender, receiver) = watch::channel(self.live_state(&caller).await.ok()?);
        let (page, reader) = (self.clone(), reader.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    news = changes.changed() => if news.is_err() { return },
                    () = sender.closed() => return,
                }
                tokio::time::sleep(PAUSE).await;
                changes.borrow_and_update();
                // A reader who is no longer admitted learns nothing more: the stream ends.
                let Ok(caller) = page.caller(&reader).await else { return };
                if let Ok(now) = page.live_state(&caller).await {
                    sender.send_if_modified(|before| std::mem::replace(before, now) != now);
                }
            }
        });
        Some(receiver)
    }
}
