//! The parts of the program that a build can leave out.
//!
//! Every build parses every command and option, so that it can say which feature a command needs.

use crate::{
    args::{Command, HostCommand, HubCommand, ServerCommand},
    exit::Exit,
    failure::Failure,
};

/// A part of the program: a feature of its crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    /// Using skills of servers and folders.
    Host,
    /// Giving those skills to clients that know only tools and prompts.
    Bridge,
    /// Finding skills by words.
    Search,
    /// Running scripts of skills.
    Execute,
    /// Logging in to servers.
    Oauth,
    /// The language server.
    Editor,
    /// Publishing, versioning and serving skills for a team.
    Hub,
    /// Installing skills for agents.
    Add,
    /// Deciding about skills on one screen.
    Review,
    /// Looking at what a skill would do.
    Scan,
    /// Entries for the bridge in the configuration of agents.
    Setup,
    /// Signing skills and checking signatures.
    Sign,
    /// Policies about who sees which skills of a hub.
    Policy,
    /// Skills and decisions in a browser.
    Page,
    /// Traces and lines of the log for a collector of OpenTelemetry.
    Otel,
}

impl Feature {
    const ALL: [Self; 15] = [
        Self::Add,
        Self::Host,
        Self::Bridge,
        Self::Search,
        Self::Execute,
        Self::Oauth,
        Self::Editor,
        Self::Hub,
        Self::Review,
        Self::Scan,
        Self::Setup,
        Self::Sign,
        Self::Policy,
        Self::Page,
        Self::Otel,
    ];

    /// The features that this build has.
    pub(crate) fn built_in() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|feature| feature.is_built_in())
    }

    /// The name in `Cargo.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Host => "host",
            Self::Bridge => "bridge",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Oauth => "oauth",
            Self::Editor => "editor",
            Self::Hub => "hub",
            Self::Review => "review",
            Self::Scan => "scan",
            Self::Setup => "setup",
            Self::Sign => "sign",
            Self::Policy => "policy",
            Self::Page => "page",
            Self::Otel => "otel",
        }
    }

    fn is_built_in(self) -> bool {
        match self {
            Self::Add => cfg!(feature = "add"),
            Self::Host => cfg!(feature = "host"),
            Self::Bridge => cfg!(feature = "bridge"),
            Self::Search => cfg!(feature = "search"),
            Self::Execute => cfg!(feature = "execute"),
            Self::Oauth => cfg!(feature = "oauth"),
            Self::Editor => cfg!(feature = "editor"),
            Self::Hub => cfg!(feature = "hub"),
            Self::Review => cfg!(feature = "review"),
            Self::Scan => cfg!(feature = "scan"),
            Self::Setup => cfg!(feature = "setup"),
            Self::Sign => cfg!(feature = "sign"),
            Self::Policy => cfg!(feature = "policy"),
            Self::Page => cfg!(feature = "page"),
            Self::Otel => cfg!(feature = "otel"),
        }
    }

    /// Refuses `what`, such as `--execute`, if this build lacks the feature that it needs.
    pub(crate) fn needed_for(self, what: &str) -> Result<(), Failure> {
        if self.is_built_in() {
            return Ok(());
        }
        let name = self.name();
        let message = format!("`{what}` is not in this build: the feature `{name}` was left out.");
        Err(Failure::new(Exit::Usage, message).hint(self.how_to_get()))
    }

    /// Says that a variable of the environment has no effect in a build without the feature.
    #[cfg(any(test, not(feature = "otel")))]
    pub(crate) fn ignored(self, variable: &str) -> String {
        let (name, how) = (self.name(), self.how_to_get());
        format!("`{variable}` is ignored: the feature `{name}` is not in this build. {how}")
    }

    fn how_to_get(self) -> String {
        let name = self.name();
        format!(
            "Install a build with everything, or build it with `cargo build --release --features {name}`."
        )
    }
}

impl Command {
    /// Refuses a command that this build leaves out; `typed` is its name.
    pub(crate) fn check_built_in(&self, typed: &str) -> Result<(), Failure> {
        let command = format!("skillwire {typed}");
        self.features().iter().try_for_each(|feature| feature.needed_for(&command))
    }

