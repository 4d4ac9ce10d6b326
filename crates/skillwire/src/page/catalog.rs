//! The page of a server: its catalogue for every visitor, to read and to install from.

use std::sync::Arc;

use bytes::Bytes;
use skillwire_catalog::{Catalog, CatalogChanges, Snapshot, ViewChange, ViewId};
use skillwire_core::{Digest, SKILL_FILE};
use skillwire_page::{
    Filled, LiveState, PageProblem, PageProvider,
    model::{
        CatalogueQuery, CatalogueRow, CatalogueView, FactRow, FileContent, FileRow, FileView,
        Image, InstallLine, Section, Site, SkillKey, SkillState, SkillText, SkillView, Tone,
    },
    text_of,
};
use skillwire_source::{FileRecord, Skill, SkillContent};
use tokio::sync::{broadcast, watch};

use super::{
    listing::{SkillListing, content_of, description, field_rows, fields, tools_of},
    scanned::{KnownScans, finding_filter, fits_finding},
    texts,
};

/// A visitor, who may read what everybody may.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visitor;

/// Fills the page of a server from its catalogue.
pub(crate) struct CatalogPage {
    catalog: Arc<Catalog>,
    /// What visitors see.
    view: ViewId,
    /// What the server is called.
    name: String,
    /// The address of its endpoint, as clients write it.
    url: String,
    listing: SkillListing,
    scans: Arc<KnownScans>,
    #[cfg(feature = "scan")]
    evidence: Arc<super::scanned::KeptEvidence>,
    live: watch::Sender<LiveState>,
}

impl CatalogPage {
    /// Makes the page, and follows the changes of the catalogue until that ends.
    pub(crate) fn new(catalog: Arc<Catalog>, view: ViewId, name: String, url: String) -> Self {
        let live = watch::Sender::new(LiveState::default());
        tokio::spawn(follow(catalog.changes(), view, live.clone()));
        Self {
            catalog,
            view,
            name,
            url,
            listing: SkillListing::default(),
            scans: Arc::default(),
            #[cfg(feature = "scan")]
            evidence: Arc::default(),
            live,
        }
    }

    async fn snapshot(&self) -> Filled<Arc<Snapshot>> {
        self.catalog.ready().await;
        self.catalog.now(self.view).ok_or(PageProblem::NotFound)
    }

    async fn find(&self, key: &SkillKey) -> Filled<Arc<Skill>> {
        let snapshot = self.snapshot().await?;
        snapshot.skill(key.as_str()).cloned().ok_or(PageProblem::NotFound)
    }

    /// How a visitor uses a skill of this server.
    fn install(&self, skill: &Skill) -> Vec<InstallLine> {
        let label: String = self.name.to_ascii_lowercase();
        let label: String =
            label.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let label = if label.is_empty() { "skills".to_owned() } else { label };
        let name = crate::report::printable(skill.name());
        vec![InstallLine {
            label: texts::INSTALL.to_owned(),
            line: texts::install_lines(&label, &self.url, &name),
        }]
    }
}

