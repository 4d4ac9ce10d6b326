//! A small generator of numbers that are the same on every machine.

/// `SplitMix64`: one multiplication chain, good enough for words and sizes.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Starts a sequence of its own for each pair of seed and stream.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        rng.next();
        rng
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not zero and far below 2^32.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = (self.next() >> 32) * end as u64;
        usize::try_from(wide >> 32).unwrap_or(0)
    }

    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Puts items into an order that looks random.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
