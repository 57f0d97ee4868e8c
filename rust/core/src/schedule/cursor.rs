//! State of a schedule after any step, and a cursor over its pushes that advances in constant time.

use super::geometric::{Pace, Round};
use super::kinds::{Growth, Schedule};
use crate::mechanism::Mechanism;
use crate::{Result, memory};

/// The number of the last push of every column: one of the first `column` columns, another of the
/// rest. 0 means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushes {
    /// Columns before this one have the second number.
    pub column: u32,
    /// Of the columns from `column` on, and of those before it (0 if there are none).
    pub numbers: [u64; 2],
}

impl Pushes {
    /// Which of the two numbers a column has.
    #[inline]
    pub(crate) fn group(&self, column: u32) -> usize {
        usize::from(column < self.column)
    }
}

/// Pushes so far: `rounds` pushes of every column, and one more of the first `column` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Completed rounds.
    pub rounds: u64,
    /// Columns already pushed in the current round.
    pub column: u32,
}

impl Progress {
    /// Number of pushes of `column` so far.
    #[inline]
    pub fn pushes(&self, column: u32) -> u64 {
        self.rounds + u64::from(column < self.column)
    }

    /// Number of column pushes from here to a later state.
    pub(crate) fn pushes_until(&self, after: Self, width: u32) -> u128 {
        let done = |progress: &Self| {
            u128::from(progress.rounds) * u128::from(width) + u128::from(progress.column)
        };
        done(&after) - done(self)
    }

    /// The numbers of the last pushes.
    #[inline]
    pub fn last_pushes(&self) -> Pushes {
        let second = if self.column > 0 { self.rounds + 1 } else { 0 };
        Pushes {
            column: self.column,
            numbers: [self.rounds, second],
        }
    }

    /// The numbers of the final pushes of a table that is finished here.
    pub fn final_pushes(&self, schedule: &Schedule, mechanism: &Mechanism) -> Pushes {
        let nothing_pending = schedule.nothing_pending(*self);
        let second = if self.column > 0 {
            mechanism.final_push(self.rounds + 1, nothing_pending)
        } else {
            0
        };
        Pushes {
            column: self.column,
            numbers: [mechanism.final_push(self.rounds, nothing_pending), second],
        }
    }
}

/// The next push of a schedule; advances in constant time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    schedule: Schedule,
    width: u32,
    progress: Progress,
    next_step: u64,
    round: Round,
    pace: Pace,
}

impl Cursor {
    /// The step at which the next column is pushed; `u64::MAX` if there is no further push.
    #[inline]
    pub fn next_step(&self) -> u64 {
        self.next_step
    }

