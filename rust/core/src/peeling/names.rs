//! Names that may be taken out of a table: their cells, and which names have a cell.

use super::cells::{Cell, mixed, order};
use crate::{Result, memory};

/// Names with one cell per row; those with the same cells are one name.
#[derive(Debug, Clone)]
pub(super) struct Names {
    depth: usize,
    /// `depth` cells per name, in order.
    cells: Vec<Cell>,
    /// For each cell of the table, the end of its part of `sharing`.
    ends: Vec<u32>,
    /// The names that have a cell, cell by cell.
    sharing: Vec<u32>,
}

impl Names {
    /// Names of a table with this number of cells.
    pub(super) fn of(names: Vec<&[Cell]>, depth: usize, cells: usize) -> Result<Self> {
        let mut names = in_order(names, cells)?;
        names.dedup();
        let mut found = Self {
            depth,
            cells: memory::room_for(names.len() * depth)?,
            ends: Vec::new(),
            sharing: Vec::new(),
        };
        names
            .iter()
            .for_each(|own| found.cells.extend_from_slice(own));
        found.index(cells)?;
        Ok(found)
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len() / self.depth
    }

    /// The name with these cells.
    pub(super) fn find(&self, own: &[Cell]) -> Option<usize> {
        // Those that have its first cell, in order: few.
        let sharing = self.sharing(own[0].at);
        let found = sharing.binary_search_by(|&name| order(self.own(name as usize), own));
        found.ok().map(|at| sharing[at] as usize)
    }

    /// For looking up names that mostly come in their order.
    pub(super) fn in_order(&self) -> InOrder<'_> {
        InOrder {
            names: self,
            next: 0,
        }
    }

    /// The cells of a name.
    pub(super) fn own(&self, name: usize) -> &[Cell] {
        &self.cells[name * self.depth..(name + 1) * self.depth]
    }

    /// The cells of all names, in order.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &[Cell]> {
        self.cells.chunks_exact(self.depth)
    }

    /// The names that have a cell.
    pub(super) fn sharing(&self, at: u32) -> &[u32] {
        let at = at as usize;
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.sharing[begin as usize..self.ends[at] as usize]
    }

    /// Sort the names by cell.
    fn index(&mut self, cells: usize) -> Result<()> {
        self.ends = ends_of(self.cells.iter(), cells)?;
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

/// Looks names up, without a search where each follows the one before.
pub(super) struct InOrder<'a> {
    names: &'a Names,
    /// The name after the last one that was found.
    next: usize,
}

impl InOrder<'_> {
    /// What [`Names::find`] finds.
    pub(super) fn find(&mut self, own: &[Cell]) -> Option<usize> {
        let is_next = self.next < self.names.len() && self.names.own(self.next) == own;
        let found = if is_next {
            self.next
        } else {
            self.names.find(own)?
        };
        self.next = found + 1;
        Some(found)
    }
}

/// Puts names in order: by their first cells, whose number is known, then the few that share one.
fn in_order(names: Vec<&[Cell]>, cells: usize) -> Result<Vec<&[Cell]>> {
    if names.is_sorted_by(|one, two| order(one, two).is_le()) {
        return Ok(names);
    }
    let mut ends = ends_of(names.iter().map(|own| &own[0]), cells)?;
    let mut sorted = memory::copied(&names)?;
    for own in names {
        let place = &mut ends[own[0].at as usize];
        *place -= 1;
        sorted[*place as usize] = own;
    }
    for sharing in sorted.chunk_by_mut(|one, two| one[0].at == two[0].at) {
        sharing.sort_unstable_by(|one, two| order(one, two));
    }
    Ok(sorted)
}

/// How many cells are at each place of a table or before it.
fn ends_of<'a>(cells: impl Iterator<Item = &'a Cell>, number: usize) -> Result<Vec<u32>> {
    let mut ends = memory::filled(0, number)?;
    cells.for_each(|cell| ends[cell.at as usize] += 1);
    let mut end = 0;
    for each in &mut ends {
        end += *each;
        *each = end;
    }
    Ok(ends)
}

