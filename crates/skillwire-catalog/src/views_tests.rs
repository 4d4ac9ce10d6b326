//! Views of one catalogue, compared with what they have to show.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, RwLock},
};

use skillwire_core::{RelPath, SkillPath, SkillUri};
use skillwire_source::{
    FileStore, FileStoreError, MemorySource, ScanRequest, Skill, SkillContent, SkillSource as _,
    SourceChange,
};

use crate::{Catalog, CatalogDelta, SkillFilter, SnapshotOptions, ViewId, VisibleSkills};

/// Shows the skills whose URIs are in it.
#[derive(Debug, Default)]
struct Chosen(RwLock<BTreeSet<String>>);

impl SkillFilter for Chosen {
    fn shows(&self, uri: &SkillUri) -> bool {
        self.0.read().unwrap().contains(uri.as_str())
    }
}

impl Chosen {
    fn replace(&self, uris: impl IntoIterator<Item = String>) {
        *self.0.write().unwrap() = uris.into_iter().collect();
    }
}

/// Files in a directory, which nothing reads.
#[derive(Debug)]
struct InDirectory;

impl FileStore for InDirectory {
    fn read(&self, _: &RelPath, _: u64) -> Result<bytes::Bytes, FileStoreError> {
        Err(FileStoreError::failed("nothing reads it"))
    }

    fn directory(&self) -> Option<std::path::PathBuf> {
        Some("/skills".into())
    }
}

/// A catalogue with views whose filters a test decides about.
struct Views {
    catalog: Catalog,
    filters: Vec<(Arc<Chosen>, ViewId)>,
    /// What is served, by URI.
    served: BTreeMap<String, Arc<Skill>>,
}

fn uri(number: u32) -> String {
    format!("skill://area-{}/s{number}/SKILL.md", number % 7)
}

fn skill(number: u32, text: &str) -> Arc<Skill> {
    let mut source = MemorySource::new("memory");
    let text = format!("---\nname: s{number}\ndescription: Use {text}.\n---\n");
    let path = SkillPath::parse(&format!("area-{}/s{number}", number % 7)).unwrap();
    source.add(&path, [(RelPath::skill_file(), text.into())]).unwrap();
    let mut made = None;
    let mut take = |report| {
        let SourceChange::Updated(_, inspected) = report else { return };
        made = inspected.into_iter().find_map(|inspected| inspected.skill);
    };
    source.scan(&ScanRequest::everything(), &mut take).unwrap();
    let mut skill = Arc::unwrap_or_clone(made.unwrap());
    if number.is_multiple_of(3)
        && let SkillContent::Files(tree) = &mut skill.content
    {
        tree.store = Arc::new(InDirectory);
    }
    Arc::new(skill)
}

/// The size of a skill's files, if they are in a directory.
fn bytes_in_directory(skill: &Skill) -> Option<u64> {
    let SkillContent::Files(tree) = &skill.content else { return None };
    tree.store.directory()?;
    Some(tree.files.iter().map(|file| file.size).sum())
}

impl Views {
    fn with(numbers: impl IntoIterator<Item = u32>) -> Self {
        let catalog = Catalog::new(SnapshotOptions::default());
        let mut views = Self { catalog, filters: Vec::new(), served: BTreeMap::new() };
        views.publish([], numbers.into_iter().map(|number| skill(number, "first")));
        views
    }

    fn publish(
        &mut self,
        removed: impl IntoIterator<Item = u32>,
        placed: impl IntoIterator<Item = Arc<Skill>>,
    ) {
        let removed: Vec<Arc<str>> = removed.into_iter().map(|it| uri(it).into()).collect();
        let placed: Vec<Arc<Skill>> = placed.into_iter().collect();
        for uri in &removed {
            self.served.remove(&**uri);
        }
        for skill in &placed {
            self.served.insert(skill.uri.to_string(), Arc::clone(skill));
        }
        self.catalog.publish(&CatalogDelta { removed, placed });
    }

    fn restrict(&mut self, uris: impl IntoIterator<Item = String>) -> (Arc<Chosen>, ViewId) {
        let filter = Arc::new(Chosen::default());
        filter.replace(uris);
        let chosen = Arc::clone(&filter) as Arc<dyn SkillFilter>;
        let view = self.catalog.restrict(VisibleSkills::Chosen(chosen));
        self.filters.push((Arc::clone(&filter), view));
        (filter, view)
    }

