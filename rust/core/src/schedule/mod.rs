//! When columns are pushed: a function of the step number alone.
//!
//! Columns are pushed in order 0, 1, ..., width - 1, and again; so after any step the state
//! of a schedule is one [`Progress`]: `rounds` full rounds plus `column` columns of the next.
//! Computing it costs O(1) for round robin and punctual, O(rounds) for geometric; the
//! [`Cursor`] used while counting moves on in O(1).

mod cursor;

use crate::Result;
use crate::error::check_integer;
pub use cursor::Cursor;
use cursor::{Pace, Round};

/// Largest horizon that can be declared.
pub const LARGEST_HORIZON: u64 = 1 << 48;

/// The default growth of geometric rounds: one hundredth.
pub const DEFAULT_GROWTH: Growth = Growth {
    numerator: 1,
    denominator: 100,
};

/// The default number of geometric rounds: outlasts 2^63 steps at one hundredth.
pub const DEFAULT_ROUNDS: u64 = 4096;

/// alpha = numerator / denominator <= 1, the share of the stream that one geometric round lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Numerator of alpha.
    pub numerator: u32,
    /// Denominator of alpha, positive.
    pub denominator: u32,
}

/// Which columns are pushed at which step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// One column every `period` steps, up to `horizon` steps; the paper's at period 1.
    RoundRobin {
        /// Number of steps the noise is calibrated for.
        horizon: u64,
        /// Steps from one column to the next.
        period: u64,
    },
    /// Rounds of max(width, ceil(alpha t)) steps; needs no horizon.
    Geometric {
        /// alpha.
        growth: Growth,
        /// Number of rounds; afterwards nothing is pushed any more.
        rounds: u64,
    },
    /// Every column at every step, up to `horizon` steps.
    Punctual {
        /// Number of steps the noise is calibrated for.
        horizon: u64,
    },
    /// As punctual, with any number of events (up to [`EVENTS_PER_STEP`]) in one step.
    Batch {
        /// Number of batches the noise is calibrated for.
        horizon: u64,
    },
    /// One push of every column, at the last step: the single-release model.
    Single {
        /// The step of the release.
        horizon: u64,
    },
}

/// Most events of one step of the batch schedule: a public bound on what a counter can hold.
pub const EVENTS_PER_STEP: u64 = 1 << 32;

impl Schedule {
    /// Round robin as in the paper: one column per step.
    pub fn round_robin(horizon: u64) -> Self {
        Self::RoundRobin { horizon, period: 1 }
    }

    /// The default schedule of unbounded streams.
    pub fn geometric() -> Self {
        Self::Geometric {
            growth: DEFAULT_GROWTH,
            rounds: DEFAULT_ROUNDS,
        }
    }

    /// Checks every parameter against its range.
    pub fn validate(&self) -> Result<()> {
        match *self {
            Self::RoundRobin { horizon, period } => {
                check_integer("horizon", horizon, LARGEST_HORIZON)?;
                check_integer("period", period, LARGEST_HORIZON)
            }
            Self::Geometric { growth, rounds } => {
                check_integer("rounds", rounds, 1 << 20)?;
                check_integer("growth", u64::from(growth.denominator), 1 << 20)?;
                check_integer(
                    "growth",
                    u64::from(growth.numerator),
                    growth.denominator.into(),
                )
            }
            Self::Punctual { horizon } | Self::Batch { horizon } | Self::Single { horizon } => {
                check_integer("horizon", horizon, LARGEST_HORIZON)
            }
        }
    }

    /// Most events that one step may bring.
    pub fn events_per_step(&self) -> u64 {
        if matches!(self, Self::Batch { .. }) {
            EVENTS_PER_STEP
        } else {
            1
        }
    }

    /// The last step, if there is one.
    pub fn horizon(&self) -> Option<u64> {
        match *self {
            Self::RoundRobin { horizon, .. }
            | Self::Punctual { horizon }
            | Self::Batch { horizon }
            | Self::Single { horizon } => Some(horizon),
            Self::Geometric { .. } => None,
        }
    }

    /// Largest number of pushes of one cell: the leaves that the mechanism must serve.
    pub fn leaves(&self, width: u32) -> u64 {
        match *self {
            Self::RoundRobin { horizon, period } => {
                horizon.div_ceil(period.saturating_mul(u64::from(width)))
            }
            Self::Geometric { rounds, .. } => rounds,
            Self::Punctual { horizon } | Self::Batch { horizon } => horizon,
            Self::Single { .. } => 1,
        }
    }

    /// True if every step pushes every column, so that nothing ever waits.
    pub fn pushes_everything(&self) -> bool {
        matches!(self, Self::Punctual { .. } | Self::Batch { .. })
    }

    /// Where the schedule stands after `step` steps.
    pub fn progress(&self, step: u64, width: u32) -> Progress {
        self.cursor(step, width).progress
    }

    /// The steps of the last push of every column by the time of `progress`, as pairs of column
    /// and step in the order of the pushes; every column must have been pushed.
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
    pub fn published_steps(&self, step: u64, width: u32) -> Vec<u64> {
        let progress = self.progress(step, width);
        let mut steps = vec![0; width as usize];
        if progress.rounds > 0 {
            for (column, pushed) in self.last_pushes(progress, width) {
                steps[column as usize] = pushed;
            }
            return steps;
        }
        let mut cursor = self.cursor(0, width);
        for _ in 0..progress.column {
            let pushed = cursor.next_step();
            steps[cursor.advance() as usize] = pushed;
        }
        steps
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
            // Asked for the state before the only round.
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
                let pushes = step / period;
                let width = u64::from(width);
                let progress = Progress {
                    rounds: pushes / width,
                    column: (pushes % width) as u32,
                };
                Cursor {
                    schedule: *self,
                    width: width as u32,
                    progress,
                    next_step: period.saturating_mul(pushes + 1),
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
            Self::Single { horizon } => Cursor {
                schedule: *self,
                width,
                progress: Progress {
                    rounds: u64::from(step >= horizon),
                    column: 0,
                },
                next_step: if step < horizon { horizon } else { u64::MAX },
                round: Round::default(),
                pace: Pace::default(),
            },
            Self::Geometric { growth, rounds } => {
                let first = (Round::first(growth, width), 0);
                Cursor::geometric(growth, rounds, width, step, first)
            }
        }
    }
}

/// How far the pushes have come: `rounds` pushes of every column, one more of the first
/// `column` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Full rounds.
    pub rounds: u64,
    /// Columns already pushed in the round that is under way.
    pub column: u32,
}

impl Progress {
    /// Number of pushes of `column` so far.
    #[inline]
    pub fn pushes(&self, column: u32) -> u64 {
        self.rounds + u64::from(column < self.column)
    }
}

#[cfg(test)]
mod tests;
