//! From what was typed to what is meant: arguments, configuration file and environment resolved.

pub(crate) mod bridge;
mod client;
mod dialects;
mod execution;
mod host;
mod upstream;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use skillwire_catalog::snapshot::SnapshotOptions;
use skillwire_core::{digest::Digest, finding::Strictness, path::RelPath, uri::Scheme};
use skillwire_scripts::ScriptRunner;
use skillwire_server::{CacheScope, Config, http::AccessRules};
use skillwire_source::{
    DirectoryOptions, DirectorySource, PathPatterns, ScanProgress, SecretAllowList,
    SourceUnavailable,
};

use self::dialects::DialectSettings;
pub(crate) use self::{
    host::{HostSettings, endpoint},
    upstream::UpstreamSettings,
};
use crate::{
    args::{CacheScopeArg, HttpAddress, LogFormat, ReadingArgs, ServeArgs},
    exit::Exit,
    failure::Failure,
};

/// Everything `serve` needs to know.
pub(crate) struct ServeSettings {
    pub(crate) sources: Vec<DirectorySource>,
    /// Servers whose skills are passed on, if there are any.
    pub(crate) upstream: Option<UpstreamSettings>,
    pub(crate) snapshot: SnapshotOptions,
    pub(crate) config: Config,
    pub(crate) strictness: Strictness,
    pub(crate) transport: Transport,
    pub(crate) log_format: LogFormat,
    /// Where the sources count what they have looked at.
    pub(crate) progress: ScanProgress,
    /// Whether clients may look for skills with a tool.
    pub(crate) find_tool: bool,
    /// What runs scripts, if anything does.
    pub(crate) scripts: Option<ScriptRunner>,
    /// What a client's configuration says to start the same server on pipes.
    pub(crate) client_arguments: Vec<String>,
}

