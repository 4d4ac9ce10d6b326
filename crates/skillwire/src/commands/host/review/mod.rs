//! `skillwire review`: everything that waits for a decision, on one screen.

mod decide;
mod held;
mod shown;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write as _},
    pin::Pin,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use serde_json::json;
use skillwire_core::visible::one_line;
use skillwire_host::Discovered;
use skillwire_terminal::{
    Input, Screen, StyledLine, Tone,
    review::{Effect, Message, Palette, ReviewModel, SkillNumber, draw},
};
use skillwire_trust::{Origin, Refusal, RegistryItem, ServerLabel, Standing};

use self::held::HeldSkill;
use super::Outcome;
use crate::{
    args::ReviewArgs,
    exit::Exit,
    failure::Failure,
    output::{STRONG, counted},
    prose,
    refusals::RefusalText,
    report,
    session::{self, Session, SessionOptions, card, report_incomplete},
};

/// How many skills are looked up when a server has listed them. The others are when they are looked at, so
/// that a server of ten thousand skills does not keep the user waiting.
const MOST_AT_ONCE: usize = 300;

pub(super) fn run(args: &ReviewArgs) -> Outcome {
    let interactive = !args.json && io::stdout().is_terminal() && io::stdin().is_terminal();
    session::with(args.json, SessionOptions::default(), async |session| {
        let servers = servers(session, args.server.as_deref())?;
        if interactive {
            on_screen(session, servers).await
        } else {
            as_text(session, servers, args).await
        }
    })
}

/// The servers to look at.
fn servers(session: &Session, only: Option<&str>) -> Result<Vec<ServerLabel>, Failure> {
    let servers = session.host().servers();
    let Some(only) = only else { return Ok(servers) };
    let label = super::server::label(only)?;
    if servers.contains(&label) {
        return Ok(vec![label]);
    }
    // A server whose configuration cannot be used says so itself.
    session.check_usable(Some(&label))?;
    Err(super::server::unknown(&label, servers.iter()).into())
}

/// The skills of a listing that wait for a decision.
fn waiting<'a>(session: &Session, found: &'a Discovered) -> Vec<(&'a RegistryItem, Standing)> {
    let of_servers = found.registry.items().iter();
    let of_servers = of_servers.filter(|item| item.skill.id().origin.server().is_some());
    let known: Vec<_> = of_servers.clone().map(|item| &item.skill).collect();
    let standings = session.host().standings(&known);
    of_servers
        .zip(standings)
        .filter(|(_, standing)| matches!(standing, Standing::New | Standing::Changed(_)))
        .collect()
}

/// Prints what waits, for pipes and programs.
async fn as_text(session: &Session, servers: Vec<ServerLabel>, args: &ReviewArgs) -> Outcome {
    let found = match servers.as_slice() {
        [label] => session.discover(Some(&Origin::Server(label.clone()))).await?,
        _ => session.discover(None).await?,
    };
    let waiting = waiting(session, &found);
    if args.json {
        let rows = waiting.iter().map(|(item, standing)| {
            let kind = held::kind(&item.skill, standing);
            json!({
                "handle": item.handle,
                "origin": item.skill.id().origin,
                "uri": item.skill.id().uri,
                "state": standing.word(),
                "why": kind.word(),
                "description": item.skill.entry().frontmatter.description(),
                "requested_tools": skillwire_trust::requested_tools(&item.skill.entry().frontmatter),
            })
        });
        let incomplete = found.incomplete.iter().map(crate::remedies::worded);
        let all = json!({
            "waiting": rows.collect::<Vec<_>>(),
            "incomplete": incomplete.collect::<Vec<_>>(),
        });
        report::json(&mut io::stdout().lock(), &all)?;
        return Ok(Exit::Ok);
    }
    let mut out = prose::stdout();
    for (item, standing) in &waiting {
        let word = held::kind(&item.skill, standing).word();
        let size = card::size(item.skill.entry());
        writeln!(out, "{STRONG}{}{STRONG:#}  {word}  {size}", one_line(&item.handle))?;
    }
    out.flush()?;
    report_incomplete(&found)?;
    let mut err = prose::stderr();
    match waiting.len() {
        0 => writeln!(err, "Nothing waits for a decision.")?,
        some => writeln!(
            err,
            "{} for a decision: run `skillwire review` in a terminal, or `skillwire approve HANDLE...`.",
            if some == 1 { "1 skill waits".to_owned() } else { format!("{some} skills wait") }
        )?,
    }
    Ok(Exit::Ok)
}

/// Work that goes on beside the screen, and what to tell the view when it is done.
type Work<'a> = FuturesUnordered<Pin<Box<dyn Future<Output = Vec<Done>> + 'a>>>;

/// The result of work.
enum Done {
    /// A server answered, or did not.
    Listed(ServerLabel, Box<Result<Discovered, Refusal>>),
    /// More is held about a skill.
    Held(SkillNumber, Box<HeldSkill>),
    /// Something for the view.
    Tell(Message),
}

/// The state of the command while the screen is shown.
struct Reviewing<'a> {
    session: &'a Session,
    model: ReviewModel,
    held: BTreeMap<SkillNumber, HeldSkill>,
    waiting_for: Vec<ServerLabel>,
    work: Work<'a>,
}

