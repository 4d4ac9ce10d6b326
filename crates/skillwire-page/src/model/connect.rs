//! How clients connect.

/// The entries for clients.
#[derive(Debug, Clone, Default)]
pub struct ConnectView {
    /// One or two sentences above them.
    pub about: String,
    /// A line that does it for all clients, if there is one.
    pub line: Option<String>,
    /// The clients.
    pub entries: Vec<ConnectionEntry>,
}

/// The entry for one client.
#[derive(Debug, Clone)]
pub struct ConnectionEntry {
    /// The name of the client.
    pub client: String,
    /// The file that the entry belongs in.
    pub file: String,
    /// What to put there.
    pub text: String,
    /// Whether the client was found on this machine.
    pub is_present: bool,
    /// Whether it has the entry already.
    pub is_connected: bool,
}
