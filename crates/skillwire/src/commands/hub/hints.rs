//! What the user can do next after a hub refused something.

use skillwire_hub_store::StoreError;

use crate::exit::Exit;

/// What to do about a problem that a hub reports for a path of its API, by the problem's code.
pub(super) fn about(code: &str, exit: Exit, path: &str) -> Option<String> {
    let skill = skill_of(path).unwrap_or_else(|| "NAMESPACE/NAME".to_owned());
    let fixed = match code {
        "unknown-namespace" | "last-owner" | "over-quota" => {
            "`skillwire hub namespace list` shows the namespaces that you may read, with their owners and \
             limits."
        }
        "unknown-skill" => "`skillwire hub list` shows the skills that you may read.",
        "unknown-version" | "unknown-channel" | "illegal-transition" | "not-promotable" => {
            return Some(format!(
                "`skillwire hub versions {skill}` shows its versions, with their states and channels."
            ));
        }
        "nothing-to-roll-back-to" => {
            return Some(format!(
                "`skillwire hub promote {skill} VERSION CHANNEL` points a channel to the version that you \
                 name; `skillwire hub versions {skill}` shows them."
            ));
        }
        "version-taken" => {
            return Some(format!(
                "Give the skill another version; `skillwire hub versions {skill}` shows those that exist."
            ));
        }
        "content-taken" => {
            return Some(format!(
                "Use the version that exists; `skillwire hub promote {skill} VERSION CHANNEL` serves it in \
                 a channel."
            ));
        }
        "unknown-record" => record_of(path)?,
        "unknown-upstream" => "`skillwire hub upstream list` shows the upstreams there are.",
        "namespace-taken" => {
            "Use it as it is, change it with `skillwire hub namespace change`, or choose another name."
        }
        "upstream-taken" => {
            "Choose another label, or change the upstream with `skillwire hub upstream set`."
        }
        "not-allowed" => {
            "Ask an owner of the namespace for a role that allows it, or an administrator of the hub."
        }
        "own-publication" => "Ask another reviewer of the namespace to decide.",
        "name-needs-administrator" => "Ask an administrator of the hub to decide.",
        "content-revoked" => {
            "Change the skill before you publish it again; `skillwire hub audit` says who revoked it and why."
        }
        "content-moved" => "Look at it again, and decide about what it is now.",
        "too-often" => "Wait a moment, and run the command again.",
        _ => return usual(exit).map(str::to_owned),
    };
    Some(fixed.to_owned())
}

/// What to do about a refusal of a hub of which only the exit code says more.
fn usual(exit: Exit) -> Option<&'static str> {
    match exit {
        Exit::NotFound => Some("`skillwire hub list` shows the skills that you may read."),
        Exit::Declined => {
            Some("The hub changed nothing. Correct what it names, and run the command again.")
        }
        Exit::Unreachable => {
            Some("Run the command again later; the log of the hub says what it cannot reach.")
        }
        Exit::Verification => {
            Some("Nothing was published. Correct the skill, and publish it again.")
        }
        _ => None,
    }
}

/// What to do about a failure of a hub's own store.
pub(super) fn about_store(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::TargetNotEmpty => {
            "Name a database and a place for files that no hub has used yet."
        }
        StoreError::NewerSchema { .. } => "Use the newer program that changed the database.",
        StoreError::BadBackup { .. } => {
            "Name a folder that `skillwire hub backup` has written completely."
        }
        _ => return None,
    })
}

/// The commands that list what an address of the API names by number.
fn record_of(path: &str) -> Option<&'static str> {
    Some(match path.trim_start_matches('/').split('/').next()? {
        "tokens" => "`skillwire hub token list` shows the tokens with their numbers.",
        "reviews" => "`skillwire hub review` shows the reviews that wait, with their numbers.",
        "namespaces" => {
            "`skillwire hub namespace publishers NAMESPACE` shows the publishers with their numbers."
        }
        _ => return None,
    })
}

/// The skill that an address of the API is about.
fn skill_of(path: &str) -> Option<String> {
    let mut segments = path.strip_prefix("/skills/")?.split(['/', '?']);
    Some(format!("{}/{}", segments.next()?, segments.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_skill_and_the_list_that_the_address_is_about() {
        let hint = |code, exit, path| about(code, exit, path).unwrap();
        let path = "/skills/acme/refunds/diff?from=1&to=2";
        let versions = hint("unknown-version", Exit::NotFound, path);
        assert!(versions.contains("`skillwire hub versions acme/refunds`"), "{versions}");
        let token = hint("unknown-record", Exit::NotFound, "/tokens/99?dry_run=false");
        assert!(token.contains("`skillwire hub token list`"), "{token}");
        assert!(hint("strange", Exit::Declined, "/gc").contains("changed nothing"));
        assert_eq!(about("malformed", Exit::Usage, "/gc"), None);
    }
}
