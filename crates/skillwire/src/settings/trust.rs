//! The user's rules about signers: `trust.toml` in the folder of the user's state.

use std::{collections::BTreeMap, io::ErrorKind, path::Path, time::SystemTime};

use serde::Deserialize;
use skillwire_attest::{MAX_SIGNATURE_BYTES, SIGNATURE_FILES, SkillFiles, TrustedSigner};
use skillwire_core::{ContentSet, SkillResource};
use skillwire_trust::{Origin, SignatureRule, SignatureRules, SkillId, Voucher};

use super::signer_entry::SignerEntry;
use crate::{
    failure::Failure,
    output::counted,
    regular_file,
    signatures::{CheckedSignature, trusted_key, trusted_root},
};

/// The name of the file in the folder of the user's state.
const FILE: &str = "trust.toml";

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrustFile {
    #[serde(default)]
    signers: BTreeMap<String, SignerEntry>,
    #[serde(default)]
    rules: Vec<RuleEntry>,
}

/// A rule about a server, a namespace or a skill.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuleEntry {
    server: Option<String>,
    namespace: Option<String>,
    skill: Option<String>,
    #[serde(default)]
    require: Vec<Box<str>>,
    #[serde(default)]
    instead_of_asking: Vec<Box<str>>,
    #[serde(default)]
    show: Vec<Box<str>>,
}

impl RuleEntry {
    /// Tells whether the rule is about a skill at this path of this origin.
    fn is_about(&self, origin: &str, path: &str) -> bool {
        self.server.as_deref().is_none_or(|server| server == origin)
            && self.skill.as_deref().is_none_or(|skill| skill == path)
            && self.namespace.as_deref().is_none_or(|namespace| {
                path.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('/'))
            })
    }

    /// How narrow the rule is: one about a skill comes before one about a namespace, a longer
    /// namespace before a shorter one, and a server before all servers.
    fn narrowness(&self) -> (bool, usize, bool) {
        let segments = |path: &String| path.split('/').count();
        (self.skill.is_some(), self.namespace.as_ref().map_or(0, segments), self.server.is_some())
    }
}

/// The user's signers and rules.
#[derive(Debug)]
pub(crate) struct TrustRules {
    signers: BTreeMap<Box<str>, TrustedSigner>,
    /// The narrowest first.
    rules: Vec<RuleEntry>,
}

impl TrustRules {
    /// The names of the signers, in order.
    #[cfg(feature = "page")]
    pub(super) fn names(&self) -> Vec<String> {
        self.signers.keys().map(ToString::to_string).collect()
    }

    /// How many signers and rules there are, and how many rules require one of the signers.
    #[cfg(feature = "page")]
    pub(super) fn in_words(&self) -> String {
        let requiring = self.rules.iter().filter(|rule| !rule.require.is_empty()).count();
        let (signers, rules) = (self.signers.len(), self.rules.len());
        format!(
            "{}, {}; {requiring} of them must be met",
            counted(signers, "signer"),
            counted(rules, "rule")
        )
    }
}

/// Reads the rules. A file that cannot be read or understood is an error: without it, less might be
/// asked for than the user wants.
pub(super) fn read(state: &Path) -> Result<Option<TrustRules>, Failure> {
    let path = state.join(FILE);
    let text = match regular_file::read(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}.", path.display());
            return Err(Failure::usage(message).hint("Make the file readable, or remove it."));
        }
    };
    let wrong = |problem: &str| {
        Failure::usage(format!("`{}` cannot be understood.\n{problem}", path.display()))
    };
    let file: TrustFile = toml::from_str(&text)
        .map_err(|error: toml::de::Error| wrong(error.to_string().trim_end()))?;
    let mut signers = BTreeMap::new();
    for (name, entry) in &file.signers {
        let signer = signer(state, entry).map_err(|failure| {
            Failure::usage(format!("The signer `{name}` in `{}` cannot be used.", path.display()))
                .because(failure)
        })?;
        signers.insert(name.as_str().into(), signer);
    }
    check_rules(&file).map_err(|problem| wrong(&problem))?;
    let mut rules = file.rules;
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.narrowness()));
    Ok(Some(TrustRules { signers, rules }))
}

