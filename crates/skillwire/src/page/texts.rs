//! The words of the providers of the page: everything that they say to a reader, apart from words that the
//! command line says as well.
//!
//! The words of the components are in `skillwire-page`. These stand here because they name command lines of
//! this program, and files of its state, which libraries do not know.

#[cfg(any(feature = "host", feature = "hub"))]
pub(super) use self::of_both::*;
#[cfg(feature = "host")]
pub(super) use self::of_host::*;
#[cfg(feature = "hub")]
pub(super) use self::of_hub::*;

// Shared.
pub(in crate::page) const CHANGING_NOW: &str = "It is changing just now. Load the page again.";
pub(in crate::page) const FORM_REFUSED: &str = "The form is too large, or did not arrive.\n";
pub(in crate::page) const FINDINGS: &str = "Findings";
pub(in crate::page) const NO_FINDINGS: &str = "no findings";
pub(in crate::page) const NOT_SCANNED: &str = "not scanned";

pub(in crate::page) fn or_worse(severity: &str) -> String {
    format!("{severity} or worse")
}

pub(in crate::page) const URI: &str = "URI";
pub(in crate::page) const CONTENT: &str = "Content";

// The page of a server.
pub(in crate::page) const SERVED: &str = "served";
pub(in crate::page) const GENERATED: &str = "generated";
pub(in crate::page) const FILES_MAY_DIFFER: &str = "its files may differ each time";
pub(in crate::page) const INSTALL: &str = "Add this server, look at the skill, and load it:";

pub(in crate::page) fn install_lines(label: &str, url: &str, name: &str) -> String {
    format!(
        "skillwire server add {label} {url}\nskillwire approve {label}:{name}\nskillwire load {label}:{name}"
    )
}

/// What the pages of a host and of a hub both say.
#[cfg(any(feature = "host", feature = "hub"))]
mod of_both {
    pub(in crate::page) const ORIGIN: &str = "Origin";
    pub(in crate::page) const SIGNER: &str = "Signer";
    pub(in crate::page) const WHAT_HAPPENED: &str = "What happened";
    pub(in crate::page) const NEVER: &str = "never";

    pub(in crate::page) fn taken_back(name: &str) -> String {
        format!("The decision about `{name}` was taken back.")
    }

    /// The last line of an export that does not have everything.
    pub(in crate::page) fn export_ends(most: usize) -> String {
        format!("Only the newest {most} entries are here; older ones are left out.")
    }
}

/// What the page of a user says.
#[cfg(feature = "host")]
mod of_host {
    use std::{path::Path, time::SystemTime};

    use skillwire_trust::{ServerLabel, SkillId};

    // The page of this user's host.
    pub(in crate::page) const SITE: &str = "Skillwire";
    pub(in crate::page) const PLACE: &str = "on this machine";

    pub(in crate::page) fn expected(what: &str) -> String {
        format!("Expected: {what}.")
    }

    pub(in crate::page) fn found(what: &str) -> String {
        format!("Found: {what}.")
    }

    pub(in crate::page) const NO_SKILLS: &str = "There are no skills here yet. `skillwire server add LABEL URL` uses the skills of a server, \
    `skillwire add` installs skills of a repository, and skills in the folders of your agents appear by \
    themselves.";
    pub(in crate::page) const NOTHING_LISTED: &str =
        "There are no skills here yet: none of your servers has listed one.";
    pub(in crate::page) const STATE: &str = "State";
    pub(in crate::page) const ASK_AGAIN: &str = "Ask again";

    pub(in crate::page) fn not_answered(label: &ServerLabel) -> String {
        format!("`{label}` has not answered yet.")
    }

    pub(in crate::page) fn not_listed(label: &ServerLabel, why: &str) -> String {
        format!("`{label}` was not listed: {why}")
    }

    pub(in crate::page) fn left_out(why: &str) -> String {
        format!("Left out: {why}")
    }

    pub(in crate::page) const SHARES_NAME: &str = "shares its name";
    pub(in crate::page) const FIRST_SEEN: &str = "first-seen";
    pub(in crate::page) const DYNAMIC: &str = "dynamic";

    // A skill of the host.
    pub(in crate::page) const FOLDER: &str = "Folder";
    pub(in crate::page) const SERVER: &str = "Server";
    pub(in crate::page) const DIALECT: &str = "Dialect";
    pub(in crate::page) const FINGERPRINT: &str = "Fingerprint";
    pub(in crate::page) const COMMAND_LINE: &str = "On the command line";

