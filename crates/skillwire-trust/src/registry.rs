//! Every known skill of every origin, and the handles they are reached by.

use std::collections::HashMap;

use crate::{
    handle::Handle,
    known::KnownSkill,
    origin::Origin,
    refusal::{Reason, Refusal},
    remedy::Remedy,
};

/// The most choices an ambiguous name is answered with.
const MOST_CHOICES: usize = 20;

/// With more skills of one name the handle is the URI, so that choosing handles stays cheap.
const MOST_RIVALS: usize = 64;

/// One known skill.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryItem {
    /// The handle that names this skill and no other.
    pub handle: String,
    /// Whether another skill, of this origin or another, has the same name.
    pub shares_name: bool,
    /// The skill, as its listing describes it.
    pub skill: KnownSkill,
}

/// Known skills, none of which hides another.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    items: Vec<RegistryItem>,
    by_name: HashMap<Box<str>, Vec<usize>>,
}

impl Registry {
    /// Collects skills and gives each its handle.
    pub fn new(skills: impl IntoIterator<Item = impl Into<KnownSkill>>) -> Self {
        let mut skills: Vec<KnownSkill> = skills.into_iter().map(Into::into).collect();
        skills.sort_by(|a, b| a.id().cmp(b.id()));
        skills.dedup_by(|a, b| a.id() == b.id());
        let mut by_name: HashMap<Box<str>, Vec<usize>> = HashMap::with_capacity(skills.len());
        for (index, skill) in skills.iter().enumerate() {
            by_name.entry(skill.name().as_str().into()).or_default().push(index);
        }
        let handles: Vec<(String, bool)> = skills
            .iter()
            .map(|skill| {
                let sharing = &by_name[skill.name().as_str()];
                let rivals = sharing.iter().map(|index| &skills[*index]);
                let rivals: Vec<&KnownSkill> =
                    rivals.filter(|other| other.id().origin == skill.id().origin).collect();
                (handle_of(skill, &rivals), sharing.len() > 1)
            })
            .collect();
        let items = skills
            .into_iter()
            .zip(handles)
            .map(|(skill, (handle, shares_name))| RegistryItem { handle, shares_name, skill })
            .collect();
        Self { items, by_name }
    }

    /// Returns every skill, by origin and URI.
    pub fn items(&self) -> &[RegistryItem] {
        &self.items
    }

    /// Finds the one skill a handle names.
    ///
    /// A name that fits several skills resolves to none: the refusal lists the handles to choose
    /// from.
    pub fn find(&self, handle: &Handle) -> Result<&RegistryItem, Refusal> {
        let found = match handle {
            Handle::Bare(name) => preferred(self.named(name).collect()),
            Handle::At(origin, path) => self.at(origin, path),
            Handle::Uri(origin, uri) | Handle::Archive(origin, uri, _) => {
                let at = self.items.binary_search_by(|item| {
                    let id = item.skill.id();
                    (&id.origin, &id.uri).cmp(&(origin, uri))
                });
                at.ok().map(|at| &self.items[at]).into_iter().collect()
            }
        };
        match found.as_slice() {
            [item] => Ok(item),
            [] => Err(Refusal::new(Reason::SkillNotFound).about(handle).remedy(Remedy::ListSkills)),
            several => Err(ambiguous(handle, several)),
        }
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &RegistryItem> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.items[*index])
    }

    /// Finds by name, by whole path, or by the last segments of the path.
    fn at(&self, origin: &Origin, path: &str) -> Vec<&RegistryItem> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let fits = |item: &&RegistryItem| {
            item.skill.id().origin == *origin && is_path_of(path, &item.skill)
        };
        self.named(name).filter(fits).collect()
    }
}

/// If all candidates are in folders of this machine, prefers the project's over the user's.
fn preferred(items: Vec<&RegistryItem>) -> Vec<&RegistryItem> {
    let of = |origin: &Origin| {
        let of_origin = |item: &&&RegistryItem| item.skill.id().origin == *origin;
        items.iter().filter(of_origin).copied().collect::<Vec<_>>()
    };
    let project = of(&Origin::Project);
    let local = of(&Origin::Local);
    match (project.len(), local.len()) {
        (1, others) if 1 + others == items.len() => project,
        _ => items,
    }
}

/// Returns the skill's path: its URI without scheme and `SKILL.md`.
fn path_of(skill: &KnownSkill) -> &str {
    let root = skill.id().uri.root().as_str();
    root.split_once("://").map_or(root, |(_, path)| path)
}

/// Tells whether a text is a skill's path, or its last segments.
fn is_path_of(path: &str, skill: &KnownSkill) -> bool {
    let whole = path_of(skill);
    // On some servers the path does not end in the name.
    let named = skill.name().as_str() == path;
    named || whole == path || whole.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'))
}

/// Chooses the shortest handle that fits only this skill among those with its name and origin.
fn handle_of(skill: &KnownSkill, rivals: &[&KnownSkill]) -> String {
    let origin = &skill.id().origin;
    let path = path_of(skill);
    let only = |path: &str| rivals.iter().filter(|other| is_path_of(path, other)).count() == 1;
    if rivals.len() == 1 {
        format!("{origin}:{}", skill.name())
    } else if rivals.len() <= MOST_RIVALS && only(path) {
        format!("{origin}:{path}")
    } else {
        format!("{origin}:{}", skill.id().uri)
    }
}

