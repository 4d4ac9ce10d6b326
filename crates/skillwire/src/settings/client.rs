//! The command line that a client needs to start the same server.

use clap::ValueEnum;

use super::reading::absolute;
use crate::args::ServeArgs;

/// The arguments that start the same server over stdio, from any working directory.
pub(super) fn arguments(args: &ServeArgs) -> Vec<String> {
    let mut arguments = vec!["serve".to_owned()];
    arguments.extend(args.dirs.iter().map(|dir| absolute(dir)));
    for (flag, given) in [
        ("--strict", args.reading.strict),
        ("--lenient", args.reading.lenient),
        ("--require-single-link", args.reading.require_single_link),
        ("--follow-links", args.reading.follow_links),
        ("--list-files", args.list_files),
        ("--list-frontmatter", args.list_frontmatter),
        ("--no-directory-read", args.no_directory_read),
        ("--no-index", args.no_index),
        ("--tools", args.tools),
        ("--no-tools", args.no_tools),
        ("--find-tool", args.find_tool),
        ("--execute", args.execute),
        ("--accept-restricted", args.accept_restricted),
    ] {
        arguments.extend(given.then(|| flag.to_owned()));
    }
    let scope = args.cache_scope.and_then(|scope| scope.to_possible_value());
    let refused = args.refuse_findings.and_then(|severity| severity.to_possible_value());
    let format = args.log_format.and_then(|format| format.to_possible_value());
    for (option, value) in [
        ("--scheme", args.reading.scheme.clone()),
        ("--page-size", args.page_size.map(|size| size.to_string())),
        ("--ttl-ms", args.ttl_ms.map(|ttl| ttl.to_string())),
        ("--answer-memory", args.answer_memory.map(|mib| mib.to_string())),
        ("--usage-skill", args.usage_skill.clone()),
        ("--name", args.identity.name.clone()),
        ("--title", args.identity.title.clone()),
        ("--description", args.identity.description.clone()),
        ("--instructions", args.identity.instructions.clone()),
        ("--website", args.identity.website.clone()),
        ("--icon", args.identity.icon.as_deref().map(absolute_icon)),
        ("--cache-scope", scope.map(|scope| scope.get_name().to_owned())),
        ("--refuse-findings", refused.map(|severity| severity.get_name().to_owned())),
        ("--log-format", format.map(|format| format.get_name().to_owned())),
    ] {
        arguments.extend(value.map(|value| format!("{option}={value}")));
    }
    for (option, values) in [
        ("--upstream", &args.upstream),
        ("--upstream-tools", &args.upstream_tools),
        ("--allow-secret-file", &args.reading.allow_secret_file),
        ("--unlisted", &args.unlisted),
        ("--template", &args.template),
        ("--allow-script", &args.allow_script),
        ("--dialect", &args.dialect),
    ] {
        arguments.extend(values.iter().map(|value| format!("{option}={value}")));
    }
    // Tables have no options of their own.
    let tables = !args.script.is_empty() || !args.interpreters.is_empty();
    if let (true, Some(config)) = (tables, args.config.as_ref().and_then(|path| path.to_str())) {
        arguments.push(format!("--config={}", absolute(config)));
    }
    arguments
}

/// The address of an image, or the absolute path of its file.
fn absolute_icon(icon: &str) -> String {
    if icon.contains("://") || icon.starts_with("data:") {
        icon.to_owned()
    } else {
        std::path::absolute(icon)
            .map_or_else(|_| icon.to_owned(), |path| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{
        args::{Cli, Command, ReadingArgs},
        settings::serve::config_keys,
    };

    /// Every option that applies to stdio, with a value other than its default.
    const EVERYTHING: &str = r#"
        dirs = ["team=/srv/team", "/srv/more"]
        upstream = ["acme", "work.github"]
        upstream-tools = ["acme/search_*"]
        strict = true
        lenient = true
        scheme = "acme"
        allow-secret-file = [".env"]
        require-single-link = true
        follow-links = true
        page-size = 7
        ttl-ms = 1
        answer-memory = 64
        cache-scope = "private"
        unlisted = ["a/**", "-b"]
        list-files = true
        list-frontmatter = true
        template = ["skill://docs/{product}/SKILL.md"]
        no-directory-read = true
        no-index = true
        dialect = ["skilljack=on", "strict:index=off"]
        usage-skill = "crm=acme/guide"
        log-format = "json"
        refuse-findings = "high"
        tools = true
        no-tools = true
        find-tool = true
        name = "acme-skills"
        title = "Skills of Acme"
        description = "What Acme does."
        instructions = "Ask before you refund."
        website = "https://acme.example"
        icon = "https://acme.example/icon.png"
        execute = true
        allow-script = ["a/scripts/*.py"]
        accept-restricted = true
    "#;

    #[test]
    fn what_a_client_is_told_to_start_is_the_same_server() {
        let args: ServeArgs = toml::from_str(EVERYTHING).unwrap();
        let shown = arguments(&args);
        // The test fails for a new option that is not shown, unless it is about HTTP or names the
        // file.
        let mut others =
            vec!["dirs", "stdio", "http", "allow-origin", "allow-host", "token-file", "metrics"];
        others.extend([
            "public",
            "url",
            "issuer",
            "page",
            "rate",
            "access-log",
            "access-log-sample",
        ]);
        // Tables stay in the file, which the arguments name.
        others.extend(["script", "interpreters"]);
        for key in config_keys().iter().filter(|key| !others.contains(&&***key)) {
            let option = format!("--{key}");
            let is_shown = |word: &String| word.split('=').next() == Some(option.as_str());
            assert!(shown.iter().any(is_shown), "{option} is missing in {shown:?}");
        }
        // Parsing the arguments gives the same settings. `--lenient` and `--no-tools` are left out,
        // since they conflict with `--strict` and `--tools`.
        let conflicting = ["--lenient", "--no-tools"];
        let typed = shown.iter().map(String::as_str).filter(|word| !conflicting.contains(word));
        let cli = Cli::try_parse_from(std::iter::once("skillwire").chain(typed)).unwrap();
        let Command::Serve(read) = cli.command else { panic!("{shown:?}") };
        let again = arguments(&ServeArgs {
            reading: ReadingArgs { lenient: true, ..read.reading },
            no_tools: true,
            ..*read
        });
        assert_eq!(again, shown);
        assert_eq!(arguments(&ServeArgs::default()), ["serve"]);
    }
}
