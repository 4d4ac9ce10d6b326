//! Random boundaries around content, which the author of the content cannot know.

use std::fmt;

use skillwire_trust::{Reason, Refusal};

/// How many boundaries are tried if the content contains the first one.
const TRIES: usize = 4;

/// Boundaries are numbers below this one, of twelve digits.
const DIGITS: u64 = 1_000_000_000_000;

/// A source of boundaries.
pub struct Boundaries(Box<dyn Fn() -> Result<[u8; 8], NoBoundary> + Send + Sync>);

impl Boundaries {
    /// Creates boundaries from the system's random numbers.
    pub fn random() -> Self {
        Self::from_source(|| {
            let mut drawn = [0; 8];
            getrandom::fill(&mut drawn).map_err(|_| NoBoundary)?;
            Ok(drawn)
        })
    }

    /// Creates boundaries from another source of 8 random bytes, which must return others on each
    /// call.
    pub fn from_source(
        draw: impl Fn() -> Result<[u8; 8], NoBoundary> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(draw))
    }

    /// Returns a boundary that does not occur in the content.
    pub(super) fn draw(&self, content: &str) -> Result<String, NoBoundary> {
        for _ in 0..TRIES {
            // Decimal digits cost a model fewer tokens than hexadecimal ones, and twelve are enough:
            // the content was written before the boundary was drawn, and does not contain it.
            let boundary = format!("{:012}", u64::from_be_bytes((self.0)()?) % DIGITS);
            if !content.contains(&boundary) {
                return Ok(boundary);
            }
        }
        Err(NoBoundary)
    }
}

impl Default for Boundaries {
    fn default() -> Self {
        Self::random()
    }
}

impl fmt::Debug for Boundaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Boundaries")
    }
}

/// The error when there are no random numbers: a model could not tell content from its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("There are no random numbers to set content apart with, so it is not shown to a model.")]
pub struct NoBoundary;

impl From<NoBoundary> for Refusal {
    fn from(error: NoBoundary) -> Self {
        Self::new(Reason::StateUnusable)
            .expected("random numbers from the system")
            .actual("none")
            .hint(error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    #[test]
    fn a_boundary_that_occurs_in_the_content_is_not_used_h_58() {
        let next = AtomicU8::new(0);
        let boundaries =
            Boundaries::from_source(move || Ok([next.fetch_add(1, Ordering::SeqCst); 8]));
        let digits = |byte: u8| format!("{:012}", u64::from_be_bytes([byte; 8]) % DIGITS);
        let guessed = format!("{} and {}", digits(0), digits(1));
        assert_eq!(boundaries.draw(&guessed).unwrap(), digits(2));
        let known = Boundaries::from_source(|| Ok([7; 8]));
        assert_eq!(known.draw(&digits(7)), Err(NoBoundary));
    }

    #[test]
    fn random_boundaries_differ_h_58() {
        let boundaries = Boundaries::random();
        let first = boundaries.draw("").unwrap();
        assert_eq!(first.len(), 12);
        assert_ne!(first, boundaries.draw("").unwrap());
    }
}
