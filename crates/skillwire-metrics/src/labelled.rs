//! Counters and gauges with labels that a program chooses.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};

/// The most combinations of labels of one metric; further ones are counted under `other`.
const MOST_COMBINATIONS: usize = 1_024;

/// The values of labels, each with its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LabelValues {
    names: &'static [&'static str],
    values: Vec<String>,
}

impl EncodeLabelSet for LabelValues {
    fn encode(
        &self,
        encoder: &mut prometheus_client::encoding::LabelSetEncoder<'_>,
    ) -> Result<(), std::fmt::Error> {
        let pairs: Vec<(&str, &str)> =
            self.names.iter().copied().zip(self.values.iter().map(String::as_str)).collect();
        pairs.as_slice().encode(encoder)
    }
}

macro_rules! labelled {
    ($name:ident, $metric:ty, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Keep what [`with`](Self::with) returns where requests pass: finding it takes a lock.
        #[derive(Debug, Clone)]
        pub struct $name {
            names: &'static [&'static str],
            pub(super) family: Family<LabelValues, $metric>,
            /// How many combinations there are.
            combinations: Arc<AtomicUsize>,
        }

        impl $name {
            pub(super) fn new(names: &'static [&'static str]) -> Self {
                Self { names, family: Family::default(), combinations: Arc::default() }
            }

            /// Returns the one with these values, in the order of the labels.
            ///
            /// Missing values are empty. Once there are too many combinations, a new one shares the
            /// values `other` with all further ones.
            pub fn with(&self, values: &[&str]) -> $metric {
                let value = |at: usize| values.get(at).copied().unwrap_or_default().to_owned();
                let names = self.names;
                let values = (0..names.len()).map(value).collect();
                let labels = LabelValues { names, values };
                if let Some(known) = self.family.get(&labels) {
                    return known.clone();
                }
                if self.combinations.fetch_add(1, Ordering::Relaxed) >= MOST_COMBINATIONS {
                    let values = vec![super::OTHER.to_owned(); names.len()];
                    return self.family.get_or_create_owned(&LabelValues { names, values });
                }
                self.family.get_or_create_owned(&labels)
            }
        }
    };
}

labelled!(LabelledCounter, Counter, "A counter for each combination of labels.");
labelled!(LabelledGauge, Gauge, "A gauge for each combination of labels.");
