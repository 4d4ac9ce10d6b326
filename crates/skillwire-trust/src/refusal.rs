//! Refusals as data: a stable code, what was expected and what was there.

use std::fmt;

use serde::Serialize;

use crate::{remedy::Remedy, subject::Subject};

/// The class of a refusal; commands turn it into their exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalClass {
    /// Something does not match what was listed or approved, or lies outside the skill.
    Verification,
    /// The user has not approved this, or approved something else.
    Approval,
    /// There is no such skill or server.
    NotFound,
    /// A name fits more than one skill.
    Ambiguous,
    /// A server cannot be reached or breaks the protocol.
    Unreachable,
    /// A limit or a policy declines.
    Declined,
    /// State on this machine cannot be used.
    State,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal, $class:ident;)+) => {
        /// The stable code of a refusal.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Reason {
    /// Tells whether a skill is refused only because the user has not decided about it as it is.
    pub fn is_undecided(self) -> bool {
        matches!(self, Self::NotApproved | Self::Changed)
    }

            /// Every reason, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the code as text.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)+ }
            }

            /// Returns the class of the refusal.
            pub fn class(self) -> RefusalClass {
                match self { $(Self::$variant => RefusalClass::$class,)+ }
            }

            /// Returns the meaning of the code, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

reasons! {
    /// A file's bytes have another digest than the one listed.
    DigestMismatch = "digest_mismatch", Verification;
    /// A file has more or fewer bytes than listed.
    SizeMismatch = "size_mismatch", Verification;
    /// The frontmatter in `SKILL.md` differs from the one listed.
    FrontmatterMismatch = "frontmatter_mismatch", Verification;
    /// The frontmatter in `SKILL.md` cannot be read.
    FrontmatterUnreadable = "frontmatter_unreadable", Verification;
    /// The file is not in the manifest of the skill.
    FileNotListed = "file_not_listed", Verification;
    /// The path leaves the skill.
    PathOutsideSkill = "path_outside_skill", Verification;
    /// A listed file cannot be read from its server.
    FileMissing = "file_missing", Verification;
    /// The answer to a read is not exactly one content with the URI that was asked for.
    ContentInvalid = "content_invalid", Verification;
    /// The skill keeps changing, so that list and content never agree.
    SkillUnstable = "skill_unstable", Verification;
    /// Two files could not be kept apart on a disk.
    FileNamesCollide = "file_names_collide", Verification;
    /// The manifest leaves out files that the server's directories show.
    ManifestIncomplete = "manifest_incomplete", Verification;
    /// The archive is of a kind that is not opened.
    ArchiveFormat = "archive_format", Verification;
    /// The archive is cut off, damaged, or has something after its end.
    ArchiveBroken = "archive_broken", Verification;
    /// The archive has a path that leaves the skill or means something else on some system.
    ArchivePath = "archive_path", Verification;
    /// The archive has a link that is not one to a file of the skill.
    ArchiveLink = "archive_link", Verification;
    /// The archive holds something that is neither a file, nor a directory, nor a link.
    ArchiveSpecial = "archive_special", Verification;
    /// The archive holds two things that some disks take for one.
    ArchiveTwins = "archive_twins", Verification;
    /// More bytes would come out of the archive than a skill may have.
    ArchiveTooLarge = "archive_too_large", Verification;
    /// The archive has more entries than a skill may have files.
    ArchiveTooMany = "archive_too_many", Verification;
    /// The archive has a path that is too long or too deep.
    ArchiveTooDeep = "archive_too_deep", Verification;
    /// Too much would come out of too small an archive.
    ArchiveRatio = "archive_ratio", Verification;
    /// The archive has no `SKILL.md` at its root.
    ArchiveNoSkillFile = "archive_no_skill_file", Verification;
    /// A web origin redirects to somewhere else.
    RedirectOutside = "redirect_outside", Verification;
    /// The entry is not an object of the required shape.
    EntryMalformed = "entry_malformed", Verification;
    /// The skill's URI is not one of a `SKILL.md` in normal form.
    UriInvalid = "uri_invalid", Verification;
    /// The listed frontmatter breaks the skill format.
    FrontmatterInvalid = "frontmatter_invalid", Verification;
    /// The name breaks the naming rules.
    NameInvalid = "name_invalid", Verification;
    /// The name is not the last segment of the skill's path.
    NameMismatch = "name_mismatch", Verification;
    /// `resources` is neither a list nor `"dynamic"`.
    ResourcesInvalid = "resources_invalid", Verification;
    /// The manifest does not list the skill's own `SKILL.md`.
    SkillFileNotListed = "skill_file_not_listed", Verification;
    /// The manifest lists a file twice.
    ResourceDuplicate = "resource_duplicate", Verification;
    /// The manifest lists something outside the skill.
    ResourceOutside = "resource_outside", Verification;
    /// A listed digest is not `sha256:` and 64 lower-case hexadecimal digits.
    DigestInvalid = "digest_invalid", Verification;
    /// A listed size is not a whole number of bytes.
    SizeInvalid = "size_invalid", Verification;
    /// The server gives two different entries for the same skill.
    EntryInconsistent = "entry_inconsistent", Verification;
    /// `skills/get` answered with another skill than the one asked for.
    EntrySubstituted = "entry_substituted", Verification;
    /// The server answers with another error than the protocol defines.
    WrongErrorCode = "wrong_error_code", Verification;
    /// The server's instructions name a skill that is not there.
    InstructionsDangling = "instructions_dangling", Verification;
    /// The user requires a signature of certain signers, and the skill has no valid one.
    SignatureRequired = "signature_required", Verification;
    /// The user has not approved the skill.
    NotApproved = "not_approved", Approval;
    /// The skill is not what the user approved; it must be approved again.
    Changed = "changed", Approval;
    /// The user declined.
    UserDeclined = "user_declined", Approval;
    /// The lock file does not list the skill with this content.
    NotLocked = "not_locked", Approval;
    /// A lock file decides, and it lists files of skills and no other resources.
    ResourceNotLocked = "resource_not_locked", Approval;
    /// The user did not grant this to the skill.
    NotGranted = "not_granted", Approval;
    /// The project's folder has not been trusted.
    ProjectUntrusted = "project_untrusted", Approval;
    /// The window is no longer open.
    WindowClosed = "window_closed", Approval;
    /// There is no such skill.
    SkillNotFound = "skill_not_found", NotFound;
    /// A tool was called with arguments it does not take.
    ToolInputInvalid = "tool_input_invalid", NotFound;
    /// The skill needs an argument that was not given.
    ArgumentMissing = "argument_missing", NotFound;
    /// The skill does not take this argument.
    ArgumentUnknown = "argument_unknown", NotFound;
    /// No server has this label.
    ServerUnknown = "server_unknown", NotFound;
    /// Several skills have this name.
    NameAmbiguous = "name_ambiguous", Ambiguous;
    /// The server cannot be reached.
    ServerUnreachable = "server_unreachable", Unreachable;
    /// The server's certificate is not trusted.
    CertificateUntrusted = "certificate_untrusted", Unreachable;
    /// A variable that the server's configuration names is not set.
    VariableUnset = "variable_unset", Unreachable;
    /// The server wants a login.
    LoginRequired = "login_required", Unreachable;
    /// The server refuses the configured token.
    TokenRefused = "token_refused", Unreachable;
    /// Logging in to the server failed.
    LoginFailed = "login_failed", Unreachable;
    /// The server did not answer in time.
    ServerTimeout = "server_timeout", Unreachable;
    /// The server broke the protocol.
    ProtocolError = "protocol_error", Unreachable;
    /// The server answered with an error.
    ServerError = "server_error", Unreachable;
    /// The server does not serve skills.
    SkillsNotOffered = "skills_not_offered", Unreachable;
    /// The server wants input that cannot be given here.
    InputRequired = "input_required", Unreachable;
    /// The skill has more files than allowed.
    TooManyFiles = "too_many_files", Declined;
    /// The skill has more bytes than allowed.
    SkillTooLarge = "skill_too_large", Declined;
    /// More was sent than allowed.
    ResponseTooLarge = "response_too_large", Declined;
    /// A budget of the server or the session is used up.
    BudgetExhausted = "budget_exhausted", Declined;
    /// The skill's files have no digests, and the policy declines such skills.
    DynamicDeclined = "dynamic_declined", Declined;
    /// The address is not one that may be asked for.
    AddressForbidden = "address_forbidden", Declined;
    /// The user disabled the skill.
    Disabled = "disabled", Declined;
    /// The user was asked about this skill too often; it waits until the user asks for it.
    AskedTooOften = "asked_too_often", Declined;
    /// The server is not reachable and the content is not cached.
    Offline = "offline", Declined;
    /// The state folder cannot be read or written.
    StateUnusable = "state_unusable", State;
}

