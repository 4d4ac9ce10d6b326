//! The program on a terminal, with a user who answers.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    process::Stdio,
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

use crate::support::TEST_TIMEOUT;

/// The end of every question about a skill.
const QUESTION: &str = "[v]iew: ";

/// A running program whose standard input and error are a terminal.
pub(crate) struct TerminalSession {
    child: Child,
    keyboard: File,
    screen: UnboundedReceiver<Vec<u8>>,
    seen: String,
}

impl TerminalSession {
    /// Starts a command with a terminal for everything but its results.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, false)
    }

    /// Starts a command; its results go to the terminal as well if `whole`.
    pub(crate) fn start_with(command: Command, whole: bool) -> Self {
        Self::start_sized(command, whole, None)
    }

    /// Starts a command on a terminal of so many columns and rows.
    pub(crate) fn start_sized(mut command: Command, whole: bool, size: Option<(u16, u16)>) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        if let Some((columns, rows)) = size {
            set_size(&ours, columns, rows);
        }
        let theirs =
            || -> OwnedFd { open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap() };
        command.stdin(theirs()).stderr(theirs());
        command.stdout(if whole { theirs().into() } else { Stdio::null() });
        let child = command.spawn().unwrap();
        // The command would hold its side of the terminal open.
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

    /// Changes the size of the terminal and tells the program.
    #[cfg(feature = "review")]
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        set_size(&self.keyboard, columns, rows);
        self.signal("WINCH");
    }

    /// Types these bytes.
    #[cfg(feature = "review")]
    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the next bytes that the program writes; `None` if it has ended, or writes nothing.
    #[cfg(feature = "review")]
    pub(crate) async fn next_output(&mut self) -> Option<Vec<u8>> {
        timeout(TEST_TIMEOUT, self.screen.recv()).await.ok().flatten()
    }

    /// Waits for the question, answers it, and returns everything that was printed so far.
    pub(crate) async fn answer_prompt(&mut self, answer: &str) -> String {
        let seen = self.wait_for_screen(QUESTION).await;
        self.type_line(answer);
        seen
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// Waits until these words are printed, and returns everything that was printed so far.
    pub(crate) async fn wait_for_screen(&mut self, words: &str) -> String {
        while !self.seen.contains(words) {
            let more = timeout(TEST_TIMEOUT, self.screen.recv()).await;
            let more = more.unwrap_or_else(|_| panic!("no {words:?} is shown: {}", self.seen));
            let more = more.unwrap_or_else(|| panic!("no {words:?} was shown: {}", self.seen));
            self.seen += &String::from_utf8_lossy(&more);
        }
        std::mem::take(&mut self.seen)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().expect("the program runs");
        let kill = format!("kill -s {name} {id}");
        let sent = std::process::Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the program has ended and returns its exit code.
    pub(crate) async fn wait(mut self) -> Option<i32> {
        let ended = timeout(TEST_TIMEOUT, self.child.wait()).await.expect("the program ends");
        ended.unwrap().code()
    }
}

fn set_size(terminal: &impl AsFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}
