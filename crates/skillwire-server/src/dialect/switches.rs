//! Which dialects are spoken, to clients of which era.

use std::{fmt, str::FromStr};

use skillwire_protocol::version::Era;

/// One way in which skills have travelled, or a part of one that can be switched alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `skill://index.json`, the document that listed skills before there was a method for it.
    Index,
    /// Whole skills as `.tar.gz` and `.zip`, listed in that document.
    Archives,
    /// Templates as the last entries of that document.
    IndexTemplates,
    /// Skills inside other skills as entries of that document.
    IndexNested,
    /// `resources/list` below one URI.
    ScopedList,
    /// Skills as a primitive: `skills/get` by name, `capabilities.skills`.
    Sep2076,
    /// The "Skills" page: `skills/read`, `skills/read_reference`, `skills/execute`.
    SkillsPage,
    /// What `FastMCP` serves: a `_manifest` in each skill.
    Fastmcp,
    /// What skilljack first served: `skill://name`, `skill://name/`, a tool and prompts.
    Skilljack,
    /// What skills-over-mcp served: `skill://index`, `skill://prompt-xml`, documents.
    SkillsOverMcp,
    /// `skill://server/usage`, the one guide to a server's tools.
    Usage,
    /// `/.well-known/skills/` and `/.well-known/agent-skills/` over plain HTTP.
    WellKnown,
    /// Digests in the index of `/.well-known/skills/`, as its second revision had them.
    WellKnownDigests,
    /// Resource templates and their completion.
    Templates,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 14] = [
        Self::Index,
        Self::Archives,
        Self::IndexTemplates,
        Self::IndexNested,
        Self::ScopedList,
        Self::Sep2076,
        Self::SkillsPage,
        Self::Fastmcp,
        Self::Skilljack,
        Self::SkillsOverMcp,
        Self::Usage,
        Self::WellKnown,
        Self::WellKnownDigests,
        Self::Templates,
    ];

    /// The name an operator writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Archives => "archives",
            Self::IndexTemplates => "index-templates",
            Self::IndexNested => "index-nested",
            Self::ScopedList => "scoped-list",
            Self::Sep2076 => "sep-2076",
            Self::SkillsPage => "skills-page",
            Self::Fastmcp => "fastmcp",
            Self::Skilljack => "skilljack",
            Self::SkillsOverMcp => "skills-over-mcp",
            Self::Usage => "usage",
            Self::WellKnown => "well-known",
            Self::WellKnownDigests => "well-known-digests",
            Self::Templates => "templates",
        }
    }

    /// Whether it is spoken unless an operator says otherwise.
    fn default_in(self, era: Era) -> bool {
        match (self, era) {
            (Self::Index | Self::ScopedList | Self::Templates, _)
            | (Self::Archives | Self::Sep2076 | Self::SkillsPage | Self::Fastmcp, Era::Legacy) => {
                true
            }
            (
                Self::Archives
                | Self::Sep2076
                | Self::SkillsPage
                | Self::Fastmcp
                | Self::IndexTemplates
                | Self::IndexNested
                | Self::Skilljack
                | Self::SkillsOverMcp
                | Self::Usage
                | Self::WellKnown
                | Self::WellKnownDigests,
                _,
            ) => false,
        }
    }

    /// What the modern era's own rules leave room for.
    fn in_modern(self) -> InModern {
        match self {
            Self::Index
            | Self::Archives
            | Self::IndexTemplates
            | Self::IndexNested
            | Self::ScopedList
            | Self::Usage
            | Self::WellKnown
            | Self::WellKnownDigests
            | Self::Templates => InModern::Harmless,
            // The prefix of these methods belongs to the extension; whoever insists gets them.
            Self::SkillsPage => InModern::OnDemand,
            // Each gives an answer that the extension gives another meaning.
            Self::Sep2076 | Self::Fastmcp | Self::Skilljack | Self::SkillsOverMcp => {
                InModern::Never
            }
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a dialect goes with the modern era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InModern {
    /// It adds something and contradicts nothing.
    Harmless,
    /// It is there if an operator asks for it by name.
    OnDemand,
    /// It contradicts the extension.
    Never,
}

/// A switch that cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSwitch {
    /// It has another form.
    #[error("a switch is written `NAME=on`, `NAME=off` or `strict:NAME=on`")]
    Form,
    /// There is no such dialect.
    #[error("there is no dialect `{0}`; the dialects are {names}", names = names())]
    Unknown(String),
    /// It contradicts the extension.
    #[error(
        "`{0}` contradicts the Skills extension, so it is spoken to clients that open with `initialize` only"
    )]
    NotStrict(Dialect),
}

fn names() -> String {
    let quoted: Vec<_> = Dialect::ALL.iter().map(|dialect| format!("`{dialect}`")).collect();
    quoted.join(", ")
}

