//! What the user can do about a refusal.

use crate::{label::ServerLabel, origin::SkillId, run_grants::RunGrants};

/// What the user can do about a refusal.
///
/// This crate does not know how a user does it: a command line, a chat client and a page each word
/// it in their own way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Inspect the skill and approve it.
    ApproveSkill(SkillId),
    /// Review the changes and approve the skill again.
    ReviewChanges(SkillId),
    /// Approve the skill with the grant to run code.
    GrantExecution(SkillId),
    /// Approve the skill with the grant to run code, and with these grants for each run.
    GrantRun(SkillId, Box<RunGrants>),
    /// Approve the skill with the grant to have its server run its scripts.
    GrantRemoteExecution(SkillId),
    /// Switch the skill on.
    EnableSkill(SkillId),
    /// Approve the skill, write the lock file again and have the change reviewed.
    UpdateLock,
    /// Allow the host to ask each time about skills without digests.
    AllowDynamic,
    /// Look at single files of the skill instead.
    ShowFiles,
    /// Ask the skill's author to check the skill.
    CheckSkill,
    /// Trust the folder of the project, after finding out who wrote it.
    TrustProject,
    /// List the skills.
    ListSkills,
    /// List the servers.
    ListServers,
    /// Start or install the server, after checking its configuration.
    StartServer,
    /// Make this machine trust the authority that issued the server's certificate.
    TrustCertificate,
    /// Give the variable a value.
    SetVariable(String),
    /// Log in to the server.
    LogIn(ServerLabel),
    /// Correct the token that is configured for the server.
    ReplaceToken(ServerLabel),
    /// Ask this server alone, which gives it more time.
    AskServerAlone(ServerLabel),
    /// Load the approved skill from the cache.
    LoadOffline(SkillId),
    /// Configure a token instead of a login.
    ConfigureToken,
    /// Register this program at the authorization server by hand.
    RegisterClient,
    /// Load the skill again with a value for this argument.
    GiveArgument(SkillId, Box<str>),
    /// Allow older dialects, so that entries of a draft are taken for skills without digests.
    AcceptDraft(ServerLabel),
    /// Allow older dialects, so that skills are looked for among the server's resources.
    SearchResources(ServerLabel),
}
