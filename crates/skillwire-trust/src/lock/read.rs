//! Reading a lock file, which the user or a merge may have edited.

use std::collections::BTreeSet;

use serde::{Deserialize, de::IgnoredAny};
use skillwire_core::{Digest, RelPath, ResourceUri, SkillResource, SkillUri, visible::truncated};

use super::{InvalidLock, LockFile, LockedSkill};
use crate::{
    grants::Grants,
    label::ServerLabel,
    origin::{Origin, SkillId},
    run_grants::RunGrants,
};

/// The versions of the format. The second has the servers that skills come from, and tables for other
/// readers.
pub(super) const VERSIONS: [u32; 2] = [1, 2];

/// The largest file that is read.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The largest size that JSON carries exactly, the same as for entries.
const MAX_SIZE: u64 = 1 << 53;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockDocument {
    version: u32,
    /// Lock files of earlier versions have no keys.
    #[serde(default)]
    trust: Vec<FileTrust>,
    #[serde(default)]
    server: Vec<FileServer>,
    #[serde(default)]
    skill: Vec<FileSkill>,
    /// Skills of sources, which are installed and not loaded from a server.
    #[serde(default)]
    #[expect(dead_code, reason = "another reader reads it")]
    source: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileServer {
    label: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTrust {
    server: String,
    keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSkill {
    server: String,
    uri: String,
    name: String,
    fingerprint: String,
    frontmatter: String,
    tools: BTreeSet<String>,
    execute: bool,
    /// Lock files of earlier versions have neither of these two.
    #[serde(default)]
    run: RunGrants,
    #[serde(default)]
    remote_execute: bool,
    files: Vec<FileResource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileResource {
    path: String,
    digest: String,
    size: u64,
}

pub(super) fn lock(text: &str) -> Result<LockFile, InvalidLock> {
    if text.len() > MAX_BYTES {
        return Err(InvalidLock::new(format!("has more than {MAX_BYTES} bytes")));
    }
    let file: LockDocument = toml::from_str(text).map_err(|error| {
        // The whole error would quote the line, which may contain any text.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        InvalidLock::new(format!("is not a lock file (line {line}): {}", error.message()))
    })?;
    if !VERSIONS.contains(&file.version) {
        let problem = format!("has version {}, which this program does not know", file.version);
        return Err(InvalidLock::new(problem));
    }
    let mut lock = LockFile::default();
    for FileServer { label, url } in file.server {
        let about = truncated(&label);
        let parsed = ServerLabel::parse(&label)
            .map_err(|error| InvalidLock::new(format!("has the label `{about}`, which {error}")))?;
        if lock.servers.insert(parsed.to_string(), url).is_some() {
            return Err(InvalidLock::new(format!("lists the server `{about}` twice")));
        }
    }
    for FileTrust { server, keys } in file.trust {
        let label = ServerLabel::parse(&server).map_err(|error| {
            let server = truncated(&server);
            InvalidLock::new(format!("trusts keys for `{server}`, a label that {error}"))
        })?;
        if lock.trust_keys.insert(label, keys).is_some() {
            let server = truncated(&server);
            return Err(InvalidLock::new(format!("names the keys of `{server}` twice")));
        }
    }
    for skill in file.skill {
        let about = truncated(&format!("{}:{}", skill.server, skill.uri));
        let (id, locked) = read_skill(skill)
            .map_err(|problem| InvalidLock::new(format!("is wrong about `{about}`: {problem}")))?;
        if lock.skills.insert(id, locked).is_some() {
            return Err(InvalidLock::new(format!("lists `{about}` twice")));
        }
    }
    Ok(lock)
}

fn read_skill(skill: FileSkill) -> Result<(SkillId, LockedSkill), String> {
    let origin = Origin::parse(&skill.server).map_err(|error| format!("the label {error}"))?;
    let uri = SkillUri::parse(&skill.uri).map_err(|error| format!("the URI {error}"))?;
    if skill.name != uri.root().name() {
        return Err("the name is not the one in the URI".to_owned());
    }
    let root = uri.root();
    let mut files: Vec<SkillResource> =
        skill.files.iter().map(|file| resource(root, file)).collect::<Result<_, _>>()?;
    files.sort_unstable_by(|one, two| one.uri.cmp(&two.uri));
    if files.windows(2).any(|pair| pair[0].uri == pair[1].uri) {
        return Err("a file is listed twice".to_owned());
    }
    if !files.iter().any(|file| file.uri == *uri.file()) {
        return Err("`SKILL.md` is not listed".to_owned());
    }
    let frontmatter = digest(&skill.frontmatter)?;
    let grants = Grants {
        tools: skill.tools,
        execute: skill.execute,
        run: skill.run,
        remote_execute: skill.remote_execute,
    };
    let id = SkillId { origin, uri };
    let locked = LockedSkill { files, frontmatter, grants };
    // A partial edit or merge is reported here; otherwise the skill would simply never be allowed.
    if locked.fingerprint(&id) != digest(&skill.fingerprint)? {
        return Err("the fingerprint does not match the files; lock the skill again".to_owned());
    }
    Ok((id, locked))
}

fn resource(root: &ResourceUri, file: &FileResource) -> Result<SkillResource, String> {
    let path = RelPath::parse(&file.path).map_err(|error| format!("the path {error}"))?;
    if file.size > MAX_SIZE {
        return Err("a size is larger than any file's".to_owned());
    }
    Ok(SkillResource { uri: root.child(&path), digest: digest(&file.digest)?, size: file.size })
}

fn digest(text: &str) -> Result<Digest, String> {
    text.parse().map_err(|error: skillwire_core::InvalidDigest| error.to_string())
}
