//! The signers that `hub.toml` trusts, whose signatures reviewers, rules and policies see.

use std::{collections::BTreeSet, path::Path};

use bytes::Bytes;
use skillwire_core::RelPath;

use super::signer_entry::SignerEntry;
use crate::failure::Failure;

/// Trusted signers by the operator's names.
#[derive(Debug, Default)]
pub(crate) struct HubSigners {
    #[cfg(feature = "sign")]
    trusted: Vec<(String, skillwire_attest::TrustedSigner)>,
}

#[cfg(feature = "sign")]
impl HubSigners {
    /// Reads the keys and roots; refuses all of them if one cannot be used, as less might be signed than the
    /// operator thinks.
    pub(super) fn read<'a>(
        folder: &Path,
        entries: impl IntoIterator<Item = (&'a String, &'a SignerEntry)>,
    ) -> Result<Self, Failure> {
        type Named = (String, skillwire_attest::TrustedSigner);
        let read = |(name, entry): (&String, &SignerEntry)| -> Result<Named, Failure> {
            let signer = super::trust::signer(folder, entry).map_err(|failure| {
                Failure::usage(format!("The signer `{name}` in `hub.toml` cannot be used."))
                    .because(failure)
            })?;
            Ok((name.clone(), signer))
        };
        let trusted = entries.into_iter().map(read).collect::<Result<_, Failure>>()?;
        Ok(Self { trusted })
    }

    /// Returns the signers whose signature covers exactly these files.
    pub(crate) fn of(&self, files: &[(RelPath, Bytes)]) -> BTreeSet<String> {
        use skillwire_attest::SkillFiles;
        use skillwire_core::Digest;

        use crate::signatures::{CheckedSignature, signature_path};

        let described =
            files.iter().map(|(path, bytes)| (path.clone(), Digest::of(bytes), bytes.len() as u64));
        let Ok(described) = SkillFiles::new(described) else { return BTreeSet::new() };
        let Some(inside) = signature_path(&described) else { return BTreeSet::new() };
        let signature = files.iter().find(|(path, _)| *path == inside).map(|(_, bytes)| bytes);
        let Some(signature) = signature else { return BTreeSet::new() };
        let now = std::time::SystemTime::now();
        let signs = |signer: &skillwire_attest::TrustedSigner| {
            let trusted = std::slice::from_ref(signer);
            let files = described.clone();
            CheckedSignature::check(signature, Some(&inside), files, trusted, now).content.is_ok()
        };
        let names = self.trusted.iter().filter(|(_, signer)| signs(signer));
        names.map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(not(feature = "sign"))]
impl HubSigners {
    /// Refuses signers, which this build cannot check.
    pub(super) fn read<'a>(
        _: &Path,
        entries: impl IntoIterator<Item = (&'a String, &'a SignerEntry)>,
    ) -> Result<Self, Failure> {
        match entries.into_iter().next() {
            None => Ok(Self::default()),
            Some((name, _)) => Err(Failure::usage(format!(
                "The signer `{name}` in `hub.toml` cannot be used, as this build has no feature `sign`."
            ))),
        }
    }

    #[expect(clippy::unused_self, reason = "the other build needs it")]
    pub(crate) fn of(&self, _: &[(RelPath, Bytes)]) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

#[cfg(test)]
#[cfg(feature = "sign")]
mod tests {
    use std::collections::BTreeMap;

    use skillwire_attest::{Envelope, SIGNATURE_FILE, SigningKey, SkillFiles, skill_statement};
    use skillwire_core::Digest;

    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<(RelPath, Bytes)> {
        let file = |(path, text): &(&str, &str)| {
            (RelPath::parse(path).unwrap(), Bytes::from((*text).to_owned()))
        };
        texts.iter().map(file).collect()
    }

    fn signature(key: &SigningKey, texts: &[(&str, &str)]) -> String {
        let described = files(texts).into_iter().map(|(path, bytes)| {
            let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
            (path, digest, size)
        });
        let statement = skill_statement(&SkillFiles::new(described).unwrap()).unwrap();
        Envelope::sign(&statement, &[key]).to_json()
    }

    #[test]
    fn a_signer_is_named_for_exactly_the_files_that_it_signed() {
        let [team, stranger] = [[1; 32], [2; 32]].map(|seed| SigningKey::from_seed(&seed));
        let entry = SignerEntry {
            key: Some(team.public().to_line()),
            root: None,
            identity: None,
            issuer: None,
        };
        let entries = BTreeMap::from([("docs-team".to_owned(), entry)]);
        let signers = HubSigners::read(Path::new("."), &entries).unwrap();
        let signed = [("SKILL.md", "text"), ("a.md", "a")];
        let of = |texts: &[(&str, &str)], signature: &str| {
            let all: Vec<_> = texts.iter().copied().chain([(SIGNATURE_FILE, signature)]).collect();
            signers.of(&files(&all))
        };
        let by_team = signature(&team, &signed);
        assert!(of(&signed, &by_team).iter().eq(["docs-team"]));
        assert!(of(&signed, &signature(&stranger, &signed)).is_empty());
        assert!(of(&[("SKILL.md", "other"), ("a.md", "a")], &by_team).is_empty());
        assert!(of(&[signed[0], signed[1], ("b.md", "b")], &by_team).is_empty());
        assert!(of(&signed, "no signature").is_empty());
        assert!(signers.of(&files(&signed)).is_empty());
    }

    #[test]
    fn a_signer_that_cannot_be_used_refuses_the_configuration() {
        let none = SignerEntry { key: None, root: None, identity: None, issuer: None };
        let absent = SignerEntry { key: Some("missing.pub".to_owned()), ..none.clone() };
        for entry in [none, absent] {
            let entries = BTreeMap::from([("x".to_owned(), entry)]);
            assert!(HubSigners::read(Path::new("/nowhere"), &entries).is_err());
        }
    }
}
