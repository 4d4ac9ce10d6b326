//! Summaries of several measurements.

use std::time::Duration;

/// The median of some measurements, and their range.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) runs: usize,
}

impl Summary {
    /// `None` without measurements.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            f64::midpoint(values[half - 1], values[half])
        };
        Some(Self { median, min, max, runs: values.len() })
    }

    /// Half of the range, as a part of the median.
    pub(crate) fn spread(&self) -> f64 {
        if self.median > 0.0 { (self.max - self.min) / 2.0 / self.median } else { 0.0 }
    }
}

/// The value below which a share of `sorted` lies, or zero when it is empty.
pub(crate) fn percentile(sorted: &[Duration], per_mille: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    sorted.get((sorted.len() * per_mille / 1_000).min(last)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let odd = Summary { median: 2.0, min: 1.0, max: 3.0, runs: 3 };
        assert_eq!(Summary::of([3.0, 1.0, 2.0]), Some(odd));
        let even = Summary { median: 3.0, min: 2.0, max: 4.0, runs: 2 };
        assert_eq!(Summary::of([4.0, 2.0]), Some(even));
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn percentiles_stay_within_the_values() {
        let times: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 500), Duration::from_millis(51));
        assert_eq!(percentile(&times, 1_000), Duration::from_millis(100));
        assert_eq!(percentile(&[], 500), Duration::ZERO);
    }
}
