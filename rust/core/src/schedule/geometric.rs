//! One round of a geometric schedule, and the steps of its pushes.

use super::kinds::Growth;

/// One geometric round: steps `start + 1 ..= start + length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Round {
    pub(super) start: u64,
    pub(super) length: u64,
}

impl Round {
    pub(super) fn first(growth: Growth, width: u32) -> Self {
        Self::starting_at(0, growth, width)
    }

    pub(super) fn following(&self, growth: Growth, width: u32) -> Self {
        Self::starting_at(self.end(), growth, width)
    }

    fn starting_at(start: u64, growth: Growth, width: u32) -> Self {
        let share = (u128::from(start) * u128::from(growth.numerator))
            .div_ceil(u128::from(growth.denominator));
        let length = u64::try_from(share)
            .unwrap_or(u64::MAX)
            .max(u64::from(width));
        Self { start, length }
    }

    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// The pace of the round at `column`, which is pushed at start + ceil((column + 1) length / width).
    pub(super) fn pace(&self, column: u32, width: u32) -> Pace {
        let elapsed = (u128::from(column) + 1) * u128::from(self.length);
        let width = u128::from(width);
        Pace {
            whole: self.start.saturating_add((elapsed / width) as u64),
            part: (elapsed % width) as u32,
            stride: self.length / width as u64,
            remainder: (u128::from(self.length) % width) as u32,
        }
    }

    /// Number of columns whose step is at most `step`: floor((step - start) width / length).
    pub(super) fn columns_by(&self, step: u64, width: u32) -> u32 {
        let elapsed = u128::from(step - self.start);
        (elapsed * u128::from(width) / u128::from(self.length)) as u32
    }
}

/// A column is pushed after `whole + part / width` steps; from one column to the next this grows by
/// `stride + remainder / width`, so no push costs a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pace {
    whole: u64,
    part: u32,
    stride: u64,
    remainder: u32,
}

impl Pace {
    #[inline]
    pub(super) fn step(&self) -> u64 {
        self.whole.saturating_add(u64::from(self.part > 0))
    }

    /// That of a push every `period` steps, next at `step`.
    #[inline]
    pub(super) fn every(period: u64, step: u64) -> Self {
        Self {
            whole: step,
            part: 0,
            stride: period,
            remainder: 0,
        }
    }

    /// Moves on by the pushes of the next steps, `number` of them, as many as `steps` has room for;
    /// writes to `steps` when each falls due, the next one at `next`, and returns their number.
    #[inline]
    pub(super) fn take(&mut self, number: u64, next: u16, width: u32, steps: &mut [u16]) -> usize {
        if (self.part, self.remainder) != (0, 0) {
            let (last, mut taken) = (self.step().saturating_add(number), 0);
            let before = self.step() - u64::from(next);
            while taken < steps.len() && self.step() < last {
                steps[taken] = (self.step() - before) as u16;
                self.advance(width);
                taken += 1;
            }
            return taken;
        }
        // Without a branch, so that they are written in wide registers.
        let taken = number.div_ceil(self.stride).min(steps.len() as u64);
        for (at, step) in (0_u16..).zip(&mut steps[..taken as usize]) {
            *step = next.wrapping_add(at.wrapping_mul(self.stride as u16));
        }
        self.whole = self.whole.saturating_add(self.stride.saturating_mul(taken));
        taken as usize
    }

    #[inline]
    pub(super) fn advance(&mut self, width: u32) -> u64 {
        self.part += self.remainder;
        let carry = self.part >= width;
        self.part -= if carry { width } else { 0 };
        self.whole = self.whole.saturating_add(self.stride + u64::from(carry));
        self.step()
    }
}