    /// Pushes so far.
    #[inline]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Number of columns.
    #[inline]
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// The cursor after `step` steps, which is not before this one's position.
    pub(crate) fn moved_to(&self, step: u64) -> Self {
        match self.schedule {
            // Search from the current round: from the first round it would be thousands of rounds
            // late in a stream.
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
    /// before that step and the number of rounds before it.
    fn geometric(
        growth: Growth,
        rounds: u64,
        width: u32,
        step: u64,
        (mut round, mut done): (Round, u64),
    ) -> Self {
        let last = planted!("geometric-schedule-pushes-once-more", rounds + 1, rounds);
        while done < last && round.end() <= step {
            round = round.following(growth, width);
            done += 1;
        }
        let over = done == last;
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

    /// Executes the next push and returns its column.
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

    /// Executes the pushes before a number of steps after `first`, as many as `steps` has room for
    /// and none of two rounds; writes to `steps` how long after `first` each is, and returns their
    /// number.
    #[inline]
    pub(crate) fn take(&mut self, first: u64, number: u64, steps: &mut [u16]) -> usize {
        let left = (self.width - self.progress.column) as usize;
        let most = steps.len().min(left);
        // The last push of a round is left to `advance`, which begins the next one.
        let mut taken = self.take_within(first, number, &mut steps[..most.min(left - 1)]);
        while taken < most && self.next_step - first < number {
            steps[taken] = (self.next_step - first) as u16;
            self.advance();
            taken += 1;
        }
        taken
    }

    /// As [`Self::take`], of pushes that do not end a round; it may leave some.
    #[inline]
    fn take_within(&mut self, first: u64, number: u64, steps: &mut [u16]) -> usize {
        let mut pace = match self.schedule {
            Schedule::RoundRobin { period, .. } => Pace::every(period, self.next_step),
            Schedule::Geometric { .. } => self.pace,
            _ => return 0,
        };
        let late = planted!("pushes-of-the-next-event-in-a-run", 1, 0);
        let Some(time) = (number + late).checked_sub(self.next_step - first) else {
            return 0;
        };
        let taken = pace.take(time, (self.next_step - first) as u16, self.width, steps);
        self.progress.column += taken as u32;
        self.next_step = pace.step();
        if matches!(self.schedule, Schedule::Geometric { .. }) {
            self.pace = pace;
        }
        taken
    }

    #[inline]
    fn advance_geometric(&mut self, growth: Growth, rounds: u64) {
        if self.progress.column != 0 {
            self.next_step = self.pace.advance(self.width);
            return;
        }
        self.round = self.round.following(growth, self.width);
        self.pace = self.round.pace(0, self.width);
        let last = planted!("geometric-schedule-pushes-once-more", rounds + 1, rounds);
        self.next_step = if self.progress.rounds == last {
            u64::MAX
        } else {
            self.pace.step()
        };
    }
}

impl Schedule {
    /// The pushes made after `step` steps.
    pub fn progress(&self, step: u64, width: u32) -> Progress {
        self.cursor(step, width).progress
    }

    /// True if every column was pushed at the last step, by a schedule that is there.
    pub fn nothing_pending(&self, progress: Progress) -> bool {
        let is_single = matches!(self, Self::Single { .. });
        self.pushes_everything() || (is_single && progress.rounds > 0)
    }

    /// Column and step of the last push of every column at `progress`, in the order of the pushes;
    /// every column must have been pushed.
    pub(crate) fn last_pushes(
        &self,
        progress: Progress,
        width: u32,
    ) -> impl Iterator<Item = (u32, u64)> + use<> {
        let mut cursor = self.cursor_at(
            Progress {
                rounds: progress.rounds - 1,
                ..progress
            },
            width,
        );
        (0..width).map(move |_| {
            let step = cursor.next_step();
            (cursor.advance(), step)
        })
    }

    /// The step of the last push of every column after `step` steps; 0 before its first.
    pub fn published_steps(&self, step: u64, width: u32) -> Result<Vec<u64>> {
        let progress = self.progress(step, width);
        let mut steps = memory::zeros(width as usize)?;
        if progress.rounds > 0 {
            for (column, pushed) in self.last_pushes(progress, width) {
                steps[column as usize] = pushed;
            }
            return Ok(steps);
        }
        let mut cursor = self.cursor(0, width);
        for _ in 0..progress.column {
            let pushed = cursor.next_step();
            steps[cursor.advance() as usize] = pushed;
        }
        Ok(steps)
    }

    /// The cursor whose next push is the one that follows `progress`.
    fn cursor_at(&self, progress: Progress, width: u32) -> Cursor {
        let Progress { rounds, column } = progress;
        match *self {
            Self::RoundRobin { period, .. } => self.cursor(
                (rounds * u64::from(width) + u64::from(column)) * period,
                width,
            ),
            Self::Punctual { .. } | Self::Batch { .. } => self.cursor(rounds, width),
            // Only the state before the single round is ever requested.
            Self::Single { .. } => self.cursor(0, width),
            Self::Geometric { growth, .. } => {
                let mut round = Round::first(growth, width);
                for _ in 0..rounds {
                    round = round.following(growth, width);
                }
                let pace = round.pace(column, width);
                Cursor {
                    schedule: *self,
                    width,
                    progress,
                    next_step: pace.step(),
                    round,
                    pace,
                }
            }
        }
    }

    /// The cursor after `step` steps.
    pub fn cursor(&self, step: u64, width: u32) -> Cursor {
        match *self {
            Self::RoundRobin { period, .. } => {
                let late = planted!("pushes-one-step-late", 1, 0);
                let pushes = step.saturating_sub(late) / period;
                let width = u64::from(width);
                let progress = Progress {
                    rounds: pushes / width,
                    column: (pushes % width) as u32,
                };
                Cursor {
                    schedule: *self,
                    width: width as u32,
                    progress,
                    next_step: period.saturating_mul(pushes + 1).saturating_add(late),
                    round: Round::default(),
                    pace: Pace::default(),
                }
            }
            Self::Punctual { .. } | Self::Batch { .. } => Cursor {
                schedule: *self,
                width,
                progress: Progress {
                    rounds: step,
                    column: 0,
                },
                next_step: step + 1,
                round: Round::default(),
                pace: Pace::default(),
            },
            Self::Single { horizon } => {
                let pushed_at = planted!("single-publishes-early", Some(1), horizon);
                let pushed_at = pushed_at.unwrap_or(u64::MAX);
                Cursor {
                    schedule: *self,
                    width,
                    progress: Progress {
                        rounds: u64::from(step >= pushed_at),
                        column: 0,
                    },
                    next_step: if step < pushed_at {
                        pushed_at
                    } else {
                        u64::MAX
                    },
                    round: Round::default(),
                    pace: Pace::default(),
                }
            }
            Self::Geometric { growth, rounds } => {
                let first = (Round::first(growth, width), 0);
                Cursor::geometric(growth, rounds, width, step, first)
            }
        }
    }
}
