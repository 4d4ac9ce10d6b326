//! Protocol revisions and the two eras they fall into.

/// The first revision without a handshake, and the one the Skills extension is written against.
pub const MODERN: &str = "2026-07-28";

/// Revisions that open with `initialize`, newest first.
pub const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Every supported revision, newest first.
pub const SUPPORTED: [&str; 5] = [MODERN, LEGACY[0], LEGACY[1], LEGACY[2], LEGACY[3]];

/// The era of a request, which its protocol revision decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Each request carries its own metadata, and there is no session.
    Modern,
    /// A session begins with an `initialize` handshake.
    Legacy,
}

/// Chooses the revision that answers an `initialize` request.
///
/// If the client asks for an unknown revision, or for one without a handshake, the answer is the
/// newest revision with a handshake.
pub fn negotiate_legacy(requested: &str) -> &'static str {
    LEGACY.into_iter().find(|known| *known == requested).unwrap_or(LEGACY[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_negotiates_a_version_with_a_handshake_srv_105() {
        assert_eq!(negotiate_legacy("2025-06-18"), "2025-06-18");
        assert_eq!(negotiate_legacy("2026-07-28"), "2025-11-25");
        assert_eq!(negotiate_legacy("1999-01-01"), "2025-11-25");
    }
}
