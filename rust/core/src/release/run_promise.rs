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

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 6] = [0.5, 1e-7, 4.0, 3.0, 0.25, 1e-9];

    fn run(tables: Vec<TablePromise>) -> RunPromise {
        RunPromise {
            id: [5; 16],
            epsilon: 2.5,
            delta: 1e-6,
            tables,
        }
    }

    /// Each limit is accepted, and the next number beyond it is refused.
    #[test]
    fn every_number_has_its_limits() {
        let least = f64::MIN_POSITIVE;
        let epsilon = (least, 100.0);
        let delta = (least, 1.0_f64.next_down());
        let any = (least, f64::MAX);
        let checked = |place: usize, value: f64| {
            let mut numbers = NUMBERS;
            let mut whole = [2.5, 1e-6];
            if place < 6 {
                numbers[place] = value;
            } else {
                whole[place - 6] = value;
            }
            let table = TablePromise::of(3, numbers);
            assert_eq!(table.numbers().map(f64::to_bits), numbers.map(f64::to_bits));
            let run = run(vec![TablePromise::of(3, NUMBERS), table]);
            let [epsilon, delta] = whole;
            RunPromise {
                epsilon,
                delta,
                ..run
            }
            .validate()
            .is_ok()
        };
        let limits = [epsilon, delta, any, any, epsilon, delta, epsilon, delta];
        for (place, (low, high)) in limits.into_iter().enumerate() {
            for (value, is_accepted) in [
                (low, true),
                (high, true),
                (low.next_down(), false),
                (high.next_up(), false),
                (0.0, false),
                (-1.0, false),
                (f64::NAN, false),
                (f64::INFINITY, false),
            ] {
                assert_eq!(checked(place, value), is_accepted, "{place}: {value:e}");
            }
        }
    }

    /// Zeros say that there are no names: both of them, or none.
    #[test]
    fn names_have_a_pair_or_none() {
        for (pair, is_accepted) in [
            ([0.0, 0.0], true),
            ([0.25, 1e-9], true),
            ([0.0, 1e-9], false),
            ([0.25, 0.0], false),
        ] {
            let [epsilon, delta, sigma, l2_sensitivity, ..] = NUMBERS;
            let numbers = [epsilon, delta, sigma, l2_sensitivity, pair[0], pair[1]];
            let run = run(vec![TablePromise::of(1, numbers)]);
            assert_eq!(run.validate().is_ok(), is_accepted, "{pair:?}");
        }
    }

    #[test]
    fn tables_have_rows_and_are_few() {
        for (tables, depth, is_accepted) in [
            (1, 1, true),
            (1, LARGEST_DEPTH, true),
            (256, 1, true),
            (0, 1, false),
            (257, 1, false),
            (1, 0, false),
            (1, LARGEST_DEPTH + 1, false),
        ] {
            let run = run(vec![TablePromise::of(depth, NUMBERS); tables]);
            assert_eq!(run.validate().is_ok(), is_accepted, "{tables} {depth}");
        }
    }
}
