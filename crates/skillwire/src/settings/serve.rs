//! The settings of `serve`: its arguments, which override its configuration file.

use std::path::Path;

use skillwire_catalog::SnapshotOptions;
use skillwire_core::Strictness;
#[cfg(feature = "execute")]
use skillwire_scripts::ScriptRunner;
use skillwire_server::{CacheScope, Config};
use skillwire_source::{DirectorySource, PathPatterns, ScanProgress, UriTemplate};

#[cfg(feature = "execute")]
use super::execution;
#[cfg(feature = "host")]
use super::upstream::UpstreamSettings;
use super::{
    client,
    dialects::DialectSettings,
    environment::cache_folder,
    http::{HttpSettings, ServeTransport},
    identity,
    named::NamedSkills,
    reading::{FolderReading, bad_pattern},
};
#[cfg(feature = "scan")]
use crate::args::SeverityArg;
use crate::{
    args::{CacheScopeArg, IdentityArgs, LogFormat, ReadingArgs, ServeArgs},
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
    /// The severity of findings of the scanner that keeps a skill from being served.
    #[cfg(feature = "scan")]
    pub(crate) refuse_findings: Option<SeverityArg>,
    /// The skills and scripts that options name.
    pub(crate) named: NamedSkills,
    /// The counter of scanned skills, which all sources share.
    pub(crate) progress: ScanProgress,
    /// Whether the tool `search_skills` is offered.
    #[cfg(feature = "search")]
    pub(crate) search_tool: bool,
    /// The script runner, if scripts may run.
    #[cfg(feature = "execute")]
    pub(crate) scripts: Option<ScriptRunner>,
    /// The arguments with which a client starts the same server over stdio.
    pub(crate) client_arguments: Vec<String>,
}

impl ServeSettings {
    /// Resolves the command line over the configuration file.
    pub(crate) fn resolve(typed: ServeArgs) -> Result<Self, Failure> {
        let args = with_file(typed)?;
        check_built_in(&args)?;
        if args.dirs.is_empty() && args.upstream.is_empty() {
            return Err(Failure::usage("No folder was named.")
                .hint("Name a folder of skills: `skillwire serve ./skills`."));
        }
        let index = if args.no_index { None } else { cache_folder() };
        let reading = FolderReading::resolve(&args.reading)?.for_serving(index);
        let sources = args.dirs.iter().map(|dir| reading.source(dir)).collect::<Result<_, _>>()?;
        let identity = identity::resolve(&args.identity)?;
        let DialectSettings { dialects, usage, public } =
            DialectSettings::resolve(&args, &identity.name)?;
        let cache_scope = match args.cache_scope {
            Some(CacheScopeArg::Private) => CacheScope::Private,
            Some(CacheScopeArg::Public) | None => CacheScope::Public,
        };
        let tools = wants_tools(&args);
        let config = Config::default()
            .dialects(dialects)
            .usage(usage)
            .identity(identity)
            .skill_tools(tools)
            .templates(templates(&args.template)?)
            .page_size(page_size(args.page_size)?)
            .ttl_ms(args.ttl_ms.unwrap_or(60_000))
            .cache_scope(cache_scope)
            .directory_read(!args.no_directory_read)
            .answer_bytes(answer_bytes(args.answer_memory)?);
        let unlisted = PathPatterns::parse(&args.unlisted)
            .map_err(|error| bad_pattern("--unlisted", error))?;
        Ok(Self {
            #[cfg(feature = "search")]
            search_tool: tools,
            #[cfg(feature = "execute")]
            scripts: execution::scripts(&args)?,
            client_arguments: client::arguments(&args),
            #[cfg(feature = "host")]
            upstream: UpstreamSettings::resolve(
                &args.upstream,
                &args.upstream_tools,
                &reading.scheme,
            )?,
            #[cfg(feature = "scan")]
            refuse_findings: args.refuse_findings,
            progress: reading.progress,
            sources,
            snapshot: SnapshotOptions::default()
                .unlisted(unlisted)
                .list_files(args.list_files)
                .list_frontmatter(args.list_frontmatter),
            config,
            strictness: reading.strictness,
            log_format: args.log_format.unwrap_or_default(),
            transport: ServeTransport::resolve(&args, public)?,
            named: NamedSkills::of(&args)?,
        })
    }
}

/// Resolves how clients reach the server, for one that runs already.
pub(crate) fn http_settings(typed: ServeArgs) -> Result<HttpSettings, Failure> {
    let args = with_file(typed)?;
    let identity = identity::resolve(&args.identity)?;
    let DialectSettings { public, .. } = DialectSettings::resolve(&args, &identity.name)?;
    match ServeTransport::resolve(&args, public)? {
        ServeTransport::Http(settings) => Ok(*settings),
        ServeTransport::Stdio => Err(Failure::usage("`http` is missing.")
            .hint("Restart the server to speak over standard input and output.")),
    }
}

/// Lays the command line over the configuration file.
fn with_file(typed: ServeArgs) -> Result<ServeArgs, Failure> {
    let file = match &typed.config {
        Some(path) => read_config(path)?,
        None => ServeArgs::default(),
    };
    if file.stdio && file.http.is_some() {
        return Err(
            Failure::usage("`stdio` and `http` exclude each other.").hint("Keep one of them.")
        );
    }
    Ok(overlay(typed, file))
}

