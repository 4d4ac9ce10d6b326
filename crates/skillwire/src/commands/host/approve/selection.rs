//! Which skills the handles and patterns of `approve` stand for.

use std::collections::{BTreeMap, BTreeSet};

use skillwire_host::Discovered;
use skillwire_trust::{
    HandlePattern, KnownSkill, ListedSkill, Origin, Reason, Refusal, RegistryItem, Remedy, SkillId,
    Standing,
};

use crate::{
    args::ApproveArgs,
    failure::Failure,
    progress::StepLine,
    session::{NamedSkill, Session, report_incomplete},
};

/// The skills that a command line stands for.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The skills to decide about, by origin and URI, each once.
    pub(super) skills: Vec<NamedSkill>,
    /// Skills that a pattern matches and that do not wait: their handles and states.
    pub(super) settled: Vec<(String, &'static str)>,
    /// Skills that cannot be approved, and why.
    pub(super) refused: Vec<Refusal>,
}

impl Selection {
    /// Finds what the user named; a handle that names nothing ends the command.
    pub(super) async fn find(session: &Session, args: &ApproveArgs) -> Result<Self, Failure> {
        let mut found = Self::default();
        let mut skills: BTreeMap<SkillId, NamedSkill> = BTreeMap::new();
        let (patterns, handles): (Vec<_>, Vec<_>) =
            args.handles.iter().partition(|text| HandlePattern::parse(text).is_some());
        for handle in handles {
            let named = session.find_now(handle).await?;
            skills.insert(named.listed.id().clone(), named);
        }
        let mut patterns: Vec<_> =
            patterns.into_iter().filter_map(|text| HandlePattern::parse(text)).collect();
        if args.all {
            patterns.extend(HandlePattern::parse("*"));
        }
        if !patterns.is_empty() {
            let discovered = discover(session, &patterns).await?;
            let mut waiting = Vec::new();
            for pattern in &patterns {
                waiting.extend(found.matched(session, pattern, &discovered, args.all)?);
            }
            let line = StepLine::new("Reading skills", waiting.len());
            for item in waiting {
                line.step(&item.handle);
                if skills.contains_key(item.skill.id()) {
                    continue;
                }
                match entry(session, &item.skill).await {
                    Ok(listed) => {
                        let named = session.name(&item.handle, listed);
                        skills.insert(named.listed.id().clone(), named);
                    }
                    Err(refusal) => found.refused.push(refusal),
                }
            }
        }
        found.skills = skills.into_values().collect();
        found.settled.sort();
        found.settled.dedup();
        Ok(found)
    }

    /// The skills that a pattern matches and that wait; notes the others.
    fn matched<'a>(
        &mut self,
        session: &Session,
        pattern: &HandlePattern,
        discovered: &'a Discovered,
        may_be_none: bool,
    ) -> Result<Vec<&'a RegistryItem>, Refusal> {
        // What lies in a folder of this machine needs no approval to be loaded.
        let of_servers = discovered.registry.items().iter();
        let of_servers = of_servers.filter(|item| item.skill.id().origin.server().is_some());
        let matched: Vec<_> = of_servers.filter(|item| pattern.matches(item)).collect();
        if matched.is_empty() && !may_be_none {
            // A server that did not answer may have them.
            return Err(match discovered.incomplete.first() {
                Some(refusal) => refusal.clone(),
                None => Refusal::new(Reason::SkillNotFound)
                    .about(pattern.as_str().escape_debug().to_string())
                    .expected("a pattern that fits a skill of a server")
                    .remedy(Remedy::ListSkills),
            });
        }
        let mut waiting = Vec::new();
        for item in matched {
            match session.host().standing_of_known(&item.skill) {
                Ok(Standing::New | Standing::Changed(_)) => waiting.push(item),
                Ok(settled) => self.settled.push((item.handle.clone(), settled.word())),
                Err(refusal) => self.refused.push(refusal),
            }
        }
        Ok(waiting)
    }
}

/// Lists the servers that patterns can match.
async fn discover(session: &Session, patterns: &[HandlePattern]) -> Result<Discovered, Failure> {
    let servers: Option<BTreeSet<_>> = patterns.iter().map(HandlePattern::server).collect();
    let discovered = match servers.map(Vec::from_iter).as_deref() {
        Some([label]) => session.discover(Some(&Origin::Server(label.clone()))).await?,
        _ => session.discover(None).await?,
    };
    report_incomplete(&discovered)?;
    Ok(discovered)
}

/// The entry to decide about. A listing of the released extension has it; for a skill of an older
/// server, its `SKILL.md` is read now.
async fn entry(session: &Session, skill: &KnownSkill) -> Result<ListedSkill, Refusal> {
    match skill {
        KnownSkill::Listed(listed) if listed.offer().is_none() => Ok(listed.clone()),
        other => session.host().refresh(other).await,
    }
}
