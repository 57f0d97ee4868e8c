//! Many integers in order: how many are below one, and which has a rank.
//!
//! Cells of a large table hold few different values, most of them near their median: those are counted
//! in a *window* of values, which mostly takes less memory than a list, and only the others are
//! listed. A small list, or one without a window, is sorted. Cost: a pass, and a sort of the values
//! outside.

use crate::{Result, memory};

/// Fewest values that are counted in a window.
pub(super) const COUNTED_FROM: usize = 1 << 12;
/// Values that a window spans, at least and at most.
const NARROWEST: usize = 1 << 12;
const WIDEST: usize = 1 << 16;
/// Values of the window that are also counted together.
const BLOCK: usize = 128;

/// Integers in order.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// Smaller values than the window's.
    below: Vec<i64>,
    /// The first value of the window.
    first: i64,
    counts: Vec<u32>,
    /// Sums of the counts of blocks.
    blocks: Vec<usize>,
    /// Sum of all counts.
    counted: usize,
    /// Larger values than the window's; all values without a window.
    above: Vec<i64>,
}

impl Ordered {
    /// No values yet; there will be this many, some of which are in the sample.
    pub(super) fn with_room(number: usize, sample: &mut [i64]) -> Result<Self> {
        let middle = sample.len() / 2;
        if number < COUNTED_FROM || sample.is_empty() {
            return Ok(Self {
                above: memory::room_for(number)?,
                ..Self::default()
            });
        }
        let (_, &mut median, _) = sample.select_nth_unstable(middle);
        let width = (number / 16).next_power_of_two().clamp(NARROWEST, WIDEST);
        Ok(Self {
            // All values of the window are integers of 64 bits.
            first: median.clamp(i64::MIN / 2, i64::MAX / 2) - width as i64 / 2,
            counts: memory::zeros(width)?,
            blocks: memory::filled(0, width / BLOCK)?,
            ..Self::default()
        })
    }

    /// Adds values at any place; [`Self::sort`] has to follow.
    pub(super) fn gather(&mut self, values: impl Iterator<Item = i64>) -> Result<()> {
        for value in values {
            match self.slot(value) {
                Some(slot) => self.counts[slot] += 1,
                None => memory::push(self.rest(value), value)?,
            }
        }
        Ok(())
    }

    /// Puts gathered values in order.
    pub(super) fn sort(&mut self) {
        self.below.sort_unstable();
        self.above.sort_unstable();
        for (sum, counts) in self.blocks.iter_mut().zip(self.counts.chunks(BLOCK)) {
            *sum = counts.iter().map(|&count| count as usize).sum();
        }
        self.counted = self.blocks.iter().sum();
    }

    /// Adds a value.
    pub(super) fn insert(&mut self, value: i64) {
        if let Some(slot) = self.slot(value) {
            self.counts[slot] += 1;
            self.blocks[slot / BLOCK] += 1;
            self.counted += 1;
            return;
        }
        let rest = self.rest(value);
        let at = rest.partition_point(|&other| other < value);
        rest.insert(at, value);
    }

    /// Removes a value; false if there is none.
    pub(super) fn remove(&mut self, value: i64) -> bool {
        if let Some(slot) = self.slot(value) {
            let is_there = self.counts[slot] > 0;
            if is_there {
                self.counts[slot] -= 1;
                self.blocks[slot / BLOCK] -= 1;
                self.counted -= 1;
            }
            return is_there;
        }
        let rest = self.rest(value);
        let at = rest.partition_point(|&other| other < value);
        let is_there = rest.get(at) == Some(&value);
        if is_there {
            rest.remove(at);
        }
        is_there
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.below.len() + self.counted + self.above.len()
    }

    /// The value of this rank, from 0; there are more values.
    pub(super) fn at(&self, rank: usize) -> i64 {
        if let Some(&value) = self.below.get(rank) {
            return value;
        }
        let mut rank = rank - self.below.len();
        if rank >= self.counted {
            return self.above[rank - self.counted];
        }
        let mut block = 0;
        while rank >= self.blocks[block] {
            rank -= self.blocks[block];
            block += 1;
        }
        let mut slot = block * BLOCK;
        while rank >= self.counts[slot] as usize {
            rank -= self.counts[slot] as usize;
            slot += 1;
        }
        self.first + slot as i64
    }

