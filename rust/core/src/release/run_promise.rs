//! What a run promised in total.

use crate::{Error, Result};

/// The guarantee of everything that one run publishes: the counts of all its tables, such as the
/// levels of a hierarchy, and the names. A release of one of the tables carries it, because the
/// noise of that table alone promises less. Releases of one run carry one promise, to be counted
/// once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunPromise {
    /// 16 public bytes, the same in all releases of the run.
    pub id: [u8; 16],
    /// Privacy parameter epsilon of the run, as it was asked for.
    pub epsilon: f64,
    /// Privacy parameter delta of the run, as it was asked for.
    pub delta: f64,
    /// The mu of all tables together, as one Gaussian mechanism.
    pub mu: f64,
    /// Part of epsilon that the counts of all tables use.
    pub counts_epsilon: f64,
    /// Part of delta that they use.
    pub counts_delta: f64,
    /// Part of epsilon that the names use; 0 without discovery.
    pub names_epsilon: f64,
    /// Part of delta that they use.
    pub names_delta: f64,
}

const LARGEST_EPSILON: f64 = 100.0;
/// The parts were rounded down from the whole.
const ROUNDING: f64 = 1e-9;

impl RunPromise {
    /// The promise of these numbers: all fields after the id, in their order.
    pub fn of(id: [u8; 16], numbers: [f64; 7]) -> Self {
        let [
            epsilon,
            delta,
            mu,
            counts_epsilon,
            counts_delta,
            names_epsilon,
            names_delta,
        ] = numbers;
        Self {
            id,
            epsilon,
            delta,
            mu,
            counts_epsilon,
            counts_delta,
            names_epsilon,
            names_delta,
        }
    }

    /// The numbers of [`Self::of`].
    pub fn numbers(&self) -> [f64; 7] {
        [
            self.epsilon,
            self.delta,
            self.mu,
            self.counts_epsilon,
            self.counts_delta,
            self.names_epsilon,
            self.names_delta,
        ]
    }

    /// Checks every number, and that the parts are within the whole.
    pub fn validate(&self) -> Result<()> {
        let within = |name, value: f64, least: f64, most: f64| {
            if value >= least && value <= most {
                return Ok(());
            }
            let expected = format!("a number from {least:e} to {most:e}");
            Err(Error::parameter(name, expected, value))
        };
        let least = f64::MIN_POSITIVE;
        within("epsilon", self.epsilon, least, LARGEST_EPSILON)?;
        within("delta", self.delta, least, 1.0_f64.next_down())?;
        within("mu", self.mu, least, f64::MAX)?;
        within(
            "counts_epsilon",
            self.counts_epsilon,
            least,
            LARGEST_EPSILON,
        )?;
        within("counts_delta", self.counts_delta, least, self.delta)?;
        let names_epsilon = self.epsilon * (1.0 + ROUNDING) - self.counts_epsilon;
        within("names_epsilon", self.names_epsilon, 0.0, names_epsilon)?;
        let names_delta = self.delta * (1.0 + ROUNDING) - self.counts_delta;
        within("names_delta", self.names_delta, 0.0, names_delta)
    }
}
