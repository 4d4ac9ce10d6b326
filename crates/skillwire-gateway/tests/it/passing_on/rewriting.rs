//! The mapping of URIs, without servers.

use proptest::prelude::*;
use skillwire_core::{ResourceUri, Scheme, SkillUri};
use skillwire_gateway::UriMapping;
use skillwire_trust::Origin;

fn rewriting(name: &str) -> UriMapping {
    UriMapping::new(Scheme::default(), Origin::parse(name).unwrap())
}

fn uri(text: &str) -> ResourceUri {
    ResourceUri::parse(text).unwrap()
}

/// Segments of all kinds. Those that mean something to the mapping are chosen more often.
fn segment() -> impl Strategy<Value = String> {
    let plain = "[a-zA-Z0-9.+:@ %?#\\[\\]é~-]{1,8}";
    let telling =
        prop::sample::select(vec!["+skill", "+github", "+local", "+", "acme", "a", "SKILL.md"]);
    prop_oneof![3 => plain.prop_map(String::from), 1 => telling.prop_map(String::from)]
        .prop_filter("a way up or nowhere", |segment| segment != "." && segment != "..")
}

fn any_uri() -> impl Strategy<Value = ResourceUri> {
    let scheme = prop::sample::select(vec!["skill", "github", "a+b", "x-y.z", "local", "project"]);
    (scheme, prop::collection::vec(segment(), 1..6)).prop_map(|(scheme, segments)| {
        let scheme = Scheme::parse(scheme).unwrap();
        ResourceUri::from_segments(&scheme, segments.iter().map(String::as_str)).unwrap()
    })
}

fn any_label() -> impl Strategy<Value = UriMapping> {
    prop::sample::select(vec!["acme", "a", "a.b", "work_1", "skill", "github", "local", "project"])
        .prop_map(rewriting)
}

proptest! {
    #[test]
    fn going_down_and_up_again_comes_back_gw_05_g_02(uri in any_uri(), server in any_label()) {
        let down = server.passed_on(&uri).unwrap();
        prop_assert_eq!(server.own(&down), Some(uri));
    }

    #[test]
    fn two_things_never_share_a_uri_gw_05_g_03(
        a in any_uri(), b in any_uri(), one in any_label(), other in any_label(),
    ) {
        let same = a == b && one == other;
        prop_assert_eq!(one.passed_on(&a) == other.passed_on(&b), same);
    }

    #[test]
    fn going_up_and_down_again_comes_back_gw_05(uri in any_uri(), server in any_label()) {
        if let Some(up) = server.own(&uri) {
            prop_assert_eq!(server.passed_on(&up), Some(uri));
        }
    }

    #[test]
    fn what_is_inside_stays_inside_gw_05(uri in any_uri(), server in any_label()) {
        if let Some(parent) = uri.parent() {
            prop_assert_eq!(server.passed_on(&uri).unwrap().parent(), server.passed_on(&parent));
        }
    }
}

#[test]
fn a_rewritten_uri_is_that_of_a_skill_and_names_its_server_gw_04_gw_22() {
    let server = rewriting("acme");
    for (up, down) in [
        ("skill://pdf/SKILL.md", "skill://acme/pdf/SKILL.md"),
        ("skill://team/pdf/SKILL.md", "skill://acme/team/pdf/SKILL.md"),
        ("skill://acme/pdf/SKILL.md", "skill://acme/acme/pdf/SKILL.md"),
        ("github://owner/pdf/SKILL.md", "skill://acme/+github/owner/pdf/SKILL.md"),
        ("skill://+github/pdf/SKILL.md", "skill://acme/+skill/+github/pdf/SKILL.md"),
        ("skill://a%3Ab/pdf/SKILL.md", "skill://acme/a:b/pdf/SKILL.md"),
    ] {
        let skill = SkillUri::parse(up).unwrap();
        let passed_on = server.passed_on_skill(&skill).unwrap();
        assert_eq!(passed_on.as_str(), down);
        assert_eq!(passed_on.root().name(), skill.root().name());
        assert_eq!(server.own_skill(&passed_on), Some(skill));
    }
}

#[test]
fn what_was_never_made_leads_nowhere_gw_05() {
    let server = rewriting("acme");
    for other in [
        "skill://acme",
        "skill://acme-two/pdf/SKILL.md",
        "skill://other/pdf/SKILL.md",
        "github://acme/pdf/SKILL.md",
        "skill://acme/+skill/pdf/SKILL.md",
        "skill://acme/+skill",
        "skill://acme/+/pdf/SKILL.md",
        "skill://acme/+file/etc/SKILL.md",
        "skill://acme/+HTTP/x/SKILL.md",
    ] {
        assert_eq!(server.own(&uri(other)), None, "{other}");
    }
}
