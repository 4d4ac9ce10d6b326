//! Scans skills of servers, which the user asks to look at.

use skillwire_core::Resources;
use skillwire_scan::{SkillFiles, UnseenReason};
use skillwire_trust::{ListedSkill, Origin, ServerLabel};

use super::{ScannedSkill, SkillScanner, report::digests};
use crate::{
    args::ScanArgs,
    exit::Exit,
    failure::Failure,
    session::{self, Session, SessionOptions, card},
};

/// Scans the skills that handles and labels of servers name.
pub(super) fn scan_named(
    scanner: &SkillScanner<'_>,
    named: &[&String],
    args: &ScanArgs,
) -> Result<Vec<ScannedSkill>, Failure> {
    let mut found = Vec::new();
    let options = match named {
        [one] => SessionOptions::about(one, args.origins),
        _ => SessionOptions::everywhere(args.origins),
    };
    session::with(false, options, async |session| {
        for name in named {
            for (handle, listed) in skills(session, name).await? {
                let files = fetch(session, &listed).await;
                let report = scanner.files(&files);
                let digests = digests(&files);
                let (name, base, silenced) = (handle, String::new(), Vec::new());
                found.push(ScannedSkill { name, base, report, silenced, digests });
            }
        }
        Ok(Exit::Ok)
    })?;
    Ok(found)
}

/// The skills of a server, or the one that a handle names.
async fn skills(session: &Session, name: &str) -> Result<Vec<(String, ListedSkill)>, Failure> {
    let label =
        ServerLabel::parse(name).ok().filter(|label| session.host().servers().contains(label));
    let Some(label) = label else {
        let found = session.find_now(name).await?;
        return Ok(vec![(found.handle, found.listed)]);
    };
    let found = session.discover(Some(&Origin::Server(label))).await?;
    session::report_incomplete(&found)?;
    let items = found.registry.items().iter();
    let mut skills = Vec::new();
    for item in items {
        let listed = session.host().refresh(&item.skill).await?;
        skills.push((item.handle.clone(), listed));
    }
    Ok(skills)
}

/// Fetches every file that the skill's entry lists. This looks at the skill and approves nothing.
async fn fetch(session: &Session, listed: &ListedSkill) -> SkillFiles {
    let mut files = SkillFiles::new();
    let Resources::Listed(resources) = &listed.entry().resources else {
        match session.host().inspect(listed, skillwire_core::SKILL_FILE).await {
            Ok(inspected) => files.add(skillwire_core::SKILL_FILE, inspected.bytes),
            Err(_) => files.add_unread(skillwire_core::SKILL_FILE, None, UnseenReason::Unreadable),
        }
        files.add_unread("(files that are not listed)", None, UnseenReason::NotFetched);
        return files;
    };
    for resource in resources {
        let path = card::path(&listed.id().uri, resource);
        match session.host().inspect(listed, resource.uri.as_str()).await {
            Ok(inspected) => files.add(path, inspected.bytes),
            Err(refusal) => {
                tracing::debug!(%path, reason = refusal.reason.code(), "a file was not scanned");
                files.add_unread(path, Some(resource.size), UnseenReason::Unreadable);
            }
        }
    }
    for (path, size) in listed.other_files().unwrap_or_default() {
        let known = files.read().any(|(known, _)| known == path.as_str());
        if !known && resources.iter().all(|it| card::path(&listed.id().uri, it) != path.as_str()) {
            files.add_unread(path.as_str(), size, UnseenReason::NotFetched);
        }
    }
    files
}