    /// How many values are below this one.
    pub(super) fn below(&self, threshold: i128) -> usize {
        let of = |list: &[i64]| list.partition_point(|&value| i128::from(value) < threshold);
        let beyond = threshold - i128::from(self.first);
        if beyond <= 0 && !self.counts.is_empty() {
            return of(&self.below);
        }
        let slots = (beyond.clamp(0, self.counts.len() as i128)) as usize;
        let (blocks, whole) = (slots / BLOCK, slots / BLOCK * BLOCK);
        let inside = self.blocks[..blocks].iter().sum::<usize>()
            + (self.counts[whole..slots].iter())
                .map(|&count| count as usize)
                .sum::<usize>();
        self.below.len() + inside + of(&self.above)
    }

    /// The values in order, those of the window once each with their number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, usize)> {
        let counted = self.counts.iter().enumerate();
        let counted = counted.filter(|(_, count)| **count > 0);
        (self.below.iter().map(|&value| (value, 1)))
            .chain(counted.map(|(slot, &count)| (self.first + slot as i64, count as usize)))
            .chain(self.above.iter().map(|&value| (value, 1)))
    }

    /// Where a value is in the window.
    #[inline]
    fn slot(&self, value: i64) -> Option<usize> {
        let slot = value.wrapping_sub(self.first) as u64;
        (slot < self.counts.len() as u64).then_some(slot as usize)
    }

    /// The list that a value outside of the window belongs to.
    fn rest(&mut self, value: i64) -> &mut Vec<i64> {
        if value < self.first && !self.counts.is_empty() {
            &mut self.below
        } else {
            &mut self.above
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(at: usize) -> u64 {
        let mixed = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    /// Values around a centre, some far away, and the extremes.
    fn values(number: usize, centre: i64) -> Vec<i64> {
        let value = |at: usize| match at % 50 {
            0 => mixed(at) as i64,
            1 => centre.saturating_add((mixed(at) >> 40) as i64),
            2 if at % 100 == 2 => i64::MIN,
            2 => i64::MAX,
            _ => centre.saturating_add((mixed(at) >> 55) as i64 - 256),
        };
        (0..number).map(value).collect()
    }

    impl Ordered {
        /// These values, without a window.
        pub(in crate::estimation) fn of(values: Vec<i64>) -> Self {
            let mut ordered = Self {
                above: values,
                ..Self::default()
            };
            ordered.sort();
            ordered
        }
    }

    fn ordered(values: &[i64]) -> Ordered {
        let mut sample: Vec<_> = values.iter().copied().step_by(17).collect();
        let mut ordered = Ordered::with_room(values.len(), &mut sample).unwrap();
        ordered.gather(values.iter().copied()).unwrap();
        ordered.sort();
        ordered
    }

    fn assert_same(ordered: &Ordered, sorted: &[i64]) {
        assert_eq!(ordered.len(), sorted.len());
        for rank in (0..sorted.len()).step_by(97).chain([sorted.len() - 1]) {
            assert_eq!(ordered.at(rank), sorted[rank], "{rank}");
            for threshold in [-1, 0, 1].map(|more| i128::from(sorted[rank]) + more) {
                let below = sorted.partition_point(|&value| i128::from(value) < threshold);
                assert_eq!(ordered.below(threshold), below);
            }
        }
        let all = ordered.iter();
        let all: Vec<_> = all
            .flat_map(|(value, number)| vec![value; number])
            .collect();
        assert_eq!(all, sorted);
    }

    #[test]
    fn a_window_and_a_sorted_list_answer_alike() {
        for number in [1, 100, COUNTED_FROM - 1, COUNTED_FROM, 200_000] {
            for centre in [0, 77, -1_000_000, i64::MAX, i64::MIN] {
                let mut values = values(number, centre);
                let mut ordered = ordered(&values);
                assert_eq!(ordered.counts.is_empty(), number < COUNTED_FROM);
                values.sort_unstable();
                assert_same(&ordered, &values);
                for at in (0..number).step_by(1 + number / 40) {
                    assert!(ordered.remove(values.remove(at % values.len())) || number == 1);
                    let value = centre.saturating_add(mixed(at) as i64 >> (at % 64));
                    ordered.insert(value);
                    values.insert(values.partition_point(|&other| other < value), value);
                }
                assert_same(&ordered, &values);
                let missing = (0..).find(|value| values.binary_search(value).is_err());
                assert!(!ordered.remove(missing.unwrap()));
            }
        }
    }
}
