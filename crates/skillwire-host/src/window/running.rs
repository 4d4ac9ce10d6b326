//! Running the scripts of a loaded skill: what the user granted, the files a run needs, and scripts
//! that the skill's server runs.

use bytes::Bytes;
use serde_json::Value;
use skillwire_core::{RelPath, Resources};
use skillwire_dialects::{FetchRoute, skills_page::RemoteRun};
use skillwire_trust::{
    Action, ApprovalReview, ApprovedBy, Grants, Reason, Refusal, Remedy, RunGrants, RunRequest,
};

use super::Window;

impl Window {
    /// Returns the grants of this content that hold now. The user may have widened or withdrawn them
    /// since the skill was loaded.
    fn grants_now(&self) -> Result<Grants, Refusal> {
        match self.approved.by() {
            ApprovedBy::Once => Ok(self.approved.grants().clone()),
            ApprovedBy::User | ApprovedBy::Lock | ApprovedBy::Folder | ApprovedBy::Signer => {
                Ok(self.host.approved(self.approved.listed())?.grants().clone())
            }
        }
    }

    /// Tells whether the user granted running the skill's own scripts, for exactly this content.
    ///
    /// This does not ask the user: running is granted beforehand, by name, or not at all.
    pub fn may_run_scripts(&self) -> Result<(), Refusal> {
        self.scripts_granted().map(|_| ())
    }

    /// Returns what a run of one of the skill's scripts gets: what it asks for, if the user granted
    /// that for exactly this content. A run never gets more than is granted.
    pub fn grants_for_run(&self, asked: &RunRequest) -> Result<RunGrants, Refusal> {
        self.narrowed(&self.scripts_granted()?, asked)
    }

    /// Returns what a run gets from an answer of the user to [`Self::review_run`].
    pub fn narrowed(&self, grants: &Grants, asked: &RunRequest) -> Result<RunGrants, Refusal> {
        grants.run.narrowed(asked).map_err(|wider| {
            Refusal::new(Reason::NotGranted)
                .about(self.skill())
                .expected("a grant for everything that the run asks for")
                .actual(format!("no grant for {wider}"))
                .remedy(Remedy::GrantRun(self.skill().clone(), Box::new(wider.needed)))
        })
    }

    fn scripts_granted(&self) -> Result<Grants, Refusal> {
        self.check_open()?;
        let skill = self.skill();
        if self.fingerprint().is_none() {
            return Err(Refusal::new(Reason::NotGranted)
                .about(skill)
                .actual("no digests that a grant could be bound to")
                .hint("Scripts of a skill without digests are never run."));
        }
        let grants = self.grants_now()?;
        if !grants.execute {
            return Err(Refusal::new(Reason::NotGranted)
                .about(skill)
                .expected("a grant to run its scripts")
                .remedy(Remedy::GrantExecution(skill.clone())));
        }
        Ok(grants)
    }

    /// Begins a review of the skill whose card proposes what a run needs: everything that is granted
    /// now, and what the run asks for beyond that.
    pub fn review_run(&self, asked: &RunRequest) -> Result<ApprovalReview, Refusal> {
        self.check_open()?;
        let now = self.grants_now()?;
        let needed = match now.run.narrowed(asked) {
            Ok(_) => now.run.clone(),
            Err(wider) => wider.needed,
        };
        Ok(self.host.review(self.listed())?.proposing(now.with_scripts(needed)))
    }

    /// Begins a review whose card proposes that the skill's server runs its scripts.
    pub fn review_remote_run(&self) -> Result<ApprovalReview, Refusal> {
        self.check_open()?;
        let proposed = self.grants_now()?.with_remote_scripts();
        Ok(self.host.review(self.listed())?.proposing(proposed))
    }

    /// Returns every file of the skill, each compared with the entry it was loaded from.
    #[tracing::instrument(skip_all, fields(skill = %self.skill()))]
    pub async fn read_all(&self) -> Result<Vec<(RelPath, Bytes)>, Refusal> {
        let Resources::Listed(listed) = &self.entry().resources else {
            return Err(Refusal::new(Reason::NotGranted).about(self.skill()));
        };
        let mut files = Vec::with_capacity(listed.len());
        for file in listed {
            let path = self.skill().uri.below(&file.uri).ok_or_else(|| {
                Refusal::new(Reason::PathOutsideSkill).about(self.skill()).file(&file.uri)
            })?;
            let content = self.read(path.as_str()).await?;
            files.push((path, content.bytes().clone()));
        }
        Ok(files)
    }

    /// Returns the paths of all files that the skill names, read or not.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths: Vec<RelPath> = match &self.entry().resources {
            Resources::Listed(files) => {
                files.iter().filter_map(|file| self.skill().uri.below(&file.uri)).collect()
            }
            Resources::Dynamic => Vec::new(),
        };
        let others = self.listed().other_files().unwrap_or_default();
        paths.extend(others.into_iter().map(|(path, _)| path));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Tells whether the skill's server has a method that runs its scripts (`skills/execute`).
    pub fn runs_on_server(&self) -> bool {
        let route = self.listed().offer().map(|offer| &offer.route);
        matches!(route, Some(FetchRoute::SkillsRead { .. }))
    }

    /// Has the skill's server run a script, if the user granted that for exactly this content.
    ///
    /// The server sees the arguments and does with them what it wants; what it answers is its word
    /// and no more. The script must be one that the server names.
    #[tracing::instrument(skip_all, fields(skill = %self.skill(), %script))]
    pub async fn run_on_server(
        &self,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        self.check_open()?;
        let grants = self.grants_now()?;
        self.run_on_server_with(&grants, script, arguments).await
    }

    /// Has the skill's server run a script with an answer of the user to [`Self::review_remote_run`].
    pub async fn run_on_server_with(
        &self,
        grants: &Grants,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        let ran = self.ask_server(grants, script, arguments).await;
        let logged = ran.as_ref().map(|_| ()).map_err(|refusal| refusal.reason);
        let detail = format!("{script}, on its server");
        self.host.log(&self.approved, Action::Run, logged, Some(&detail));
        ran
    }

    async fn ask_server(
        &self,
        grants: &Grants,
        script: &RelPath,
        arguments: Value,
    ) -> Result<RemoteRun, Refusal> {
        let skill = self.skill();
        if !grants.remote_execute {
            return Err(Refusal::new(Reason::NotGranted)
                .about(skill)
                .expected("a grant to have its server run its scripts")
                .remedy(Remedy::GrantRemoteExecution(skill.clone())));
        }
        let offer = self.listed().offer().filter(|_| self.paths().contains(script));
        let offer = offer.ok_or_else(|| self.refuse(Reason::FileNotListed, script.as_str()))?;
        self.host.run_on_server(self.listed(), offer, script, arguments).await
    }
}