/// Reads a trusted signer; its files are named relative to a folder.
pub(super) fn signer(folder: &Path, entry: &SignerEntry) -> Result<TrustedSigner, Failure> {
    let SignerEntry { key, root, identity, issuer } = entry;
    match (key, root) {
        (Some(key), None) if identity.is_none() && issuer.is_none() => {
            if key.starts_with("ed25519:") {
                trusted_key(key)
            } else {
                trusted_key(&folder.join(key).to_string_lossy())
            }
        }
        (None, Some(root)) => {
            trusted_root(&folder.join(root), identity.as_deref(), issuer.as_deref())
        }
        _ => Err(Failure::usage(
            "It needs either `key`, or `root` with `identity` and `issuer` where they apply.",
        )),
    }
}

/// Checks that rules name known signers and places, and that no two are about the same.
fn check_rules(file: &TrustFile) -> Result<(), String> {
    for (index, rule) in file.rules.iter().enumerate() {
        let number = index + 1;
        let names = rule.require.iter().chain(&rule.instead_of_asking).chain(&rule.show);
        for name in names.clone() {
            if !file.signers.contains_key(&**name) {
                return Err(format!(
                    "Rule {number} names the signer `{name}`, which is not there."
                ));
            }
        }
        if names.count() == 0 {
            return Err(format!("Rule {number} names no signer."));
        }
        if rule.skill.is_some() && rule.namespace.is_some() {
            return Err(format!("Rule {number} has both `skill` and `namespace`."));
        }
        if let Some(server) = &rule.server {
            Origin::parse(server)
                .map_err(|error| format!("Rule {number} names a server whose label {error}."))?;
        }
        let place =
            |rule: &RuleEntry| (rule.server.clone(), rule.namespace.clone(), rule.skill.clone());
        if file.rules[..index].iter().any(|other| place(other) == place(rule)) {
            return Err(format!("Rule {number} is about the same skills as an earlier one."));
        }
    }
    Ok(())
}

impl TrustRules {
    /// Returns every trusted signer.
    pub(super) fn into_signers(self) -> Vec<TrustedSigner> {
        self.signers.into_values().collect()
    }
}

impl SignatureRules for TrustRules {
    fn rule(&self, skill: &SkillId) -> SignatureRule {
        let path = skill.uri.root().segments().join("/");
        let origin = skill.origin.label();
        let found = self.rules.iter().find(|rule| rule.is_about(origin, &path));
        found.map_or_else(SignatureRule::default, |rule| {
            SignatureRule::default()
                .with_required(rule.require.clone())
                .with_instead_of_asking(rule.instead_of_asking.clone())
                .with_shown(rule.show.clone())
        })
    }

    fn file_names(&self) -> &[&'static str] {
        &SIGNATURE_FILES
    }

    fn most_bytes(&self) -> u64 {
        MAX_SIGNATURE_BYTES as u64
    }

    fn verify(
        &self,
        rule: &SignatureRule,
        content: &ContentSet,
        file: &SkillResource,
        signature: &[u8],
        now: SystemTime,
    ) -> Result<Vec<Voucher>, String> {
        let skill = content.skill();
        let paths = content
            .files()
            .iter()
            .filter_map(|file| Some((skill.below(&file.uri)?, file.digest, file.size)));
        let files =
            SkillFiles::new(paths).map_err(|error| format!("is for content that {error}"))?;
        let inside = skill.below(&file.uri);
        let mut vouchers = Vec::new();
        let mut problem = None;
        for name in rule.names() {
            let Some(trusted) = self.signers.get(name) else { continue };
            let one = std::slice::from_ref(trusted);
            let checked =
                CheckedSignature::check(signature, inside.as_ref(), files.clone(), one, now);
            match checked.content {
                Ok(content) => vouchers.push(Voucher {
                    name: name.into(),
                    signer: content.signer().to_string().into(),
                    trusted: trusted.id(),
                    until: None,
                }),
                // A signer who signed something else says more than one who signed nothing.
                Err(error) if problem.is_none() || checked.signer.is_some() => {
                    problem = Some(error.to_string());
                }
                Err(_) => {}
            }
        }
        match problem {
            Some(problem) if vouchers.is_empty() => Err(problem),
            _ => Ok(vouchers),
        }
    }

    fn trusts(&self, voucher: &Voucher) -> bool {
        self.signers.get(&voucher.name).is_some_and(|signer| signer.id() == voucher.trusted)
    }
}
