//! `skillwire new`: writes the beginning of a skill.

use std::{fs, io::Write};

use skillwire_core::{SKILL_FILE, SkillName};

use super::Outcome;
use crate::{args::NewArgs, exit::Exit, failure::Failure, prose};

pub(super) fn run(args: &NewArgs) -> Outcome {
    let name = SkillName::parse(&args.name).map_err(|error| {
        let failure = Failure::usage(format!("The name `{}` {error}.", args.name.escape_debug()));
        match SkillName::suggest(&args.name) {
            Some(name) => failure.hint(format!("Use `{name}`.")),
            None => failure.hint("Use a name such as `pdf-forms`."),
        }
    })?;
    let directory = args.dir.join(name.as_str());
    let file = directory.join(SKILL_FILE);
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("`{}` cannot be written.", file.display())).because(error)
    };
    fs::create_dir_all(&directory).map_err(cannot)?;
    let mut options = fs::OpenOptions::new();
    // Fails if the file exists, so that no file of the user is overwritten.
    let mut handle =
        options.write(true).create_new(true).open(&file).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::usage(format!("`{}` exists already.", file.display()))
                    .hint("Choose another name or folder.")
            }
            _ => cannot(error),
        })?;
    handle.write_all(template(&name).as_bytes()).map_err(cannot)?;
    writeln!(prose::stdout(), "Wrote `{}`.", file.display())?;
    writeln!(
        prose::stderr(),
        "Write its description and its text, then run `skillwire check {}`.",
        directory.display()
    )?;
    Ok(Exit::Ok)
}

fn template(name: &SkillName) -> String {
    let words = name.as_str().replace('-', " ");
    let title = words[..1].to_uppercase() + &words[1..];
    let quoted = if reads_as_text(name) { name.to_string() } else { format!("\"{name}\"") };
    format!(
        "---\n\
         name: {quoted}\n\
         description: \"\" # What it does. Use when a user asks for {words}.\n\
         ---\n\
         \n\
         # {title}\n\
         \n\
         1. Say what to find out first.\n\
         2. Say what to do, step by step, with the commands to run.\n\
         3. Say how to tell that it worked.\n"
    )
}

/// Tells whether every YAML parser reads the unquoted name as text, not as a number, date or
/// boolean.
fn reads_as_text(name: &SkillName) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let name = name.as_str();
    !name.starts_with(|c: char| c.is_ascii_digit()) && !WORDS.contains(&name)
}
