//! Delays that a test controls.

use tokio::sync::watch;

/// Something a reply waits for until the test opens it.
#[derive(Debug, Clone)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// Makes a closed gate.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the gate is open.
    pub async fn passed(&self) {
        let mut open = self.0.subscribe();
        // The sender is in `self`, so the wait ends only with an open gate.
        let _ = open.wait_for(|open| *open).await;
    }
}
