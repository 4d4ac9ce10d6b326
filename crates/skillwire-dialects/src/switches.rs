//! The switches with which an operator chooses the dialects that a server speaks in each era.

use std::{fmt, str::FromStr};

use skillwire_protocol::Era;

use crate::Dialect;

/// A part of a dialect that an operator can switch alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DialectPart {
    /// Whole skills as `.tar.gz` and `.zip`, listed in `skill://index.json`.
    Archives,
    /// Templates as the last entries of `skill://index.json`.
    IndexTemplates,
    /// Skills inside other skills as entries of `skill://index.json`.
    IndexNested,
    /// Digests in the index of `/.well-known/skills/`, as its second revision had them.
    WellKnownDigests,
}

/// A dialect, or a part of one, that has a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Switchable {
    /// A whole dialect.
    Dialect(Dialect),
    /// A part of a dialect.
    Part(DialectPart),
}

impl Switchable {
    /// Everything with a switch, in the order in which messages list it.
    ///
    /// The released extension is always spoken, so it has none; [`Dialect::Draft`] and
    /// [`Dialect::EarlyIndex`] clients read what [`Dialect::V1`] and [`Dialect::Index`] write.
    pub const ALL: [Self; 14] = [
        Self::Dialect(Dialect::Index),
        Self::Part(DialectPart::Archives),
        Self::Part(DialectPart::IndexTemplates),
        Self::Part(DialectPart::IndexNested),
        Self::Dialect(Dialect::ScopedList),
        Self::Dialect(Dialect::Sep2076),
        Self::Dialect(Dialect::SkillsPage),
        Self::Dialect(Dialect::FastMcp),
        Self::Dialect(Dialect::Skilljack),
        Self::Dialect(Dialect::SkillsOverMcp),
        Self::Dialect(Dialect::Usage),
        Self::Dialect(Dialect::WellKnown),
        Self::Part(DialectPart::WellKnownDigests),
        Self::Dialect(Dialect::Templates),
    ];

    /// Returns the name an operator writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dialect(dialect) => match dialect {
                Dialect::V1 | Dialect::Draft => "v1",
                Dialect::Index | Dialect::EarlyIndex => "index",
                Dialect::ScopedList => "scoped-list",
                Dialect::Sep2076 => "sep-2076",
                Dialect::SkillsPage => "skills-page",
                Dialect::FastMcp => "fastmcp",
                Dialect::Skilljack => "skilljack",
                Dialect::SkillsOverMcp => "skills-over-mcp",
                Dialect::Usage => "usage",
                Dialect::WellKnown => "well-known",
                Dialect::Templates => "templates",
                Dialect::PlainResources => "plain",
            },
            Self::Part(DialectPart::Archives) => "archives",
            Self::Part(DialectPart::IndexTemplates) => "index-templates",
            Self::Part(DialectPart::IndexNested) => "index-nested",
            Self::Part(DialectPart::WellKnownDigests) => "well-known-digests",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.name() == name)
    }

    /// Whether a server speaks it unless an operator says otherwise.
    fn default_in(self, era: Era) -> bool {
        match self {
            Self::Dialect(Dialect::Index | Dialect::ScopedList | Dialect::Templates) => true,
            Self::Part(DialectPart::Archives)
            | Self::Dialect(Dialect::Sep2076 | Dialect::SkillsPage | Dialect::FastMcp) => {
                era == Era::Legacy
            }
            Self::Dialect(_) | Self::Part(_) => false,
        }
    }

    /// What the rules of the modern era leave room for.
    fn in_modern(self) -> InModern {
        match self {
            // The prefix of its methods belongs to the extension.
            Self::Dialect(Dialect::SkillsPage) => InModern::OnDemand,
            // Each gives an answer that has another meaning in the extension.
            Self::Dialect(
                Dialect::Sep2076 | Dialect::FastMcp | Dialect::Skilljack | Dialect::SkillsOverMcp,
            ) => InModern::Never,
            Self::Dialect(_) | Self::Part(_) => InModern::Harmless,
        }
    }

    const fn bit(self) -> u32 {
        match self {
            Self::Dialect(dialect) => 1 << dialect as u32,
            Self::Part(part) => 1 << (16 + part as u32),
        }
    }
}

impl fmt::Display for Switchable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a dialect goes with the modern era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InModern {
    /// It adds something and contradicts nothing.
    Harmless,
    /// A server speaks it if an operator switches it on for this era by name.
    OnDemand,
    /// It contradicts the extension.
    Never,
}

/// The reason why a switch cannot be set.
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
    NotStrict(Switchable),
}

fn names() -> String {
    let quoted: Vec<_> = Switchable::ALL.iter().map(|subject| format!("`{subject}`")).collect();
    quoted.join(", ")
}

