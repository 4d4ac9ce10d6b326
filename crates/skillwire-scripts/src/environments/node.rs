//! Which packages a Node script asks for.

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::{Digest, RelPath};
use skillwire_sandbox::JobFile;

use super::{Package, PackageError, below, folders_above};

/// The packages of a script's folder, with exact versions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NodeNeeds {
    /// The lock file.
    pub file: String,
    /// Where `node_modules` appears in the skill.
    pub modules: RelPath,
    /// What the lock file names.
    pub packages: Vec<Package>,
    pub(super) manifest: Bytes,
    pub(super) lock: Bytes,
}

/// The files that list the packages of a script.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// The files that can list the packages of a script, the nearest first.
pub(super) fn lists(script: &RelPath) -> impl Iterator<Item = RelPath> {
    let paths = folders_above(script).flat_map(|folder| LISTS.map(|name| below(&folder, name)));
    paths.filter_map(|path| RelPath::parse(&path).ok())
}

impl NodeNeeds {
    /// The digest of the lock file, which names the digests of the packages.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&self.lock)
    }

    /// Reads the nearest `package.json` above a script and the lock file beside it. Without a lock
    /// file nothing says which packages the user agrees to, so there are none.
    pub fn of(script: &RelPath, files: &[JobFile]) -> Result<Option<Self>, PackageError> {
        let find = |path: &str| files.iter().find(|file| file.path.as_str() == path);
        let found = folders_above(script).find_map(|folder| {
            find(&below(&folder, LISTS[0])).map(|manifest| (folder, manifest.bytes.clone()))
        });
        let Some((folder, manifest)) = found else { return Ok(None) };
        let file = below(&folder, LISTS[1]);
        let Some(lock) = find(&file) else { return Ok(None) };
        let modules = RelPath::parse(&below(&folder, "node_modules"));
        let modules = modules.map_err(|error| PackageError::Lock {
            file: file.clone(),
            why: format!("its folder {error}"),
        })?;
        let packages =
            packages(&lock.bytes).map_err(|why| PackageError::Lock { file: file.clone(), why })?;
        if packages.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { file, modules, packages, manifest, lock: lock.bytes.clone() }))
    }
}

/// Reads the packages of a lock file that are installed, all of which must come from a registry.
fn packages(lock: &[u8]) -> Result<Vec<Package>, String> {
    let lock: Value = serde_json::from_slice(lock).map_err(|error| error.to_string())?;
    let entries = lock.get("packages").and_then(Value::as_object);
    let entries = entries.ok_or("it has no `packages`; write it again with npm 7 or later")?;
    let mut packages = Vec::new();
    for (path, entry) in entries.iter().filter(|(path, _)| !path.is_empty()) {
        let is = |key: &str| entry.get(key) == Some(&Value::Bool(true));
        // Packages for development are left out of the installation.
        if is("dev") {
            continue;
        }
        // So is what only other systems need. Native packages name one for each of some twenty, and
        // users would agree to a list of which most is never installed.
        if is("optional") && !(is_for(entry, "os", "linux") && is_for(entry, "cpu", CPU)) {
            continue;
        }
        let name = path.rsplit_once("node_modules/").map(|(_, name)| name);
        let version = entry.get("version").and_then(Value::as_str);
        // npm leaves the address out if it is that of the registry and the user wants it so.
        let resolved = entry.get("resolved").map_or(Some("https://"), Value::as_str);
        let is_web = resolved.is_some_and(|resolved| resolved.starts_with("https://"));
        // What comes inside another package has the digest of that one.
        let has_digest = entry.get("integrity").is_some() || is("inBundle");
        let (Some(name), Some(version)) = (name, version) else {
            return Err(format!("`{}` is no package of a registry", path.escape_debug()));
        };
        if !is_web || !has_digest {
            return Err(format!("`{}` has no address with a digest", path.escape_debug()));
        }
        packages.push(Package { name: name.to_owned(), version: version.to_owned() });
    }
    packages.sort();
    packages.dedup();
    Ok(packages)
}

/// This processor, as npm calls it.
const CPU: &str = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => "x64",
    b"aarch64" => "arm64",
    _ => std::env::consts::ARCH,
};

/// Tells whether a package may be for this system. It is if npm's rule is not understood, or is one
/// about what it is not for: rather a package too many is listed than one too few.
fn is_for(entry: &Value, key: &str, ours: &str) -> bool {
    let named = entry.get(key).and_then(Value::as_array);
    let named: Vec<_> = named.into_iter().flatten().filter_map(Value::as_str).collect();
    named.is_empty() || named.iter().any(|name| *name == ours || name.starts_with('!'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lock_file_names_packages_of_a_registry_with_digests() {
        let entry = json!({ "version": "1.2.3", "resolved": "https://registry.example/a.tgz",
                            "integrity": "sha512-x" });
        let lock = json!({ "packages": {
            "": { "name": "x" },
            "node_modules/a": entry,
            "node_modules/a/node_modules/@s/b": entry,
            "node_modules/a/node_modules/c": { "version": "2.0.0", "inBundle": true },
            "node_modules/d": { "version": "3.0.0", "integrity": "sha512-x" },
            "node_modules/only-for-development": { "version": "4.0.0", "dev": true },
            "node_modules/for-others": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["win32", "darwin"] },
            "node_modules/other-processor": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["linux"], "cpu": ["s390x"] },
            "node_modules/ours": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["linux"], "cpu": [CPU] },
            "node_modules/not-theirs": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["!win32"] },
            // npm fails on this one, so the user is told of it.
            "node_modules/needed": { "version": "5.0.0", "integrity": "sha512-x", "os": ["win32"] },
        } });
        let read = packages(lock.to_string().as_bytes()).unwrap();
        let read: Vec<_> = read.iter().map(ToString::to_string).collect();
        assert_eq!(
            read,
            [
                "@s/b 1.2.3",
                "a 1.2.3",
                "c 2.0.0",
                "d 3.0.0",
                "needed 5.0.0",
                "not-theirs 5.0.0",
                "ours 5.0.0",
            ]
        );
        for bad in [
            json!({ "version": "1", "resolved": "git+ssh://git@evil.example/x", "integrity": "x" }),
            json!({ "version": "1", "resolved": "https://registry.example/a.tgz" }),
            json!({ "version": "1" }),
            json!({ "version": "1", "resolved": 1, "integrity": "x" }),
            json!({ "resolved": "local", "link": true }),
        ] {
            let lock = json!({ "packages": { "node_modules/a": bad } });
            assert!(packages(lock.to_string().as_bytes()).is_err(), "{lock}");
        }
    }
}
