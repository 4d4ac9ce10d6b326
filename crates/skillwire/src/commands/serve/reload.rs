//! Reads tokens and configuration again while the server runs.

use std::{
    cell::{Ref, RefCell},
    path::PathBuf,
};

use skillwire_server::{
    Skills,
    http::{ProtectedResource, TokenChanges},
};

use crate::{
    args::ServeArgs,
    commands::{
        file_stamps::{FileStamps, LOOK},
        restart_keys::RestartKeys,
    },
    failure::Failure,
    operating::Operating,
    report::printable,
    settings::{TokenFile, config_table, http_settings},
};

/// The keys of the configuration that count without a restart.
const RELOADED: &[&str] = &[
    "access-log",
    "access-log-sample",
    "allow-host",
    "allow-origin",
    "issuer",
    "public",
    "rate",
    "token-file",
];

/// What a running server reads again: on a signal, and when one of its files changes.
pub(super) struct ServerReload {
    typed: ServeArgs,
    operating: Operating,
    /// The file with the tokens of now.
    tokens: RefCell<Option<TokenFile>>,
    /// Where clients get tokens, if that was named at the start.
    protected: Option<ProtectedResource>,
    /// The configuration that the rest of the server was started with.
    fixed: RestartKeys,
}

impl ServerReload {
    pub(super) fn new(
        typed: ServeArgs,
        operating: Operating,
        tokens: Option<TokenFile>,
        protected: Option<ProtectedResource>,
    ) -> Self {
        let table = typed.config.as_deref().map(config_table);
        let fixed = RestartKeys::new(table.and_then(Result::ok).unwrap_or_default(), RELOADED);
        Self { typed, operating, tokens: RefCell::new(tokens), protected, fixed }
    }

    /// Looks at the files for ever, and reads them again when one of them changed.
    pub(super) async fn follow(&self, skills: &Skills) {
        let mut seen = self.stamps();
        loop {
            tokio::time::sleep(LOOK).await;
            let stamps = self.stamps();
            if stamps != seen {
                seen = stamps;
                self.run(skills);
            }
        }
    }

    /// Reads everything again. A file that cannot be used changes nothing: the operator may be writing
    /// it right now, and callers must not be locked out meanwhile.
    pub(super) fn run(&self, skills: &Skills) {
        let metrics = skills.engine().metrics();
        let replaced = self.replace(skills);
        metrics.reloaded("configuration", replaced.is_ok());
        match replaced {
            Ok(()) => tracing::info!("the configuration was read again"),
            Err(failure) => {
                let reason = printable(&failure.to_string());
                tracing::error!("The configuration stays as it was. {reason}");
            }
        }
        // A token that was taken out must be refused even while the configuration is broken.
        if let Some(file) = &*self.tokens.borrow() {
            metrics.reloaded("tokens", reload_tokens(skills, file));
        }
    }

    /// The file with the tokens of now.
    pub(super) fn tokens(&self) -> Ref<'_, Option<TokenFile>> {
        self.tokens.borrow()
    }

    /// Waits until the log is written.
    pub(super) fn finish(&self) {
        self.operating.finish();
    }

    fn replace(&self, skills: &Skills) -> Result<(), Failure> {
        let settings = http_settings(self.typed.clone())?;
        if settings.tokens.is_some() != skills.needs_token() {
            return Err(Failure::usage("Whether callers need tokens is decided at the start.")
                .hint("Restart the server."));
        }
        // Everything is read and checked before anything is replaced.
        let path = |file: &Option<TokenFile>| file.as_ref().map(|file| file.path().to_owned());
        if let Some(file) = &settings.tokens
            && path(&settings.tokens) != path(&self.tokens.borrow())
        {
            file.read()?;
        }
        let checked = Operating::check(settings.operating, settings.access)?;
        self.operating.apply(checked);
        *self.tokens.borrow_mut() = settings.tokens;
        if let Some(protected) = &self.protected {
            protected.replace_issuers(settings.issuers);
        }
        if let Some(public) = settings.public {
            skills.replace_public(public);
        }
        if let Some(Ok(now)) = self.typed.config.as_deref().map(config_table) {
            self.fixed.warn(&now);
        }
        Ok(())
    }

    fn stamps(&self) -> FileStamps {
        let tokens = self.tokens.borrow().as_ref().map(|file| file.path().to_owned());
        let files: Vec<PathBuf> = self.typed.config.iter().cloned().chain(tokens).collect();
        FileStamps::of(files)
    }
}

/// Reads the token file again; tells whether it could be used.
fn reload_tokens(skills: &Skills, file: &TokenFile) -> bool {
    match file.read().map(|tokens| skills.replace_tokens(tokens)) {
        Ok(changes) => {
            let TokenChanges { added, removed, kept, .. } = changes.unwrap_or_default();
            tracing::info!(added, removed, kept, "read the token file again");
            true
        }
        Err(failure) => {
            let reason = printable(&failure.to_string());
            tracing::error!("The tokens from before stay in force. {reason}");
            false
        }
    }
}
