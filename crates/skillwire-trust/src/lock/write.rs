//! Writing a lock file so that a change of a skill changes few lines.

use std::fmt::{self, Formatter};

use skillwire_core::visible::QuotedToml;

use super::{LockFile, LockedSkill};
use crate::{
    origin::SkillId,
    run_grants::{GrantKind, RunGrants},
};

pub(super) fn lock(lock: &LockFile, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("# Skills that may be loaded without asking, exactly as they are here.\n")?;
    f.write_str("# Review changes as you would review code.\n")?;
    writeln!(f, "version = {}", lock.version())?;
    for (label, address) in &lock.servers {
        writeln!(f, "\n[[server]]\nlabel = {}\nurl = {}", QuotedToml(label), QuotedToml(address))?;
    }
    for (server, keys) in &lock.trust_keys {
        let keys: Vec<String> = keys.iter().map(|key| QuotedToml(key).to_string()).collect();
        writeln!(f, "\n[[trust]]\nserver = {}", QuotedToml(server.as_str()))?;
        writeln!(f, "keys = [{}]", keys.join(", "))?;
    }
    lock.skills.iter().try_for_each(|(id, locked)| skill(id, locked, f))
}

fn skill(id: &SkillId, locked: &LockedSkill, f: &mut Formatter<'_>) -> fmt::Result {
    let LockedSkill { files, frontmatter, grants } = locked;
    writeln!(f, "\n[[skill]]")?;
    writeln!(f, "server = {}", QuotedToml(id.origin.label()))?;
    writeln!(f, "uri = {}", QuotedToml(id.uri.as_str()))?;
    writeln!(f, "name = {}", QuotedToml(&id.uri.root().name()))?;
    writeln!(f, "fingerprint = \"{}\"", locked.fingerprint(id))?;
    writeln!(f, "frontmatter = \"{frontmatter}\"")?;
    let tools: Vec<String> = grants.tools.iter().map(|tool| QuotedToml(tool).to_string()).collect();
    writeln!(f, "tools = [{}]", tools.join(", "))?;
    writeln!(f, "execute = {}", grants.execute)?;
    if !grants.run.is_empty() {
        writeln!(f, "run = {{ {} }}", run(&grants.run))?;
    }
    if grants.remote_execute {
        writeln!(f, "remote_execute = true")?;
    }
    writeln!(f, "files = [")?;
    for file in files {
        // Every file lies below the skill, because entries with other files are refused.
        let path = id.uri.below(&file.uri).ok_or(fmt::Error)?;
        let path = QuotedToml(path.as_str());
        let digest = file.digest;
        let size = file.size;
        writeln!(f, "    {{ path = {path}, digest = \"{digest}\", size = {size} }},")?;
    }
    writeln!(f, "]")
}

/// The keys of an inline table, as a record has them.
fn run(grants: &RunGrants) -> String {
    let list = |key: &str, kind: GrantKind| {
        let items = grants.items();
        let items = items.iter().filter(|(of, _)| *of == kind);
        let items: Vec<_> = items.map(|(_, item)| QuotedToml(item).to_string()).collect();
        (!items.is_empty()).then(|| format!("{key} = [{}]", items.join(", ")))
    };
    let lists = [
        list("network", GrantKind::Network),
        list("env", GrantKind::Env),
        list("inputs", GrantKind::Input),
        grants.memory.map(|memory| format!("memory = {}", memory.mebibytes())),
        grants.time.map(|time| format!("time = {}", time.seconds())),
    ];
    lists.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
