//! The settings of `serve`: its arguments, which override its configuration file.

use std::{net::SocketAddr, path::Path};

use skillwire_catalog::SnapshotOptions;
use skillwire_core::Strictness;
#[cfg(feature = "execute")]
use skillwire_scripts::ScriptRunner;
use skillwire_server::{CacheScope, Config, http::AccessRules};
use skillwire_source::{DirectorySource, PathPatterns, ScanProgress};

#[cfg(feature = "execute")]
use super::execution;
#[cfg(feature = "host")]
use super::upstream::UpstreamSettings;
use super::{
    client,
    dialects::DialectSettings,
    environment::cache_folder,
    reading::{FolderReading, bad_pattern},
};
use crate::{
    args::{CacheScopeArg, HttpAddress, LogFormat, ReadingArgs, ServeArgs},
    exit::Exit,
    failure::Failure,
    features::Feature,
};

/// The resolved settings of `serve`.
pub(crate) struct ServeSettings {
    pub(crate) sources: Vec<DirectorySource>,
    /// Servers whose skills are passed on, if there are any.
    #[cfg(feature = "host")]
    pub(crate) upstream: Option<UpstreamSettings>,
    pub(crate) snapshot: SnapshotOptions,
    pub(crate) config: Config,
    pub(crate) strictness: Strictness,
    pub(crate) transport: ServeTransport,
    pub(crate) log_format: LogFormat,
    /// The counter of scanned skills, which all sources share.
    pub(crate) progress: ScanProgress,
    /// Whether the tool `find_skills` is offered.
    #[cfg(feature = "search")]
    pub(crate) find_tool: bool,
    /// The script runner, if scripts may run.
    #[cfg(feature = "execute")]
    pub(crate) scripts: Option<ScriptRunner>,
    /// The arguments with which a client starts the same server over stdio.
    pub(crate) client_arguments: Vec<String>,
}

/// How clients reach the server.
pub(crate) enum ServeTransport {
    Stdio,
    Http {
        address: SocketAddr,
        access: AccessRules,
        tokens: Option<String>,
        metrics: bool,
        public: Option<PathPatterns>,
    },
}

impl ServeSettings {
    /// Resolves the command line over the configuration file.
    pub(crate) fn resolve(typed: ServeArgs) -> Result<Self, Failure> {
        let file = match &typed.config {
            Some(path) => read_config(path)?,
            None => ServeArgs::default(),
        };
        if file.stdio && file.http.is_some() {
            return Err(
                Failure::usage("`stdio` and `http` exclude each other.").hint("Keep one of them.")
            );
        }
        let args = overlay(typed, file);
        check_built_in(&args)?;
        if args.dirs.is_empty() && args.upstream.is_empty() {
            return Err(Failure::usage("No folder was named.")
                .hint("Name a folder of skills: `skillwire serve ./skills`."));
        }
        let index = if args.no_index { None } else { cache_folder() };
        let reading = FolderReading::resolve(&args.reading)?.for_serving(index);
        let sources = args.dirs.iter().map(|dir| reading.source(dir)).collect::<Result<_, _>>()?;
        let name = Config::default().name;
        let DialectSettings { dialects, usage, public } = DialectSettings::resolve(&args, &name)?;
        let config = Config {
            dialects,
            usage,
            page_size: page_size(args.page_size)?,
            ttl_ms: args.ttl_ms.unwrap_or(60_000),
            cache_scope: match args.cache_scope {
                Some(CacheScopeArg::Private) => CacheScope::Private,
                Some(CacheScopeArg::Public) | None => CacheScope::Public,
            },
            directory_read: !args.no_directory_read,
            ..Config::default()
        };
        let unlisted = PathPatterns::parse(&args.unlisted)
            .map_err(|error| bad_pattern("--unlisted", error))?;
        Ok(Self {
            #[cfg(feature = "search")]
            find_tool: args.find_tool,
            #[cfg(feature = "execute")]
            scripts: execution::scripts(&args)?,
            client_arguments: client::arguments(&args),
            #[cfg(feature = "host")]
            upstream: UpstreamSettings::resolve(&args.upstream, &reading.scheme)?,
            progress: reading.progress,
            sources,
            snapshot: SnapshotOptions { unlisted, list_files: args.list_files },
            config,
            strictness: reading.strictness,
            log_format: args.log_format.unwrap_or_default(),
            transport: transport(&args, public)?,
        })
    }
}

