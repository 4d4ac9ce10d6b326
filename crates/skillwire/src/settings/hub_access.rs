//! Who is admitted to a hub, what decides and what signs: parts of `hub.toml`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use skillwire_attest::SigningKey;
use skillwire_client::Secret;
use skillwire_hub::{ConfiguredAccess, InvalidHubName, NamespaceName, Role, SharedPolicy, Subject};
use skillwire_hub_server::HubAccess;
use skillwire_jwt::{Algorithm, ClaimPath, IssuerRules, SignInClient, TrustedIssuer};

use super::hub::duration;
use crate::{failure::Failure, regular_file};

/// The largest file with a key or with policies.
const MAX_BYTES: u64 = 1 << 20;

/// The folder of the hub's own keys, unless the configuration names another.
const KEYS: &str = "keys";

/// An issuer whose tokens admit callers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct IssuerTable {
    issuer: String,
    #[serde(default)]
    audiences: Vec<String>,
    #[serde(default)]
    algorithms: Vec<String>,
    #[serde(default)]
    subject_claim: Option<String>,
    #[serde(default)]
    groups_claim: Option<String>,
    #[serde(default)]
    required_scope: Option<String>,
    /// The program in whose name users sign in to the page.
    #[serde(default)]
    client_id: Option<String>,
    #[serde(default)]
    client_secret: Option<Secret>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PolicyTable {
    file: PathBuf,
    #[serde(default)]
    max_classes: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct SigningTable {
    #[serde(default)]
    keys: Option<PathBuf>,
    #[serde(default)]
    valid_for: Option<String>,
}

/// What `[access]` of `hub.toml` says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct AccessTable {
    #[serde(default)]
    issuers: Vec<IssuerTable>,
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    roles: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    administrators: Vec<String>,
    #[serde(default)]
    blocked: Vec<String>,
    #[serde(default)]
    policy: Option<PolicyTable>,
    #[serde(default)]
    signing: SigningTable,
}

impl AccessTable {
    /// Resolves who is admitted and what decides. Everything is checked before it replaces what works.
    pub(crate) fn resolve(&self, folder: &Path) -> Result<HubAccess, Failure> {
        let mut access = HubAccess::default();
        access.configured =
            ConfiguredAccess::default().with_groups(self.groups()?).with_roles(self.roles()?);
        access.administrators = subjects("administrators", &self.administrators)?;
        access.blocked = subjects("blocked", &self.blocked)?;
        for table in &self.issuers {
            let rules = table.rules()?;
            if access.issuers.iter().any(|known| known.rules().issuer == rules.issuer) {
                return Err(Failure::usage(format!(
                    "The issuer `{}` is there twice.",
                    rules.issuer
                )));
            }
            access.issuers.push(Arc::new(TrustedIssuer::new(rules)));
        }
        if let Some(policy) = &self.policy {
            access.policy = read_policy(&folder.join(&policy.file))?;
            if let Some(most) = policy.max_classes {
                access.most_classes = most.clamp(1, 10_000);
            }
        }
        Ok(access)
    }

    /// The file of the policy, if there is one.
    pub(crate) fn policy_file(&self, folder: &Path) -> Option<PathBuf> {
        self.policy.as_ref().map(|policy| folder.join(&policy.file))
    }

    /// The folder of the keys that the hub signs with.
    pub(crate) fn key_folder(&self, folder: &Path) -> PathBuf {
        folder.join(self.signing.keys.as_deref().unwrap_or(Path::new(KEYS)))
    }

    /// How long a signed decision holds.
    pub(crate) fn valid_for(&self) -> Result<Option<Duration>, Failure> {
        duration("valid-for", self.signing.valid_for.as_deref())
    }

    fn groups(&self) -> Result<BTreeMap<Subject, BTreeSet<Subject>>, Failure> {
        let mut groups = BTreeMap::new();
        for (name, members) in &self.groups {
            let group = Subject::group(name).map_err(|error| unusable("groups", &error))?;
            groups.insert(group, subjects("groups", members)?);
        }
        Ok(groups)
    }

    fn roles(&self) -> Result<BTreeMap<NamespaceName, BTreeMap<Role, BTreeSet<Subject>>>, Failure> {
        let mut all = BTreeMap::new();
        for (namespace, roles) in &self.roles {
            let namespace: NamespaceName =
                namespace.parse().map_err(|error| unusable("roles", &error))?;
            let mut here = BTreeMap::new();
            for (role, who) in roles {
                let role: Role = role.parse().map_err(|()| {
                    Failure::usage(format!("`{role}` in `[access.roles.{namespace}]` is no role."))
                        .hint("A role is `reader`, `publisher`, `reviewer` or `owner`.")
                })?;
                here.insert(role, subjects("roles", who)?);
            }
            all.insert(namespace, here);
        }
        Ok(all)
    }
}

