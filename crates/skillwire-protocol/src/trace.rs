//! The trace that a request belongs to (W3C Trace Context).

use std::{fmt, str::FromStr};

/// The name of the header, and of the member of `_meta`, that carries a [`TraceParent`].
pub const TRACE_PARENT: &str = "traceparent";

/// The trace and the span in which a client sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    sampled: bool,
}

/// The error for text that names no trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a `traceparent`")]
pub struct InvalidTraceParent;

impl TraceParent {
    /// Returns the id of the trace, which is never 0.
    pub fn trace(&self) -> u128 {
        self.trace
    }

    /// Returns the id of the client's span, which is never 0.
    pub fn span(&self) -> u64 {
        self.span
    }

    /// Tells whether the client records its trace.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.trim().split('-');
        let mut hex = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits);
            let lower = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            part.filter(|part| part.bytes().all(lower)).ok_or(InvalidTraceParent)
        };
        let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        // Later versions may append parts; this one has exactly four.
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return Err(InvalidTraceParent);
        }
        let trace = u128::from_str_radix(trace, 16).map_err(|_| InvalidTraceParent)?;
        let span = u64::from_str_radix(span, 16).map_err(|_| InvalidTraceParent)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| InvalidTraceParent)?;
        if trace == 0 || span == 0 {
            return Err(InvalidTraceParent);
        }
        Ok(Self { trace, span, sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, sampled } = self;
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(*sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_parent_is_read_to_the_letter() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent: TraceParent = text.parse().unwrap();
        assert_eq!(parent.to_string(), text);
        assert!(parent.is_sampled());
        assert!(
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-x"
                .parse::<TraceParent>()
                .is_ok()
        );
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert!(bad.parse::<TraceParent>().is_err(), "{bad}");
        }
    }
}