/// Refuses options that need a feature which this build lacks.
fn check_built_in(args: &ServeArgs) -> Result<(), Failure> {
    let needed = [
        ("--upstream", !args.upstream.is_empty(), Feature::Host),
        ("--find-tool", args.find_tool, Feature::Search),
        ("--execute", args.execute, Feature::Execute),
    ];
    needed
        .into_iter()
        .filter(|(_, given, _)| *given)
        .try_for_each(|(option, _, feature)| feature.needed_for(option))
}

fn page_size(size: Option<usize>) -> Result<usize, Failure> {
    match size {
        None => Ok(100),
        Some(size @ 1..=10_000) => Ok(size),
        Some(_) => Err(Failure::usage("`--page-size` must lie between 1 and 10000.")),
    }
}

fn transport(args: &ServeArgs, public: Option<PathPatterns>) -> Result<ServeTransport, Failure> {
    let Some(HttpAddress(address)) = args.http else {
        let needs_http = [
            ("--allow-origin", !args.allow_origin.is_empty()),
            ("--allow-host", !args.allow_host.is_empty()),
            ("--token-file", args.token_file.is_some()),
            ("--metrics", args.metrics),
            ("--public", !args.public.is_empty()),
        ];
        return match needs_http.into_iter().find(|(_, given)| *given) {
            None => Ok(ServeTransport::Stdio),
            Some((option, _)) => Err(Failure::usage(format!("`{option}` needs `--http`."))
                .hint("Pass `--http 127.0.0.1:8640` as well, or leave the option out.")),
        };
    };
    let loopback = address.ip().is_loopback();
    let tokens = match &args.token_file {
        Some(path) => Some(read_file(path, "--token-file")?),
        None if loopback => None,
        None => {
            return Err(Failure::new(
                Exit::Declined,
                format!(
                    "{address} can be reached from other machines, and no tokens are required."
                ),
            )
            .hint("Pass `--token-file FILE`, or listen on 127.0.0.1."));
        }
    };
    let mut hosts =
        args.allow_host.iter().map(|host| allowed_host(host)).collect::<Result<Vec<_>, _>>()?;
    if loopback {
        // Every address of 127.0.0.0/8 is this machine. Clients use the one that is printed, so it
        // is allowed as a host.
        hosts.push(host_of(address));
    }
    let origins = args.allow_origin.iter().map(|origin| allowed_origin(origin));
    let access = AccessRules::default()
        .hosts(hosts)
        .origins(origins.collect::<Result<Vec<_>, _>>()?)
        .any_host(!loopback && args.allow_host.is_empty());
    Ok(ServeTransport::Http { address, access, tokens, metrics: args.metrics, public })
}

pub(super) fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Checks a host name, which must have no port.
fn allowed_host(host: &str) -> Result<String, Failure> {
    let port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if host.is_empty() || host.contains(['/', '@', ' ']) || port {
        return Err(Failure::usage(format!("`--allow-host {host}` is not a host name."))
            .hint("Name the host alone, such as `skills.example.com`, without scheme and port."));
    }
    Ok(host.to_ascii_lowercase())
}

/// Checks that an origin has the form in which browsers send it; another form would never match.
fn allowed_origin(origin: &str) -> Result<String, Failure> {
    let lower = origin.to_ascii_lowercase();
    let host = lower.split_once("://").filter(|(scheme, _)| !scheme.is_empty());
    if host.is_none_or(|(_, host)| host.is_empty() || host.contains(['/', '@', ' ', '*'])) {
        return Err(Failure::usage(format!("`--allow-origin {origin}` is not an origin."))
            .hint("Write scheme and host, such as `https://app.example.com`, without a path."));
    }
    Ok(lower)
}

