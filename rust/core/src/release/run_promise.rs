//! What a run promised in total.

use crate::parameters::LARGEST_DEPTH;
use crate::{Error, Result};

/// The guarantee of everything that one run publishes: the counts of all its tables, such as the
/// levels of a hierarchy, and the names. A release of one of the tables carries it, because the
/// noise of that table alone promises less. Releases of one run carry one promise, to be counted
/// once.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPromise {
    /// 16 public bytes, the same in all releases of the run.
    pub id: [u8; 16],
    /// Privacy parameter epsilon of the run, as it was asked for.
    pub epsilon: f64,
    /// Privacy parameter delta of the run, as it was asked for.
    pub delta: f64,
    /// All its tables.
    pub tables: Vec<TablePromise>,
}

/// What one table of a run promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TablePromise {
    /// Its rows.
    pub depth: u32,
    /// Privacy parameter epsilon of its counts.
    pub epsilon: f64,
    /// Privacy parameter delta of its counts.
    pub delta: f64,
    /// Standard deviation of the noise of its nodes.
    pub sigma: f64,
    /// What a person, or an event, changes of its nodes.
    pub l2_sensitivity: f64,
    /// Privacy parameter epsilon of its names; 0 without discovery.
    pub names_epsilon: f64,
    /// Privacy parameter delta of its names; 0 without discovery.
    pub names_delta: f64,
}

/// Most tables of a run.
const LARGEST_TABLES: usize = 256;
const LARGEST_EPSILON: f64 = 100.0;

impl RunPromise {
    /// Checks every number, and that there are tables.
    pub fn validate(&self) -> Result<()> {
        check("epsilon", self.epsilon, LARGEST_EPSILON)?;
        check("delta", self.delta, 1.0_f64.next_down())?;
        if !(1..=LARGEST_TABLES).contains(&self.tables.len()) {
            let expected = format!("1 to {LARGEST_TABLES}");
            return Err(Error::parameter("tables", expected, self.tables.len()));
        }
        self.tables.iter().try_for_each(TablePromise::validate)
    }
}

impl TablePromise {
    /// The table with these numbers, in the order of the fields.
    pub fn of(depth: u32, numbers: [f64; 6]) -> Self {
        let [
            epsilon,
            delta,
            sigma,
            l2_sensitivity,
            names_epsilon,
            names_delta,
        ] = numbers;
        Self {
            depth,
            epsilon,
            delta,
            sigma,
            l2_sensitivity,
            names_epsilon,
            names_delta,
        }
    }

    /// The numbers of [`Self::of`].
    pub fn numbers(&self) -> [f64; 6] {
        [
            self.epsilon,
            self.delta,
            self.sigma,
            self.l2_sensitivity,
            self.names_epsilon,
            self.names_delta,
        ]
    }

    fn validate(&self) -> Result<()> {
        if !(1..=LARGEST_DEPTH).contains(&self.depth) {
            let expected = format!("1 to {LARGEST_DEPTH}");
            return Err(Error::parameter("depth", expected, self.depth));
        }
        check("epsilon", self.epsilon, LARGEST_EPSILON)?;
        check("delta", self.delta, 1.0_f64.next_down())?;
        check("sigma", self.sigma, f64::MAX)?;
        check("l2_sensitivity", self.l2_sensitivity, f64::MAX)?;
        if self.names_epsilon == 0.0 && self.names_delta == 0.0 {
            return Ok(());
        }
        check("names_epsilon", self.names_epsilon, LARGEST_EPSILON)?;
        check("names_delta", self.names_delta, 1.0_f64.next_down())
    }
}

fn check(name: &'static str, value: f64, most: f64) -> Result<()> {
    if value >= f64::MIN_POSITIVE && value <= most {
        return Ok(());
    }
    let expected = format!("a number above 0, at most {most:e}");
    Err(Error::parameter(name, expected, value))
}
