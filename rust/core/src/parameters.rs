//! Parameters that define a sketch: shape of the table, noise and guarantee.
//!
//! Frozen values, checked once at construction. Their encoding ([`crate::release::codec`]) is part
//! of every release and, byte for byte, of the derivation of the working key.

#[cfg(test)]
mod tests;

use crate::error::check_integer;
use crate::mechanism::value_tree::{ValueRows, ValueTree};
use crate::mechanism::{Mechanism, MechanismKind};
use crate::noise::gaussian::{LARGEST_SIGMA, RoundedGaussian};
use crate::schedule::Schedule;
use crate::{Error, Result};

/// Most rows of a table.
pub const LARGEST_DEPTH: u32 = 64;
/// Most columns of a table; beyond this, 32 hash bits would not spread evenly.
pub const LARGEST_WIDTH: u32 = 1 << 24;
/// Most cells of a table.
pub const LARGEST_CELLS: u64 = 1 << 28;
/// Most sampling levels of a count of distinct items.
pub const MOST_LEVELS: u32 = 16;
/// Fewest bits of a level.
pub const FEWEST_BITS: u32 = 1 << 6;
/// Most bits of a level.
pub const MOST_BITS: u32 = 1 << 24;
/// What a bit adds to the count of its level. With such steps integer noise is as good as real
/// noise for a change that moves while the stream is read (docs/theory.md, Theorem 23).
pub const BIT_WEIGHT: u64 = 16;
/// Largest weight of one event of a private sketch.
pub const LARGEST_WEIGHT: u64 = 1 << 32;
/// Counts stay below this bound, so that count plus noise fits into 64 bits.
pub const LARGEST_COUNT: u64 = 1 << 62;

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Minimum over rows of non-negative counters.
    CountMin,
    /// Median over rows of signed counters.
    CountSketch,
    /// One counter per index, no hashing.
    Counters,
    /// One counter per sampling level: how many bits of a secret bitmap are set. Every item has one
    /// bit of one level ([`crate::table::seen_bits`]).
    Distinct {
        /// Bits of each level, a power of two.
        bits: u32,
    },
    /// One counter per bin of a numeric value. Published are not the bins, but the node sums of a
    /// [tree over them](ValueTree).
    Values {
        /// The rows of the tree.
        rows: ValueRows,
        /// [`digest_of_edges`] of the bins.
        edges: [u8; 16],
    },
    /// Keys of `depth` bits: both halves of the domain, and a Haar coefficient for each node of a
    /// binary tree over the keys ([`crate::table::range_rows`]).
    Ranges,
}

impl TableKind {
    /// The name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::CountMin => "count-min",
            Self::CountSketch => "count-sketch",
            Self::Counters => "counters",
            Self::Distinct { .. } => "distinct",
            Self::Values { .. } => "values",
            Self::Ranges => "ranges",
        }
    }

    /// True for the kinds whose events are numbers and have no names.
    pub fn has_indices(self) -> bool {
        !matches!(self, Self::CountMin | Self::CountSketch)
    }

    /// True where an event is a number below a bound, and not an item to be hashed.
    pub fn takes_indices(self) -> bool {
        matches!(self, Self::Counters | Self::Values { .. } | Self::Ranges)
    }

    /// True if counts of items can be read: the cells are those of items, and not parts of sums.
    pub fn has_items(self) -> bool {
        !matches!(self, Self::Values { .. } | Self::Ranges)
    }

    /// True if counts can be negative.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::CountSketch | Self::Ranges)
    }
}

/// The first 16 bytes of the BLAKE3 hash of the edges between bins, as little-endian doubles.
pub fn digest_of_edges(edges: &[f64]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for edge in edges {
        hasher.update(&edge.to_le_bytes());
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    digest
}

/// Shape and hash seed of a table; two releases must agree on them to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Kind of the table.
    pub kind: TableKind,
    /// Rows.
    pub depth: u32,
    /// Columns.
    pub width: u32,
    /// Public seed of fingerprints and row functions.
    pub hash_seed: u64,
}

impl Shape {
    /// Checks the limits before anything is allocated.
    pub fn validate(&self) -> Result<()> {
        check_integer("depth", self.depth.into(), LARGEST_DEPTH.into())?;
        check_integer("width", self.width.into(), LARGEST_WIDTH.into())?;
        if let TableKind::Distinct { bits } = self.kind {
            check_integer("levels", self.width.into(), MOST_LEVELS.into())?;
            check_integer("depth", self.depth.into(), 1)?;
            if !bits.is_power_of_two() || !(FEWEST_BITS..=MOST_BITS).contains(&bits) {
                let expected = format!("a power of two from {FEWEST_BITS} to {MOST_BITS}");
                return Err(Error::parameter("bits", expected, bits));
            }
        }
        if let TableKind::Values { .. } = self.kind {
            check_integer("depth", self.depth.into(), 1)?;
        }
        if self.kind == TableKind::Ranges && self.width < 2 {
            return Err(Error::parameter(
                "width",
                "an integer from 2 on",
                self.width,
            ));
        }
        self.value_tree()?;
        if self.cells() > LARGEST_CELLS {
            let expected = format!("depth * width of at most {LARGEST_CELLS}");
            return Err(Error::parameter("width", expected, self.cells()));
        }
        Ok(())
    }

