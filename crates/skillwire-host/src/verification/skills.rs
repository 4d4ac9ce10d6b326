//! Verifies one skill: its entry by name, its files, its frontmatter and its directories.

use skillwire_core::{Resources, SkillResource};
use skillwire_trust::{
    EntrySource, KnownSkill, ListedSkill, Reason, Refusal, VerifiedFile, check_frontmatter,
};

use super::{Finding, Server, directories, each};
use skillwire_remote::SettleDepth;

/// The result for one skill.
#[derive(Debug, Default)]
pub(super) struct SkillCheck {
    pub(super) files: usize,
    pub(super) dynamic: bool,
    pub(super) first_seen: bool,
    pub(super) findings: Vec<Finding>,
}

pub(super) async fn check(server: &Server, skill: &KnownSkill, in_flight: usize) -> SkillCheck {
    let (listed, contradicted) = match skill {
        KnownSkill::Listed(listed) => (listed, false),
        KnownSkill::Unread(_) => return check_unread(server, skill, in_flight).await,
        KnownSkill::Contradicted(contradicted) => match contradicted.first() {
            KnownSkill::Listed(first) => (first, true),
            first => return check_unread(server, first, in_flight).await,
        },
    };
    let mut checked = SkillCheck::default();
    if contradicted {
        checked.findings.push(Finding::must(
            Refusal::new(Reason::EntryInconsistent)
                .about(listed.id())
                .expected("one entry for each skill in a listing")
                .actual("two different ones"),
        ));
    }
    checked.findings.extend(check_get(server, listed).await);
    match &listed.entry().resources {
        Resources::Dynamic => {
            checked.dynamic = true;
            checked.findings.extend(check_dynamic(server, listed).await);
        }
        Resources::Listed(files) => {
            let results =
                each(files, in_flight, async |file| check_file(server, listed, file).await);
            for result in results.await {
                match result {
                    Ok(()) => checked.files += 1,
                    Err(refusal) => checked.findings.push(Finding::must(refusal)),
                }
            }
            checked.findings.extend(directories::check(server, listed, files).await);
        }
    }
    checked
}

/// Checks that a skill of an older dialect keeps what its server promised.
async fn check_unread(server: &Server, skill: &KnownSkill, in_flight: usize) -> SkillCheck {
    let mut checked = SkillCheck::default();
    let settled = match server.settle(skill, EntrySource::Named, SettleDepth::SkillFile).await {
        Ok(settled) => settled,
        Err(refusal) => {
            checked.findings.push(Finding::must(refusal.about(skill.id())));
            return checked;
        }
    };
    checked.first_seen = settled.integrity().is_first_seen();
    let (Resources::Listed(files), Some(offer)) = (&settled.entry().resources, settled.offer())
    else {
        return checked;
    };
    let results = each(files, in_flight, async |file| {
        let bytes = server.read_offered(skill.id(), offer, &file.uri, file.size).await?;
        VerifiedFile::check(skill.id(), file, bytes).map(|_| ())
    });
    for result in results.await {
        match result {
            Ok(()) => checked.files += 1,
            Err(refusal) => checked.findings.push(Finding::must(refusal)),
        }
    }
    checked
}

/// Checks that `skills/get` returns the entry that the server lists.
async fn check_get(server: &Server, listed: &ListedSkill) -> Option<Finding> {
    match server.get(&listed.id().uri, EntrySource::Named).await {
        Ok(named) if named.entry() == listed.entry() => None,
        Ok(_) => Some(Finding::must(
            Refusal::new(Reason::EntryInconsistent)
                .about(listed.id())
                .expected("the same entry from `skills/list` and `skills/get`")
                .actual("two different ones"),
        )),
        Err(refusal) => Some(Finding::must(refusal.about(listed.id()))),
    }
}

async fn check_file(
    server: &Server,
    listed: &ListedSkill,
    file: &SkillResource,
) -> Result<(), Refusal> {
    let content = server.read(&file.uri, file.size).await;
    let content = content.map_err(|refusal| refusal.about(listed.id()))?;
    let verified = VerifiedFile::check(listed.id(), file, content.bytes)?;
    if file.uri == *listed.id().uri.file() {
        check_frontmatter(listed.id(), &listed.entry().frontmatter, verified.bytes())?;
    }
    Ok(())
}

/// Checks the frontmatter of a skill without digests; nothing else can be compared.
async fn check_dynamic(server: &Server, listed: &ListedSkill) -> Option<Finding> {
    let most = skillwire_core::limits::MAX_BYTES;
    let checked = match server.read(listed.id().uri.file(), most).await {
        Ok(content) => check_frontmatter(listed.id(), &listed.entry().frontmatter, &content.bytes),
        Err(refusal) => Err(refusal.about(listed.id())),
    };
    checked.err().map(Finding::must)
}
