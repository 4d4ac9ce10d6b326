//! The values that a user gives to the arguments of a skill.

use std::io::{self, Write as _};

use skillwire_core::visible::one_line;
use skillwire_dialects::{SkillArgument, sep_2076::ArgumentValues};

use crate::{failure::Failure, output::STRONG, terminal::is_interactive};

/// Reads `NAME=VALUE` as often as it is given.
pub(super) fn parse(given: &[String]) -> Result<ArgumentValues, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("`--arg {text}` gives no argument a value."))
            .hint("Write `--arg NAME=VALUE`.")),
    };
    given.iter().map(pair).collect()
}

/// Asks at the terminal for the arguments that a skill needs and the command line does not give.
///
/// Without a terminal they stay missing, and the host refuses to load the skill.
pub(super) fn ask_for_missing(
    declared: &[SkillArgument],
    mut values: ArgumentValues,
) -> io::Result<ArgumentValues> {
    if !is_interactive() {
        return Ok(values);
    }
    for SkillArgument { name, required, description } in declared {
        if !required || values.contains_key(name) {
            continue;
        }
        let about = description
            .as_deref()
            .map_or_else(String::new, |about| format!(" ({})", one_line(about)));
        write!(anstream::stderr(), "{STRONG}{}{STRONG:#}{about}: ", one_line(name))?;
        anstream::stderr().flush()?;
        let mut line = String::new();
        if io::stdin().read_line(&mut line)? == 0 {
            break;
        }
        values.insert(name.clone(), line.trim_end_matches(['\r', '\n']).to_owned());
    }
    Ok(values)
}
