//! What partial counts count: cells of a table or of two, bits of distinct items, or names.

use crate::parameters::{Shape, TableKind};
use crate::partial::names::NameCounts;
use crate::partial::refusals::{closed, named, of_sealed, refused};
use crate::partial::saved_names::{CountBytes, LEAST_BYTES};
use crate::partial::spec::PartialSpec;
use crate::partial::sum_counts::{SumCounts, check_values};
use crate::saved_state::{StateReader, StateWriter};
use crate::table::Table;
use crate::table::hash::RowHashes;
use crate::table::items::{Items, check_weights};
use crate::table::range_rows::depth_of_cell;
use crate::table::seen_bits::SeenBits;
use crate::table::sums::CellSum;
use crate::{Error, Result};

/// Exact counts, as secret as the events.
pub(crate) enum Counts {
    /// Sums of weights.
    Table(Table, RowHashes),
    /// Bits of distinct items, each set by the first event of its items.
    Bits(SeenBits),
    /// Events and weights of every name.
    Names(NameCounts),
    /// Events by item, and sums of their values.
    Sums(SumCounts),
}

impl Counts {
    /// No events, with memory for as many as the description says.
    pub(super) fn new(spec: &PartialSpec) -> Result<Self> {
        let shape = &spec.shape;
        if spec.named.is_some() {
            return NameCounts::new(spec.weight_counted_apart()).map(Self::Names);
        }
        if let Some(summed) = &spec.summed {
            return SumCounts::new(spec, summed).map(Self::Sums);
        }
        if let Some(bits) = SeenBits::of(shape)? {
            return Ok(Self::Bits(bits));
        }
        let mut table = Table::new(shape.depth, shape.width, false)?;
        table.make_room(spec.bound_of(spec.most_events))?;
        table.make_room_for_places()?;
        let hashes = RowHashes::new(shape.hash_seed, shape.depth, shape.width);
        Ok(Self::Table(table, hashes))
    }

    /// Hashes all counts, in a form that does not depend on the size of the counters.
    pub(super) fn digest(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        match self {
            Self::Names(names) => names.digest(hasher),
            Self::Sums(sums) => sums.digest(hasher),
            Self::Bits(bits) => {
                bits.digest(hasher);
                Ok(())
            }
            Self::Table(table, _) => table.with_wide_bytes(|counts| {
                hasher.update(counts);
            }),
        }
    }

    /// Bytes that [`Self::save`] writes.
    pub(super) fn saved_bytes(&self, counts: CountBytes) -> usize {
        match self {
            Self::Table(table, _) => table.saved_bytes(),
            Self::Bits(bits) => bits.saved_bytes(),
            Self::Names(names) => names.saved_bytes(counts),
            Self::Sums(sums) => sums.saved_bytes(),
        }
    }

    /// Writes the counts in clear.
    pub(super) fn save(&self, counts: CountBytes, out: &mut StateWriter) {
        match self {
            Self::Table(table, _) => table.save(out),
            Self::Bits(bits) => bits.save(out),
            Self::Names(names) => names.save(counts, out),
            Self::Sums(sums) => sums.save(out),
        }
    }

    /// True if saved counts under a description can have this many bytes.
    pub(super) fn can_have(spec: &PartialSpec, bytes: usize) -> bool {
        let shape = &spec.shape;
        if spec.named.is_some() {
            return bytes.is_power_of_two() && bytes >= LEAST_BYTES;
        }
        if let Some(summed) = &spec.summed {
            return bytes == SumCounts::saved_bytes_of(spec, summed);
        }
        if let TableKind::Distinct { bits } = shape.kind {
            return bytes == SeenBits::saved_bytes_of(shape.width, bits);
        }
        let bound = spec.bound_of(spec.most_events);
        bytes == Table::saved_bytes_of(shape.cells() as usize, bound)
    }