async fn on_screen(session: &Session, servers: Vec<ServerLabel>) -> Outcome {
    let mut screen = Screen::enter().map_err(|error| {
        Failure::new(Exit::Internal, "The terminal cannot be used.")
            .because(error)
            .hint("`skillwire approve --all` asks line by line.")
    })?;
    session.tell_no_waiting();
    let palette = match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => Palette::Plain,
        _ => Palette::Colours,
    };
    let mut reviewing = Reviewing {
        session,
        model: ReviewModel::new(screen.size()?),
        held: BTreeMap::new(),
        waiting_for: servers.clone(),
        work: FuturesUnordered::new(),
    };
    for refusal in session.unusable() {
        reviewing.tell(Message::Notice(worded(refusal)));
    }
    for label in servers {
        reviewing.work.push(Box::pin(async move {
            let listed = session.discover(Some(&Origin::Server(label.clone()))).await;
            vec![Done::Listed(label, Box::new(listed))]
        }));
    }
    reviewing.note_waiting();
    let ended = reviewing.run(&mut screen, palette).await;
    drop(screen);
    ended?;
    reviewing.report()
}

impl<'a> Reviewing<'a> {
    /// Draws, waits for a key or for work, until the user leaves.
    async fn run(&mut self, screen: &mut Screen, palette: Palette) -> Result<(), Failure> {
        let mut terminated = std::pin::pin!(terminated());
        loop {
            self.prepare_current();
            let model = &self.model;
            screen.draw(|buffer| draw(model, palette, buffer))?;
            let message = tokio::select! {
                biased;
                input = screen.input() => match input? {
                    Some(Input::Key(key)) => Message::Key(key),
                    Some(Input::Resized(width, height)) => Message::Resized(width, height),
                    None => return Ok(()),
                },
                Some(done) = self.work.next() => {
                    for done in done {
                        self.take(done);
                    }
                    continue;
                }
                () = &mut terminated => return Ok(()),
            };
            if self.tell(message) {
                return Ok(());
            }
        }
    }

    /// Passes a message to the view and begins what it wants; returns whether the user leaves.
    fn tell(&mut self, message: Message) -> bool {
        for effect in self.model.update(message) {
            match effect {
                Effect::Quit => return true,
                Effect::Read(number, path) => self.begin(number, |held, session| {
                    Box::pin(async move { shown::read(session, number, held, &path).await })
                }),
                Effect::Compare(number) => self.begin(number, |held, session| {
                    Box::pin(async move { shown::compare(session, number, held).await })
                }),
                Effect::Decide(number, decision) => self.begin(number, |held, session| {
                    Box::pin(async move { decide::decide(session, number, held, decision).await })
                }),
            }
        }
        false
    }

    fn begin(
        &mut self,
        number: SkillNumber,
        work: impl FnOnce(HeldSkill, &'a Session) -> Pin<Box<dyn Future<Output = Vec<Done>> + 'a>>,
    ) {
        if let Some(held) = self.held.get(&number) {
            self.work.push(work(held.clone(), self.session));
        }
    }

    fn take(&mut self, done: Done) {
        match done {
            Done::Tell(message) => {
                self.tell(message);
            }
            Done::Held(number, held) => {
                self.held.insert(number, *held);
            }
            Done::Listed(label, listed) => {
                self.waiting_for.retain(|other| *other != label);
                self.note_waiting();
                match *listed {
                    Ok(found) => self.add(&found),
                    Err(refusal) => {
                        self.tell(Message::Notice(worded(&refusal)));
                    }
                }
            }
        }
    }

    /// Adds the skills of a server that wait.
    fn add(&mut self, found: &Discovered) {
        let mut skills = Vec::new();
        for (item, standing) in waiting(self.session, found) {
            let number = self.held.len();
            let mut held = HeldSkill::new(item);
            skills.push(if number < MOST_AT_ONCE {
                shown::skill(self.session, number, &mut held)
            } else {
                shown::row(number, &held, held::kind(&item.skill, &standing))
            });
            self.held.insert(number, held);
        }
        self.tell(Message::Listed(skills));
        if let Some(refusal) = found.incomplete.first() {
            self.tell(Message::Notice(worded(refusal)));
        }
    }

    /// Looks into records and caches for the skill that is looked at, if that was not done.
    fn prepare_current(&mut self) {
        let Some(number) = self.model.current() else { return };
        let Some(held) = self.held.get_mut(&number) else { return };
        if held.review.is_none() && held.listed.is_some() {
            let view = shown::skill(self.session, number, held);
            self.tell(Message::Updated(Box::new(view)));
        }
    }

    fn note_waiting(&mut self) {
        let labels = self.waiting_for.iter().map(ToString::to_string).collect();
        self.tell(Message::WaitingFor(labels));
    }

    /// Prints what was done, below the prompt from which the view was started.
    fn report(&self) -> Outcome {
        let decided = counted(self.model.decided(), "decision");
        let rest = match self.model.waiting() {
            0 => "Nothing waits any longer.".to_owned(),
            1 => "1 skill waits.".to_owned(),
            many => format!("{many} skills wait."),
        };
        writeln!(prose::stdout(), "{decided} recorded. {rest}")?;
        Ok(Exit::Ok)
    }
}

/// A refusal in one line.
fn worded(refusal: &Refusal) -> StyledLine {
    let text = RefusalText(refusal).to_string();
    let text = anstream::adapter::strip_str(&text).to_string();
    StyledLine::new(one_line(&text), Tone::Error)
}

/// Ends when the program is told to end, so that the terminal is given back.
async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::hangup()];
        if let [Ok(mut term), Ok(mut hangup)] = kinds.map(signal) {
            tokio::select! {
                _ = term.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
    }
    std::future::pending::<()>().await;
}
