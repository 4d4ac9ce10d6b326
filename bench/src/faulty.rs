//! A server that misbehaves once it is told to, which this program runs as a process of its own.

use std::{
    io::{BufRead as _, Read as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use skillwire_testkit::{Fault, HostileServer, ScriptedReply};

use crate::broken::Result;

/// The skills of the server.
pub(crate) const SKILLS: usize = 20;

/// How often a server that floods says that its listing changed.
const FLOOD: Duration = Duration::from_millis(1);

/// What one write of a server that floods sends of an answer without end.
const FILLER: usize = 16 << 10;

const METHODS: [&str; 5] =
    ["server/discover", "skills/list", "skills/get", "resources/read", "subscriptions/listen"];

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Misbehaviour {
    /// Answers nothing.
    Hang,
    /// Sends other bytes than it lists, and lists others each time.
    Lie,
    /// Breaks every other connection in the middle of an answer.
    Flap,
    /// Announces changes without a pause, and sends files without an end.
    Flood,
}

impl Misbehaviour {
    pub(crate) const ALL: [Self; 4] = [Self::Hang, Self::Lie, Self::Flap, Self::Flood];

    /// Its name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Lie => "lie",
            Self::Flap => "flap",
            Self::Flood => "flood",
        }
    }

    fn reply(self, method: &str, count: usize) -> ScriptedReply {
        match self {
            Self::Hang => ScriptedReply::Never,
            Self::Flap if count.is_multiple_of(2) => {
                ScriptedReply::CutOff(b"{\"jsonrpc\":\"2.0\",".to_vec())
            }
            Self::Flood if method == "resources/read" => {
                let start =
                    b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"contents\":[{\"text\":\"";
                ScriptedReply::Endless(start.to_vec(), vec![b'a'; FILLER])
            }
            Self::Lie | Self::Flap | Self::Flood => ScriptedReply::Honest,
        }
    }
}

/// The path of a skill below its scheme.
pub(crate) fn skill_path(at: usize) -> String {
    format!("team/skill-{at:03}")
}

/// The path of the file that is read, below the skill.
pub(crate) const NOTES: &str = "references/notes.md";

fn files(at: usize) -> [(&'static str, String); 2] {
    let name = format!("skill-{at:03}");
    let mut text = format!("---\nname: {name}\ndescription: Skill {at} of a server.\n---\n");
    let mut notes = format!("# {name}\n");
    for _ in 0..100 {
        text.push_str("A line of some text, as instructions have it.\n");
        notes.push_str("A line of some notes, as references have it.\n");
    }
    [("SKILL.md", text), (NOTES, notes)]
}

/// Serves until standard input ends; misbehaves from its first line on.
pub(crate) async fn run(how: Misbehaviour) -> Result<()> {
    // What this process computes must not be taken for what the hub takes longer for.
    let _ = rustix::process::nice(19);
    let is_bad = Arc::new(AtomicBool::new(false));
    let mut server = HostileServer::new();
    for at in 0..SKILLS {
        server.set_skill(&skill_path(at), files(at));
    }
    for method in METHODS {
        let is_bad = Arc::clone(&is_bad);
        server = server.on(method, move |_, count| {
            let misbehaves = is_bad.load(Ordering::Relaxed);
            if misbehaves { how.reply(method, count) } else { ScriptedReply::Honest }
        });
    }
    let listening = server.http().await;
    writeln!(std::io::stdout(), "listening on {}", listening.url())?;
    let told = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|length| length > 0)
    });
    if !told.await.is_ok_and(|told| told.unwrap_or(false)) {
        return Ok(());
    }
    is_bad.store(true, Ordering::Relaxed);
    if how == Misbehaviour::Lie {
        for at in 0..SKILLS {
            for file in ["SKILL.md", NOTES] {
                let uri = format!("skill://{}/{file}", skill_path(at));
                server.set_fault(Fault::NeverConsistent { uri });
            }
        }
    }
    // The hub lists the server again, and so meets what is wrong.
    server.notify_list_changed();
    let parent = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        () = flood(&server), if how == Misbehaviour::Flood => {}
        _ = parent => {}
    }
    Ok(())
}

/// Announces changes for ever.
async fn flood(server: &HostileServer) {
    loop {
        server.notify_list_changed();
        // The log of what was received is not read here, and must not grow for ever.
        server.clear_log();
        tokio::time::sleep(FLOOD).await;
    }
}