    /// Bound on every count after `steps` steps: a function of the number of steps alone.
    pub(crate) fn largest_count(&self, noise: &NoiseSpec, steps: u64) -> u128 {
        let events = u128::from(steps) * u128::from(noise.schedule.events_per_step());
        let counted = match self.kind {
            TableKind::Distinct { bits } => events.min(bits.into()),
            _ => events,
        };
        counted.saturating_mul(noise.max_weight.into())
    }

    /// The tree over the bins of a table of values; none for other kinds.
    pub fn value_tree(&self) -> Result<Option<&'static ValueTree>> {
        match self.kind {
            TableKind::Values { rows, .. } => ValueTree::of(rows, self.width).map(Some),
            _ => Ok(None),
        }
    }

    /// Steps after which a released integer could exceed 64 bits, whatever the events are.
    pub(crate) fn possible_steps(&self, noise: &NoiseSpec) -> Result<u64> {
        let possible = (LARGEST_COUNT - 1) / noise.max_weight;
        Ok(match self.value_tree()? {
            None => possible,
            Some(tree) => possible / noise.schedule.events_per_step() / tree.largest_change(),
        })
    }

    /// The largest index of an event, where events are indices: a column, or a key.
    pub fn largest_index(&self) -> u64 {
        match self.kind {
            TableKind::Ranges => u64::MAX >> (u64::BITS - self.depth),
            _ => u64::from(self.width) - 1,
        }
    }

    /// Number of cells.
    pub fn cells(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.width)
    }
}

/// Neighbouring relation of the guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// An event is replaced by another event at the same step.
    Substitution,
    /// An event is replaced by an empty step.
    ZeroOut,
}

impl Relation {
    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Substitution => "substitution",
            Self::ZeroOut => "zero-out",
        }
    }
}

/// How sigma was calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calibration {
    /// Balle and Wang's analytic Gaussian mechanism with our sensitivities.
    Analytic,
    /// The classical formula with the paper's sensitivities.
    Classical,
}

impl Calibration {
    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analytic => "analytic",
            Self::Classical => "classical",
        }
    }
}

/// What is counted of one person, and protected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonBound {
    /// Cells of each row.
    pub cells: u32,
    /// Events of each cell.
    pub events: u32,
    /// Most people whose events are counted; `None` for all.
    pub most_people: Option<u32>,
}

/// Most cells of one person in one row: they are searched one after the other.
const MOST_CELLS: u64 = 4_096;
/// Most events of one person in one cell.
const MOST_EVENTS: u64 = 65_535;
/// Most people that one object can tell apart.
pub const MOST_PEOPLE: u32 = u32::MAX - 1;

impl PersonBound {
    /// Checks every field.
    pub fn validate(&self) -> Result<()> {
        check_integer("cells", self.cells.into(), MOST_CELLS)?;
        check_integer("events", self.events.into(), MOST_EVENTS)?;
        let most = self.most_people.unwrap_or(1);
        check_integer("most_people", most.into(), MOST_PEOPLE.into())
    }

    /// People whose events differ between neighbouring streams. A substitute takes the place of a
    /// person; where the number of people is limited, another one is let in for each that goes, or
    /// kept out for each that comes.
    pub fn people_changed(&self, relation: Relation) -> u64 {
        let persons = match relation {
            Relation::ZeroOut => 1,
            Relation::Substitution => 2,
        };
        match self.most_people {
            None => persons,
            Some(_) => 2 * persons,
        }
    }

    /// Counted events that differ between neighbouring streams: each takes a cell in every row.
    pub fn events_changed(&self, relation: Relation) -> u64 {
        self.people_changed(relation) * u64::from(self.cells) * u64::from(self.events)
    }
}

