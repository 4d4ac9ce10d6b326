//! Turns the remedy for a refusal into a command that the user can type.

use skillwire_trust::{Refusal, Remedy, SkillId};

use crate::refusals;

/// Writes a remedy as a sentence; `skill` names a skill in a command, quoted if it has to be.
pub(crate) fn sentence(remedy: &Remedy, skill: impl Fn(&SkillId) -> String) -> String {
    match remedy {
        Remedy::ApproveSkill(id) => {
            format!("`skillwire approve {}` shows and approves it.", skill(id))
        }
        Remedy::ReviewChanges(id) => {
            format!("`skillwire approve {}` shows what changed.", skill(id))
        }
        Remedy::GrantExecution(id) => {
            format!("`skillwire approve {} --exec` grants it.", skill(id))
        }
        Remedy::GrantRun(id, grants) => {
            let options = grants
                .items()
                .into_iter()
                .map(|(kind, item)| format!(" --{} {}", kind.word(), refusals::argument(&item)));
            let options: String = options.collect();
            format!("`skillwire approve {} --exec{options}` grants it.", skill(id))
        }
        Remedy::GrantRemoteExecution(id) => {
            format!("`skillwire approve {} --remote-exec` grants it.", skill(id))
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
            "Correct the token in its file or in `servers.json`; `skillwire server list` shows \
             `{label}`. Approvals stay."
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
            "Configure a token with `--header` or `--bearer-token-file` instead.".to_owned()
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

/// Prepares a refusal for JSON: names in the member `hint` are not quoted for a shell.
pub(crate) fn worded(refusal: &Refusal) -> Refusal {
    refusal.worded(|remedy| sentence(remedy, SkillId::to_string))
}
