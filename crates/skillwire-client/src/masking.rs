//! Masking the user's secrets in text that a server wrote.
//!
//! A server knows the token, headers and variables that the user configured for it, and may repeat
//! them in an error or on its standard error. From there they would reach terminals, logs and
//! models.

use std::collections::VecDeque;

use parking_lot::RwLock;

use crate::{config::secret_arguments, endpoint::Endpoint, secret::Secret};

/// The text that stands for a secret.
pub(crate) const MASK: &str = "***";

/// Shorter values are not masked: values such as `1` or `true` are no secrets, and masking them
/// would make other text unreadable.
const MIN_BYTES: usize = 6;

/// The most renewed tokens that are remembered.
const MAX_RENEWED: usize = 16;

/// The secrets that one server was given.
#[derive(Debug, Default)]
pub(crate) struct SecretMask {
    configured: Vec<Secret>,
    /// Tokens of logins, which are renewed while the client runs.
    renewed: RwLock<VecDeque<Secret>>,
}

impl SecretMask {
    /// Collects the secrets of an endpoint.
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        let mut texts: Vec<String> = Vec::new();
        match endpoint {
            Endpoint::Command(command) => {
                texts.extend(secret_arguments(&command.args));
                texts.extend(command.env.iter().map(|(_, value)| value.reveal().to_owned()));
            }
            Endpoint::Http { url, headers } | Endpoint::LoggedIn { url, headers, .. } => {
                let query = url.split_once('?').map_or("", |(_, query)| query);
                let values =
                    query.split('&').map(|pair| pair.split_once('=').unwrap_or(("", pair)));
                texts.extend(values.map(|(_, value)| value.to_owned()));
                for (_, value) in headers {
                    texts.push(value.reveal().to_owned());
                    // A server repeats `Bearer TOKEN` whole, or the token alone.
                    texts.extend(value.reveal().split_whitespace().skip(1).map(str::to_owned));
                }
            }
            Endpoint::Pipes { .. } => {}
        }
        texts.retain(|text| text.len() >= MIN_BYTES);
        // A secret that contains another one is masked first, so that no rest of it stays.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.dedup();
        let configured = texts.into_iter().map(Secret::new).collect();
        Self { configured, renewed: RwLock::default() }
    }

    /// Adds a token that was not known when the connection was opened.
    pub(crate) fn add(&self, token: &Secret) {
        let mut renewed = self.renewed.write();
        if token.reveal().len() < MIN_BYTES || renewed.contains(token) {
            return;
        }
        if renewed.len() == MAX_RENEWED {
            renewed.pop_front();
        }
        renewed.push_back(token.clone());
    }

    /// Returns the text with every secret in it masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let renewed = self.renewed.read();
        self.configured.iter().chain(renewed.iter()).fold(text.to_owned(), |text, secret| {
            if text.contains(secret.reveal()) { text.replace(secret.reveal(), MASK) } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::CommandEndpoint;

    #[test]
    fn what_the_user_configured_is_masked_in_a_servers_words_sec_04() {
        let headers = vec![
            ("Authorization".to_owned(), Secret::new("Bearer hush-hush")),
            ("X-Short".to_owned(), Secret::new("eu")),
        ];
        let url = "https://a.example/mcp?key=query-secret&x=1".to_owned();
        let mask = SecretMask::of(&Endpoint::Http { url, headers });
        let said = "got Bearer hush-hush and hush-hush and query-secret from eu, x=1";
        assert_eq!(mask.mask(said), "got *** and *** and *** from eu, x=1");
        mask.add(&Secret::new("renewed-token"));
        assert_eq!(mask.mask("renewed-token"), "***");
    }

    #[test]
    fn variables_and_arguments_of_a_program_are_masked_and_inherited_ones_are_not_sec_04() {
        let command = CommandEndpoint::new("server")
            .args(["--token", "from-the-arguments", "--verbose"])
            .env("API", Secret::new("from-the-env"))
            .inherit("HOME", "/home/user");
        let mask = SecretMask::of(&Endpoint::Command(command));
        let said = "from-the-arguments from-the-env /home/user --verbose";
        assert_eq!(mask.mask(said), "*** *** /home/user --verbose");
    }
}