impl IssuerTable {
    fn rules(&self) -> Result<IssuerRules, Failure> {
        let mut rules =
            IssuerRules::new(&self.issuer).with_audiences(self.audiences.iter().cloned());
        if !skillwire_jwt::may_be_asked(&self.issuer, skillwire_jwt::IssuerPlace::Anywhere) {
            return Err(Failure::usage(format!("The issuer `{}` cannot be used.", self.issuer))
                .hint("Write it like `https://login.example.com`, as its tokens name it."));
        }
        if !self.algorithms.is_empty() {
            let parsed: Result<BTreeSet<Algorithm>, _> =
                self.algorithms.iter().map(|name| name.parse()).collect();
            rules.algorithms = parsed.map_err(|error| {
                Failure::usage(format!("The algorithms of `{}` cannot be used.", self.issuer))
                    .because(error)
            })?;
        }
        let claim = |text: &str| {
            ClaimPath::parse(text)
                .ok_or_else(|| Failure::usage(format!("`{}` names no claim.", text.escape_debug())))
        };
        if let Some(text) = &self.subject_claim {
            rules.subject = claim(text)?;
        }
        if let Some(text) = &self.groups_claim {
            rules.groups = claim(text)?;
        }
        rules.required_scope.clone_from(&self.required_scope);
        rules.client = self.client()?;
        Ok(rules)
    }
}

impl IssuerTable {
    fn client(&self) -> Result<Option<SignInClient>, Failure> {
        let secret = self.client_secret.clone();
        match &self.client_id {
            Some(id) if !id.is_empty() => Ok(Some(SignInClient::new(id).with_secret(secret))),
            None if secret.is_none() => Ok(None),
            _ => Err(Failure::usage(format!(
                "`client-id` of the issuer `{}` is missing.",
                self.issuer
            ))
            .hint("It is the identifier that the issuer gave to this hub.")),
        }
    }
}

fn subjects(key: &str, texts: &[String]) -> Result<BTreeSet<Subject>, Failure> {
    let parsed: Result<_, _> = texts.iter().map(|text| text.parse()).collect();
    parsed.map_err(|error| unusable(key, &error))
}

fn unusable(key: &str, error: &InvalidHubName) -> Failure {
    Failure::usage(format!("`{key}` of `[access]` cannot be used: {error}"))
}

/// Reads and checks policies.
#[cfg(feature = "policy")]
pub(crate) fn read_policy(file: &Path) -> Result<SharedPolicy, Failure> {
    checked_policy(file).map(|policy| Arc::new(policy) as SharedPolicy)
}

/// Reads and checks policies; this build cannot.
#[cfg(not(feature = "policy"))]
pub(crate) fn read_policy(_: &Path) -> Result<SharedPolicy, Failure> {
    crate::features::Feature::Policy.needed_for("policy in hub.toml")?;
    Err(Failure::usage("Policies cannot be read."))
}

/// Reads and checks policies, with what their author should know.
#[cfg(feature = "policy")]
pub(crate) fn checked_policy(file: &Path) -> Result<skillwire_policy::CedarPolicy, Failure> {
    let text = regular_file::read(file, MAX_BYTES).map_err(|error| {
        Failure::usage(format!("The policy `{}` cannot be read.", file.display())).because(error)
    })?;
    skillwire_policy::CedarPolicy::parse(&text).map_err(|error| {
        Failure::usage(format!("The policy `{}` cannot be used.\n{error}", file.display()))
            .hint("`skillwire hub policy schema` prints what a policy may ask about.")
    })
}

/// Reads the keys that the hub signs with, in the order of their files.
pub(crate) fn signing_keys(folder: &Path) -> Result<Vec<SigningKey>, Failure> {
    key_files(folder)?.iter().map(|file| signing_key(file)).collect()
}

/// The files of keys that sign.
pub(crate) fn key_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(
                Failure::usage(format!("`{}` cannot be read.", folder.display())).because(error)
            );
        }
    };
    let files = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_key = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "pem");
    let mut files: Vec<PathBuf> = files.filter(is_key).collect();
    files.sort();
    Ok(files)
}

/// Reads one key.
pub(crate) fn signing_key(file: &Path) -> Result<SigningKey, Failure> {
    let text = regular_file::read(file, MAX_BYTES).map_err(|error| {
        Failure::usage(format!("The key `{}` cannot be read.", file.display())).because(error)
    })?;
    SigningKey::from_pem(&text).map_err(|error| {
        Failure::usage(format!("The key `{}` cannot be used: the key {error}.", file.display()))
    })
}
