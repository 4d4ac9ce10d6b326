//! Turns the remedy for a refusal into a command that the user can type.

use skillwire_trust::{Refusal, Remedy, RunGrants, SkillId};

use crate::refusals;

/// Writes a remedy as a sentence; `skill` names a skill in a command, quoted if it has to be.
pub(crate) fn sentence(remedy: &Remedy, skill: impl Fn(&SkillId) -> String) -> String {
    match remedy {
        Remedy::ApproveSkill(id) => {
            format!("`{}` shows and approves it.", approve_command(&skill(id), None))
        }
        Remedy::ReviewChanges(id) => {
            format!("`{}` shows what changed.", approve_command(&skill(id), None))
        }
        Remedy::GrantExecution(id) => {
            let command = approve_command(&skill(id), Some(&RunGrants::default()));
            format!("`{command}` grants it.")
        }
        Remedy::GrantRun(id, grants) => {
            format!("`{}` grants it.", approve_command(&skill(id), Some(grants)))
        }
        Remedy::GrantRemoteExecution(id) => {
            format!("`{}` grants it.", remote_execution_command(&skill(id)))
        }
        Remedy::EnableSkill(id) => format!("`skillwire enable {}` switches it on.", skill(id)),
        Remedy::UpdateLock => {
            "Approve the skill, run `skillwire lock`, and have the change reviewed.".to_owned()
        }
        Remedy::AllowDynamic => {
            "`--allow-dynamic` asks about such skills each time instead.".to_owned()
        }
        Remedy::ShowFiles => "`skillwire show` shows single files without writing them.".to_owned(),
        Remedy::CheckSkill => "Tell the skill's author to run `skillwire check`.".to_owned(),
        Remedy::TrustProject => {
            "If you know who wrote this project, pass `--trust-project`.".to_owned()
        }
        Remedy::ListSkills => "`skillwire list` shows the skills there are.".to_owned(),
        Remedy::ListServers => "`skillwire server list` shows the labels.".to_owned(),
        Remedy::StartServer => {
            "Start or install it; `skillwire server list` shows how it is reached.".to_owned()
        }
        Remedy::TrustCertificate => {
            "Set `SSL_CERT_FILE` to a PEM file with the certificates to trust, instead of those of \
             this system."
                .to_owned()
        }
        Remedy::SetVariable(name) => {
            format!("Set `{name}` in the environment of `skillwire`, or write the value itself.")
        }
        Remedy::ReplaceToken(label) => format!(
            "Correct the token in its file, or `skillwire server set {label} --bearer-token-file \
             FILE`. Approvals stay."
        ),
        Remedy::AskServerAlone(label) => {
            format!("`skillwire list --server {label}` waits longer for it.")
        }
        Remedy::LoadOffline(id) => {
            format!("`skillwire load {} --offline` loads the approved copy.", skill(id))
        }
        Remedy::LogIn(label) if cfg!(feature = "oauth") => {
            format!("`skillwire server login {label}` logs in.")
        }
        Remedy::LogIn(_) => {
            "Configure a bearer token; the feature `oauth` was left out of this build.".to_owned()
        }
        Remedy::ConfigureToken => {
            "Give it a token instead: `skillwire server set LABEL --bearer-token-file FILE`."
                .to_owned()
        }
        Remedy::RegisterClient => {
            "Register this program there by hand and pass the id with `--client-id`.".to_owned()
        }
        Remedy::GiveArgument(id, name) => {
            let given = refusals::argument(&format!("{name}=VALUE"));
            format!("`skillwire load {} --arg {given}` gives it a value.", skill(id))
        }
        Remedy::AcceptDraft(label) => {
            format!("`skillwire server allow-legacy {label}` takes it for `\"dynamic\"`.")
        }
        Remedy::SearchResources(label) => {
            format!("`skillwire server allow-legacy {label}` looks for skills among its resources.")
        }
    }
}

/// Returns the command that approves a skill, and its scripts with these grants; `skill` is quoted
/// if it has to be.
pub(crate) fn approve_command(skill: &str, run: Option<&RunGrants>) -> String {
    let mut command = format!("skillwire approve {skill}");
    if let Some(grants) = run {
        command.push_str(" --exec");
        for (kind, item) in grants.items() {
            let granted = refusals::argument(&item);
            command.extend([" --", kind.word(), " ", &granted]);
        }
    }
    command
}

/// Returns the command that lets a skill's server run its scripts.
pub(crate) fn remote_execution_command(skill: &str) -> String {
    format!("{} --remote-exec", approve_command(skill, None))
}

/// Prepares a refusal for JSON: names in the member `hint` are not quoted for a shell.
pub(crate) fn worded(refusal: &Refusal) -> Refusal {
    refusal.worded(|remedy| sentence(remedy, SkillId::to_string))
}
