//! Cedar policies over the skills of a hub.
//!
//! A [`CedarPolicy`] is made from text and checked against the schema before it counts. It decides for
//! whole classes of callers and for whole groups of skills: [`AccessPolicy::key`] leaves out every fact
//! that no rule asks about, so that a hundred thousand skills need a few hundred decisions.
//!
//! This crate never knows where policies are kept, who callers are, or which skills there are.
//!
//! ```
//! use skillwire_policy::{AccessPolicy, Caller, CallerClass, CedarPolicy, SkillFacts};
//!
//! let policy = CedarPolicy::parse(
//!     "@id(\"payments-reads-refunds\")
//!      permit (principal in Group::\"payments\", action == Action::\"read\", resource in Namespace::\"acme\");
//!      @id(\"nothing-dangerous\")
//!      forbid (principal, action, resource) when { resource.worst_finding == \"critical\" };",
//! )?;
//! let ana = Caller::new("ana".parse()?).in_groups(["group:payments".parse()?]);
//! let class = CallerClass::of(&ana, &[], &policy).expect("the caller may read");
//! let mut refunds = SkillFacts::new("acme/refunds".parse()?);
//! assert_eq!(policy.decide(&class, &refunds).rules, ["payments-reads-refunds"]);
//! refunds.worst_finding = "critical".into();
//! let decision = policy.decide(&class, &refunds);
//! assert!(!decision.allowed);
//! assert_eq!(decision.rules, ["nothing-dangerous"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cedar;
mod mentioned;
mod request;

pub use skillwire_hub::{AccessPolicy, Caller, CallerClass, PolicyDecision, SkillFacts};

pub use self::cedar::{CedarPolicy, InvalidPolicy, MAX_POLICY_BYTES, SCHEMA};