/// A switch as an operator writes it: `NAME=on`, `NAME=off`, or either after `strict:` or
/// `legacy:` for clients of one era.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    subject: Switchable,
    era: Option<Era>,
    on: bool,
}

impl Switch {
    /// Tells whether the switch turns this dialect on.
    pub fn turns_on(&self, dialect: Dialect) -> bool {
        self.on && self.subject == Switchable::Dialect(dialect)
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
        let subject = Switchable::parse(name)
            .ok_or_else(|| InvalidSwitch::Unknown(name.chars().take(40).collect()))?;
        if on && era == Some(Era::Modern) && subject.in_modern() == InModern::Never {
            return Err(InvalidSwitch::NotStrict(subject));
        }
        Ok(Self { subject, era, on })
    }
}

/// The dialects that a server speaks, beside the released extension, to clients of either era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialects {
    legacy: u32,
    modern: u32,
}

impl Default for Dialects {
    fn default() -> Self {
        let all = |era| {
            let spoken = Switchable::ALL.into_iter().filter(|subject| subject.default_in(era));
            spoken.fold(0, |bits, subject| bits | subject.bit())
        };
        Self { legacy: all(Era::Legacy), modern: all(Era::Modern) }
    }
}

impl Dialects {
    /// The extension alone.
    pub const NONE: Self = Self { legacy: 0, modern: 0 };

    /// Tells whether a server speaks a dialect to clients of an era.
    pub fn on(self, dialect: Dialect, era: Era) -> bool {
        self.is_set(Switchable::Dialect(dialect), era)
    }

    /// Tells whether a server shows a part of a dialect to clients of an era.
    pub fn shows(self, part: DialectPart, era: Era) -> bool {
        self.is_set(Switchable::Part(part), era)
    }

    /// Tells whether a server speaks any of these to clients of an era.
    pub fn any(self, dialects: &[Dialect], era: Era) -> bool {
        dialects.iter().any(|dialect| self.on(*dialect, era))
    }

    fn is_set(self, subject: Switchable, era: Era) -> bool {
        let spoken = match era {
            Era::Legacy => self.legacy,
            Era::Modern => self.modern,
        };
        spoken & subject.bit() != 0
    }

    /// Sets a switch. One without an era switches off for both, and on wherever the dialect
    /// contradicts nothing.
    #[must_use]
    pub fn with(mut self, switch: &Switch) -> Self {
        let Switch { subject, era, on } = *switch;
        let bit = subject.bit();
        let set = |spoken: &mut u32| if on { *spoken |= bit } else { *spoken &= !bit };
        if era != Some(Era::Modern) {
            set(&mut self.legacy);
        }
        let allowed = subject.in_modern() == InModern::Harmless;
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
            let on = Switchable::ALL.into_iter().filter(|s| Dialects::default().is_set(*s, era));
            on.map(Switchable::name).collect::<Vec<_>>()
        };
        let legacy =
            ["index", "archives", "scoped-list", "sep-2076", "skills-page", "fastmcp", "templates"];
        assert_eq!(spoken(Era::Legacy), legacy);
        assert_eq!(spoken(Era::Modern), ["index", "scoped-list", "templates"]);
    }

    #[test]
    fn what_contradicts_the_extension_stays_with_the_legacy_era_c_04() {
        for name in ["sep-2076", "fastmcp", "skilljack", "skills-over-mcp", "skills-page"] {
            let subject = Switchable::parse(name).unwrap();
            let on = with(&format!("{name}=on"));
            assert!(on.is_set(subject, Era::Legacy) && !on.is_set(subject, Era::Modern), "{name}");
            assert!(!with(&format!("{name}=off")).is_set(subject, Era::Legacy), "{name}");
        }
        assert!(with("strict:skills-page=on").on(Dialect::SkillsPage, Era::Modern));
        assert!(with("archives=on").shows(DialectPart::Archives, Era::Modern));
        assert!(!with("strict:index=off").on(Dialect::Index, Era::Modern));
        assert!(with("strict:index=off").on(Dialect::Index, Era::Legacy));
        for bad in ["strict:fastmcp=on", "fastmcp", "fastmcp=yes", "x:fastmcp=on", "fast=on", ""] {
            assert!(bad.parse::<Switch>().is_err(), "{bad}");
        }
    }

    #[test]
    fn each_switch_has_its_own_name_and_bit() {
        let mut seen = 0;
        for subject in Switchable::ALL {
            assert_eq!(Switchable::parse(subject.name()), Some(subject));
            assert_eq!(seen & subject.bit(), 0, "{subject}");
            seen |= subject.bit();
        }
    }
}
