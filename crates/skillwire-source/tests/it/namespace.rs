//! Which skill is served at each URI, updated group by group.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proptest::prelude::*;
use skillwire_core::{Code, ResourceUri, SkillUri};
use skillwire_source::{GroupKey, UriClaimant, UriNamespace};

/// A skill that lists some URIs.
#[derive(Debug, Clone)]
struct Claimant {
    uri: SkillUri,
    lists: BTreeSet<String>,
}

impl UriClaimant for Claimant {
    fn uri(&self) -> &SkillUri {
        &self.uri
    }

    fn lists(&self, uri: &ResourceUri) -> bool {
        self.lists.contains(uri.as_str())
    }
}

fn uri(path: &str) -> String {
    format!("skill://{path}/SKILL.md")
}

fn claim(path: &str, lists: &[&str]) -> (String, Claimant) {
    let lists = lists.iter().map(|path| uri(path)).collect();
    (format!("at {path}"), Claimant { uri: SkillUri::parse(&uri(path)).unwrap(), lists })
}

fn group(source: usize, key: &str) -> (usize, GroupKey) {
    (source, GroupKey(key.into()))
}

fn touched(uris: &BTreeSet<Arc<str>>) -> Vec<&str> {
    uris.iter().map(|uri| &**uri).collect()
}

#[test]
fn a_skill_keeps_its_uri_while_another_claim_comes_and_goes_v_45() {
    let mut namespace = UriNamespace::default();
    namespace.replace(&group(0, "a"), [claim("pdf", &[])]);
    assert!(namespace.holder(&uri("pdf")).is_some());
    let changed = namespace.replace(&group(1, "a"), [claim("pdf", &[])]);
    assert_eq!(touched(&changed), [uri("pdf")]);
    assert!(namespace.holder(&uri("pdf")).is_some());
    let disputes = namespace.conflicts(&uri("pdf"));
    assert_eq!(disputes.len(), 1);
    assert!(disputes.iter().all(|(_, finding)| finding.code == Code::PathCollision));
    let changed = namespace.replace(&group(1, "a"), []);
    assert_eq!(touched(&changed), [uri("pdf")]);
    assert!(namespace.holder(&uri("pdf")).is_some());
    assert!(namespace.conflicts(&uri("pdf")).is_empty());
}

#[test]
fn an_intruder_comes_and_goes_with_the_skill_around_it_srv_44() {
    let mut namespace = UriNamespace::default();
    namespace.replace(&group(1, "deep"), [claim("pdf/x/deep", &[])]);
    assert!(namespace.holder(&uri("pdf/x/deep")).is_some());
    let changed = namespace.replace(&group(0, "pdf"), [claim("pdf", &[])]);
    assert_eq!(touched(&changed), [uri("pdf"), uri("pdf/x/deep")]);
    assert!(namespace.holder(&uri("pdf/x/deep")).is_none());
    assert_eq!(namespace.conflicts(&uri("pdf/x/deep"))[0].0, "at pdf/x/deep");
    // The manifest of the outer skill lists the inner one now.
    let changed = namespace.replace(&group(0, "pdf"), [claim("pdf", &["pdf/x/deep"])]);
    assert_eq!(touched(&changed), [uri("pdf"), uri("pdf/x/deep")]);
    assert!(namespace.holder(&uri("pdf/x/deep")).is_some());
    namespace.replace(&group(0, "pdf"), [claim("pdf", &[])]);
    let changed = namespace.replace(&group(0, "pdf"), []);
    assert_eq!(touched(&changed), [uri("pdf"), uri("pdf/x/deep")]);
    assert!(namespace.holder(&uri("pdf/x/deep")).is_some());
}

#[test]
fn a_new_skill_never_displaces_one_that_is_published_rs_01() {
    let mut namespace = UriNamespace::default();
    let held = |namespace: &UriNamespace<Claimant>, path: &str, lists: usize| {
        namespace.holder(&uri(path)).is_some_and(|holder| holder.lists.len() == lists)
    };
    namespace.replace(&group(1, "a"), [claim("pdf", &["a"]), claim("x/deep", &["b"])]);
    namespace.settle();
    // The newcomers come from a folder that was named earlier.
    namespace.replace(&group(0, "a"), [claim("pdf", &[])]);
    let changed = namespace.replace(&group(0, "b"), [claim("x", &[])]);
    assert_eq!(touched(&changed), [uri("x"), uri("x/deep")]);
    for _ in 0..2 {
        assert!(held(&namespace, "pdf", 1) && held(&namespace, "x/deep", 1));
        assert!(namespace.holder(&uri("x")).is_none());
        assert_eq!(namespace.conflicts(&uri("pdf")).len(), 1);
        assert_eq!(namespace.conflicts(&uri("x")).len(), 1);
        // Reading the published skills again changes nothing.
        namespace.settle();
        namespace.replace(&group(1, "a"), [claim("pdf", &["a"]), claim("x/deep", &["b"])]);
    }
    // They take their places when those are free.
    let changed = namespace.replace(&group(1, "a"), []);
    assert_eq!(touched(&changed), [uri("pdf"), uri("x"), uri("x/deep")]);
    assert!(held(&namespace, "pdf", 0) && held(&namespace, "x", 0));
}