/// The noise of a sketch and the guarantee it was calibrated for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseSpec {
    /// When columns are pushed.
    pub schedule: Schedule,
    /// How a cell counts its pushes.
    pub mechanism: MechanismKind,
    /// Standard deviation of one node's draw, in counts.
    pub sigma: f64,
    /// Neighbouring relation.
    pub relation: Relation,
    /// How sigma was calibrated.
    pub calibration: Calibration,
    /// Privacy parameter epsilon of everything ever released.
    pub epsilon: f64,
    /// Privacy parameter delta of everything ever released.
    pub delta: f64,
    /// Largest weight of one event.
    pub max_weight: u64,
    /// Events of one user that the guarantee covers together; 1 with a bound of people.
    pub max_events_per_user: u64,
    /// The bound of what is counted of each person, if people are protected by one.
    pub person_bound: Option<PersonBound>,
    /// Counters that one step may change (`Counters` only, otherwise 1).
    pub max_changes: u32,
}

impl NoiseSpec {
    /// Checks every field, and that the largest possible noise fits the arithmetic.
    pub fn validate(&self, shape: &Shape) -> Result<()> {
        let positive = |name, value: f64, high: f64| {
            if value.is_finite() && value > 0.0 && value <= high {
                return Ok(());
            }
            Err(Error::parameter(
                name,
                format!("a number above 0, at most {high}"),
                value,
            ))
        };
        positive("epsilon", self.epsilon, 100.0)?;
        positive("sigma", self.sigma, LARGEST_SIGMA)?;
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return Err(Error::parameter(
                "delta",
                "a number between 0 and 1",
                self.delta,
            ));
        }
        check_integer("max_weight", self.max_weight, LARGEST_WEIGHT)?;
        check_integer("max_events_per_user", self.max_events_per_user, 1 << 32)?;
        let most = if shape.kind == TableKind::Counters {
            shape.width
        } else {
            1
        };
        check_integer("max_changes", self.max_changes.into(), most.into())?;
        if let Some(bound) = &self.person_bound {
            bound.validate()?;
            // Steps with a vector of counts have no person, and declared events no bound.
            check_integer("max_events_per_user", self.max_events_per_user, 1)?;
            check_integer("max_changes", self.max_changes.into(), 1)?;
        }
        match shape.kind {
            TableKind::Distinct { .. } => self.check_distinct()?,
            TableKind::Values { .. } | TableKind::Ranges => self.check_sums(shape.kind)?,
            _ => {}
        }
        self.schedule.validate()?;
        let horizon = self.schedule.horizon().unwrap_or(1);
        if shape.largest_count(self, horizon) >= u128::from(LARGEST_COUNT) {
            let expected = "horizon * events per step * max_weight below 2^62";
            return Err(Error::parameter("max_weight", expected, self.max_weight));
        }
        self.mechanism(shape)?
            .check_size(&RoundedGaussian::new(self.sigma))
    }

    /// The proof for distinct items is for people, one bit each, and for mechanisms whose rows bound
    /// what a moved count costs.
    fn check_distinct(&self) -> Result<()> {
        let wanted = |name, is_so: bool, expected: &str| match is_so {
            true => Ok(()),
            false => Err(Error::parameter(name, expected, "another")),
        };
        let weight = self.max_weight == BIT_WEIGHT;
        wanted("max_weight", weight, "16, the weight of a bit")?;
        wanted("max_events_per_user", self.max_events_per_user == 1, "1")?;
        wanted("person_bound", self.person_bound.is_none(), "none")?;
        wanted("max_changes", self.max_changes == 1, "1")?;
        let analytic = self.calibration == Calibration::Analytic;
        wanted("calibration", analytic, "'analytic'")?;
        let moved = self.mechanism.bounds_moves();
        wanted(
            "mechanism",
            moved,
            "'tree', 'tree-log', 'tree-deep' or 'haar'",
        )
    }

    /// An answer has counts of many columns, so these must have been pushed together; and a person has
    /// one place for all values or keys.
    fn check_sums(&self, kind: TableKind) -> Result<()> {
        let counted = kind.name();
        let together = matches!(
            self.schedule,
            Schedule::Punctual { .. } | Schedule::Batch { .. } | Schedule::Single { .. }
        );
        let refused = |name, expected: &str| {
            let expected = format!("{expected}, for {counted}");
            Err(Error::parameter(name, expected, "another"))
        };
        if !together {
            return refused("schedule", "Punctual, Batch or Single");
        }
        if self.calibration != Calibration::Analytic {
            return refused("calibration", "'analytic'");
        }
        if self.mechanism == MechanismKind::SquareRoot {
            return refused("mechanism", "one with exact rounding");
        }
        match self.person_bound {
            Some(bound) if bound.cells != 1 => refused("cells", "1"),
            _ => Ok(()),
        }
    }

    /// The mechanism for the number of leaves of this schedule.
    pub fn mechanism(&self, shape: &Shape) -> Result<Mechanism> {
        Mechanism::new(self.mechanism, self.schedule.leaves(shape.width))
    }
}
