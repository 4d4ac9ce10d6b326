//! Signals, where the system has them.

/// Waits until the program is asked to stop.
#[cfg(unix)]
pub(super) async fn stop() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(_) => interrupt().await,
    }
}

/// Waits until the program is asked to stop.
#[cfg(not(unix))]
pub(super) async fn stop() {
    interrupt().await;
}

async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without signals only the end of the process stops us.
        std::future::pending::<()>().await;
    }
}

/// Waits until the program is asked to read everything again.
#[cfg(unix)]
pub(super) async fn reload() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => {
            hangup.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

/// Waits until the program is asked to read everything again, which this system cannot do.
#[cfg(not(unix))]
pub(super) async fn reload() {
    std::future::pending().await
}
