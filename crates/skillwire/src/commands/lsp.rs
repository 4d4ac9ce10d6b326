//! `skillwire lsp`: the language server, over standard input and output.

use skillwire_lsp::{Connection, EditorError, EditorOptions, serve};

use super::{Outcome, check::silence::SilenceRules};
use crate::{exit::Exit, failure::Failure};

pub(super) fn run() -> Outcome {
    let (connection, threads) = Connection::stdio();
    let options = EditorOptions::default().version(env!("CARGO_PKG_VERSION")).silenced_by(
        Box::new(|folder, file, finding| {
            // A file that cannot be read silences nothing; `check` says what is wrong with it.
            SilenceRules::beside(folder).is_ok_and(|rules| {
                let is_excluded = rules.excludes(folder) || rules.excludes(file);
                is_excluded || rules.reason(finding, Some(file)).is_some()
            })
        }),
    );
    let served = serve(&connection, &options);
    drop(connection);
    let ended = threads.join();
    match served {
        // An editor that is killed closes the connection without a word.
        Ok(()) | Err(EditorError::Closed) => {}
        Err(error) => {
            let failure = match ended {
                // The connection ended because its bytes could not be read.
                Err(unreadable) => Failure::usage(error.to_string()).because(unreadable),
                Ok(()) => Failure::caused(Exit::Usage, error),
            };
            return Err(
                failure.hint("An editor starts this command; `docs/editor.md` has the settings.")
            );
        }
    }
    ended?;
    Ok(Exit::Ok)
}
