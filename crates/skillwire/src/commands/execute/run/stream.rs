//! Passes on what a script writes while it runs.

use std::io;

use skillwire_sandbox::{CancelHandle, OutputStream, RunObserver};

/// Writes a script's output to this program's own, as it comes.
pub(super) struct TerminalStream {
    wanted: bool,
    /// Stops the script when its output has no reader.
    cancel: CancelHandle,
}

impl TerminalStream {
    pub(super) fn new(wanted: bool, cancel: CancelHandle) -> Self {
        Self { wanted, cancel }
    }
}

impl RunObserver for TerminalStream {
    fn wants_output(&self) -> bool {
        self.wanted
    }

    fn output(&mut self, stream: OutputStream, text: &str) {
        let written = match stream {
            OutputStream::Stdout => write(&mut io::stdout().lock(), text),
            OutputStream::Stderr => write(&mut io::stderr().lock(), text),
        };
        // A reader such as `head` that has seen enough ends the script, as it would in a pipe.
        if written.is_err() && stream == OutputStream::Stdout {
            self.cancel.cancel();
        }
    }
}

fn write(out: &mut impl io::Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}
