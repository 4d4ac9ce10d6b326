//! Which packages a Node script asks for.

use bytes::Bytes;
use serde_json::{Map, Value};
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

/// Reads the packages of a lock file, all of which must come from a registry.
///
/// Every entry is checked and listed, whatever its flags say: npm works out by itself which packages
/// are for development or inside of another one, and installs the rest.
fn packages(lock: &[u8]) -> Result<Vec<Package>, String> {
    let lock: Value = serde_json::from_slice(lock).map_err(|error| error.to_string())?;
    let entries = lock.get("packages").and_then(Value::as_object);
    let entries = entries.ok_or("it has no `packages`; write it again with npm 7 or later")?;
    let mut packages = Vec::new();
    for (path, entry) in entries.iter().filter(|(path, _)| !path.is_empty()) {
        let package = package(entries, path, entry)
            .map_err(|why| format!("`{}` {why}", path.escape_debug()))?;
        // What only other systems need is left out. Native packages name one for each of some twenty,
        // and users would agree to a list of which most is never installed. If such a package is
        // needed here after all, npm fails.
        let is_optional = entry.get("optional") == Some(&Value::Bool(true));
        if is_optional && !(is_for(entry, "os", "linux") && is_for(entry, "cpu", CPU)) {
            continue;
        }
        packages.push(package);
    }
    packages.sort();
    packages.dedup();
    Ok(packages)
}

/// Reads one entry. The error is the end of a sentence that starts with its path.
fn package(
    entries: &Map<String, Value>,
    path: &str,
    entry: &Value,
) -> Result<Package, &'static str> {
    const NO_PACKAGE: &str = "is no package of a registry";
    const NO_DIGEST: &str = "has no address with a digest";
    let name = package_name(path).ok_or(NO_PACKAGE)?;
    // An alias: npm installs the package that the entry names into a folder of another name. The user
    // is shown what is installed.
    let name = match entry.get("name") {
        None => name,
        Some(own) => own.as_str().filter(|own| is_name(own)).ok_or(NO_PACKAGE)?,
    };
    let version = entry.get("version").and_then(Value::as_str);
    let version = version.filter(|version| is_exact(version)).ok_or(NO_PACKAGE)?;
    // A link is a folder of the skill, from which npm would install something else than the list says.
    if entry.get("link").is_some_and(|link| *link != Value::Bool(false)) {
        return Err(NO_PACKAGE);
    }
    // npm leaves the address out if it is that of the registry and the user wants it so.
    if let Some(address) = entry.get("resolved") {
        let address = address.as_str().filter(|address| address.starts_with("https://"));
        if !is_address_of(address.ok_or(NO_DIGEST)?, name, version) {
            return Err("has the address of something else than this package and version");
        }
    }
    let has_digest = match entry.get("integrity") {
        None => entry.get("resolved").is_none() && is_bundled(entries, path, entry),
        Some(integrity) => integrity.as_str().is_some_and(is_digest),
    };
    if !has_digest {
        return Err(NO_DIGEST);
    }
    Ok(Package { name: name.to_owned(), version: version.to_owned() })
}

/// The name of the package whose folder this is: `node_modules/a`, or one in another package's.
fn package_name(path: &str) -> Option<&str> {
    let mut names = path.strip_prefix("node_modules/")?.split("/node_modules/");
    names.all(is_name).then(|| path.rsplit_once("node_modules/"))?.map(|(_, name)| name)
}

/// Whether this is a package's name, such as `a` or `@scope/a`.
fn is_name(name: &str) -> bool {
    let base = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').filter(|(scope, _)| is_part(scope)),
        None => Some(("", name)),
    };
    base.is_some_and(|(_, base)| is_part(base))
}

/// Whether this can be the scope or the rest of a package's name.
fn is_part(part: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.~!'()*".contains(c);
    !part.is_empty() && !part.starts_with('.') && part.chars().all(is_usual)
}

/// Whether this is one version, such as `1.2.3-beta.1`. npm would take a range or an address, too.
fn is_exact(version: &str) -> bool {
    let number = version.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<_> = number.split('.').collect();
    parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
        && version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}

