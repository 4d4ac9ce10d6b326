//! Signals, where the system has them.
//!
//! The handlers are installed before folders are read. A signal that arrives during the first scan
//! is therefore not lost, and does not kill the process.
//!
//! A hangup asks a service to read everything again. A program at a terminal gets the same signal
//! when the terminal is closed, and ends then.

use crate::{exit::Exit, failure::Failure};

/// Requests to stop.
pub(in crate::commands) struct StopSignal(imp::StopSignal);

/// Requests to read everything again.
pub(in crate::commands) struct ReloadSignal(imp::ReloadSignal);

/// Begins to listen.
pub(in crate::commands) fn listen() -> Result<(StopSignal, ReloadSignal), Failure> {
    let (stop, reload) = imp::listen().map_err(|error| {
        Failure::new(Exit::Internal, "Signals cannot be listened to.").because(error)
    })?;
    Ok((StopSignal(stop), ReloadSignal(reload)))
}

impl StopSignal {
    /// Waits until the program is asked to stop.
    pub(in crate::commands) async fn requested(&mut self) {
        self.0.requested().await;
    }
}

impl ReloadSignal {
    /// Waits until the program is asked to read everything again.
    pub(in crate::commands) async fn requested(&mut self) {
        self.0.requested().await;
    }
}

#[cfg(unix)]
mod imp {
    use std::io::IsTerminal as _;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct StopSignal {
        terminate: Signal,
        interrupt: Signal,
        hangup: Option<Signal>,
    }

    pub(super) struct ReloadSignal(Option<Signal>);

    pub(super) fn listen() -> std::io::Result<(StopSignal, ReloadSignal)> {
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        let hangup = Some(signal(SignalKind::hangup())?);
        let at_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
        let (hangup, reload) = if at_terminal { (hangup, None) } else { (None, hangup) };
        Ok((StopSignal { terminate, interrupt, hangup }, ReloadSignal(reload)))
    }

    impl StopSignal {
        pub(super) async fn requested(&mut self) {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                () = received(&mut self.hangup) => {}
            }
        }
    }

    impl ReloadSignal {
        pub(super) async fn requested(&mut self) {
            received(&mut self.0).await;
        }
    }

    /// Waits for a signal; for ever, if it means something else here.
    async fn received(signal: &mut Option<Signal>) {
        match signal {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
mod imp {
    pub(super) struct StopSignal;

    pub(super) struct ReloadSignal;

    #[expect(clippy::unnecessary_wraps, reason = "on Unix this can fail")]
    pub(super) fn listen() -> std::io::Result<(StopSignal, ReloadSignal)> {
        Ok((StopSignal, ReloadSignal))
    }

    impl StopSignal {
        pub(super) async fn requested(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                // Without signals, only the end of the process stops the server.
                std::future::pending::<()>().await;
            }
        }
    }

    impl ReloadSignal {
        pub(super) async fn requested(&mut self) {
            // This system has no reload signal.
            std::future::pending::<()>().await;
        }
    }
}