    pub(in crate::page) fn load_line(handle: &str) -> String {
        format!("skillwire load {handle}")
    }

    pub(in crate::page) const COMPARED_WITH: &str = "Compared with";
    pub(in crate::page) const APPROVED_BEFORE: &str = "what you approved";
    pub(in crate::page) const LISTED_NOW: &str = "what is listed now";
    pub(in crate::page) const NO_DIGESTS: &str =
        "nothing: its server gives no digests, so the content may differ each time";
    pub(in crate::page) const FIRST_READ: &str =
        "what was read first: its server does not give digest and size of every file";
    pub(in crate::page) const ALL_DIGESTS: &str = "digest and size of every file";
    pub(in crate::page) const SIGNED_DECISION: &str = "Signed decision";
    pub(in crate::page) const NO_DECISION: &str = "none";
    pub(in crate::page) const DECIDED_BY: &str = "Decided by the key";
    pub(in crate::page) const DECIDED: &str = "Decided";
    pub(in crate::page) const DECISION_ENDS: &str = "The decision ends";

    pub(in crate::page) fn decision_refused(problem: &str) -> String {
        format!("does not count: the decision {problem}")
    }

    pub(in crate::page) fn signed_fact(word: &str) -> String {
        format!("Signed {word}")
    }

    pub(in crate::page) const NOT_SIGNED: &str = "not signed";
    pub(in crate::page) const SIGNATURE_NOT_READ: &str = "signature not read yet";

    pub(in crate::page) fn signature_refused(problem: &str) -> String {
        format!("signature not valid: it {problem}")
    }

    pub(in crate::page) fn vouched(name: &str, signer: &str) -> String {
        format!("signed by {name}: {signer}")
    }

    // Deciding in the host.
    pub(in crate::page) const SAME_CONTENT: &str = "Its server lists the same content.";
    pub(in crate::page) const OTHER_CONTENT: &str = "Its server lists other content now.";
    pub(in crate::page) const NO_LONGER_LISTED: &str = "Its server no longer lists it.";
    pub(in crate::page) const UNATTENDED_FORBIDDEN: &str =
        "Approvals without a question are forbidden.";
    pub(in crate::page) const NO_DIGESTS_CAUTION: &str = "Its files have no digests: the content may differ each time, so it cannot be approved here.";
    pub(in crate::page) const LISTED_BETWEEN: &str =
        "It is what you approved before, but other content was listed in between.";
    pub(in crate::page) const FIRST_SEEN_CAUTION: &str = "Its server does not give digest and size of every file. What you approve is what was \
    read now, and each further file as it is first read.";
    pub(in crate::page) const ARGUMENTS_CAUTION: &str = "Its server writes the instructions for the arguments of each load; they are held to \
    what it wrote for the same arguments first.";

    pub(in crate::page) fn decided_meanwhile(name: &str) -> String {
        format!("`{name}` was decided about meanwhile. This is how it is now.")
    }

    pub(in crate::page) fn changed_meanwhile(name: &str) -> String {
        format!("`{name}` changed meanwhile. This is how it is now.")
    }

    pub(in crate::page) fn allowed_once(name: &str) -> String {
        format!("`{name}` may be loaded once.")
    }

    pub(in crate::page) fn declined(name: &str) -> String {
        format!("`{name}` is declined.")
    }

    pub(in crate::page) fn approved(name: &str, grants: &str) -> String {
        format!("`{name}` is approved: {grants}")
    }

    pub(in crate::page) fn no_longer_undone(name: &str) -> String {
        format!("The decision about `{name}` can no longer be taken back.")
    }

    pub(in crate::page) fn not_taken_back(name: &str) -> String {
        format!(
            "What is recorded about `{name}` changed since, so the decision was not taken back."
        )
    }

    pub(in crate::page) fn revoked(skill: &SkillId, existed: bool) -> String {
        let word = if existed { "is no longer approved" } else { "was not approved" };
        format!("`{skill}` {word}.")
    }

    pub(in crate::page) fn switched(skill: &SkillId, on: bool) -> String {
        let word = if on { "on" } else { "off" };
        format!("`{skill}` is switched {word}.")
    }

    pub(in crate::page) fn asked(label: &ServerLabel) -> String {
        format!("`{label}` was asked.")
    }

    // Connecting agents.
    #[cfg(feature = "setup")]
    pub(in crate::page) const CONNECT_ABOUT: &str = "Give any agent the skills of your servers and folders. A skill of a server is loaded only \
    after you approved it.";