    fn features(&self) -> &'static [Feature] {
        match self {
            Self::New(_)
            | Self::Check(_)
            | Self::Watch(_)
            | Self::Manifest(_)
            | Self::Serve(_)
            | Self::Pack(_)
            | Self::Convert(_)
            | Self::Unpack(_)
            | Self::Completions(_)
            | Self::Man(_) => &[],
            Self::Host(HostCommand::Server(ServerCommand::Login(_))) => &[Feature::Oauth],
            Self::Host(HostCommand::Review(_)) => &[Feature::Review],
            Self::Host(HostCommand::Search(_)) => &[Feature::Host, Feature::Search],
            Self::Host(_) => &[Feature::Host],
            Self::Add(_) | Self::Update(_) | Self::Remove(_) | Self::Sync(_) => &[Feature::Add],
            Self::Bridge(_) => &[Feature::Bridge],
            Self::Setup(_) => &[Feature::Setup],
            Self::Ui(_) => &[Feature::Host, Feature::Page],
            Self::Run(_) => &[Feature::Host, Feature::Execute],
            Self::Doctor(_) => &[Feature::Execute],
            Self::Key(_) | Self::Sign(_) | Self::VerifySignature(_) => &[Feature::Sign],
            Self::Hub(HubCommand::Policy(_)) => &[Feature::Hub, Feature::Policy],
            Self::Hub(_) | Self::Publish(_) | Self::Login(_) => &[Feature::Hub],
            Self::Scan(_) => &[Feature::Scan],
            Self::Lsp(_) => &[Feature::Editor],
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn a_part_that_is_missing_says_so_and_names_its_feature() {
        for feature in Feature::ALL {
            let Err(failure) = feature.needed_for("skillwire x") else { continue };
            assert_eq!(failure.exit(), Exit::Usage);
            let text = anstream::adapter::strip_str(&failure.to_string()).to_string();
            assert!(
                text.contains(&format!("the feature `{}` was left out", feature.name())),
                "{text}"
            );
            assert!(text.contains(&format!("--features {}", feature.name())), "{text}");
        }
    }

    #[test]
    fn a_variable_that_has_no_effect_names_its_feature() {
        let text = Feature::Otel.ignored("OTEL_EXPORTER_OTLP_ENDPOINT");
        assert!(text.starts_with("`OTEL_EXPORTER_OTLP_ENDPOINT` is ignored"), "{text}");
        assert!(text.contains("`otel`") && text.contains("--features otel"), "{text}");
    }

    #[test]
    fn a_command_works_exactly_where_its_parts_are_built_in() {
        for (typed, works) in [
            (&["serve", "x"][..], true),
            (&["list"], cfg!(feature = "host")),
            (&["bridge"], cfg!(feature = "bridge")),
            (&["search", "x"], cfg!(all(feature = "host", feature = "search"))),
            (&["run", "a:b", "c"], cfg!(all(feature = "host", feature = "execute"))),
            (&["setup"], cfg!(feature = "setup")),
            (&["ui"], cfg!(all(feature = "host", feature = "page"))),
            (&["doctor"], cfg!(feature = "execute")),
            (&["sign", "x"], cfg!(feature = "sign")),
            (&["scan", "x"], cfg!(feature = "scan")),
            (&["lsp"], cfg!(feature = "editor")),
            (&["review"], cfg!(feature = "review")),
            (&["server", "login", "a"], cfg!(feature = "oauth")),
            (&["server", "logout", "a"], cfg!(feature = "host")),
            (&["hub", "list"], cfg!(feature = "hub")),
            (&["login", "http://127.0.0.1:8650"], cfg!(feature = "hub")),
        ] {
            let typed = std::iter::once(&"skillwire").chain(typed);
            let cli = Cli::try_parse_from(typed).unwrap();
            assert_eq!(cli.command.check_built_in("x").is_ok(), works, "{:?}", cli.command);
        }
    }
}
