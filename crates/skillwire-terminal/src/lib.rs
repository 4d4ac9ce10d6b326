//! The full-screen view of what waits for a decision, on a terminal.