/// Tells open pages what changed in a view.
///
/// Trust boundary: what changes in skills that visitors do not see tells them nothing, so only changes
/// of their view are counted.
async fn follow(
    mut changes: broadcast::Receiver<Arc<CatalogChanges>>,
    view: ViewId,
    live: watch::Sender<LiveState>,
) {
    loop {
        match changes.recv().await {
            Ok(changes) if changes.of(view).is_none_or(ViewChange::is_empty) => {}
            // What was missed may have been of this view.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {
                live.send_modify(|live| live.skills += 1);
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

fn state(skill: &Skill) -> SkillState {
    match &skill.content {
        SkillContent::Files(_) => SkillState::new(texts::SERVED, Tone::Good),
        SkillContent::Generated(_) => {
            SkillState::new(texts::GENERATED, Tone::Warning).detail(texts::FILES_MAY_DIFFER)
        }
    }
}

/// Reads a file as it was published; one that changed since is not shown.
async fn read(skill: &Arc<Skill>, file: &FileRecord) -> Option<Bytes> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    if tree.store.is_withdrawn() {
        return None;
    }
    let store = Arc::clone(&tree.store);
    let wanted = file.clone();
    let read = move || store.read(&wanted.path, wanted.size);
    let bytes = tokio::task::spawn_blocking(read).await.ok()?.ok()?;
    (Digest::of(&bytes) == file.digest).then_some(bytes)
}

/// Reads and scans all files of a skill, and tells whether all were read.
#[cfg(feature = "scan")]
async fn scan(skill: &Arc<Skill>) -> (skillwire_page::model::EvidenceView, bool) {
    let mut files = skillwire_scan::SkillFiles::new();
    let mut is_whole = true;
    if let SkillContent::Files(tree) = &skill.content {
        for file in &tree.files {
            if let Some(bytes) = read(skill, file).await {
                files.add(file.path.to_string(), bytes);
            } else {
                is_whole = false;
            }
        }
    }
    let scan = move || super::scanned::compare(&files, None).view;
    match tokio::task::spawn_blocking(scan).await {
        Ok(found) => (found, is_whole),
        Err(_) => Default::default(),
    }
}

fn file_row(file: &FileRecord) -> FileRow {
    FileRow {
        path: file.path.to_string(),
        size: Some(file.size),
        media_type: file.media_type.to_owned(),
        is_read: true,
    }
}

impl PageProvider for CatalogPage {
    type Reader = Visitor;

    async fn sign_in(&self, _: &str) -> Option<Visitor> {
        None
    }

    fn visitor(&self) -> Option<Visitor> {
        Some(Visitor)
    }

    async fn site(&self, _: &Visitor) -> Site {
        Site {
            name: self.name.clone(),
            place: self.url.clone(),
            sections: vec![Section::Catalogue],
            live: *self.live.borrow(),
            reader: None,
        }
    }

    async fn catalogue(&self, _: &Visitor, query: &CatalogueQuery) -> Filled<CatalogueView> {
        let snapshot = self.snapshot().await?;
        let all = snapshot.listed_count();
        let finding = query.filter("finding");
        let fits = |skill: &Skill| {
            finding.is_none_or(|finding| fits_finding(finding, self.scans.of_skill(skill)))
        };
        let fits = finding.map(|_| &fits as &dyn Fn(&Skill) -> bool);
        let (page, total) = self.listing.page(&self.catalog, &snapshot, query, fits);
        let rows = page.iter().map(|skill| CatalogueRow {
            key: SkillKey::new(skill.uri.as_str()),
            name: skill.name().to_owned(),
            description: description(&fields(skill)),
            origin: skill.path(),
            state: state(skill),
            scan: self.scans.of_skill(skill),
            signer: None,
            marks: Vec::new(),
        });
        let rows = rows.collect();
        let filters = vec![finding_filter()];
        Ok(CatalogueView { rows, total, all, filters, ..CatalogueView::default() })
    }

    async fn skill(&self, _: &Visitor, key: &SkillKey) -> Filled<SkillView> {
        let skill = self.find(key).await?;
        let fields = fields(&skill);
        let mut view = SkillView::new(key.clone(), skill.name(), state(&skill));
        view.description = description(&fields);
        view.origin.clone_from(&self.name);
        view.facts.push(FactRow::code(texts::URI, skill.uri.as_str()));
        view.frontmatter = field_rows(&fields);
        view.tools = tools_of(fields);
        view.install = self.install(&skill);
        let SkillContent::Files(tree) = &skill.content else { return Ok(view) };
        let content = content_of(&skill);
        if let Some(content) = content {
            view.facts.push(FactRow::code(texts::CONTENT, content.to_string()));
        }
        view.files = Some(tree.files.iter().map(file_row).collect());
        let file = tree.file_at(SKILL_FILE).ok_or(PageProblem::NotFound)?;
        view.text = match read(&skill, file).await {
            Some(bytes) => match text_of(&bytes) {
                Some(text) => SkillText::Read(text.to_owned()),
                None => SkillText::NotText,
            },
            None => SkillText::Failed(texts::CHANGING_NOW.to_owned()),
        };
        #[cfg(feature = "scan")]
        {
            let scans = Arc::clone(&self.scans);
            let scan = async move {
                let (found, is_whole) = scan(&skill).await;
                if let Some(content) = content.filter(|_| is_whole) {
                    scans.keep(content, &found);
                }
                (found, is_whole)
            };
            view.evidence = self.evidence.of(content, scan).await;
        }
        Ok(view)
    }

    async fn file(&self, _: &Visitor, key: &SkillKey, path: &str) -> Filled<FileView> {
        let skill = self.find(key).await?;
        let SkillContent::Files(tree) = &skill.content else { return Err(PageProblem::NotFound) };
        let file = tree.file_at(path).ok_or(PageProblem::NotFound)?;
        let content = match read(&skill, file).await {
            None => FileContent::Failed(texts::CHANGING_NOW.to_owned()),
            Some(bytes) => match text_of(&bytes) {
                Some(text) => FileContent::Text(text.to_owned()),
                None if Image::of(&bytes).is_some() => FileContent::Image,
                None => FileContent::Other,
            },
        };
        Ok(FileView {
            key: key.clone(),
            skill: skill.name().to_owned(),
            file: file_row(file),
            digest: Some(file.digest.hex()),
            content,
        })
    }

    async fn image(&self, _: &Visitor, key: &SkillKey, path: &str) -> Filled<Image> {
        let skill = self.find(key).await?;
        let SkillContent::Files(tree) = &skill.content else { return Err(PageProblem::NotFound) };
        let file = tree.file_at(path).ok_or(PageProblem::NotFound)?;
        let bytes = read(&skill, file).await.ok_or(PageProblem::NotFound)?;
        Image::of(&bytes).ok_or(PageProblem::NotFound)
    }

    async fn live(&self, _: &Visitor) -> Option<watch::Receiver<LiveState>> {
        Some(self.live.subscribe())
    }
}
