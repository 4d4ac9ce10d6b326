//! The program on a terminal, with a person who answers.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::Stdio,
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::support::PATIENCE;

/// A running program whose standard input and error are a terminal.
pub(crate) struct AtTerminal {
    child: Child,
    keyboard: File,
    screen: UnboundedReceiver<Vec<u8>>,
    seen: String,
}

impl AtTerminal {
    pub(super) fn start(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs =
            || -> OwnedFd { open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap() };
        command.stdin(theirs()).stderr(theirs()).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        // The command holds the other side open as long as it lives.
        drop(command);
        let keyboard = File::from(ours);
        let mut shown = keyboard.try_clone().unwrap();
        let (sender, screen) = unbounded_channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = shown.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen, seen: String::new() }
    }

    /// Waits for the question, answers it, and returns everything that was on the screen by then.
    pub(crate) async fn answers(&mut self, answer: &str) -> String {
        let seen = self.sees("[y/N]").await;
        self.types(answer);
        seen
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// Waits for words on the screen, and returns everything that came there by then.
    pub(crate) async fn sees(&mut self, words: &str) -> String {
        while !self.seen.contains(words) {
            let more = timeout(PATIENCE, self.screen.recv()).await;
            let more = more.unwrap_or_else(|_| panic!("no {words:?} is shown: {}", self.seen));
            let more = more.unwrap_or_else(|| panic!("no {words:?} was shown: {}", self.seen));
            self.seen += &String::from_utf8_lossy(&more);
        }
        std::mem::take(&mut self.seen)
    }

    /// Waits for the end and returns the exit code.
    pub(crate) async fn ended(mut self) -> Option<i32> {
        let ended = timeout(PATIENCE, self.child.wait()).await.expect("the program ends");
        ended.unwrap().code()
    }
}
