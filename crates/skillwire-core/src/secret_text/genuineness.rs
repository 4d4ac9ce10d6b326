//! Tells keys that were issued from samples in manuals.

/// How much a token looks like one that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenGenuineness {
    /// Nothing of it looks made up.
    Sure,
    /// A word in it may be there by chance or by intent.
    Doubtful,
    /// A manual would show it.
    Sample,
}

impl TokenGenuineness {
    /// Judges a token by what follows its known beginning.
    pub(super) fn of(token: &str, beginning: usize) -> Self {
        const SAMPLES: [&str; 17] = [
            "example",
            "xxxx",
            "0123456",
            "1234567",
            "abcdefg",
            "your",
            "dummy",
            "redacted",
            "placeholder",
            "changeme",
            "replace",
            "sample",
            "fake",
            "exposed",
            "insert",
            "deadbeef",
            "foobar",
        ];
        const DOUBTFUL: [&str; 6] = ["test", "demo", "token", "secret", "leaked", "revoked"];
        const LEAST_DIFFERENT: usize = 8;
        // A private key has random data in it, in which any word may stand.
        if token.starts_with('-') {
            return Self::Sure;
        }
        let lower = token[beginning..].to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let mut different = [false; 256];
        token.bytes().skip(beginning).for_each(|byte| different[usize::from(byte)] = true);
        let different = different.iter().filter(|seen| **seen).count();
        if different < LEAST_DIFFERENT
            || !lower.bytes().any(|byte| byte.is_ascii_digit())
            || !lower.bytes().any(|byte| byte.is_ascii_alphabetic())
            || has(&SAMPLES)
            || is_counted_up(lower.as_bytes())
        {
            Self::Sample
        } else if has(&DOUBTFUL) {
            Self::Doubtful
        } else {
            Self::Sure
        }
    }
}

/// Tells whether letters and digits follow one another as in `abcdef` or `a1b2c3`.
fn is_counted_up(lower: &[u8]) -> bool {
    [1, 2].into_iter().any(|stride| {
        let pairs = lower.iter().zip(lower.iter().skip(stride));
        let up = pairs.filter(|(one, next)| next.checked_sub(1) == Some(**one)).count();
        up * 2 >= lower.len()
    })
}
