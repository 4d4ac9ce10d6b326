//! Refusals for answers that are not what their method returns.

use std::fmt;

use skillwire_trust::{Origin, Reason, Refusal};

/// Makes the refusal for an answer that is not what the method returns.
pub fn protocol_error(origin: &Origin, method: &str, what: impl fmt::Display) -> Refusal {
    Refusal::new(Reason::ProtocolError)
        .about(origin)
        .expected(format!("a result of `{method}`"))
        .actual(what)
}
