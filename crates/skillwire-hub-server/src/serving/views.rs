//! Which skills each token shows its holder.

use skillwire_core::Digest;
use skillwire_hub::{Action, Caller, Namespace, Timestamp, TokenHash, TokenRecord};
use skillwire_server::{PathPatterns, http::Tokens};

/// The callers of a hub at one moment.
#[derive(Debug)]
pub(crate) struct CallerViews {
    pub(crate) tokens: Tokens,
    /// What callers without a token see.
    pub(crate) public: PathPatterns,
    /// When the first of these tokens ends, so that the table has to be made again.
    pub(crate) next_end: Option<Timestamp>,
}

impl CallerViews {
    pub(crate) fn new(
        tokens: &[(TokenRecord, TokenHash)],
        namespaces: &[Namespace],
        now: Timestamp,
    ) -> Self {
        let valid = tokens.iter().filter(|(record, _)| record.is_valid(now));
        let next_end = valid.clone().filter_map(|(record, _)| record.expires_at).min();
        let callers = valid.map(|(record, hash)| {
            // The name is shown in logs; the number tells two tokens of one subject apart.
            let name = format!("{}#{}", record.subject, record.id);
            (
                name,
                Digest::from_bytes(*hash.digest().as_bytes()),
                visible(&record.caller(), namespaces),
            )
        });
        let mut callers: Vec<_> = callers.collect();
        let anonymous = Caller::anonymous();
        let public = visible(&anonymous, namespaces).unwrap_or_default();
        // Where nothing is public, a caller without a token is asked for one.
        if namespaces.iter().any(|namespace| anonymous.may(Action::Read, namespace)) {
            callers.push(("anonymous".to_owned(), Digest::of(b""), Some(public.clone())));
        }
        Self { tokens: Tokens::from_digests(callers), public, next_end }
    }
}

/// The skills that a caller sees; `None` is all of them.
fn visible(caller: &Caller, namespaces: &[Namespace]) -> Option<PathPatterns> {
    if caller.require_administrator(Action::Operate).is_ok() {
        return None;
    }
    let readable = namespaces.iter().filter(|namespace| caller.may(Action::Read, namespace));
    let patterns = readable.map(|namespace| format!("{}/**", namespace.name));
    // The name of a namespace holds no character that means something in a pattern. If one did, the
    // caller would see nothing.
    Some(PathPatterns::parse(patterns).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use skillwire_hub::{Role, Scope, Subject};

    use super::*;

    fn namespaces() -> Vec<Namespace> {
        let mut acme = Namespace::new("acme".parse().unwrap());
        acme.grant("ana".parse().unwrap(), Role::Reader);
        let mut open = Namespace::new("open".parse().unwrap());
        open.grant(Subject::everyone(), Role::Reader);
        vec![acme, open, Namespace::new("secret".parse().unwrap())]
    }

    #[test]
    fn a_caller_sees_the_namespaces_that_it_may_read() {
        let all = namespaces();
        let shows = |caller: &Caller, path: &str| {
            visible(caller, &all).is_none_or(|patterns| patterns.matches(path))
        };
        let ana = Caller::new("ana".parse().unwrap());
        for (path, ana_sees, public) in [
            ("acme/refunds", true, false),
            ("acme/_v/1.0.0/refunds", true, false),
            ("open/x", true, true),
            ("secret/x", false, false),
            ("acmex/refunds", false, false),
        ] {
            assert_eq!(shows(&ana, path), ana_sees, "{path}");
            assert_eq!(shows(&Caller::anonymous(), path), public, "{path}");
        }
        let limited = ana.clone().limited_to(["open".parse().unwrap()]);
        assert!(!shows(&limited, "acme/refunds"));
        assert!(!shows(&ana.with_scopes([Scope::Publish]), "acme/refunds"));
        let admin = Caller::administrator("root".parse().unwrap());
        assert!(shows(&admin, "secret/x"));
        assert!(!shows(&admin.limited_to(["open".parse().unwrap()]), "secret/x"));
    }
}