    /// Takes over the counts of some events that were saved. None may be beyond what they allow.
    pub(super) fn restore(
        &mut self,
        spec: &PartialSpec,
        events: u64,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        let bound = spec.bound_of(events);
        match self {
            Self::Table(table, _) => {
                let is_wide = table.is_wide();
                table.restore(from, bound).map_err(of_sealed)?;
                if table.is_wide() != is_wide {
                    return refused("counters of the size of the description", "others");
                }
                check_cells(table, &spec.shape, bound)
            }
            Self::Bits(bits) => {
                bits.restore_of_any_number(from).map_err(of_sealed)?;
                match bits.number() <= events {
                    true => Ok(()),
                    false => refused("bits that the events allow", "more"),
                }
            }
            Self::Names(names) => {
                let limits = spec.named.ok_or_else(closed)?.limits();
                let counts = CountBytes::of(spec.bound_of(spec.most_events));
                let restored = names.restore(counts, limits, from);
                restored.map_err(of_sealed).map_err(named("sealed"))?;
                check_names(names, events, bound)
            }
            Self::Sums(sums) => {
                let summed = spec.summed.as_ref().ok_or_else(closed)?;
                sums.restore(spec, summed, events, from)
            }
        }
    }
}

/// Checks events before any is counted.
pub(super) fn check_events(
    spec: &PartialSpec,
    items: Items<'_>,
    weights: Option<&[u64]>,
) -> Result<()> {
    if let Some(summed) = &spec.summed {
        return check_values(summed, items.len(), weights);
    }
    check_weights("weights", weights, items.len(), spec.max_weight)?;
    let kind = spec.shape.kind;
    if matches!(kind, TableKind::Distinct { .. }) && weights.is_some() {
        let expected = "none, for distinct items";
        return Err(Error::parameter("weights", expected, "some"));
    }
    match kind.takes_indices() {
        true => check_indices(items, spec.shape.largest_index()),
        false => Ok(()),
    }
}

fn check_indices(items: Items<'_>, largest: u64) -> Result<()> {
    let is_within = |indices: &[u64]| indices.iter().all(|&at| at <= largest);
    match items {
        Items::Ready(indices) if is_within(indices) => Ok(()),
        _ => {
            let expected = format!("integers from 0 to {largest}");
            Err(Error::parameter("items", expected, "others"))
        }
    }
}

/// Checks what every table of events satisfies: an event adds its weight to one cell of each row, or
/// of ranges to one of each depth.
fn check_cells(table: &Table, shape: &Shape, bound: u128) -> Result<()> {
    let sums = match shape.kind {
        TableKind::Ranges => sums_of_depths(table, shape)?,
        _ => table.sums_of(shape.depth as usize, |row, _| row),
    };
    let is_signed = shape.kind.is_signed();
    if sums.iter().any(|sum| sum.has_negative) && !is_signed {
        return refused("counts of at least 0", "a negative one");
    }
    if sums.iter().any(|sum| sum.absolute > bound) {
        return refused("counts that the events allow", "larger ones");
    }
    // A sign changes a sum by twice the weight.
    let modulus = if is_signed { 2 } else { u128::MAX };
    let first = sums.first().map(|sum| sum.absolute % modulus);
    if (sums.iter()).any(|sum| Some(sum.absolute % modulus) != first) {
        return refused("rows that count the same events", "others");
    }
    Ok(())
}

/// What the counts of each depth of ranges add up to. The halves have the weight of all events, and
/// no other depth has more.
fn sums_of_depths(table: &Table, shape: &Shape) -> Result<Vec<CellSum>> {
    let depth = shape.depth as usize;
    let mut sums = table.sums_of(depth + 1, |row, column| {
        depth_of_cell(row, column, shape).unwrap_or(depth)
    });
    let (rest, halves) = (sums.pop(), sums.first().copied().unwrap_or_default());
    if planted!("cells-of-no-key-are-accepted") {
        return Ok(sums);
    }
    if rest.is_some_and(|rest| rest.absolute > 0) {
        return refused("counts in the cells of nodes", "others");
    }
    if halves.has_negative {
        return refused("halves of at least 0", "a negative one");
    }
    if sums.iter().any(|sum| sum.absolute > halves.absolute) {
        return refused("depths that count the same events", "others");
    }
    Ok(sums)
}

/// Checks what all names of some events satisfy.
fn check_names(names: &NameCounts, most_events: u64, most_weight: u128) -> Result<()> {
    let (mut units, mut weight) = (0, 0);
    for name in (0..names.len()).map(|at| names.name(at)) {
        units += u128::from(name.units);
        weight += u128::from(name.weight);
    }
    let most_units = (names.counted_apart()).map_or(most_weight, |counted| {
        u128::from(most_events) * u128::from(counted)
    });
    let is_possible = weight <= most_weight && units <= most_units;
    match is_possible {
        true => Ok(()),
        false => refused("counts that the events allow", "larger ones"),
    }
}