impl From<skillwire_archive::ArchiveReason> for Reason {
    fn from(reason: skillwire_archive::ArchiveReason) -> Self {
        use skillwire_archive::ArchiveReason as Archive;
        match reason {
            Archive::Format => Self::ArchiveFormat,
            Archive::Broken => Self::ArchiveBroken,
            Archive::Path => Self::ArchivePath,
            Archive::Link => Self::ArchiveLink,
            Archive::Special => Self::ArchiveSpecial,
            Archive::Twins => Self::ArchiveTwins,
            Archive::TooLarge => Self::ArchiveTooLarge,
            Archive::TooMany => Self::ArchiveTooMany,
            Archive::TooDeep => Self::ArchiveTooDeep,
            Archive::Ratio => Self::ArchiveRatio,
            Archive::NoSkillFile => Self::ArchiveNoSkillFile,
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// A refusal, with everything the caller needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Refusal {
    /// The stable code.
    pub reason: Reason,
    /// The subject of the refusal.
    #[serde(rename = "skill", skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<Subject>>,
    /// The file, as its URI or its path in the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Box<str>>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Box<str>>,
    /// What was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Box<str>>,
    /// What the server itself wrote about its failure, with configured secrets masked.
    ///
    /// It is for people who look for the cause. A server could address a model with it, so nothing
    /// that a model reads repeats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_text: Option<Box<str>>,
    /// A possible cause or other advice, in a sentence that holds for every reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Box<str>>,
    /// What the user can do; the program that shows the refusal puts it into words.
    #[serde(skip)]
    pub remedy: Option<Box<Remedy>>,
}

impl Refusal {
    /// Creates a refusal with nothing but its code.
    pub fn new(reason: Reason) -> Self {
        Self {
            reason,
            subject: None,
            file: None,
            expected: None,
            actual: None,
            server_text: None,
            hint: None,
            remedy: None,
        }
    }

    /// Sets the subject.
    #[must_use]
    pub fn about(self, subject: impl Into<Subject>) -> Self {
        Self { subject: Some(Box::new(subject.into())), ..self }
    }

    /// Sets the file.
    #[must_use]
    pub fn file(self, file: impl fmt::Display) -> Self {
        Self { file: Some(file.to_string().into()), ..self }
    }

    /// Sets what was expected.
    #[must_use]
    pub fn expected(self, expected: impl fmt::Display) -> Self {
        Self { expected: Some(expected.to_string().into()), ..self }
    }

    /// Sets what was there.
    #[must_use]
    pub fn actual(self, actual: impl fmt::Display) -> Self {
        Self { actual: Some(actual.to_string().into()), ..self }
    }

    /// Sets what the server wrote about its failure.
    #[must_use]
    pub fn server_text(self, text: Option<&str>) -> Self {
        Self { server_text: text.map(Into::into), ..self }
    }

    /// Sets a possible cause or other advice, in place of a remedy.
    #[must_use]
    pub fn hint(self, hint: impl fmt::Display) -> Self {
        Self { hint: Some(hint.to_string().into()), remedy: None, ..self }
    }

    /// Sets what the user can do, in place of a hint.
    #[must_use]
    pub fn remedy(self, remedy: Remedy) -> Self {
        Self { hint: None, remedy: Some(Box::new(remedy)), ..self }
    }

    /// Returns the refusal for a reader: with the remedy in words, in front of the hint.
    #[must_use]
    pub fn worded(&self, words: impl FnOnce(&Remedy) -> String) -> Self {
        let remedy = self.remedy.as_deref().map(words);
        let hint = match (remedy, self.hint.as_deref()) {
            (Some(remedy), Some(hint)) => Some(format!("{remedy} {hint}").into()),
            (Some(remedy), None) => Some(remedy.into()),
            (None, hint) => hint.map(Into::into),
        };
        Self { hint, remedy: None, ..self.clone() }
    }

    /// Returns the refusal in our own words alone, for models: without anything that a server wrote
    /// about its own failure, which could address the model.
    #[must_use]
    pub fn in_own_words(&self) -> Self {
        let actual = self.actual.clone().filter(|_| self.class() != RefusalClass::Unreachable);
        Self { actual, server_text: None, ..self.clone() }
    }

    /// Returns the class of the refusal.
    pub fn class(&self) -> RefusalClass {
        self.reason.class()
    }
}

impl Reason {
    /// Tells whether the server could not be reached at all, so that it said nothing about the
    /// skill.
    pub fn is_server_away(self) -> bool {
        matches!(self, Self::ServerUnreachable | Self::ServerTimeout)
    }

    /// Tells whether a server answered, but with other content than it lists.
    pub fn is_about_content(self) -> bool {
        matches!(
            self,
            Self::SizeMismatch
                | Self::DigestMismatch
                | Self::FileMissing
                | Self::ContentInvalid
                | Self::ResponseTooLarge
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.meaning())?;
        if let Some(subject) = &self.subject {
            write!(f, " {}: {subject}.", subject.kind())?;
        }
        if let Some(file) = &self.file {
            write!(f, " File: {file}.")?;
        }
        if let Some(expected) = &self.expected {
            write!(f, " Expected: {expected}.")?;
        }
        if let Some(actual) = &self.actual {
            write!(f, " Actual: {actual}.")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_refused_with_the_code_it_has_there_ar_15() {
        for reason in skillwire_archive::ArchiveReason::ALL {
            assert_eq!(Reason::from(reason).code(), reason.code());
        }
    }

    #[test]
    fn a_refusal_about_a_server_does_not_call_it_a_skill() {
        let label = crate::ServerLabel::parse("acme").unwrap();
        let refusal =
            Refusal::new(Reason::ServerUnreachable).about(&label).actual("connection refused");
        let expected = "The server cannot be reached. Server: acme. Actual: connection refused.";
        assert_eq!(refusal.to_string(), expected);
    }

    #[test]
    fn codes_are_distinct_and_say_what_they_mean_hst_118() {
        let codes: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|r| r.code()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
        for reason in Reason::ALL {
            assert!(reason.meaning().ends_with('.'), "{reason:?}");
            assert!(reason.code().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        }
    }
}
