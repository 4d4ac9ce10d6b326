//! `skillwire load`: prints an approved skill as text for a model, after checking every byte.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;
use skillwire_core::Digest;
use skillwire_dialects::{Dialect, sep_2076::ArgumentValues};
use skillwire_host::{
    FileContent, Window,
    context::{block::FilePart, boundary::Boundaries, text},
};
use skillwire_trust::{Origin, Refusal};

use super::{Outcome, lock, skill_arguments};
use crate::{
    args::LoadArgs,
    exit::Exit,
    failure::Failure,
    output::NOTE,
    prose, report,
    session::{self, NamedSkill, Session, with_file_suggestion},
};

#[derive(Serialize)]
struct LoadReport {
    handle: String,
    origin: Origin,
    uri: String,
    /// A digest over the whole approved content; a dynamic skill has none.
    content: Option<Digest>,
    dialect: Option<Dialect>,
    /// Whether files are compared with the first ones seen, because the server gives no digests.
    first_seen: bool,
    blocks: Vec<TextBlock>,
}

#[derive(Serialize)]
struct TextBlock {
    uri: String,
    text: String,
}

pub(super) fn run(args: &LoadArgs) -> Outcome {
    let lock = args.lock.as_deref().map(lock::read).transpose()?;
    let options = session::SessionOptions {
        lock,
        offline: args.offline,
        allow_dynamic: args.allow_dynamic,
        ..session::SessionOptions::about(&args.handle, args.origins)
    };
    let given = skill_arguments::parse(&args.arg)?;
    session::with(args.json, options, async |session| {
        // Everything is loaded before anything is printed, so that a refusal leaves no partial
        // output.
        let loaded = load(session, args, given).await?;
        let mut out = io::stdout().lock();
        if args.json {
            report::json(&mut out, &loaded)?;
            return Ok(Exit::Ok);
        }
        for TextBlock { text, .. } in &loaded.blocks {
            // A model gets the bytes unchanged. On a terminal, control characters in them must have
            // no effect.
            if io::stdout().is_terminal() {
                out.write_all(text::lines(text).as_bytes())?;
            } else {
                out.write_all(text.as_bytes())?;
            }
        }
        out.flush()?;
        Ok(Exit::Ok)
    })
}

async fn load(
    session: &Session,
    args: &LoadArgs,
    given: ArgumentValues,
) -> Result<LoadReport, Failure> {
    let named = session.find_now(&args.handle).await?;
    let host = session.host();
    let arguments = skill_arguments::ask_for_missing(named.listed.arguments(), given)?;
    // A load without an argument that the skill needs cannot succeed, so the user is not asked.
    named.listed.with_arguments(&arguments)?;
    let approved = session.approved_or_ask(&named).await?;
    let server = approved.id().origin.server().cloned();
    let loading = host.load_with(approved, &arguments);
    let window = session.noting_wait(server.as_ref(), loading).await?.window;
    notice(window.skill_file());
    let blocks = blocks(&window, &named, &args.read).await;
    // The program ends once the text is printed, so the window ends here.
    window.release();
    let blocks = blocks?;
    let id = window.skill();
    Ok(LoadReport {
        handle: named.handle,
        origin: id.origin.clone(),
        uri: id.uri.to_string(),
        content: window.content().map(|content| content.fingerprint()),
        dialect: id.origin.server().map(|_| window.dialect()),
        first_seen: window.integrity().is_first_seen(),
        blocks,
    })
}

/// Notes that a file was seen for the first time: there is no digest to compare it with.
fn notice(content: &FileContent) {
    if let FileContent::FirstSeen(seen) = content
        && seen.is_new()
    {
        let digest = seen.file().listed().digest;
        // If standard error is closed, there is no other place to report to.
        let _ = writeln!(
            prose::stderr(),
            "{NOTE}note{NOTE:#}: {} was seen for the first time and is held to that ({digest}).",
            content.uri()
        );
    }
}

async fn blocks(
    window: &Window,
    named: &NamedSkill,
    files: &[String],
) -> Result<Vec<TextBlock>, Refusal> {
    let handle = &named.handle;
    let boundaries = Boundaries::random();
    let text = window.skill_for_model(handle, &boundaries)?.into_string();
    let mut blocks = vec![TextBlock { uri: window.skill_file().uri().to_string(), text }];
    for reference in files {
        let file = window.read_for_model(reference, FilePart::default(), handle, &boundaries).await;
        let file = file.map_err(|refusal| with_file_suggestion(refusal, named, reference))?;
        notice(&file.content);
        blocks
            .push(TextBlock { uri: file.content.uri().to_string(), text: file.text.into_string() });
    }
    Ok(blocks)
}
