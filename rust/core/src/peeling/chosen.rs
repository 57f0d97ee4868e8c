//! Which names of a list are taken out of the table.
//!
//! A short list is taken out as a whole. Of a long one, a name is taken out if all its cells are
//! above a threshold: a rule of the name's own cells, so that it can be applied again to the table
//! without an item's count. Deciding from the table as it is would favour names that share cells
//! with the item, and reject its true count too often.

use super::cells::{Background, Cell, Extrapolated, order};
use crate::{Result, memory};
use std::cmp::Ordering;

/// Thresholds that are tried, in spreads.
const THRESHOLDS: [f64; 9] = [3.0, 4.0, 5.6, 8.0, 11.0, 16.0, 32.0, 64.0, 128.0];
/// Largest part of the chosen names that may be absent from the stream, as expected.
const MOST_ABSENT: f64 = 0.25;

/// Names that may be taken out, and which of them are. Names with the same cells are one name.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    depth: usize,
    /// `depth` cells per name, in order.
    cells: Vec<Cell>,
    /// A name is taken out if the values of all its cells are above this; without one, always.
    pub(super) threshold: Option<f64>,
    /// For each cell of the table, the end of its part of `sharing`.
    ends: Vec<u32>,
    /// The names that have a cell, cell by cell.
    sharing: Vec<u32>,
}

impl Chosen {
    /// Choose from names with `depth` cells each, by a rule of their own cells.
    pub(super) fn by_cells(
        cells: &[Cell],
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let few = is_short(cells, facts);
        let threshold = (!few).then(|| threshold_of(cells, background, facts));
        let mut chosen = Self {
            depth: facts.depth,
            cells: Vec::new(),
            threshold,
            ends: Vec::new(),
            sharing: Vec::new(),
        };
        // With signs, another item's count may hide a name in one of its cells.
        let hidden = usize::from(facts.signed && threshold.is_some());
        let mut found: Vec<&[Cell]> = Vec::new();
        for own in cells.chunks_exact(facts.depth) {
            if chosen.cells_above(own, &background.values) + hidden >= facts.depth {
                memory::push(&mut found, own)?;
            }
        }
        chosen.take(found, facts)?;
        Ok(chosen)
    }

    /// Take out all of some names.
    pub(super) fn all(names: Vec<&[Cell]>, facts: &Extrapolated) -> Result<Self> {
        let mut chosen = Self {
            depth: facts.depth,
            cells: Vec::new(),
            threshold: None,
            ends: Vec::new(),
            sharing: Vec::new(),
        };
        chosen.take(names, facts)?;
        Ok(chosen)
    }

    fn take(&mut self, mut names: Vec<&[Cell]>, facts: &Extrapolated) -> Result<()> {
        names.sort_unstable_by(|one, two| order(one, two));
        names.dedup();
        memory::reserve(&mut self.cells, names.len() * facts.depth)?;
        names
            .iter()
            .for_each(|own| self.cells.extend_from_slice(own));
        self.index(facts.table.len())
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len() / self.depth
    }

    /// The name with these cells.
    pub(super) fn find(&self, own: &[Cell]) -> Option<usize> {
        let mut names = 0..self.len();
        while !names.is_empty() {
            let middle = usize::midpoint(names.start, names.end);
            match order(self.own(middle), own) {
                Ordering::Less => names.start = middle + 1,
                Ordering::Greater => names.end = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// The cells of a name.
    pub(super) fn own(&self, name: usize) -> &[Cell] {
        &self.cells[name * self.depth..(name + 1) * self.depth]
    }

    /// The names that have a cell.
    pub(super) fn sharing(&self, at: u32) -> &[u32] {
        let at = at as usize;
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.sharing[begin as usize..self.ends[at] as usize]
    }

    /// Whether a name is taken out of a table with these values.
    pub(super) fn is_taken(&self, own: &[Cell], values: &[f64]) -> bool {
        self.threshold.is_none() || self.cells_above(own, values) == self.depth
    }

    fn cells_above(&self, own: &[Cell], values: &[f64]) -> usize {
        let least = self.threshold.unwrap_or(f64::NEG_INFINITY);
        let above = |cell: &&Cell| values[cell.at as usize] * f64::from(cell.sign) > least;
        own.iter().filter(above).count()
    }

    /// Sort the names by cell.
    fn index(&mut self, cells: usize) -> Result<()> {
        self.ends = memory::filled(0, cells)?;
        for cell in &self.cells {
            self.ends[cell.at as usize] += 1;
        }
        let mut end = 0;
        for each in &mut self.ends {
            end += *each;
            *each = end;
        }
        self.sharing = memory::filled(0, self.cells.len())?;
        let mut next = memory::copied(&self.ends)?;
        for (at, cell) in self.cells.iter().enumerate().rev() {
            let place = &mut next[cell.at as usize];
            *place -= 1;
            self.sharing[*place as usize] = (at / self.depth) as u32;
        }
        Ok(())
    }
}

/// Whether all names of a list can be taken out.
pub(super) fn is_short(cells: &[Cell], facts: &Extrapolated) -> bool {
    cells.len() / facts.depth <= (facts.table.len() / 4).max(1)
}

/// The lowest threshold with which few enough names are taken out, and few of them by chance.
fn threshold_of(cells: &[Cell], background: &Background, facts: &Extrapolated) -> f64 {
    let most = facts.table.len() / 4;
    let names = (cells.len() / facts.depth) as f64;
    // Lowest value of each name: it is taken out below that threshold.
    let lowest = |own: &[Cell]| {
        let values = own
            .iter()
            .map(|cell| background.values[cell.at as usize] * f64::from(cell.sign));
        values.fold(f64::INFINITY, f64::min)
    };
    let mut taken = [0_usize; THRESHOLDS.len()];
    for own in cells.chunks_exact(facts.depth) {
        let lowest = lowest(own);
        let below = THRESHOLDS.partition_point(|each| each * background.spread < lowest);
        taken[..below].iter_mut().for_each(|number| *number += 1);
    }
    let found = THRESHOLDS.iter().zip(taken).find(|&(threshold, taken)| {
        let least = threshold * background.spread;
        let by_chance = background.values.chunks_exact(facts.width).map(|row| {
            let above = |value: &&f64| **value > least || (facts.signed && **value < -least);
            let share = row.iter().filter(above).count() as f64 / facts.width as f64;
            if facts.signed { share / 2.0 } else { share }
        });
        taken <= most && names * by_chance.product::<f64>() <= MOST_ABSENT * taken as f64
    });
    background.spread
        * found.map_or(THRESHOLDS[THRESHOLDS.len() - 1], |(threshold, _)| {
            *threshold
        })
}