/// Whether an address is one where registries keep this version of this package, such as
/// `https://registry.npmjs.org/@scope/name/-/name-1.2.3.tgz`.
fn is_address_of(address: &str, name: &str, version: &str) -> bool {
    let address = address.replace("%2f", "/").replace("%2F", "/").replace("%40", "@");
    let version = version.split('+').next().unwrap_or_default();
    let rest = address.rsplit_once(&format!("/{name}/")).map(|(_, rest)| rest);
    // GitLab repeats the scope after the `/-/`.
    let rest = rest.map(|rest| rest.strip_prefix("-/").unwrap_or(rest));
    rest.is_some_and(|rest| rest.contains(version))
        && !address.contains(['?', '#', '%', '\\'])
        && !address.contains("/../")
}

/// Whether npm finds a digest in this value. It installs without a check what has none that it knows.
fn is_digest(integrity: &str) -> bool {
    let is_known = |digest: &str| {
        let (algorithm, value) = digest.split_once('-').unwrap_or_default();
        matches!(algorithm, "sha1" | "sha256" | "sha384" | "sha512")
            && !value.is_empty()
            && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
    };
    !integrity.trim().is_empty() && integrity.split_whitespace().all(is_known)
}

/// Whether a package comes inside of another one, whose digest is then its own, too.
fn is_bundled(entries: &Map<String, Value>, path: &str, entry: &Value) -> bool {
    let mut above = path;
    let mut bundlers = std::iter::from_fn(|| {
        above = above.rsplit_once("/node_modules/")?.0;
        Some(above)
    });
    entry.get("inBundle") == Some(&Value::Bool(true))
        && bundlers.any(|bundler| {
            let bundler = entries.get(bundler);
            bundler.is_some_and(|bundler| bundler.get("integrity").is_some())
        })
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
    let is_ours = |named: &Value| {
        named.as_str().is_none_or(|name| name == ours || name == "any" || name.starts_with('!'))
    };
    named.is_none_or(|named| named.is_empty() || named.iter().any(is_ours))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(entries: &Value) -> Result<Vec<String>, String> {
        let lock = json!({ "packages": entries }).to_string();
        Ok(packages(lock.as_bytes())?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_lock_file_names_packages_of_a_registry_with_digests() {
        let of = |address: &str| json!({ "version": "1.2.3", "resolved": address, "integrity": "sha512-x" });
        let read = listed(&json!({
            "": { "name": "x" },
            "node_modules/a": of("https://registry.example/npm/a/-/a-1.2.3.tgz"),
            "node_modules/a/node_modules/@s/b": of("https://registry.npmjs.org/@s/b/-/b-1.2.3.tgz"),
            "node_modules/@s/e": of("https://npm.pkg.github.com/download/@s/e/1.2.3/0a1b"),
            "node_modules/@s/f": of("https://registry.example/@s%2ff/-/@s/f-1.2.3.tgz"),
            "node_modules/a/node_modules/c": { "version": "2.0.0", "inBundle": true },
            "node_modules/a/node_modules/c/node_modules/i": { "version": "2.0.1", "inBundle": true },
            "node_modules/d": { "version": "3.0.0-rc.1", "integrity": "sha1-eA== sha512-eA==" },
            "node_modules/for-others": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["win32", "darwin"] },
            "node_modules/other-processor": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["linux"], "cpu": ["s390x"] },
            "node_modules/ours": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["linux"], "cpu": [CPU] },
            "node_modules/not-theirs": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["!win32"] },
            "node_modules/for-all": { "version": "5.0.0", "integrity": "sha512-x",
                "optional": true, "os": ["any"] },
            // npm fails on this one, so the user is told of it.
            "node_modules/needed": { "version": "5.0.0", "integrity": "sha512-x", "os": ["win32"] },
        }));
        assert_eq!(
            read.unwrap(),
            [
                "@s/b 1.2.3",
                "@s/e 1.2.3",
                "@s/f 1.2.3",
                "a 1.2.3",
                "c 2.0.0",
                "d 3.0.0-rc.1",
                "for-all 5.0.0",
                "i 2.0.1",
                "needed 5.0.0",
                "not-theirs 5.0.0",
                "ours 5.0.0",
            ]
        );
    }

    #[test]
    fn what_is_no_package_of_a_registry_with_a_digest_is_refused_whatever_its_flags() {
        let bad = [
            json!({ "version": "1.0.0", "resolved": "git+ssh://git@evil.example/a/1.0.0", "integrity": "sha512-x" }),
            json!({ "version": "1.0.0", "resolved": "git+file:///tmp/a/1.0.0" }),
            json!({ "version": "1.0.0", "resolved": "https://registry.example/a/-/a-1.0.0.tgz" }),
            json!({ "version": "1.0.0" }),
            json!({ "version": "1.0.0", "resolved": 1, "integrity": "sha512-x" }),
            // npm knows no digest in these, and checks none.
            json!({ "version": "1.0.0", "integrity": "" }),
            json!({ "version": "1.0.0", "integrity": "x" }),
            json!({ "version": "1.0.0", "integrity": "sha512-?x" }),
            json!({ "version": "git+file:///tmp/a", "integrity": "sha512-x" }),
            json!({ "version": "1.x", "integrity": "sha512-x" }),
            json!({ "resolved": "local", "link": true }),
            json!({ "version": "1.0.0", "integrity": "sha512-x", "link": true }),
        ];
        for flag in [None, Some("dev"), Some("inBundle"), Some("optional"), Some("devOptional")] {
            for entry in &bad {
                let mut entry = entry.clone();
                if let Some(flag) = flag {
                    entry[flag] = true.into();
                    entry["os"] = json!(["win32"]);
                }
                let read = listed(&json!({ "node_modules/a": entry }));
                assert!(read.is_err(), "{entry}: {read:?}");
            }
        }
    }

    #[test]
    fn packages_for_development_are_listed_like_the_others() {
        let entry = json!({ "version": "4.0.0", "integrity": "sha512-x", "dev": true });
        assert_eq!(listed(&json!({ "node_modules/a": entry })).unwrap(), ["a 4.0.0"]);
    }

    #[test]
    fn a_package_is_listed_by_the_name_of_what_is_installed() {
        let entry = |extra: Value| {
            let mut entry = json!({ "version": "4.17.21", "integrity": "sha512-x" });
            entry.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            listed(&json!({ "node_modules/lodash": entry }))
        };
        assert_eq!(entry(json!({ "name": "lodash" })).unwrap(), ["lodash 4.17.21"]);
        assert_eq!(entry(json!({ "name": "is-number" })).unwrap(), ["is-number 4.17.21"]);
        let address = "https://registry.npmjs.org/lodash/-/lodash-4.17.21.tgz";
        assert!(entry(json!({ "name": "is-number", "resolved": address })).is_err());
        assert!(entry(json!({ "name": "../is-number" })).is_err());
        assert!(entry(json!({ "name": 1 })).is_err());
        for other in [
            "is-number/-/is-number-4.17.21.tgz",
            "lodash/-/lodash-4.17.20.tgz",
            "is-number/-/is-number-7.0.0.tgz?/lodash/-/lodash-4.17.21.tgz",
            "is-number/-/is-number-7.0.0.tgz#/lodash/-/lodash-4.17.21.tgz",
        ] {
            let address = format!("https://registry.npmjs.org/{other}");
            assert!(entry(json!({ "resolved": address })).is_err(), "{address}");
        }
        let fine = json!({ "version": "1.0.0", "integrity": "sha512-x" });
        for path in [
            "lib/a",
            "lib/node_modules/a",
            "node_modules/a/b",
            "node_modules/../a",
            "node_modules/@s",
        ] {
            let read = listed(&json!({ path: fine }));
            assert!(read.is_err(), "{path}: {read:?}");
        }
    }

    #[test]
    fn a_package_needs_no_digest_only_inside_of_one_that_has_it() {
        let inside = json!({ "version": "1.0.0", "inBundle": true });
        let above = json!({ "version": "1.0.0", "integrity": "sha512-x" });
        let path = "node_modules/a/node_modules/b";
        assert!(listed(&json!({ "node_modules/a": above, path: inside })).is_ok());
        assert!(listed(&json!({ "node_modules/b": inside })).is_err());
        assert!(listed(&json!({ path: inside })).is_err(), "nothing has its digest");
        let mut elsewhere = inside;
        elsewhere["resolved"] = "https://registry.example/b/-/b-1.0.0.tgz".into();
        assert!(listed(&json!({ "node_modules/a": above, path: elsewhere })).is_err());
    }
}
