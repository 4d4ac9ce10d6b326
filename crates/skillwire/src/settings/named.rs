//! The skills and scripts that options name, so that `serve` can say which match nothing.

use skillwire_source::PathPatterns;

use super::reading::bad_pattern;
use crate::{args::ServeArgs, failure::Failure};

/// Options whose value names skills or scripts, as they were written.
#[derive(Default)]
pub(crate) struct NamedSkills {
    options: Vec<NamedBy>,
}

struct NamedBy {
    option: &'static str,
    written: String,
    pattern: PathPatterns,
    /// Whether the pattern is about files of skills, and not about skills.
    is_of_files: bool,
}

impl NamedSkills {
    pub(super) fn of(args: &ServeArgs) -> Result<Self, Failure> {
        let usage = args.usage_skill.as_deref().map(|given| {
            let (_, skill) = given.split_once('=').unwrap_or(("", given));
            literal(skill)
        });
        let usage: Vec<_> = usage.into_iter().collect();
        let scripts = args.script.iter().flat_map(|rule| &rule.allow).cloned();
        let scripts: Vec<_> = args.allow_script.iter().cloned().chain(scripts).collect();
        let mut named = Self::default();
        for (option, written, is_of_files) in [
            ("--usage-skill", &usage, false),
            ("--public", &args.public, false),
            ("--unlisted", &args.unlisted, false),
            ("--allow-script", &scripts, true),
        ] {
            for written in written {
                let pattern =
                    PathPatterns::parse([written]).map_err(|error| bad_pattern(option, error))?;
                let written = written.clone();
                named.options.push(NamedBy { option, written, pattern, is_of_files });
            }
        }
        Ok(named)
    }

    /// Forgets each option that a skill with these files matches.
    pub(crate) fn seen(&mut self, skill: &str, files: impl Fn() -> Vec<String>) {
        self.options.retain(|named| {
            if named.is_of_files {
                let matches = |file: &String| named.pattern.matches(&format!("{skill}/{file}"));
                !files().iter().any(matches)
            } else {
                !named.pattern.matches(skill)
            }
        });
    }

    /// Says of each option that is left that it matches nothing.
    pub(crate) fn unmatched(&self) -> Vec<String> {
        let say = |NamedBy { option, written, is_of_files, .. }: &NamedBy| {
            let what = if *is_of_files { "file of a skill" } else { "skill" };
            format!("`{option} {written}` matches no {what} that is served now.")
        };
        self.options.iter().map(say).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.options.is_empty()
    }
}

/// Writes a path as a pattern that matches only itself.
fn literal(path: &str) -> String {
    let escape = |c: char| if "*?[]{}!\\".contains(c) { format!("[{c}]") } else { c.to_string() };
    path.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_match_nothing_are_left_fu_20() {
        let text = r#"
            public = ["acme/**", "none/**"]
            usage-skill = "crm=odd[1]/guide"
            allow-script = ["acme/refunds/scripts/*.py", "acme/refunds/scripts/*.sh"]
        "#;
        let mut named = NamedSkills::of(&toml::from_str(text).unwrap()).unwrap();
        named.seen("acme/refunds", || vec!["SKILL.md".into(), "scripts/calc.py".into()]);
        let left = named.unmatched().join("\n");
        assert!(left.contains("`--public none/**` matches no skill that is served now."), "{left}");
        assert!(left.contains("scripts/*.sh` matches no file of a skill"), "{left}");
        assert!(!left.contains("acme/**`") && !left.contains("*.py"), "{left}");
        // A path is not a pattern, even if it looks like one.
        assert!(left.contains("--usage-skill"), "{left}");
        named.seen("odd[1]/guide", Vec::new);
        assert!(!named.unmatched().join("\n").contains("--usage-skill"));
    }
}