    // Approvals, servers and settings of the host.
    pub(in crate::page) const APPROVALS_ABOUT: &str =
        "What you decided. An approval holds for exactly the content it was given for.";
    pub(in crate::page) const APPROVAL_COLUMNS: [&str; 5] =
        ["Skill", "Decision", "Since", "How", "Allows"];
    pub(in crate::page) const DECISION: &str = "Decision";
    pub(in crate::page) const NO_APPROVALS: &str =
        "You have not decided about any skill yet. What waits for you is under Review.";
    pub(in crate::page) const NO_APPROVAL_FITS: &str =
        "No decision fits. Try fewer words or another filter.";

    pub(in crate::page) fn record_unreadable(error: &str) -> String {
        format!("{error}. It approves nothing.")
    }

    pub(in crate::page) const NOT_ASKED: &str = "not asked";
    pub(in crate::page) const WAITING: &str = "waiting";
    pub(in crate::page) const LISTED: &str = "listed";
    pub(in crate::page) const FAILED: &str = "failed";
    pub(in crate::page) const NO_CHANGE: &str = "none so far";
    pub(in crate::page) const SERVERS_ABOUT: &str =
        "The servers whose skills you use, under the labels that you gave them.";
    pub(in crate::page) const NO_SERVERS: &str =
        "There are no servers; `skillwire server add LABEL URL` adds one.";
    pub(in crate::page) const ALLOWED: &str = "allowed";
    pub(in crate::page) const FORBIDDEN: &str = "forbidden";
    pub(in crate::page) const FORBID: &str = "Forbid";
    pub(in crate::page) const UNATTENDED: &str = "Approvals without a question";
    pub(in crate::page) const FORGE: &str = "Where `owner/repo` is found";
    pub(in crate::page) const SIGNER_RULES: &str = "Rules about signers";
    pub(in crate::page) const YOUR_STATE: &str = "Your state";
    pub(in crate::page) const STATE_WHERE: &str =
        "Decisions, log, servers and logins. `SKILLWIRE_HOME` moves it.";
    pub(in crate::page) const YOUR_FOLDERS: &str = "Your skill folders";
    pub(in crate::page) const FOLDERS_WHERE: &str = "Folders of agents below it are read.";
    pub(in crate::page) const PROJECT: &str = "Project";
    pub(in crate::page) const PROJECT_WHERE: &str = "Its skills count with `--trust-project`.";
    pub(in crate::page) const WITHDRAW: &str = "Withdraw";
    pub(in crate::page) const SWITCH_ON: &str = "Switch on";
    pub(in crate::page) const SERVER_COLUMNS: [&str; 5] =
        ["Server", "State", "Skills", "Last asked", "Last change"];
    pub(in crate::page) const SETTING_COLUMNS: [&str; 3] = ["Setting", "Value", "Where"];
    pub(in crate::page) const SETTINGS_ABOUT: &str = "What applies to every command. A file is read anew by each command, so a change counts \
    from the next one on. The page can make a setting stricter; what allows more is written into the \
    file by you.";

    pub(in crate::page) fn setting_in(names: &str, file: &Path) -> String {
        format!("{names} in `{}`", file.display())
    }

    pub(in crate::page) fn listed_here(skills: &str) -> String {
        format!("{skills}; approved skills, from this machine")
    }

    pub(in crate::page) fn voucher(signer: &str, until: Option<SystemTime>) -> String {
        match until {
            Some(end) => format!("{signer}, until {}", humantime::format_rfc3339_seconds(end)),
            None => signer.to_owned(),
        }
    }

    // Runs and the log of the host.
    pub(in crate::page) const RUN_COLUMNS: [&str; 5] =
        ["Started", "Script", "Skill", "Outcome", "Details"];
    pub(in crate::page) const ASKED_BY_YOU: &str = "asked by you";
    pub(in crate::page) const ASKED_BY_MODEL: &str = "asked by a model";
    pub(in crate::page) const NOT_RUN: &str = "not run";
    pub(in crate::page) const RUN_UNFINISHED: &str = "started, no end yet";
    pub(in crate::page) const RUN_FINISHED: &str = "finished";

    pub(in crate::page) fn run_terms(isolation: &str, network: &str, variables: &str) -> String {
        format!("{isolation} isolation; network: {network}; variables: {variables}")
    }

