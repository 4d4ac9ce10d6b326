//! A set of numbers of skills, in blocks that successive sets share.

use std::sync::Arc;

/// Numbers in one block.
const BLOCK: u32 = 4096;

/// Words with the bits of one block.
const WORDS: usize = (BLOCK / u64::BITS) as usize;

/// A set of small numbers; a change copies one block.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberSet(Vec<Arc<[u64; WORDS]>>);

impl NumberSet {
    pub(crate) fn has(&self, number: u32) -> bool {
        let (block, word, bit) = place(number);
        self.0.get(block).is_some_and(|block| block[word] & bit != 0)
    }

    /// Puts a number in or takes it out.
    pub(crate) fn set(&mut self, number: u32, is_in: bool) {
        if self.has(number) == is_in {
            return;
        }
        let (block, word, bit) = place(number);
        if block >= self.0.len() {
            self.0.resize(block + 1, Arc::new([0; WORDS]));
        }
        let words = Arc::make_mut(&mut self.0[block]);
        words[word] ^= bit;
    }
}

/// The place of a number's bit.
fn place(number: u32) -> (usize, usize, u64) {
    let (block, within) = (number / BLOCK, number % BLOCK);
    (block as usize, (within / u64::BITS) as usize, 1 << (within % u64::BITS))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_a_clone_stays_as_it_was() {
        let (mut set, mut model) = (NumberSet::default(), BTreeSet::new());
        for number in (0..3 * BLOCK).step_by(7).chain([BLOCK, 9 * BLOCK - 1]) {
            set.set(number, true);
            model.insert(number);
        }
        let before = set.clone();
        for number in (0..3 * BLOCK).step_by(14) {
            set.set(number, false);
            set.set(number, false);
        }
        set.set(20 * BLOCK, false);
        for number in 0..10 * BLOCK {
            assert_eq!(before.has(number), model.contains(&number), "{number}");
            let is_out = number < 3 * BLOCK && number % 14 == 0;
            assert_eq!(set.has(number), model.contains(&number) && !is_out, "{number}");
        }
    }
}
