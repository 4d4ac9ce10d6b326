//! Shows a skill to the user: its metadata, its files, and what changed since the approval.

use std::io::{self, Write};

use serde_json::Value;
use skillwire_core::visible::{one_line, one_line_within};
use skillwire_core::{ContentDiff, Resources, SkillEntry, SkillResource, SkillUri};
use skillwire_dialects::{Dialect, SkillArgument};
use skillwire_trust::{ApprovalCard, Grants, Origin, SignatureCheck};

use crate::{
    output::{ADDED, FAINT, REMOVED, STRONG, WARNING, byte_size, counted},
    refusals::argument,
};

/// The longest value of the frontmatter that is shown whole.
const MAX_VALUE_CHARS: usize = 600;

/// The most files that are named.
const MAX_FILES: usize = 200;

/// Describes the origin of a skill.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Local => "your skill folders".to_owned(),
        Origin::Project => "the skill folders of this project".to_owned(),
        Origin::Server(label) => format!("server {label}"),
    }
}

/// Writes the metadata, requested permissions and files of a card; [`changes`] writes the
/// differences.
pub(crate) fn write(out: &mut impl Write, handle: &str, card: &ApprovalCard) -> io::Result<()> {
    let ApprovalCard { entry, dialect, .. } = card;
    let from = &card.skill.origin;
    writeln!(out, "{STRONG}{}{STRONG:#}  from {}", one_line(handle), origin(from))?;
    if from.server().is_some() && *dialect != Dialect::V1 {
        field(out, "dialect", &format!("{}, {}", dialect.code(), dialect.title()))?;
    }
    field(out, "uri", entry.uri.as_str())?;
    for (key, value) in entry.frontmatter.fields() {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        field(out, &one_line(key), &one_line_within(&text, MAX_VALUE_CHARS))?;
    }
    if !card.requested_tools.is_empty() {
        writeln!(
            out,
            "{WARNING}It asks for these tools{WARNING:#}, which it does not get by being loaded:"
        )?;
        for tool in &card.requested_tools {
            writeln!(out, "  {}", one_line(tool))?;
        }
    }
    signature(out, handle, &card.signature)?;
    files(out, entry)?;
    for path in card.unread_files.iter().take(MAX_FILES) {
        writeln!(out, "  {FAINT}not read{FAINT:#}   {}", one_line(path.as_str()))?;
    }
    if card.unread_files.len() > MAX_FILES {
        let more = card.unread_files.len() - MAX_FILES;
        writeln!(out, "  {FAINT}and {more} more that were not read{FAINT:#}")?;
    }
    for SkillArgument { name, required, description } in &card.arguments {
        let needed = if *required { "needs" } else { "takes" };
        let about = description.as_deref().map_or_else(String::new, |about| {
            format!(": {}", one_line_within(about, MAX_VALUE_CHARS))
        });
        writeln!(out, "It {needed} the argument {STRONG}{}{STRONG:#}{about}", one_line(name))?;
    }
    if !card.arguments.is_empty() {
        writeln!(
            out,
            "{WARNING}Its server writes the instructions{WARNING:#} for the arguments of each load; they \
             are held to what it wrote for the same arguments first."
        )?;
    }
    run_lines(out, &card.proposed)?;
    if card.proposed.remote_execute {
        writeln!(
            out,
            "{WARNING}Its server runs its scripts{WARNING:#} with what a model sends. Nothing isolates \
             them there, and the server sees all of it."
        )?;
    }
    if card.integrity.is_first_seen() {
        writeln!(
            out,
            "{WARNING}first-seen{WARNING:#}: The server does not give digest and size of every file. What is \
             approved is what was read now, and each further file as it is first read."
        )?;
    }
    Ok(())
}

/// Writes who vouches for the content, if the user has a rule about that.
fn signature(out: &mut impl Write, handle: &str, signature: &SignatureCheck) -> io::Result<()> {
    match signature {
        SignatureCheck::NotAsked => Ok(()),
        SignatureCheck::Unsigned => writeln!(out, "{WARNING}It is not signed.{WARNING:#}"),
        SignatureCheck::NotRead => {
            let handle = argument(handle);
            writeln!(
                out,
                "Its signature was not read; `skillwire verify-signature {handle}` reads it."
            )
        }
        SignatureCheck::Refused(problem) => {
            let problem = one_line_within(problem, MAX_VALUE_CHARS);
            writeln!(
                out,
                "{WARNING}Its signature is not valid{WARNING:#}: the signature {problem}."
            )
        }
        SignatureCheck::Vouched(vouchers) => vouchers.iter().try_for_each(|voucher| {
            let name = one_line(&voucher.name);
            let signer = one_line_within(&voucher.signer, MAX_VALUE_CHARS);
            writeln!(out, "Signed by {STRONG}{name}{STRONG:#}: {signer}")
        }),
    }
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    writeln!(out, "  {FAINT}{name}:{FAINT:#} {value}")
}