    pub(in crate::page) const LAST_HOUR: &str = "the last hour";
    pub(in crate::page) const LAST_DAY: &str = "the last 24 hours";
    pub(in crate::page) const LAST_WEEK: &str = "the last 7 days";
    pub(in crate::page) const LAST_MONTH: &str = "the last 30 days";
    pub(in crate::page) const OUTCOME: &str = "Outcome";
    pub(in crate::page) const TIME: &str = "Time";
    pub(in crate::page) const RUNS_ABOUT: &str =
        "Scripts of skills that ran on this machine, or were not allowed to.";
    pub(in crate::page) const LOG_ABOUT: &str =
        "Everything that happened to skills on this machine, newest first.";
    pub(in crate::page) const LOG_EMPTY: &str =
        "Nothing happened yet. Every decision, load, read and run of a skill appears here.";
    pub(in crate::page) const NOTHING_FITS: &str = "Nothing fits. Try other filters.";
    pub(in crate::page) const RUNS_EMPTY: &str = "No script of a skill has run yet. A script runs when you or a model asks for it, in \
    isolation, and only if you granted that for the skill: `skillwire run SKILL SCRIPT`.";
    pub(in crate::page) const LOG_COLUMNS: [&str; 5] =
        ["When", "What", "Outcome", "Skill", "Details"];

    pub(in crate::page) fn unreadable_lines(count: usize) -> String {
        format!("{count} lines of the log cannot be read and are left out.")
    }

    pub(in crate::page) fn refused(code: &str) -> String {
        format!("refused: {code}")
    }

    pub(in crate::page) const CONTEXT_COLUMNS: [&str; 4] =
        ["Skill", "Last loaded", "Open", "Content"];
    pub(in crate::page) const CONTEXT_ABOUT: &str = "Skills that a client loaded within the last day and did not release: what models may \
    have in their context now.";
    pub(in crate::page) const CONTEXT_EMPTY: &str = "No skill is loaded. When a client loads one, it stands here until the client releases \
    it, or for a day.";
}

/// What the page of a hub says.
#[cfg(feature = "hub")]
mod of_hub {
    use std::fmt::Display;

    pub(in crate::page) fn signed_by(signer: &str) -> String {
        format!("signed by {signer}")
    }

    // The page of a hub.
    pub(in crate::page) const OTHER_SIGN_IN: &str = "The answer belongs to another sign-in.";
    pub(in crate::page) const OTHER_ISSUER: &str = "Another issuer answered.";
    pub(in crate::page) const ISSUER_REFUSED: &str = "The issuer did not sign you in.";
    pub(in crate::page) const NOT_ADMITTED: &str = "This hub does not admit you. Ask its operator.";
    pub(in crate::page) const ISSUER_UNUSABLE: &str =
        "The issuer could not be asked, or its answer cannot be used.";

    pub(in crate::page) fn begin_again(why: &str) -> String {
        format!("{why} Begin again here.")
    }

    pub(in crate::page) fn connect_hub(endpoint: &str) -> String {
        format!(
            "Give a client the skills that you may read: its endpoint is {endpoint}. Another channel is at \
         {endpoint}/c/CHANNEL. Make a token of your own for each client, and put it into the variable \
         SKILLWIRE_TOKEN."
        )
    }

    pub(in crate::page) const TERMINAL: &str = "a terminal";
    pub(in crate::page) const SKILL: &str = "Skill";
    pub(in crate::page) const VERSION: &str = "Version";
    pub(in crate::page) const PUBLISHED: &str = "Published";
    pub(in crate::page) const BY: &str = "By";
    pub(in crate::page) const UPSTREAM: &str = "Upstream";
    pub(in crate::page) const FIRST_SEEN_AT: &str = "First seen";
    pub(in crate::page) const LAST_DECISION: &str = "Last decision";
    pub(in crate::page) const HUB_NOT_SIGNED: &str =
        "not signed by this hub, as it is not approved";
    pub(in crate::page) const HUB_HAS_NO_KEY: &str = "not signed: this hub has no signing key";
    pub(in crate::page) const HUB_SIGNED: &str = "signed by this hub";
    pub(in crate::page) const HOW: &str = "How";
    pub(in crate::page) const SOURCE: &str = "Source";
    pub(in crate::page) const REVISION: &str = "Revision";
    pub(in crate::page) const WORKFLOW: &str = "Workflow";

    pub(in crate::page) fn hub_decision(policy: &str, until: &str, keys: &str) -> String {
        format!("The decision: {policy}, until {until}, key {keys}")
    }

