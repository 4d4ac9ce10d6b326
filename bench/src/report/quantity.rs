//! The kind of a number, which decides whether more is better and how it is printed.

use serde::Serialize;

use crate::stats::Summary;

/// The kind of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Quantity {
    /// Seconds; fewer are better.
    Time,
    /// Requests per second; more are better.
    Rate,
    /// Bytes; fewer are better.
    Memory,
    /// A part of something else; more is better.
    Share,
}

impl Quantity {
    /// How many times better `this` is than `other`.
    pub(crate) fn advantage(self, this: f64, other: f64) -> f64 {
        match self {
            Self::Time | Self::Memory => other / this,
            Self::Rate | Self::Share => this / other,
        }
    }

    /// Formats a value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Time if value >= 1.0 => format!("{value:.2} s"),
            Self::Time if value >= 0.01 => format!("{:.0} ms", value * 1e3),
            Self::Time if value >= 0.001 => format!("{:.1} ms", value * 1e3),
            Self::Time => format!("{:.0} µs", value * 1e6),
            Self::Rate => format!("{value:.0}/s"),
            Self::Memory => format!("{:.0} MiB", value / f64::from(1 << 20)),
            Self::Share => format!("{value:.2}"),
        }
    }

    /// Formats the median and the spread of some values; values that lie further apart than the median is
    /// large are shown as a range, as a percentage of them says little.
    pub(crate) fn show_summary(self, summary: &Summary) -> String {
        let middle = self.show(summary.median);
        if summary.runs < 2 {
            return middle;
        }
        if summary.spread() > 1.0 {
            let (least, most) = (self.show(summary.min), self.show(summary.max));
            return format!("{middle} ({least} to {most})");
        }
        format!("{middle} ±{:.0}%", summary.spread() * 100.0)
    }
}