/// How clients reach the server.
pub(crate) enum Transport {
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
        if args.dirs.is_empty() && args.upstream.is_empty() {
            return Err(Failure::usage("No folder was named.")
                .hint("Name a folder of skills: `skillwire serve ./skills`."));
        }
        let index = if args.no_index { None } else { cache_folder() };
        let reading = Reading { brief: true, index, ..Reading::resolve(&args.reading)? };
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
            .map_err(|error| bad_pattern("--unlisted", &error))?;
        Ok(Self {
            find_tool: args.find_tool,
            scripts: execution::scripts(&args)?,
            client_arguments: client::arguments(&args),
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

/// How folders are read, resolved.
pub(crate) struct Reading {
    pub(crate) strictness: Strictness,
    scheme: Scheme,
    allow_secret: SecretAllowList,
    single_link: bool,
    /// Whether only findings that matter to a server are looked for.
    brief: bool,
    /// The folder for what is remembered between starts, if anything is.
    index: Option<PathBuf>,
    /// Where the sources count what they have looked at.
    pub(crate) progress: ScanProgress,
}

impl Reading {
    pub(crate) fn resolve(args: &ReadingArgs) -> Result<Self, Failure> {
        let strictness = match (args.strict, args.lenient) {
            (true, true) => {
                return Err(Failure::usage("`strict` and `lenient` exclude each other.")
                    .hint("Keep one of them."));
            }
            (true, false) => Strictness::Strict,
            (false, true) => Strictness::Lenient,
            (false, false) => Strictness::Normal,
        };
        let scheme = match &args.scheme {
            None => Scheme::default(),
            Some(text) => Scheme::parse(text).map_err(|error| {
                Failure::usage(format!("`--scheme {text}` cannot be used: the URI {error}."))
                    .hint("Use a scheme such as `skill` or `acme-skills`.")
            })?,
        };
        let allow_secret =
            SecretAllowList::parse(args.allow_secret_file.iter().map(String::as_str))
                .map_err(|error| bad_pattern("--allow-secret-file", &error))?;
        let single_link = args.require_single_link;
        let (brief, index, progress) = (false, None, ScanProgress::default());
        Ok(Self { strictness, scheme, allow_secret, single_link, brief, index, progress })
    }

    /// Opens a `[PREFIX=]DIR` argument.
    pub(crate) fn source(&self, argument: &str) -> Result<DirectorySource, Failure> {
        let (prefix, dir) = split_prefix(argument);
        let options = DirectoryOptions {
            label: folder_of(argument).to_owned(),
            prefix: prefix.iter().flat_map(|prefix| prefix.split('/')).map(str::to_owned).collect(),
            scheme: self.scheme.clone(),
            strictness: self.strictness,
            allow_secret: self.allow_secret.clone(),
            single_link: self.single_link,
            brief: self.brief,
            reopen: false,
            index: self.index.as_ref().map(|cache| cache.join(index_name(argument))),
            progress: self.progress.clone(),
        };
        DirectorySource::new(dir, options).map_err(unavailable)
    }
}

/// Says that a folder cannot be read.
pub(crate) fn unavailable(error: SourceUnavailable) -> Failure {
    Failure::usage(format!("`{}` cannot be read.", error.origin)).hint(error.reason)
}

fn bad_pattern(option: &str, error: &dyn std::error::Error) -> Failure {
    Failure::usage(format!("`{option}`: {error}."))
        .hint("`*` stays within a path segment, `**` does not, and `[[]` stands for `[`.")
}

/// The folder of a `[PREFIX=]DIR` argument, as findings name it.
pub(crate) fn folder_of(argument: &str) -> &str {
    split_prefix(argument).1.trim_end_matches('/')
}

/// Takes a prefix off only where no folder of the whole name exists.
fn split_prefix(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((prefix, dir)) if RelPath::parse(prefix).is_ok() && !Path::new(argument).exists() => {
            (Some(prefix), dir)
        }
        _ => (None, argument),
    }
}

fn absolute(argument: &str) -> String {
    let (prefix, dir) = split_prefix(argument);
    let path =
        std::path::absolute(dir).map_or_else(|_| dir.to_owned(), |p| p.display().to_string());
    match prefix {
        Some(prefix) => format!("{prefix}={path}"),
        None => path,
    }
}

fn page_size(size: Option<usize>) -> Result<usize, Failure> {
    match size {
        None => Ok(100),
        Some(size @ 1..=10_000) => Ok(size),
        Some(_) => Err(Failure::usage("`--page-size` must lie between 1 and 10000.")),
    }
}

fn transport(args: &ServeArgs, public: Option<PathPatterns>) -> Result<Transport, Failure> {
    let Some(HttpAddress(address)) = args.http else {
        let needs_http = [
            ("--allow-origin", !args.allow_origin.is_empty()),
            ("--allow-host", !args.allow_host.is_empty()),
            ("--token-file", args.token_file.is_some()),
            ("--metrics", args.metrics),
            ("--public", !args.public.is_empty()),
        ];
        return match needs_http.into_iter().find(|(_, given)| *given) {
            None => Ok(Transport::Stdio),
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
        // The whole of 127.0.0.0/8 is this machine, and the address is printed for clients.
        hosts.push(host_of(address));
    }
    let access = AccessRules {
        hosts,
        origins: args
            .allow_origin
            .iter()
            .map(|origin| allowed_origin(origin))
            .collect::<Result<_, _>>()?,
        any_host: !loopback && args.allow_host.is_empty(),
    };
    Ok(Transport::Http { address, access, tokens, metrics: args.metrics, public })
}

fn host_of(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// A host as requests name it, without port.
fn allowed_host(host: &str) -> Result<String, Failure> {
    let port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if host.is_empty() || host.contains(['/', '@', ' ']) || port {
        return Err(Failure::usage(format!("`--allow-host {host}` is not a host name."))
            .hint("Name the host alone, such as `skills.example.com`, without scheme and port."));
    }
    Ok(host.to_ascii_lowercase())
}

/// An origin as browsers send it; anything else would never match.
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
fn config_keys() -> Vec<String> {
    let command = <ServeArgs as clap::Args>::augment_args(clap::Command::new("serve"));
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    let keys = options.filter(|name| *name != "config").map(str::to_owned);
    // Tables have no option.
    let others = ["dirs", "script", "interpreters"].map(str::to_owned);
    others.into_iter().chain(keys).collect()
}

fn read_file(path: &Path, option: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("`{option} {}` cannot be read: {error}.", path.display()))
    })
}

/// What was typed wins; lists are replaced, not joined.
fn overlay(typed: ServeArgs, mut file: ServeArgs) -> ServeArgs {
    if typed.stdio {
        // Whoever wants pipes this once does not want what the file says about HTTP.
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
        // Each names a dialect of its own; of two about the same one, the typed one comes last.
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

/// The name of the index of a `[PREFIX=]DIR` argument: one for each folder and each prefix.
fn index_name(argument: &str) -> String {
    let digest = Digest::of(absolute(argument).as_bytes());
    let hex: String = digest.to_string().chars().skip("sha256:".len()).take(32).collect();
    format!("index-{hex}")
}

/// Where things are kept that can be made again: `$SKILLWIRE_HOME/cache`, or the place the
/// platform has for them.
fn cache_folder() -> Option<PathBuf> {
    own_folder("cache", "Library/Caches", "LOCALAPPDATA", "XDG_CACHE_HOME", ".cache")
}

/// Where it is remembered how scripts can be isolated here.
pub(crate) fn isolation_file() -> Option<PathBuf> {
    cache_folder().map(|folder| folder.join("isolation.json"))
}

/// A variable that a script is granted by name.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<String> {
    // Such names make the system's lookup panic, and no variable has one.
    let usable = !name.is_empty() && !name.contains(['=', '\0']);
    usable.then(|| std::env::var(name).ok()).flatten()
}

/// Where decisions and configured servers are kept: `$SKILLWIRE_HOME/state`, or the place the
/// platform has for them.
fn state_folder() -> Option<PathBuf> {
    let mac = "Library/Application Support";
    own_folder("state", mac, "APPDATA", "XDG_DATA_HOME", ".local/share")
}

/// A folder in `$SKILLWIRE_HOME`, or `skillwire` in the one that a platform names.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn own_folder(name: &str, mac: &str, windows: &str, xdg: &str, dot: &str) -> Option<PathBuf> {
    if let Some(home) = own_home() {
        // What is kept must be found from every folder.
        return std::path::absolute(PathBuf::from(home).join(name)).ok();
    }
    let platform = if cfg!(target_os = "macos") {
        home_folder().map(|home| home.join(mac))
    } else if cfg!(windows) {
        std::env::var_os(windows).map(PathBuf::from)
    } else {
        let xdg = std::env::var_os(xdg).map(PathBuf::from);
        xdg.filter(|path| path.is_absolute()).or_else(|| home_folder().map(|home| home.join(dot)))
    };
    platform.map(|folder| folder.join("skillwire"))
}

/// The folder that everything is kept in, if the user named one.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn own_home() -> Option<std::ffi::OsString> {
    std::env::var_os("SKILLWIRE_HOME").filter(|home| !home.is_empty())
}

/// The user's home.
fn home_folder() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// The whole environment, of which a started server gets a part.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// What `SKILLWIRE_LOG` asks the log to show.
#[expect(clippy::disallowed_methods, reason = "this file is where the environment is read")]
pub(crate) fn log_filter() -> Option<String> {
    std::env::var("SKILLWIRE_LOG").ok()
}

/// Whether standard error wants colours.
pub(crate) fn colour_on_stderr() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}
