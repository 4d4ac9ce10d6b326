//! The targets of a row.

use std::fmt;

use serde::Serialize;

use super::{Quantity, Row};

/// One target.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) enum Check {
    /// At most this many times the reference.
    AtMostOfReference(f64),
    /// At least this share of the reference.
    AtLeastOfReference(f64),
    /// At least this many times better than the best peer.
    TimesBestPeer(f64),
    /// At most this much, in the row's own unit.
    AtMost(f64, Quantity),
}

impl Check {
    /// Whether the target is reached; `None` if the row was not measured.
    pub(crate) fn holds(&self, row: &Row) -> Option<bool> {
        match self {
            Self::AtMostOfReference(limit) => row.of_reference().map(|ratio| ratio <= *limit),
            Self::AtLeastOfReference(limit) => row.of_reference().map(|ratio| ratio >= *limit),
            Self::TimesBestPeer(limit) => row.of_best_peer().map(|ratio| ratio >= *limit),
            Self::AtMost(limit, _) => Some(row.skillwire.median <= *limit),
        }
    }

    /// Every check of a row in one word.
    pub(super) fn verdict(row: &Row) -> &'static str {
        let results: Vec<_> = row.checks.iter().map(|check| check.holds(row)).collect();
        if results.is_empty() {
            ""
        } else if results.contains(&Some(false)) {
            "miss"
        } else if results.contains(&None) {
            "ok without peers"
        } else {
            "ok"
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMostOfReference(limit) => write!(f, "≤ {limit}× reference"),
            Self::AtLeastOfReference(limit) => write!(f, "≥ {limit}× reference"),
            Self::TimesBestPeer(limit) => write!(f, "{limit}× better than best peer"),
            Self::AtMost(limit, quantity) => write!(f, "≤ {}", quantity.show(*limit)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::Peer, stats::Summary};

    fn times(value: f64) -> Summary {
        Summary::of([value]).unwrap()
    }

    #[test]
    fn the_fastest_peer_is_the_one_that_counts() {
        let peers = vec![
            Peer { name: "slow", value: Ok(times(60.0)) },
            Peer { name: "fast", value: Ok(times(6.0)) },
            Peer { name: "none", value: Err("cannot".to_owned()) },
        ];
        let row = Row::new("", Quantity::Time, times(1.0)).among(peers);
        assert_eq!(row.best_peer().unwrap().0, "fast");
        assert_eq!(Check::TimesBestPeer(6.0).holds(&row), Some(true));
        assert_eq!(Check::TimesBestPeer(6.1).holds(&row), Some(false));
        assert_eq!(Check::AtMostOfReference(1.0).holds(&row), None);
    }

    #[test]
    fn more_is_better_for_rates() {
        let peers = vec![
            Peer { name: "slow", value: Ok(times(10.0)) },
            Peer { name: "fast", value: Ok(times(20.0)) },
        ];
        let row = Row::new("", Quantity::Rate, times(100.0)).among(peers).against("", times(110.0));
        assert_eq!(row.best_peer().unwrap().0, "fast");
        assert_eq!(Check::TimesBestPeer(5.0).holds(&row), Some(true));
        assert_eq!(Check::AtLeastOfReference(0.9).holds(&row), Some(true));
    }
}
