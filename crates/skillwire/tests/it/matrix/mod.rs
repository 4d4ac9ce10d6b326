//! Every dialect through every door of the program: the table in `docs/dialects.md` is made from the
//! names of these tests.
//!
//! A test is named after its dialect, its door, and what it shows there: `lists`, `approves`, `loads`,
//! `reads` and `notices`. What a door does not do with a dialect is left out of the name, and the
//! documentation of the test says why, in a line that begins with that word.
//! `tools/dialect-matrix.py` reads both.
//!
//! The servers answer with the literal JSON of each dialect's document, and the program under test is the
//! real one.

mod bridge;
mod bridge_with_elicitation;
mod bridge_without_elicitation;
mod command_line;
mod upstream;

use skillwire_testkit::{DocumentedDialect, DocumentedServer};

use crate::host::user::TestUser;

/// The text of a file besides `SKILL.md`.
const EMAIL: &str = "your refund is on its way";

/// A line of every `SKILL.md` before the change, and the one that the change adds.
const BEFORE: &str = "# Refunds";
const AFTER: &str = "3. Tell the customer.";

/// A user with one server, `acme`, of a dialect.
struct Scene {
    user: TestUser,
    server: DocumentedServer,
}

impl Scene {
    async fn new(dialect: DocumentedDialect) -> Self {
        let server = DocumentedServer::start(dialect).await;
        let user = TestUser::new();
        let url = server.url();
        let mut add = vec!["server", "add", "acme", url.as_str()];
        match dialect {
            DocumentedDialect::D11 => add.extend(["--kind", "well-known"]),
            // Only a user's word has all resources of a server searched.
            DocumentedDialect::D7
            | DocumentedDialect::D8
            | DocumentedDialect::D9
            | DocumentedDialect::D10 => add.push("--legacy-discovery"),
            _ => {}
        }
        user.run_ok(&add).await;
        Self { user, server }
    }

    /// The handle by which the user names the skill.
    fn handle(&self) -> &'static str {
        match self.server.dialect() {
            DocumentedDialect::D10 => "acme:folk-usage",
            DocumentedDialect::D12 => "acme:skill://docs/refunds/SKILL.md",
            _ => "acme:refunds",
        }
    }

    /// The URI under which the skill is passed on.
    fn passed_on(&self) -> &'static str {
        match self.server.dialect() {
            DocumentedDialect::D1
            | DocumentedDialect::D2
            | DocumentedDialect::D3
            | DocumentedDialect::D4 => "skill://acme/acme/billing/refunds/SKILL.md",
            DocumentedDialect::D10 => "skill://acme/folk-usage/SKILL.md",
            DocumentedDialect::D12 => "skill://acme/docs/refunds/SKILL.md",
            _ => "skill://acme/refunds/SKILL.md",
        }
    }

    /// Whether the server lists the skill, so that it is known before a caller names it.
    fn is_listed(&self) -> bool {
        self.server.dialect() != DocumentedDialect::D12
    }

    /// Whether the skill has other files.
    fn has_files(&self) -> bool {
        self.server.dialect() != DocumentedDialect::D10
    }
}