fn files(out: &mut impl Write, entry: &SkillEntry) -> io::Result<()> {
    let Resources::Listed(files) = &entry.resources else {
        return writeln!(
            out,
            "{WARNING}Its files have no digests{WARNING:#}: the content may differ each time."
        );
    };
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    writeln!(out, "{}, {bytes} bytes:", counted(files.len(), "file"))?;
    for file in files.iter().take(MAX_FILES) {
        writeln!(out, "  {:>9}  {}", file.size, path(&entry.uri, file))?;
    }
    if files.len() > MAX_FILES {
        writeln!(out, "  {FAINT}and {} more{FAINT:#}", files.len() - MAX_FILES)?;
    }
    Ok(())
}

/// How many files a skill has and how large they are together.
pub(crate) fn size(entry: &SkillEntry) -> String {
    match &entry.resources {
        Resources::Dynamic => "no digests".to_owned(),
        Resources::Listed(files) => {
            let total = files.iter().map(|file| file.size).sum();
            format!("{}, {}", counted(files.len(), "file"), byte_size(total))
        }
    }
}

/// How much of a skill differs from what was approved.
pub(crate) fn change_counts(diff: &ContentDiff) -> String {
    let counts = [
        (diff.added.len(), "added"),
        (diff.removed.len(), "removed"),
        (diff.changed.len(), "changed"),
        (diff.frontmatter.len(), "in the frontmatter"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    if counts.is_empty() { "listed otherwise in between".to_owned() } else { counts.join(", ") }
}

/// The path of a file in its skill.
pub(crate) fn path(skill: &SkillUri, file: &SkillResource) -> String {
    let path = skill.below(&file.uri);
    one_line(&path.map_or_else(|| file.uri.to_string(), |path| path.to_string()))
}

/// Writes how a skill differs from what was approved.
pub(crate) fn changes(
    out: &mut impl Write,
    skill: &SkillUri,
    diff: &ContentDiff,
) -> io::Result<()> {
    if diff.is_empty() {
        return writeln!(
            out,
            "It is what you approved before, but other content was listed in between."
        );
    }
    writeln!(out, "{WARNING}It changed since it was approved:{WARNING:#}")?;
    for file in &diff.added {
        let path = path(skill, file);
        writeln!(out, "  {ADDED}added{ADDED:#}    {path} ({} bytes)", file.size)?;
    }
    for file in &diff.removed {
        writeln!(out, "  {REMOVED}removed{REMOVED:#}  {}", path(skill, file))?;
    }
    let has_packages =
        |file: &SkillResource| path(skill, file).split('/').any(|name| name == "node_modules");
    if diff.removed.iter().any(has_packages) && !diff.added.iter().any(has_packages) {
        writeln!(
            out,
            "  {FAINT}Packages in `node_modules` are no part of a skill. A server that is updated leaves \
             them out, and asks for your approval once more.{FAINT:#}"
        )?;
    }
    for (before, after) in &diff.changed {
        let path = path(skill, after);
        writeln!(
            out,
            "  {WARNING}changed{WARNING:#}  {path} ({} bytes, before {})",
            after.size, before.size
        )?;
    }
    for field in &diff.frontmatter {
        let value = |value: &Option<Value>| match value {
            Some(value) => one_line_within(&value.to_string(), MAX_VALUE_CHARS),
            None => "nothing".to_owned(),
        };
        writeln!(out, "  {WARNING}frontmatter{WARNING:#} {}", one_line(&field.pointer))?;
        writeln!(out, "    {REMOVED}- {}{REMOVED:#}", value(&field.before))?;
        writeln!(out, "    {ADDED}+ {}{ADDED:#}", value(&field.after))?;
    }
    Ok(())
}

/// Writes what each script gets when it runs, if any may run.
pub(crate) fn run_lines(out: &mut impl Write, grants: &Grants) -> io::Result<()> {
    let lines = grants.run_lines();
    if !lines.is_empty() {
        writeln!(out, "Each of its scripts runs in isolation, with")?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "  {line}"))
}
