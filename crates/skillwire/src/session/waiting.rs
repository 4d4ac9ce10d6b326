//! How long a command waits for servers, and what it says meanwhile.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use skillwire_client::ClientOptions;
use skillwire_trust::{Budgets, ServerLabel};

use crate::{output::NOTE, prose};

/// How long a command waits for servers before it tells the user on a terminal.
pub(super) const MOMENT: Duration = Duration::from_secs(1);

/// The budgets of a user who says how long servers may take to list their skills.
pub(super) fn budgets(usual: Budgets, wait: Option<Duration>) -> Budgets {
    let Some(wait) = wait else { return usual };
    // A listing may be one answer, which then may take as long.
    let answer_time = usual.answer_time.max(wait);
    usual.with_discovery_time(wait).with_listing_time(wait).with_answer_time(answer_time)
}

/// The same for connections: a server may take most of the time to start.
pub(super) fn client_options(usual: ClientOptions, wait: Option<Duration>) -> ClientOptions {
    let connect_timeout = usual.connect_timeout.max(wait.unwrap_or_default());
    usual.with_connect_timeout(connect_timeout)
}

/// Tells the user on a terminal which servers the program waits for.
pub(super) fn note_waiting(servers: &[ServerLabel]) -> io::Result<()> {
    let mut err = prose::stderr();
    if !io::stderr().is_terminal() {
        return Ok(());
    }
    let labels: Vec<String> = servers.iter().map(|label| format!("`{label}`")).collect();
    match labels.as_slice() {
        [] => writeln!(err, "{NOTE}note{NOTE:#}: Waiting for the servers."),
        labels => writeln!(err, "{NOTE}note{NOTE:#}: Waiting for {}.", labels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_may_take_all_of_a_long_wait_to_connect_and_for_one_answer() {
        let wait = Duration::from_secs(90);
        let long = budgets(Budgets::default(), Some(wait));
        assert_eq!([long.discovery_time, long.listing_time, long.answer_time], [wait; 3]);
        assert_eq!(client_options(ClientOptions::default(), Some(wait)).connect_timeout, wait);
    }

    #[test]
    fn a_short_wait_shortens_listings_and_leaves_the_other_limits() {
        let (wait, usual) = (Duration::from_secs(2), Budgets::default());
        let short = budgets(usual, Some(wait));
        assert_eq!([short.discovery_time, short.listing_time], [wait; 2]);
        assert_eq!(short.answer_time, usual.answer_time);
        let usual = ClientOptions::default().connect_timeout;
        assert_eq!(client_options(ClientOptions::default(), Some(wait)).connect_timeout, usual);
    }
}
