//! The kinds of schedules: frozen values with their parameters and limits.

use crate::Result;
use crate::error::check_integer;

/// Largest horizon that can be declared.
pub const LARGEST_HORIZON: u64 = 1 << 48;

/// The default growth of geometric rounds: one hundredth.
pub const DEFAULT_GROWTH: Growth = Growth {
    numerator: 1,
    denominator: 100,
};

/// The default number of geometric rounds: enough for 2^63 steps at one hundredth.
pub const DEFAULT_ROUNDS: u64 = 4096;

/// alpha = numerator / denominator <= 1: the length of a geometric round as a share of the stream
/// so far.
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
    /// One column every `period` steps, up to `horizon` steps; period 1 is the paper's.
    RoundRobin {
        /// Number of steps the noise is calibrated for.
        horizon: u64,
        /// Steps between two columns.
        period: u64,
    },
    /// Rounds of max(width, ceil(alpha t)) steps; needs no horizon.
    Geometric {
        /// alpha.
        growth: Growth,
        /// Number of rounds; nothing is pushed after the last.
        rounds: u64,
    },
    /// Every column at every step, up to `horizon` steps.
    Punctual {
        /// Number of steps the noise is calibrated for.
        horizon: u64,
    },
    /// As punctual, but with any number of events (up to [`EVENTS_PER_STEP`]) in one step.
    Batch {
        /// Number of batches the noise is calibrated for.
        horizon: u64,
    },
    /// One push of every column, at the last step: the single-release model.
    Single {
        /// The step of the release; without one, the only push is the final one.
        horizon: Option<u64>,
    },
}

/// Most events in one step of the batch schedule: a public bound on what a counter can hold.
pub const EVENTS_PER_STEP: u64 = 1 << 32;

impl Schedule {
    /// Round robin as in the paper: one column per step.
    pub fn round_robin(horizon: u64) -> Self {
        Self::RoundRobin { horizon, period: 1 }
    }

    /// The default schedule for unbounded streams.
    pub fn geometric() -> Self {
        Self::Geometric {
            growth: DEFAULT_GROWTH,
            rounds: DEFAULT_ROUNDS,
        }
    }

    /// Checks that every parameter is in its range.
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
            Self::Punctual { horizon } | Self::Batch { horizon } => {
                check_integer("horizon", horizon, LARGEST_HORIZON)
            }
            Self::Single { horizon } => {
                check_integer("horizon", horizon.unwrap_or(1), LARGEST_HORIZON)
            }
        }
    }

    /// Most events in one step.
    pub fn events_per_step(&self) -> u64 {
        if matches!(self, Self::Batch { .. }) {
            EVENTS_PER_STEP
        } else {
            1
        }
    }

    /// The last step, if the schedule has one.
    pub fn horizon(&self) -> Option<u64> {
        match *self {
            Self::RoundRobin { horizon, .. }
            | Self::Punctual { horizon }
            | Self::Batch { horizon } => Some(horizon),
            Self::Single { horizon } => horizon,
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

    /// True if every step pushes every column, so that nothing is ever pending.
    pub fn pushes_everything(&self) -> bool {
        matches!(self, Self::Punctual { .. } | Self::Batch { .. })
    }
}
