//! Resolves which dialects a server speaks, and their settings.

use skillwire_core::{RelPath, SkillPath};
use skillwire_server::dialect::{Dialect, Dialects, Switch, Usage};
use skillwire_source::PathPatterns;

use super::reading::bad_pattern;
use crate::{
    args::{CacheScopeArg, ServeArgs},
    failure::Failure,
};

/// The resolved settings of dialects.
pub(super) struct DialectSettings {
    pub(super) dialects: Dialects,
    pub(super) usage: Option<Usage>,
    /// The skills that every HTTP client may read without a token, under `/.well-known/`.
    pub(super) public: Option<PathPatterns>,
}

impl DialectSettings {
    pub(super) fn resolve(args: &ServeArgs, server: &str) -> Result<Self, Failure> {
        let mut dialects = Dialects::default();
        let usage = args.usage_skill.as_deref().map(|given| usage(given, server)).transpose()?;
        if usage.is_some() {
            dialects = dialects.with(&switch("usage=on")?);
        }
        if !args.public.is_empty() {
            dialects = dialects.with(&switch("well-known=on")?);
        }
        let switches =
            args.dialect.iter().map(|text| switch(text)).collect::<Result<Vec<_>, _>>()?;
        dialects = switches.iter().fold(dialects, Dialects::with);
        let asked = |dialect| switches.iter().any(|switch| switch.turns_on(dialect));
        if asked(Dialect::Usage) && usage.is_none() {
            return Err(Failure::usage("`--dialect usage=on` needs a skill.")
                .hint("Name the one that is the guide: `--usage-skill acme/guide`."));
        }
        if asked(Dialect::WellKnown) && args.public.is_empty() {
            return Err(Failure::usage("`--dialect well-known=on` publishes nothing by itself.")
                .hint("Name the skills that are public: `--public 'acme/**'`."));
        }
        let public = public(args)?;
        let spoken = dialects.on(Dialect::WellKnown, skillwire_server::dialect::LEGACY);
        Ok(Self { dialects, usage, public: public.filter(|_| spoken) })
    }
}

fn switch(text: &str) -> Result<Switch, Failure> {
    text.parse().map_err(|error| {
        Failure::usage(format!("`--dialect {text}` cannot be used."))
            .because(error)
            .hint("`docs/dialects.md` says what each of them does.")
    })
}

/// Parses `[SERVER=]SKILL`.
fn usage(given: &str, server: &str) -> Result<Usage, Failure> {
    let (server, skill) = given.split_once('=').unwrap_or((server, given));
    let is_segment = RelPath::parse(server).is_ok_and(|path| path.segments().count() == 1)
        && server.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    if !is_segment || SkillPath::parse(skill).is_err() {
        return Err(Failure::usage(format!("`--usage-skill {given}` is not the path of a skill."))
            .hint("Write it like `acme/guide`, or with the server's name as `crm=acme/guide`."));
    }
    Ok(Usage { server: server.to_owned(), skill: skill.to_owned() })
}

fn public(args: &ServeArgs) -> Result<Option<PathPatterns>, Failure> {
    if args.public.is_empty() {
        return Ok(None);
    }
    if matches!(args.cache_scope, Some(CacheScopeArg::Private)) {
        return Err(Failure::usage("`--public` and `--cache-scope private` exclude each other.")
            .hint("Every client may cache what is public; leave one of them out."));
    }
    PathPatterns::parse(&args.public).map(Some).map_err(|error| bad_pattern("--public", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> Result<DialectSettings, Failure> {
        DialectSettings::resolve(&toml::from_str(text).unwrap(), "skillwire")
    }

    #[test]
    fn a_guide_and_public_skills_switch_on_what_they_are_for() {
        let legacy = skillwire_server::dialect::LEGACY;
        let settings = resolve("usage-skill = \"crm=acme/guide\"\npublic = [\"acme/*\"]").unwrap();
        assert_eq!(settings.usage.unwrap().uri(), "skill://crm/usage");
        assert!(settings.dialects.on(Dialect::Usage, legacy) && settings.public.is_some());
        let off = resolve("public = [\"acme/*\"]\ndialect = [\"well-known=off\"]").unwrap();
        assert!(off.public.is_none());
        assert_eq!(resolve("").unwrap().dialects, Dialects::default());
    }

    #[test]
    fn switches_that_mean_nothing_are_refused() {
        for bad in [
            "dialect = [\"usage=on\"]",
            "dialect = [\"well-known=on\"]",
            "dialect = [\"strict:fastmcp=on\"]",
            "dialect = [\"nonsense=on\"]",
            "usage-skill = \"a b=acme/guide\"",
            "usage-skill = \"acme/../guide\"",
            "public = [\"[\"]",
            "public = [\"a\"]\ncache-scope = \"private\"",
        ] {
            assert!(resolve(bad).is_err(), "{bad}");
        }
    }
}
