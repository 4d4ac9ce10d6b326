//! Signals, where the system has them.
//!
//! They are listened to from the first moment on: one that comes while folders are read is neither
//! lost nor the end of the process.

use crate::{exit::Exit, failure::Failure};

/// Requests to stop.
pub(in crate::commands) struct Stop(imp::Stop);

/// Requests to read everything again.
pub(in crate::commands) struct Reload(imp::Reload);

/// Begins to listen.
pub(in crate::commands) fn listen() -> Result<(Stop, Reload), Failure> {
    let (stop, reload) = imp::listen().map_err(|error| {
        Failure::new(Exit::Internal, format!("Signals cannot be listened to: {error}."))
    })?;
    Ok((Stop(stop), Reload(reload)))
}

impl Stop {
    /// Waits until the program is asked to stop.
    pub(in crate::commands) async fn requested(&mut self) {
        self.0.requested().await;
    }
}

impl Reload {
    /// Waits until the program is asked to read everything again.
    pub(in crate::commands) async fn requested(&mut self) {
        self.0.requested().await;
    }
}

#[cfg(unix)]
mod imp {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Stop {
        terminate: Signal,
        interrupt: Signal,
    }

    pub(super) struct Reload(Signal);

    pub(super) fn listen() -> std::io::Result<(Stop, Reload)> {
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        Ok((Stop { terminate, interrupt }, Reload(signal(SignalKind::hangup())?)))
    }

    impl Stop {
        pub(super) async fn requested(&mut self) {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
        }
    }

    impl Reload {
        pub(super) async fn requested(&mut self) {
            self.0.recv().await;
        }
    }
}

#[cfg(not(unix))]
mod imp {
    pub(super) struct Stop;

    pub(super) struct Reload;

    #[expect(clippy::unnecessary_wraps, reason = "on Unix this can fail")]
    pub(super) fn listen() -> std::io::Result<(Stop, Reload)> {
        Ok((Stop, Reload))
    }

    impl Stop {
        pub(super) async fn requested(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                // Without signals only the end of the process stops us.
                std::future::pending::<()>().await;
            }
        }
    }

    impl Reload {
        pub(super) async fn requested(&mut self) {
            // There is no such signal here.
            std::future::pending::<()>().await;
        }
    }
}