/// The number of different names of a list, to about one in a thousand: from the part of the places
/// of a hash table that is empty. Source: K.-Y. Whang, B. Vander-Zanden and H. Taylor 1990.
pub(super) fn names_in(list: &[Cell], depth: usize) -> Result<f64> {
    let places = (list.len() / depth * 4).max(1 << 16).next_power_of_two();
    let mut filled = memory::zeros::<u64>(places / 64)?;
    for own in list.chunks_exact(depth) {
        let hash = own.iter().fold(0, |hash, cell| {
            mixed(hash ^ (u64::from(cell.at) << 1 | u64::from(cell.sign < 0.0)))
        });
        let place = hash as usize & (places - 1);
        filled[place / 64] |= 1 << (place % 64);
    }
    let filled: u32 = filled.iter().map(|word| word.count_ones()).sum();
    let empty = 1.0 - f64::from(filled) / places as f64;
    Ok((-(places as f64) * empty.ln()).round())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(names: impl Iterator<Item = u32>) -> Vec<Cell> {
        let cell = |at| Cell { at, sign: 1.0 };
        names
            .flat_map(|name| [cell(name % 1009), cell(2000 + name / 1009)])
            .collect()
    }

    #[test]
    fn names_are_counted_once_each() {
        for number in [0, 1, 30, 5_000, 300_000] {
            let once = names_in(&cells(0..number), 2).unwrap();
            let thrice = names_in(&cells((0..3 * number).map(|name| name % number)), 2).unwrap();
            for found in [once, thrice] {
                let most = 1.0 + 0.01 * f64::from(number);
                assert!(
                    (found - f64::from(number)).abs() <= most,
                    "{found} for {number}"
                );
            }
        }
    }

    #[test]
    fn names_are_kept_in_order_and_once() {
        let mixed = (0..4_000).map(|name| (mixed(name) % 3_000) as u32);
        let list = cells(mixed.chain(0..3));
        let names = Names::of(list.chunks_exact(2).collect(), 2, 4_000).unwrap();
        let mut wanted: Vec<&[Cell]> = list.chunks_exact(2).collect();
        wanted.sort_by(|one, two| order(one, two));
        wanted.dedup();
        assert!(wanted.len() < list.len() / 2);
        assert_eq!(names.all().collect::<Vec<_>>(), wanted);
        let again = Names::of(wanted.clone(), 2, 4_000).unwrap();
        assert_eq!(again.all().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn names_are_found_by_their_cells_and_in_them() {
        let list = cells([5, 9, 5, 1014, 7].into_iter());
        let names = Names::of(list.chunks_exact(2).collect(), 2, 4000).unwrap();
        assert_eq!(names.len(), 4);
        for own in list.chunks_exact(2) {
            let name = names.find(own).unwrap();
            assert_eq!(names.own(name), own);
            for cell in own {
                assert!(names.sharing(cell.at).contains(&(name as u32)));
            }
        }
        assert_eq!(names.sharing(list[0].at).len(), 2);
        assert_eq!(names.find(&cells([6].into_iter())), None);
    }

    #[test]
    fn names_are_found_in_any_order_one_after_the_other() {
        let list = cells(0..3_000);
        let known = list.chunks_exact(2).step_by(2).collect();
        let names = Names::of(known, 2, 4_000).unwrap();
        assert_eq!(names.len(), 1_500);
        let rising: Vec<&[Cell]> = names.all().collect();
        let falling = rising.iter().rev().copied().collect();
        let orders: [Vec<&[Cell]>; 3] = [rising, falling, list.chunks_exact(2).collect()];
        for order in orders {
            let mut in_order = names.in_order();
            for own in order {
                assert_eq!(in_order.find(own), names.find(own));
            }
        }
    }
}