    /// Compares every way in which a snapshot shows its skills with what it has to show.
    fn check(&self) {
        let of = |visible: &dyn Fn(&str) -> bool, view: ViewId| {
            let shown = self.catalog.now(view).unwrap();
            let expected: Vec<&Arc<Skill>> =
                self.served.values().filter(|skill| visible(skill.uri.as_str())).collect();
            let same = |one: &Arc<Skill>, other: &&Arc<Skill>| Arc::ptr_eq(one, other);
            assert!(shown.all().eq_by_each(&expected, same));
            assert!(shown.listed().eq_by_each(&expected, same));
            assert_eq!(
                (shown.listed_count(), shown.skill_count()),
                (expected.len(), expected.len())
            );
            let mut named = expected.clone();
            named.sort_by_key(|skill| (skill.name().to_owned(), skill.uri.to_string()));
            assert!(shown.by_name().eq_by_each(&named, same));
            if let Some(middle) = expected.get(expected.len() / 2) {
                let after = shown.listed_after(Some(middle.uri.as_str()));
                assert!(after.eq_by_each(&expected[expected.len() / 2 + 1..], same));
                assert!(shown.named(middle.name()).eq_by_each(&[*middle], same));
            }
            for (uri, skill) in &self.served {
                let found = shown.skill(uri);
                assert_eq!(found.is_some_and(|it| Arc::ptr_eq(it, skill)), visible(uri), "{uri}");
                assert_eq!(shown.file(uri).is_some(), visible(uri), "{uri}");
            }
        };
        of(&|_| true, ViewId::EVERYTHING);
        let everything = self.catalog.now(ViewId::EVERYTHING).unwrap();
        let here: Vec<u64> = self.served.values().filter_map(|it| bytes_in_directory(it)).collect();
        assert_eq!(everything.bytes_in_directories(), here.iter().sum::<u64>());
        assert_eq!(everything.files_in_directories().count(), here.len());
        for (filter, view) in &self.filters {
            of(&|uri| filter.0.read().unwrap().contains(uri), *view);
        }
    }
}

/// Compares a run of skills with what it has to be.
trait EqByEach<'s>: Iterator<Item = &'s Arc<Skill>> + Sized {
    fn eq_by_each(
        self,
        expected: &[&Arc<Skill>],
        same: impl Fn(&Arc<Skill>, &&Arc<Skill>) -> bool,
    ) -> bool {
        let found: Vec<_> = self.collect();
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
    }
}

impl<'s, I: Iterator<Item = &'s Arc<Skill>>> EqByEach<'s> for I {}

#[test]
fn views_show_their_skills_whatever_is_published_and_however_filters_change() {
    let mut state = 7_u64;
    let mut random = move |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((state >> 33) % u64::from(below)).unwrap()
    };
    let mut views = Views::with(0..700);
    for percent in [0, 1, 30, 60, 100] {
        let uris: Vec<String> = (0..1_400).filter(|_| random(100) < percent).map(uri).collect();
        views.restrict(uris);
    }
    views.check();
    for turn in 0..150 {
        match random(4) {
            0 => {
                let (filter, _) = &views.filters[random(5) as usize];
                let share = random(101);
                filter.replace((0..1_400).filter(|_| random(100) < share).map(uri));
                views.catalog.refilter();
            }
            1 => {
                let gone: Vec<u32> = (0..random(60)).map(|_| random(1_400)).collect();
                views.publish(gone, []);
            }
            2 => {
                // One skill alone, which may be as it was before for a filter that is not.
                let number = random(1_400);
                let again = views.served.get(&uri(number)).cloned();
                let (filter, _) = &views.filters[1];
                filter.0.write().unwrap().insert(uri(number));
                views.publish([], [again.unwrap_or_else(|| skill(number, "now"))]);
            }
            _ => {
                let gone: HashSet<u32> = (0..random(9)).map(|_| random(1_400)).collect();
                let new: BTreeSet<u32> = (0..random(90)).map(|_| random(1_400)).collect();
                let new = new.into_iter().filter(|number| !gone.contains(number));
                let new: Vec<_> = new.map(|it| skill(it, &format!("turn {turn}"))).collect();
                views.publish(gone.iter().copied(), new);
            }
        }
        views.check();
    }
}

#[test]
fn a_publication_that_a_view_does_not_see_leaves_its_pages_as_they_are() {
    let mut views = Views::with(0..10);
    let (_, sees) = views.restrict([uri(3), uri(50)]);
    let (_, other) = views.restrict([uri(4)]);
    let generation = |views: &Views, view| views.catalog.now(view).unwrap().generation();
    let before = (generation(&views, sees), generation(&views, other));
    let mut heard = views.catalog.changes();
    views.publish([], [skill(50, "new")]);
    assert_eq!(generation(&views, other), before.1);
    assert_ne!(generation(&views, sees), before.0);
    let changes = heard.try_recv().unwrap();
    assert!(changes.of(sees).unwrap().list && changes.of(other).unwrap().is_empty());
    views.check();
}

#[test]
fn a_filter_that_hides_many_skills_tells_of_each_file_that_is_another_one() {
    let mut views = Views::with(0..400);
    let (filter, view) = views.restrict((0..300).map(uri));
    filter.replace((100..400).map(uri));
    let changes = views.catalog.refilter();
    let change = changes.of(view).unwrap();
    assert!(change.list && !change.is_empty());
    for number in 0..400 {
        let is_other = !(100..300).contains(&number);
        assert_eq!(change.updated.contains(&uri(number)), is_other, "{number}");
    }
    let followed: HashSet<Arc<str>> = [uri(99).into(), uri(100).into()].into();
    assert_eq!(change.updated.among(&followed), [&Arc::from(uri(99))]);
    let again = views.catalog.refilter();
    assert!(again.is_empty() && again.of(view).unwrap().is_empty());
    views.check();
}
