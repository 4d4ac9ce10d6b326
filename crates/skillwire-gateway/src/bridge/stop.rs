//! The reasons why a call ends without its result: a refusal, which the model reads, or a question
//! to the user.
//!
//! This is the one place that words refusals for the clients of a bridge.

use std::fmt::Write as _;

use serde_json::json;
use skillwire_engine::offer::{Interrupt, ToolReply};
use skillwire_host::context::{boundary::NoBoundary, text::one_line_within};
use skillwire_protocol::RpcError;
use skillwire_trust::{Reason, Refusal, Remedy, RunGrants, SkillId, Subject};

use super::{Bridge, options::WantedApproval};

/// The most characters of each part of a refusal. A server may have written some of the parts, so
/// their length has to be bounded.
const MAX_CHARS: usize = 400;

/// The reason why a call ends without its result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The host refuses.
    Refused(Box<Refusal>),
    /// The client has to answer a question first, or its request is invalid.
    Interrupted(Interrupt),
}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Interrupt> for CallError {
    fn from(interrupt: Interrupt) -> Self {
        Self::Interrupted(interrupt)
    }
}

impl From<NoBoundary> for CallError {
    fn from(error: NoBoundary) -> Self {
        Refusal::from(error).into()
    }
}

impl CallError {
    /// The result of a tool. A refusal is a result as well, so that the model can read it.
    pub(crate) fn into_reply(self, bridge: &Bridge) -> Result<ToolReply, Interrupt> {
        match self {
            Self::Refused(refusal) => Ok(refused(&refusal, bridge)),
            Self::Interrupted(interrupt) => Err(interrupt),
        }
    }

    /// The error of a prompt. The result of a prompt cannot say that it failed, so a refusal
    /// becomes an error.
    pub(crate) fn into_interrupt(self, bridge: &Bridge) -> Interrupt {
        match self {
            Self::Refused(refusal) => RpcError::invalid_params(words(&refusal, bridge))
                .with_data(json!({ "refusal": shown(&refusal, bridge) }))
                .into(),
            Self::Interrupted(interrupt) => interrupt,
        }
    }
}

/// A refusal as the answer of a tool.
fn refused(refusal: &Refusal, bridge: &Bridge) -> ToolReply {
    let text = words(refusal, bridge);
    ToolReply::error(text).structured(json!({ "refusal": shown(refusal, bridge) }))
}

/// A refusal in words: its code, what happened, and the next step.
fn words(refusal: &Refusal, bridge: &Bridge) -> String {
    let shown = shown(refusal, bridge);
    let mut text = format!("Refused ({}): {}", shown.reason.code(), shown.reason.meaning());
    if let Some(subject) = &shown.subject {
        let about = match refusal.subject.as_deref() {
            Some(Subject::Tool(_)) => "Tool",
            Some(Subject::Window(_)) => "Window",
            _ if shown.reason == Reason::ServerUnknown => "Origin",
            _ => "Skill",
        };
        let _ = write!(text, "\n{about}: {subject}");
    }
    let parts = [("File", &shown.file), ("Expected", &shown.expected), ("Found", &shown.actual)];
    for (name, part) in parts {
        if let Some(part) = part {
            let _ = write!(text, "\n{name}: {part}");
        }
    }
    if let Some(hint) = &shown.hint {
        let _ = write!(text, "\nWhat to do: {hint}");
    }
    text
}

/// A refusal that is safe to show: hidden and control characters are escaped, and the next step is
/// one that clients of a bridge can take.
fn shown(refusal: &Refusal, bridge: &Bridge) -> Refusal {
    let refusal = &refusal.in_own_words();
    let line = |text: &Option<Box<str>>| {
        text.as_deref().map(|text| one_line_within(text, MAX_CHARS).into_boxed_str())
    };
    Refusal {
        reason: refusal.reason,
        subject: refusal
            .subject
            .as_ref()
            .map(|subject| Box::new(one_line_within(&subject.to_string(), MAX_CHARS).into())),
        file: line(&refusal.file),
        expected: line(&refusal.expected),
        actual: line(&refusal.actual),
        server_text: None,
        hint: hint(refusal, bridge)
            .map(String::into_boxed_str)
            .or_else(|| line(&refusal.worded(|remedy| remedy_words(remedy, bridge)).hint)),
        remedy: None,
    }
}