fn ambiguous(handle: &Handle, items: &[&RegistryItem]) -> Refusal {
    let mut choices: Vec<&str> =
        items.iter().take(MOST_CHOICES).map(|item| item.handle.as_str()).collect();
    if items.len() > MOST_CHOICES {
        choices.push("…");
    }
    Refusal::new(Reason::NameAmbiguous)
        .about(handle)
        .expected("a name that only one skill has")
        .actual(choices.join(", "))
        .hint("Name the skill by one of these handles.")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use skillwire_core::received;

    use super::*;
    use crate::listed::{EntrySource, ListedSkill};

    fn listed(origin: &str, uri: &str) -> ListedSkill {
        let name = uri.rsplit('/').nth(1).unwrap();
        let entry = serde_json::json!({
            "uri": uri,
            "frontmatter": {"name": name, "description": "Does it."},
            "resources": "dynamic",
        });
        let entry = received::read(&entry.to_string(), received::EntryLimits::default()).unwrap();
        ListedSkill::new(Origin::parse(origin).unwrap(), Arc::new(entry), EntrySource::Named)
    }

    fn registry(skills: &[(&str, &str)]) -> Registry {
        Registry::new(skills.iter().map(|(origin, uri)| listed(origin, uri)))
    }

    fn find(registry: &Registry, handle: &str) -> Result<String, Refusal> {
        let item = registry.find(&Handle::parse(handle)?)?;
        Ok(item.skill.id().to_string())
    }

    #[test]
    fn skills_of_one_listing_with_one_name_stay_reachable_by_their_paths_hst_26() {
        let registry = registry(&[
            ("acme", "skill://acme/billing/refunds/SKILL.md"),
            ("acme", "skill://acme/support/refunds/SKILL.md"),
            ("acme", "skill://refunds/SKILL.md"),
            ("acme", "github://acme/support/refunds/SKILL.md"),
            ("acme", "skill://other/SKILL.md"),
        ]);
        let handles: Vec<_> = registry.items().iter().map(|item| item.handle.as_str()).collect();
        assert_eq!(
            handles,
            [
                "acme:github://acme/support/refunds/SKILL.md",
                "acme:acme/billing/refunds",
                "acme:skill://acme/support/refunds/SKILL.md",
                "acme:other",
                "acme:skill://refunds/SKILL.md",
            ]
        );
        for item in registry.items() {
            assert_eq!(registry.find(&Handle::parse(&item.handle).unwrap()).unwrap(), item);
        }
        assert_eq!(find(&registry, "acme:refunds").unwrap_err().reason, Reason::NameAmbiguous);
        assert_eq!(
            find(&registry, "acme:billing/refunds").unwrap(),
            "acme:skill://acme/billing/refunds/SKILL.md"
        );
    }

    #[test]
    fn a_bare_name_with_several_owners_resolves_to_none_of_them_hst_28() {
        let registry = registry(&[
            ("acme", "skill://refunds/SKILL.md"),
            ("beta", "skill://refunds/SKILL.md"),
            ("local", "skill://refunds/SKILL.md"),
            ("acme", "skill://alone/SKILL.md"),
        ]);
        let refusal = find(&registry, "refunds").unwrap_err();
        assert_eq!(refusal.reason, Reason::NameAmbiguous);
        assert_eq!(refusal.actual.as_deref(), Some("local:refunds, acme:refunds, beta:refunds"));
        assert_eq!(find(&registry, "local:refunds").unwrap(), "local:skill://refunds/SKILL.md");
        assert_eq!(find(&registry, "beta:refunds").unwrap(), "beta:skill://refunds/SKILL.md");
        assert_eq!(find(&registry, "alone").unwrap(), "acme:skill://alone/SKILL.md");
        assert!(registry.items().iter().filter(|item| item.shares_name).count() == 3);
    }

    #[test]
    fn a_projects_skill_comes_before_the_users_and_no_servers_fmt_32() {
        let both = [("local", "skill://a/SKILL.md"), ("project", "skill://a/SKILL.md")];
        assert_eq!(find(&registry(&both), "a").unwrap(), "project:skill://a/SKILL.md");
        let three = [both[0], both[1], ("acme", "skill://a/SKILL.md")];
        assert_eq!(find(&registry(&three), "a").unwrap_err().reason, Reason::NameAmbiguous);
    }

    #[test]
    fn names_of_commands_and_servers_are_no_special_names_h_56() {
        let registry =
            registry(&[("acme", "skill://help/SKILL.md"), ("mcp", "skill://acme/SKILL.md")]);
        assert_eq!(find(&registry, "acme:help").unwrap(), "acme:skill://help/SKILL.md");
        assert_eq!(find(&registry, "mcp:acme").unwrap(), "mcp:skill://acme/SKILL.md");
        assert_eq!(find(&registry, "acme:acme").unwrap_err().reason, Reason::SkillNotFound);
    }

    #[test]
    fn a_uri_without_its_server_names_nothing_hst_12() {
        let registry = registry(&[("acme", "skill://refunds/SKILL.md")]);
        assert_eq!(
            find(&registry, "skill://refunds/SKILL.md").unwrap_err().reason,
            Reason::SkillNotFound
        );
        assert!(find(&registry, "acme:skill://refunds/SKILL.md").is_ok());
        assert_eq!(find(&registry, "UPPER:x").unwrap_err().reason, Reason::ServerUnknown);
    }
}