/// Refuses options that need a feature which this build lacks.
fn check_built_in(args: &ServeArgs) -> Result<(), Failure> {
    let needed = [
        ("--upstream", !args.upstream.is_empty(), Feature::Host),
        ("--upstream-tools", !args.upstream_tools.is_empty(), Feature::Host),
        ("--execute", args.execute, Feature::Execute),
        ("--refuse-findings", args.refuse_findings.is_some(), Feature::Scan),
    ];
    needed
        .into_iter()
        .filter(|(_, given, _)| *given)
        .try_for_each(|(option, _, feature)| feature.needed_for(option))
}

/// Tells whether clients get tools for skills. Skills of other servers are passed on as they are:
/// their clients know the extension, or have a bridge that asks the user.
fn wants_tools(args: &ServeArgs) -> bool {
    args.tools || args.find_tool || (!args.no_tools && args.upstream.is_empty())
}

fn templates(written: &[String]) -> Result<Vec<UriTemplate>, Failure> {
    let template = |text: &String| {
        UriTemplate::parse(text).map_err(|error| {
            Failure::usage(format!("`--template {text}` cannot be used."))
                .because(error)
                .hint("Write a variable in braces: `skill://docs/{product}/SKILL.md`.")
        })
    };
    written.iter().map(template).collect()
}

fn page_size(size: Option<usize>) -> Result<usize, Failure> {
    match size {
        None => Ok(100),
        Some(size @ 1..=10_000) => Ok(size),
        Some(_) => Err(Failure::usage("`--page-size` must lie between 1 and 10000.")),
    }
}

fn answer_bytes(mib: Option<u64>) -> Result<u64, Failure> {
    match mib {
        None => Ok(Config::default().answer_bytes),
        Some(mib @ 64..=1_048_576) => Ok(mib * 1024 * 1024),
        Some(_) => Err(Failure::usage("`--answer-memory` must lie between 64 and 1048576 MiB.")),
    }
}

/// Reads the keys of a configuration file.
pub(crate) fn config_table(path: &Path) -> Result<toml::Table, Failure> {
    parsed(path, &read_file(path, "--config")?)
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    toml::from_str(text).map_err(|error| config_error(path, &error))
}

fn read_config(path: &Path) -> Result<ServeArgs, Failure> {
    let text = read_file(path, "--config")?;
    let table: toml::Table = parsed(path, &text)?;
    let known = config_keys();
    if let Some(unknown) = table.keys().find(|key| !known.contains(key)) {
        return Err(Failure::usage(format!(
            "`{}` has the unknown key `{unknown}`.",
            path.display()
        ))
        .hint(format!("The keys are {}.", known.join(", "))));
    }
    parsed(path, &text)
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
        file = ServeArgs {
            http: None,
            allow_origin: Vec::new(),
            allow_host: Vec::new(),
            token_file: None,
            url: None,
            issuer: Vec::new(),
            public: Vec::new(),
            metrics: false,
            page: false,
            rate: None,
            access_log: None,
            access_log_sample: None,
            ..file
        };
    }
    let list = |typed: Vec<String>, file: Vec<String>| if typed.is_empty() { file } else { typed };
    let chose_strictness = typed.reading.strict || typed.reading.lenient;
    ServeArgs {
        dirs: list(typed.dirs, file.dirs),
        upstream: list(typed.upstream, file.upstream),
        upstream_tools: list(typed.upstream_tools, file.upstream_tools),
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
            follow_links: typed.reading.follow_links || file.reading.follow_links,
        },
        page_size: typed.page_size.or(file.page_size),
        ttl_ms: typed.ttl_ms.or(file.ttl_ms),
        cache_scope: typed.cache_scope.or(file.cache_scope),
        answer_memory: typed.answer_memory.or(file.answer_memory),
        unlisted: list(typed.unlisted, file.unlisted),
        list_files: typed.list_files || file.list_files,
        list_frontmatter: typed.list_frontmatter || file.list_frontmatter,
        template: list(typed.template, file.template),
        no_directory_read: typed.no_directory_read || file.no_directory_read,
        allow_origin: list(typed.allow_origin, file.allow_origin),
        allow_host: list(typed.allow_host, file.allow_host),
        token_file: typed.token_file.or(file.token_file),
        // The lists are joined, since each item is about one dialect. A typed item comes last and
        // wins.
        dialect: file.dialect.into_iter().chain(typed.dialect).collect(),
        url: typed.url.or(file.url),
        issuer: list(typed.issuer, file.issuer),
        identity: IdentityArgs {
            name: typed.identity.name.or(file.identity.name),
            title: typed.identity.title.or(file.identity.title),
            description: typed.identity.description.or(file.identity.description),
            instructions: typed.identity.instructions.or(file.identity.instructions),
            website: typed.identity.website.or(file.identity.website),
            icon: typed.identity.icon.or(file.identity.icon),
        },
        usage_skill: typed.usage_skill.or(file.usage_skill),
        public: list(typed.public, file.public),
        tools: typed.tools || (file.tools && !typed.no_tools),
        no_tools: typed.no_tools || (file.no_tools && !typed.tools && !typed.find_tool),
        find_tool: typed.find_tool || (file.find_tool && !typed.no_tools),
        execute: typed.execute || file.execute,
        allow_script: list(typed.allow_script, file.allow_script),
        accept_restricted: typed.accept_restricted || file.accept_restricted,
        script: file.script,
        interpreters: file.interpreters,
        no_index: typed.no_index || file.no_index,
        refuse_findings: typed.refuse_findings.or(file.refuse_findings),
        metrics: typed.metrics || file.metrics,
        page: typed.page || file.page,
        rate: typed.rate.or(file.rate),
        access_log: typed.access_log.or(file.access_log),
        access_log_sample: typed.access_log_sample.or(file.access_log_sample),
        log_format: typed.log_format.or(file.log_format),
        config: typed.config,
    }
}