/// The next step for clients of a bridge, where it differs from the one at a terminal.
fn hint(refusal: &Refusal, bridge: &Bridge) -> Option<String> {
    let subject = refusal.subject.as_ref()?;
    let skill = match &**subject {
        Subject::Skill(skill) => handle(skill, bridge),
        other => other.to_string(),
    };
    let approve = |before: &str| bridge.options().approving(before, &skill, WantedApproval::Load);
    match refusal.reason {
        Reason::NotApproved | Reason::AskedTooOften => Some(format!(
            "Tell the user to look at the skill and approve it{}. Then call `load_skill` again.",
            approve(" in a terminal, with ")
        )),
        Reason::Changed => Some(format!(
            "The user must approve the skill again, which shows what changed. Call `load_skill`{}.",
            approve(", or tell the user to run ")
        )),
        Reason::UserDeclined => Some(format!(
            "Do without the skill. If the user changes their mind, they can approve it{}.",
            approve(" with ")
        )),
        Reason::SkillNotFound | Reason::ServerUnknown => {
            Some("Call `list_skills` to see the handles there are.".to_owned())
        }
        Reason::FileNotListed | Reason::PathOutsideSkill => {
            Some("Call `list_skill_files` to see the files there are.".to_owned())
        }
        Reason::WindowClosed => Some("Call `load_skill` again.".to_owned()),
        Reason::ServerUnreachable | Reason::ServerTimeout => Some(
            "The skill's server cannot be reached now. Try again later, or tell the user."
                .to_owned(),
        ),
        _ => None,
    }
}

/// The shortest handle that fits only this skill, as listings show it; its whole id if no listing has
/// the skill.
fn handle(skill: &SkillId, bridge: &Bridge) -> String {
    let view = bridge.view();
    view.skill(skill).map_or_else(|| skill.to_string(), |item| item.handle.clone())
}

/// A remedy in words for a model, which can only tell the user.
fn remedy_words(remedy: &Remedy, bridge: &Bridge) -> String {
    let approve = |before: &str, skill: &SkillId, wanted: WantedApproval<'_>| {
        bridge.options().approving(before, &handle(skill, bridge), wanted)
    };
    match remedy {
        Remedy::ApproveSkill(skill) => format!(
            "Tell the user to look at the skill and approve it{}.",
            approve(" with ", skill, WantedApproval::Load)
        ),
        Remedy::ReviewChanges(skill) => format!(
            "Tell the user to look at what changed and approve it{}.",
            approve(" with ", skill, WantedApproval::Load)
        ),
        Remedy::GrantExecution(skill) => format!(
            "Tell the user that they have to grant it{}.",
            approve(": ", skill, WantedApproval::Run(&RunGrants::default()))
        ),
        Remedy::GrantRun(skill, grants) => format!(
            "Tell the user that they have to grant it{}.",
            approve(": ", skill, WantedApproval::Run(grants))
        ),
        Remedy::GrantRemoteExecution(skill) => format!(
            "Tell the user that they have to grant it{}.",
            approve(": ", skill, WantedApproval::RemoteRun)
        ),
        Remedy::EnableSkill(_) => {
            "Do without the skill: the user switched it off and can switch it on again.".to_owned()
        }
        Remedy::UpdateLock => {
            "Tell the user to approve the skill, write the lock file again and have it reviewed."
                .to_owned()
        }
        Remedy::AllowDynamic => {
            "Do without the skill: the user's policy declines skills without digests.".to_owned()
        }
        Remedy::ShowFiles => "Read single files instead.".to_owned(),
        Remedy::CheckSkill => "Tell the user that the skill's author should check it.".to_owned(),
        Remedy::TrustProject => {
            "Do without the skill: the user has not said that they trust this project.".to_owned()
        }
        Remedy::ListSkills | Remedy::ListServers => {
            "Call `list_skills` to see the handles there are.".to_owned()
        }
        Remedy::StartServer => "Tell the user that the server has to be started.".to_owned(),
        Remedy::TrustCertificate => {
            "Tell the user that this machine does not trust the server's certificate.".to_owned()
        }
        Remedy::SetVariable(name) => {
            format!("Tell the user that the variable `{name}` is not set.")
        }
        Remedy::ReplaceToken(label) => {
            format!("Tell the user to correct the token of the server `{label}`.")
        }
        Remedy::AskServerAlone(_) | Remedy::LoadOffline(_) => {
            "Try again later, or tell the user that the server does not answer.".to_owned()
        }
        Remedy::LogIn(label) => format!("Tell the user to log in to the server `{label}`."),
        Remedy::ConfigureToken | Remedy::RegisterClient => {
            "Tell the user that the login to the server has to be configured.".to_owned()
        }
        Remedy::GiveArgument(_, name) => format!(
            "Call `load_skill` again with a value for `{name}` in `arguments`. Ask the user for the \
             value if you do not know it."
        ),
        Remedy::AcceptDraft(label) | Remedy::SearchResources(label) => {
            format!("Tell the user to allow older dialects for the server `{label}`.")
        }
    }
}