fn read_config(path: &Path) -> Result<ServeArgs, Failure> {
    let text = read_file(path, "--config")?;
    let table: toml::Table = toml::from_str(&text).map_err(|error| config_error(path, &error))?;
    let known = config_keys();
    if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
        return Err(Failure::usage(format!(
            "`{}` has the unknown key `{unknown}`.",
            path.display()
        ))
        .hint(format!("The keys are {}.", known.join(", "))));
    }
    toml::from_str(&text).map_err(|error| config_error(path, &error))
}

fn config_error(path: &Path, error: &toml::de::Error) -> Failure {
    let text = error.to_string();
    Failure::usage(format!("`{}` cannot be understood.\n{}", path.display(), text.trim_end()))
}

/// The options of `serve`, which are the keys of its configuration file.
pub(super) fn config_keys() -> Vec<String> {
    let command = <ServeArgs as clap::Args>::augment_args(clap::Command::new("serve"));
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    let keys = options.filter(|name| *name != "config").map(str::to_owned);
    // Tables have no option.
    let others = ["dirs", "script", "interpreters"].map(str::to_owned);
    others.into_iter().chain(keys).collect()
}

pub(super) fn read_file(path: &Path, option: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("`{option} {}` cannot be read.", path.display())).because(error)
    })
}

/// Lays typed options over the file's. A typed list replaces the file's list.
fn overlay(typed: ServeArgs, mut file: ServeArgs) -> ServeArgs {
    if typed.stdio {
        // A typed `--stdio` also overrides everything that the file says about HTTP.
        let ServeArgs { http, allow_origin, allow_host, token_file, public, metrics, .. } =
            ServeArgs::default();
        file = ServeArgs { http, allow_origin, allow_host, token_file, public, metrics, ..file };
    }
    let list = |typed: Vec<String>, file: Vec<String>| if typed.is_empty() { file } else { typed };
    let chose_strictness = typed.reading.strict || typed.reading.lenient;
    ServeArgs {
        dirs: list(typed.dirs, file.dirs),
        upstream: list(typed.upstream, file.upstream),
        http: typed.http.or(file.http),
        stdio: typed.stdio || file.stdio,
        reading: ReadingArgs {
            strict: typed.reading.strict || (file.reading.strict && !chose_strictness),
            lenient: typed.reading.lenient || (file.reading.lenient && !chose_strictness),
            scheme: typed.reading.scheme.or(file.reading.scheme),
            allow_secret_file: list(
                typed.reading.allow_secret_file,
                file.reading.allow_secret_file,
            ),
            require_single_link: typed.reading.require_single_link
                || file.reading.require_single_link,
        },
        page_size: typed.page_size.or(file.page_size),
        ttl_ms: typed.ttl_ms.or(file.ttl_ms),
        cache_scope: typed.cache_scope.or(file.cache_scope),
        unlisted: list(typed.unlisted, file.unlisted),
        list_files: typed.list_files || file.list_files,
        no_directory_read: typed.no_directory_read || file.no_directory_read,
        allow_origin: list(typed.allow_origin, file.allow_origin),
        allow_host: list(typed.allow_host, file.allow_host),
        token_file: typed.token_file.or(file.token_file),
        // The lists are joined, since each item is about one dialect. A typed item comes last and
        // wins.
        dialect: file.dialect.into_iter().chain(typed.dialect).collect(),
        usage_skill: typed.usage_skill.or(file.usage_skill),
        public: list(typed.public, file.public),
        find_tool: typed.find_tool || file.find_tool,
        execute: typed.execute || file.execute,
        allow_script: list(typed.allow_script, file.allow_script),
        accept_restricted: typed.accept_restricted || file.accept_restricted,
        script: file.script,
        interpreters: file.interpreters,
        no_index: typed.no_index || file.no_index,
        metrics: typed.metrics || file.metrics,
        log_format: typed.log_format.or(file.log_format),
        config: typed.config,
    }
}
