//! `skillwire run --remote`: the skill's server runs the script.

use std::io::{self, Write as _};

use serde_json::json;
use skillwire_core::{
    RelPath,
    visible::{lines, one_line},
};
use skillwire_host::Window;

use crate::{
    args::RunArgs, exit::ExitStatus, failure::Failure, prose, report, session::NamedSkill,
};

/// Has the skill's server run the script, and prints its answer.
pub(super) async fn run(
    args: &RunArgs,
    named: &NamedSkill,
    window: &Window,
) -> Result<ExitStatus, Failure> {
    let script = RelPath::parse(args.script())
        .map_err(|error| Failure::usage(format!("The script's path {error}.")))?;
    if !window.runs_on_server() {
        return Err(Failure::usage("The server of this skill runs no scripts.")
            .hint("Leave `--remote` out to run the script in isolation on this machine."));
    }
    if !args.json && !args.quiet {
        writeln!(
            prose::stderr(),
            "Asking {} to run `{}` of {}; it sees the arguments, and nothing isolates the script there",
            one_line(window.skill().origin.label()),
            one_line(args.script()),
            one_line(&named.handle)
        )?;
    }
    let ran = window.run_on_server(&script, json!({ "_": args.words() })).await?;
    if args.json {
        let links: Vec<_> =
            ran.links.iter().map(|link| json!({ "uri": link.uri, "name": link.name })).collect();
        let answer = json!({
            "handle": named.handle,
            "script": args.script(),
            "on_server": true,
            "texts": ran.texts,
            "links": links,
            "left_out": ran.other_blocks,
            "is_error": ran.is_error,
        });
        report::json(&mut io::stdout().lock(), &answer)?;
    } else {
        let mut out = io::stdout().lock();
        for text in &ran.texts {
            out.write_all(lines(text).as_bytes())?;
        }
        out.flush()?;
        let mut err = prose::stderr();
        for link in &ran.links {
            writeln!(err, "It left {}", one_line(&link.uri))?;
        }
        if ran.is_error {
            writeln!(err, "The server says that the script failed.")?;
        }
    }
    Ok(ExitStatus::of_script(u8::from(ran.is_error)))
}