    pub(in crate::page) const NAMESPACE: &str = "Namespace";
    pub(in crate::page) const HUB_EMPTY: &str =
        "The channel `latest` serves no skill that you may see. `skillwire publish` publishes one.";
    pub(in crate::page) const HUB_UNREADABLE: &str =
        "The hub's records cannot be read now. Try again in a moment.";
    pub(in crate::page) const HUB_LOG_ABOUT: &str = "Everything that happened in this hub, newest first. Search for a subject, for a target \
    such as `acme/refunds@1.2.0`, or for a content such as `sha256:…`.";
    pub(in crate::page) const HUB_LOG_COLUMNS: [&str; 5] =
        ["When", "Who", "What", "About", "Details"];
    pub(in crate::page) const HUB_LOG_EMPTY: &str = "Nothing fits.";
    pub(in crate::page) const UPSTREAMS_ABOUT: &str = "Servers, repositories and folders whose skills this hub passes on, and how they answer \
    this replica.";
    pub(in crate::page) const UPSTREAM_COLUMNS: [&str; 7] =
        ["Upstream", "State", "Skills", "Last listed", "Mode", "Added", "By"];
    pub(in crate::page) const NAMESPACE_COLUMNS: [&str; 5] =
        ["Namespace", "Your roles", "Review", "Skills", "Protected"];
    pub(in crate::page) const TOKEN_COLUMNS: [&str; 5] = ["Token", "State", "For", "Made", "Ends"];
    pub(in crate::page) const NOT_FOLLOWED: &str = "not followed here";
    pub(in crate::page) const NO_UPSTREAMS: &str = "There are no upstreams that you may see.";
    pub(in crate::page) const ADMINISTRATOR: &str = "administrator";
    pub(in crate::page) const REVIEW_REQUIRED: &str = "required";
    pub(in crate::page) const REVIEW_NONE: &str = "none";
    pub(in crate::page) const YES: &str = "yes";
    pub(in crate::page) const NO: &str = "no";
    pub(in crate::page) const NAMESPACES_ABOUT: &str =
        "The namespaces that you may read, and your roles in them.";
    pub(in crate::page) const NO_NAMESPACES: &str = "There is no namespace that you may read.";
    pub(in crate::page) const REVOKED: &str = "revoked";
    pub(in crate::page) const EXPIRED: &str = "expired";
    pub(in crate::page) const VALID: &str = "valid";
    pub(in crate::page) const REVOKE: &str = "Revoke";
    pub(in crate::page) const NO_TOKENS: &str = "There are no tokens of yours.";
    pub(in crate::page) const NO_CONTENT: &str =
        "A content is `sha256:` and 64 hexadecimal digits.";
    pub(in crate::page) const TOKENS_ABOUT: &str = "Tokens that act in your name; administrators see those of everyone. A revoked token, and \
    every session that began with it, ends at once.";

    pub(in crate::page) fn unfetched(count: impl Display) -> String {
        format!("; {count} could not be fetched for review")
    }

    // Deciding in a hub.
    pub(in crate::page) const OFFER_GONE: &str =
        "It is no longer there; an upstream may offer other content by now.";

    pub(in crate::page) fn state_moved(name: &str, state: &str) -> String {
        format!("`{name}` is {state} by now.")
    }

    pub(in crate::page) fn recorded(name: &str, edition: &str, word: &str) -> String {
        format!("`{name}`, {edition}, is {word}.")
    }

    pub(in crate::page) fn token_revoked(name: &str) -> String {
        format!("The token `{name}` is revoked.")
    }

    pub(in crate::page) const HUB_QUEUE_EMPTY: &str = "Nothing waits for you. A version appears here when its namespace asks for a review, and \
    an offer when an upstream lists new content.";

    pub(in crate::page) fn waits_for_nothing(state: &str) -> String {
        format!("It is {state} and waits for no decision.")
    }

    pub(in crate::page) fn of_namespace(name: impl Display) -> String {
        format!("namespace {name}")
    }

    pub(in crate::page) fn of_upstream(name: impl Display) -> String {
        format!("upstream {name}")
    }

    pub(in crate::page) fn of_version(name: impl Display) -> String {
        format!("version {name}")
    }

    pub(in crate::page) fn first_seen(name: impl Display) -> String {
        format!("what was first seen {name}")
    }

    pub(in crate::page) const OFFER_APPROVED: &str = "approved";
    pub(in crate::page) const OFFER_REJECTED: &str = "rejected";
    pub(in crate::page) const OFFER_WAITING: &str = "waiting";
    pub(in crate::page) const CONTENT_REVOKED: &str =
        "This was revoked, so that its files are not shown.";
}
