//! What an approval grants besides loading, as the user typed it.

use skillwire_trust::{Grants, InputPath, RunGrants, requested_tools};

use crate::{
    args::{ApproveArgs, GrantArgs},
    failure::Failure,
    refusals::argument,
    session::NamedSkill,
};

/// The grants besides loading: only what the skill asks for and the user named.
pub(super) fn of(args: &ApproveArgs, named: &NamedSkill) -> Result<Grants, Failure> {
    let requested = requested_tools(&named.listed.entry().frontmatter);
    if let Some(other) = args.tool.iter().find(|tool| !requested.contains(tool)) {
        let handle = argument(&named.handle);
        return Err(Failure::usage(format!(
            "`{handle}` does not ask for the tool `{}`.",
            other.escape_debug()
        ))
        .hint(format!("`skillwire show {handle}` shows what it asks for, word for word.")));
    }
    let tools = if args.tools { requested } else { args.tool.clone() };
    Ok(Grants {
        tools: tools.into_iter().collect(),
        execute: args.exec,
        run: run_grants(&args.run)?,
        remote_execute: args.remote_exec,
    })
}

fn run_grants(args: &GrantArgs) -> Result<RunGrants, Failure> {
    let mut grants = RunGrants::default();
    grants.network.extend(args.network.iter().cloned());
    grants.env.extend(args.env.iter().cloned());
    for path in &args.input {
        // Links are resolved now: what they point to later was not granted.
        let resolved = path.canonicalize().map_err(|error| {
            Failure::usage(format!("`{}` cannot be granted.", path.display()))
                .because(error)
                .hint("Name a file or folder that exists.")
        })?;
        let text = resolved.to_str().unwrap_or_default();
        grants.inputs.insert(InputPath::parse(text).map_err(|error| {
            Failure::usage(format!("`{}` cannot be granted.", path.display())).because(error)
        })?);
    }
    grants.memory = args.memory;
    grants.time = args.time;
    Ok(grants)
}