/// A switch as an operator writes it: `NAME=on`, `NAME=off`, or either after `strict:` or
/// `legacy:` for clients of one era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    dialect: Dialect,
    era: Option<Era>,
    on: bool,
}

impl Switch {
    /// The dialect it is about.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether it switches on.
    pub fn is_on(&self) -> bool {
        self.on
    }
}

impl FromStr for Switch {
    type Err = InvalidSwitch;

    fn from_str(text: &str) -> Result<Self, InvalidSwitch> {
        let (name, state) = text.split_once('=').ok_or(InvalidSwitch::Form)?;
        let on = match state {
            "on" => true,
            "off" => false,
            _ => return Err(InvalidSwitch::Form),
        };
        let (era, name) = match name.split_once(':') {
            Some(("strict", name)) => (Some(Era::Modern), name),
            Some(("legacy", name)) => (Some(Era::Legacy), name),
            Some(_) => return Err(InvalidSwitch::Form),
            None => (None, name),
        };
        let dialect = Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| InvalidSwitch::Unknown(name.chars().take(40).collect()))?;
        if on && era == Some(Era::Modern) && dialect.in_modern() == InModern::Never {
            return Err(InvalidSwitch::NotStrict(dialect));
        }
        Ok(Self { dialect, era, on })
    }
}

/// Which dialects are spoken to clients of either era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialects {
    legacy: u16,
    modern: u16,
}

impl Default for Dialects {
    fn default() -> Self {
        let all = |era| {
            let spoken = Dialect::ALL.into_iter().filter(|dialect| dialect.default_in(era));
            spoken.fold(0, |bits, dialect| bits | dialect.bit())
        };
        Self { legacy: all(Era::Legacy), modern: all(Era::Modern) }
    }
}

impl Dialects {
    /// The extension alone.
    pub const NONE: Self = Self { legacy: 0, modern: 0 };

    /// Whether a dialect is spoken to clients of an era.
    pub fn on(self, dialect: Dialect, era: Era) -> bool {
        let spoken = match era {
            Era::Legacy => self.legacy,
            Era::Modern => self.modern,
        };
        spoken & dialect.bit() != 0
    }

    /// Whether any of these is spoken to clients of an era.
    pub fn any(self, dialects: &[Dialect], era: Era) -> bool {
        dialects.iter().any(|dialect| self.on(*dialect, era))
    }

    /// Sets a switch. One without an era switches off for both, and on wherever the dialect
    /// contradicts nothing.
    #[must_use]
    pub fn with(mut self, switch: &Switch) -> Self {
        let Switch { dialect, era, on } = *switch;
        let bit = dialect.bit();
        let set = |spoken: &mut u16| if on { *spoken |= bit } else { *spoken &= !bit };
        if era != Some(Era::Modern) {
            set(&mut self.legacy);
        }
        let allowed = dialect.in_modern() == InModern::Harmless;
        if era == Some(Era::Modern) || (era.is_none() && (allowed || !on)) {
            set(&mut self.modern);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Dialects {
        Dialects::default().with(&text.parse().expect(text))
    }

    #[test]
    fn defaults_are_those_of_each_profile_c_01() {
        let spoken = |era| {
            let on = Dialect::ALL.into_iter().filter(|d| Dialects::default().on(*d, era));
            on.map(Dialect::name).collect::<Vec<_>>()
        };
        let legacy =
            ["index", "archives", "scoped-list", "sep-2076", "skills-page", "fastmcp", "templates"];
        assert_eq!(spoken(Era::Legacy), legacy);
        assert_eq!(spoken(Era::Modern), ["index", "scoped-list", "templates"]);
    }

    #[test]
    fn what_contradicts_the_extension_stays_with_the_legacy_era_c_04() {
        for name in ["sep-2076", "fastmcp", "skilljack", "skills-over-mcp", "skills-page"] {
            let dialect = Dialect::ALL.into_iter().find(|d| d.name() == name).unwrap();
            let on = with(&format!("{name}=on"));
            assert!(on.on(dialect, Era::Legacy) && !on.on(dialect, Era::Modern), "{name}");
            assert!(!with(&format!("{name}=off")).on(dialect, Era::Legacy), "{name}");
        }
        assert!(with("strict:skills-page=on").on(Dialect::SkillsPage, Era::Modern));
        assert!(with("archives=on").on(Dialect::Archives, Era::Modern));
        assert!(!with("strict:index=off").on(Dialect::Index, Era::Modern));
        assert!(with("strict:index=off").on(Dialect::Index, Era::Legacy));
        for bad in ["strict:fastmcp=on", "fastmcp", "fastmcp=yes", "x:fastmcp=on", "fast=on", ""] {
            assert!(bad.parse::<Switch>().is_err(), "{bad}");
        }
    }
}