#[test]
fn names_that_only_begin_alike_are_not_touched_srv_44() {
    let mut namespace = UriNamespace::default();
    namespace.replace(&group(0, "x"), [claim("pdf-extra", &[]), claim("pdfs/a", &[])]);
    let changed = namespace.replace(&group(0, "pdf"), [claim("pdf", &[])]);
    assert_eq!(touched(&changed), [uri("pdf")]);
}

#[test]
fn namesakes_are_those_that_are_there_srv_39() {
    let mut namespace = UriNamespace::default();
    let (_, skill) = claim("a/pdf", &[]);
    namespace.replace(&group(0, "a"), [claim("a/pdf", &[])]);
    assert!(namespace.uris_with_same_name(&skill.uri).is_none());
    namespace.replace(&group(0, "b"), [claim("b/pdf", &[])]);
    assert_eq!(
        touched(namespace.uris_with_same_name(&skill.uri).unwrap()),
        [uri("a/pdf"), uri("b/pdf")]
    );
    namespace.replace(&group(0, "b"), [claim("b/other", &[])]);
    assert!(namespace.uris_with_same_name(&skill.uri).is_none());
}

#[test]
fn of_two_skills_with_one_name_the_first_is_served_where_names_are_unique_p_14() {
    let mut namespace = UriNamespace::default();
    namespace.unique_names();
    namespace.replace(&group(0, "z"), [claim("z/pdf", &[])]);
    namespace.settle();
    let changed = namespace.replace(&group(0, "a"), [claim("a/pdf", &[]), claim("a/other", &[])]);
    assert_eq!(touched(&changed), [uri("a/other"), uri("a/pdf"), uri("z/pdf")]);
    assert!(namespace.holder(&uri("z/pdf")).is_some(), "it was there first");
    assert!(namespace.holder(&uri("a/pdf")).is_none());
    assert!(namespace.holder(&uri("a/other")).is_some());
    let [(origin, finding)] = &namespace.conflicts(&uri("a/pdf"))[..] else { panic!("one") };
    assert_eq!((*origin, finding.code), ("at a/pdf", Code::DuplicateName));
    let changed = namespace.replace(&group(0, "z"), []);
    assert_eq!(touched(&changed), [uri("a/pdf"), uri("z/pdf")]);
    assert!(namespace.holder(&uri("a/pdf")).is_some(), "the name is free");
}

const PATHS: [&str; 7] = ["a", "b", "a/b", "a/b/a", "b/a", "a/a", "a/a/b"];

/// The skill that holds a path, the conflicts about it, and the number of URIs with its name.
type State = (Option<SkillUri>, Vec<(String, String)>, usize);

fn states(namespace: &UriNamespace<Claimant>) -> Vec<State> {
    let state = |path: &&str| {
        let uri = uri(path);
        let disputes = namespace.conflicts(&uri);
        let disputes = disputes.iter().map(|(o, f)| ((*o).to_owned(), f.message.clone()));
        let parsed = SkillUri::parse(&uri).unwrap();
        let namesakes = namespace.uris_with_same_name(&parsed).map_or(0, BTreeSet::len);
        let holder = namespace.holder(&uri).map(|holder| holder.uri.clone());
        // The messages depend on the order of the claims, so only the origins are compared.
        (holder, disputes.map(|(o, _)| (o, String::new())).collect(), namesakes)
    };
    PATHS.iter().map(state).collect()
}

proptest! {
    #[test]
    fn a_namespace_changed_bit_by_bit_is_like_one_made_at_once_v_45(
        changes in proptest::collection::vec(
            (0..2_usize, 0..3_u8, proptest::collection::vec((0..7_usize, 0..7_usize), 0..3)),
            1..20,
        ),
        unique in any::<bool>(),
    ) {
        let empty = || {
            let mut namespace = UriNamespace::default();
            if unique {
                namespace.unique_names();
            }
            namespace
        };
        let mut namespace = empty();
        let mut groups = BTreeMap::new();
        for (source, key, claims) in changes {
            // One group never claims a path twice.
            let claims: BTreeMap<usize, usize> = claims.into_iter().collect();
            let claims: Vec<_> =
                claims.into_iter().map(|(path, list)| claim(PATHS[path], &[PATHS[list]])).collect();
            let site = group(source, &key.to_string());
            let before = states(&namespace);
            let changed = namespace.replace(&site, claims.clone());
            groups.insert(site, claims);
            let mut fresh = empty();
            for (site, claims) in &groups {
                fresh.replace(site, claims.clone());
            }
            let (after, expected) = (states(&namespace), states(&fresh));
            prop_assert_eq!(&after, &expected);
            // A path that `replace` does not return has the same holder as before.
            for ((path, before), after) in PATHS.iter().zip(&before).zip(&after) {
                prop_assert!(changed.contains(uri(path).as_str()) || before.0 == after.0, "{}", path);
            }
        }
    }
}
