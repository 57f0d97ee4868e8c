//! The next push of a schedule, moved on in constant time while events are counted.

use super::{Growth, Progress, Schedule};

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

/// `whole + part / width` steps have passed when a column is due; from one column to the next
/// they grow by `stride + remainder / width`, so that no push costs a division.
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

    #[inline]
    fn advance(&mut self, width: u32) -> u64 {
        self.part += self.remainder;
        let carry = self.part >= width;
        self.part -= if carry { width } else { 0 };
        self.whole = self.whole.saturating_add(self.stride + u64::from(carry));
        self.step()
    }
}

/// The next push of a schedule, moved on in constant time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub(super) schedule: Schedule,
    pub(super) width: u32,
    pub(super) progress: Progress,
    pub(super) next_step: u64,
    pub(super) round: Round,
    pub(super) pace: Pace,
}

impl Cursor {
    /// The step at which the next column is pushed; `u64::MAX` when none will be.
    #[inline]
    pub fn next_step(&self) -> u64 {
        self.next_step
    }

    /// How far the pushes have come.
    #[inline]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Number of columns.
    #[inline]
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// The cursor after `step` steps, none fewer than this one's.
    pub(crate) fn moved_to(&self, step: u64) -> Self {
        match self.schedule {
            // From the open round on: from the first it would be thousands late in a stream.
            Schedule::Geometric { growth, rounds } if self.next_step != u64::MAX => {
                if step < self.next_step {
                    return *self;
                }
                let (round, done) = (self.round, self.progress.rounds);
                Self::geometric(growth, rounds, self.width, step, (round, done))
            }
            Schedule::Geometric { .. } => *self,
            _ => self.schedule.cursor(step, self.width),
        }
    }

    /// The cursor one round before `after`, which is at least one round after this one.
    pub(crate) fn one_round_before(&self, after: &Self) -> Self {
        let progress = Progress {
            rounds: after.progress.rounds - 1,
            ..after.progress
        };
        let Schedule::Geometric { growth, .. } = self.schedule else {
            return self.schedule.cursor_at(progress, self.width);
        };
        let mut round = self.round;
        for _ in self.progress.rounds..progress.rounds {
            round = round.following(growth, self.width);
        }
        let pace = round.pace(progress.column, self.width);
        Self {
            schedule: self.schedule,
            width: self.width,
            progress,
            next_step: pace.step(),
            round,
            pace,
        }
    }

    /// The cursor of a geometric schedule after `step` steps, searched from a round that begins
    /// before them and the number of rounds before it.
    pub(super) fn geometric(
        growth: Growth,
        rounds: u64,
        width: u32,
        step: u64,
        (mut round, mut done): (Round, u64),
    ) -> Self {
        while done < rounds && round.end() <= step {
            round = round.following(growth, width);
            done += 1;
        }
        let over = done == rounds;
        let column = if over {
            0
        } else {
            round.columns_by(step, width)
        };
        let pace = round.pace(column, width);
        Self {
            schedule: Schedule::Geometric { growth, rounds },
            width,
            progress: Progress {
                rounds: done,
                column,
            },
            next_step: if over { u64::MAX } else { pace.step() },
            round,
            pace,
        }
    }

    /// Takes the push that is due and returns its column.
    #[inline]
    pub fn advance(&mut self) -> u32 {
        let column = self.progress.column;
        self.progress.column += 1;
        if self.progress.column == self.width {
            self.progress = Progress {
                rounds: self.progress.rounds + 1,
                column: 0,
            };
        }
        match self.schedule {
            Schedule::RoundRobin { period, .. } => self.next_step += period,
            Schedule::Geometric { growth, rounds } => self.advance_geometric(growth, rounds),
            Schedule::Punctual { .. } | Schedule::Batch { .. } => {
                self.next_step += u64::from(self.progress.column == 0);
            }
            Schedule::Single { .. } => {
                if self.progress.column == 0 {
                    self.next_step = u64::MAX;
                }
            }
        }
        column
    }

    #[inline]
    fn advance_geometric(&mut self, growth: Growth, rounds: u64) {
        if self.progress.column != 0 {
            self.next_step = self.pace.advance(self.width);
            return;
        }
        self.round = self.round.following(growth, self.width);
        self.pace = self.round.pace(0, self.width);
        self.next_step = if self.progress.rounds == rounds {
            u64::MAX
        } else {
            self.pace.step()
        };
    }
}
