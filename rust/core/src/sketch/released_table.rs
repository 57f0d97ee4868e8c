//! The public table of a live sketch, which keeps that of its last release.
//!
//! A column that was not pushed since has the same published counts and the same push, hence the
//! same noise: only the others are drawn again. A release costs what was pushed, and nothing where
//! nothing was. What is kept is public, and equals what a whole release computes, bit by bit.
//!
//! It takes 8 bytes per cell, from the second release on: many sketches are released once. A release
//! that is still there shares them.

use super::kept_table::{KeptTable, LastRelease, pushed_since};
use super::private::State;
use crate::mechanism::value_tree::ValueTree;
use crate::schedule::Progress;
use crate::{Result, memory};
use std::ops::Range;
use std::sync::Arc;

impl State {
    /// The public table at this step, row by row.
    pub(super) fn released(&mut self, width: u32) -> Result<Arc<Vec<i64>>> {
        self.noise.refresh(self.pushes());
        // A renewal that fails leaves nothing: the next release begins anew.
        let last = std::mem::replace(&mut self.last_release, LastRelease::NotKept);
        let table = match last {
            LastRelease::None => return self.whole_table(width).map(Arc::new),
            LastRelease::Kept(kept) if kept.finished == self.finished.is_some() => {
                self.renewed(kept, width)?
            }
            _ => Arc::new(self.whole_table(width)?),
        };
        self.last_release = LastRelease::Kept(KeptTable {
            table: Arc::clone(&table),
            progress: self.cursor.progress(),
            finished: self.finished.is_some(),
        });
        Ok(table)
    }

    /// The public table, all of it computed here.
    pub(super) fn whole_table(&self, width: u32) -> Result<Vec<i64>> {
        let mut rows = memory::zeros(self.table.cells())?;
        match self.values {
            Some(tree) => self.release_node_sums(tree, width, &mut rows),
            None => self.release_columns(0..width, width, &mut rows),
        }
        Ok(rows)
    }

    /// Brings a public table to this step, which had these pushes and was not finished in between.
    pub(super) fn renew_table(&self, before: Progress, width: u32, rows: &mut [i64]) {
        for columns in pushed_since(before, self.cursor.progress(), width) {
            self.release_columns(columns, width, rows);
        }
    }

    fn renewed(&self, kept: KeptTable, width: u32) -> Result<Arc<Vec<i64>>> {
        let KeptTable {
            mut table,
            progress,
            ..
        } = kept;
        if progress == self.cursor.progress() {
            return Ok(table);
        }
        if self.values.is_some() {
            return self.whole_table(width).map(Arc::new);
        }
        if let Some(rows) = Arc::get_mut(&mut table) {
            self.renew_table(progress, width, rows);
            return Ok(table);
        }
        // The last release is still there, and stays as it is.
        let mut rows = memory::copied(&table)?;
        self.renew_table(progress, width, &mut rows);
        Ok(Arc::new(rows))
    }

    /// Computes the released node sums of a tree over values: all bins had the same pushes.
    fn release_node_sums(&self, tree: &ValueTree, width: u32, sums: &mut [i64]) {
        tree.node_sums(|bin| self.table.published(0, bin), sums);
        self.noise.release_row(self.pushes(), width, (0, 0), sums);
        if planted!("exact-total-of-values") && self.pushes().numbers[0] > 0 {
            // As if the number of events were public.
            let root = sums.len() - 1;
            let mut exact = vec![0; sums.len()];
            tree.node_sums(|bin| self.table.published(0, bin), &mut exact);
            sums[root] = exact[root];
        }
    }

    /// Computes the released values of some columns in all rows; their pushes were refreshed.
    fn release_columns(&self, columns: Range<u32>, width: u32, rows: &mut [i64]) {
        for (row, values) in rows.chunks_exact_mut(width as usize).enumerate() {
            let values = &mut values[columns.start as usize..columns.end as usize];
            for (value, column) in values.iter_mut().zip(columns.clone()) {
                *value = self.table.published(row, column as usize);
            }
            let (pushes, first) = (self.pushes(), columns.start);
            self.noise.release_row(pushes, width, (row, first), values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PrivateSketch;
    use super::*;
    use crate::key::{Identity, MasterKey, SketchId};
    use crate::mechanism::MechanismKind;
    use crate::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
    use crate::schedule::Schedule;

    fn sketch(width: u32) -> PrivateSketch {
        let shape = Shape {
            kind: TableKind::CountMin,
            depth: 2,
            width,
            hash_seed: 0,
        };
        let spec = NoiseSpec {
            schedule: Schedule::round_robin(1000),
            mechanism: MechanismKind::Haar,
            sigma: 30.0,
            relation: Relation::ZeroOut,
            calibration: Calibration::Analytic,
            epsilon: 1.0,
            delta: 1e-6,
            max_weight: 1,
            max_events_per_user: 1,
            max_changes: 1,
            person_bound: None,
        };
        let identity = Identity::chosen(SketchId([1; 16]));
        PrivateSketch::new(shape, spec, &MasterKey::seeded(1), identity).unwrap()
    }

    fn kept(sketch: &PrivateSketch) -> Option<&KeptTable> {
        match &sketch.state.as_ref().unwrap().last_release {
            LastRelease::Kept(kept) => Some(kept),
            _ => None,
        }
    }

    #[test]
    fn the_second_release_is_kept_and_shared() {
        let mut sketch = sketch(8);
        sketch.tick(20).unwrap();
        let first = sketch.release().unwrap();
        assert!(kept(&sketch).is_none());
        let second = sketch.release().unwrap();
        let held = |sketch: &PrivateSketch| Arc::strong_count(&kept(sketch).unwrap().table);
        assert_eq!(held(&sketch), 2);
        let third = sketch.release().unwrap();
        assert_eq!((held(&sketch), &first), (3, &second));
        sketch.tick(3).unwrap();
        let fourth = sketch.release().unwrap();
        assert_eq!((held(&sketch), &second), (2, &third));
        assert!(fourth.table() != third.table());
    }

    /// In place if no release has the table, and in a copy otherwise.
    #[test]
    fn only_pushed_columns_are_drawn_again() {
        for is_shared in [false, true] {
            let mut sketch = sketch(8);
            sketch.tick(20).unwrap();
            sketch.release().unwrap();
            let before = sketch.release().unwrap().table().to_vec();
            let LastRelease::Kept(table) = &mut sketch.state.as_mut().unwrap().last_release else {
                panic!("not kept");
            };
            Arc::get_mut(&mut table.table).unwrap().fill(1 << 40);
            let shared = is_shared.then(|| sketch.release().unwrap());
            // 20 pushes were two rounds and columns 0 to 3: the next are 4, 5, 6.
            sketch.tick(3).unwrap();
            let after = sketch.release().unwrap();
            for (at, &value) in after.table().iter().enumerate() {
                let is_pushed = (4..7).contains(&(at % 8));
                assert_eq!(value != 1 << 40, is_pushed, "{at}");
                assert!(value != before[at], "{at}");
            }
            assert!(
                shared.is_none_or(|shared| shared.table().iter().all(|&value| value == 1 << 40))
            );
        }
    }
}
