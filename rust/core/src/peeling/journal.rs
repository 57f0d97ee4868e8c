//! What a fit changed, so that it can be undone.
//!
//! There is room for every cell and every name from the beginning, so that keeping one cannot fail.

use crate::{Result, memory};

/// What changed since the last undo.
#[derive(Debug, Clone)]
pub(super) struct Journal {
    cells: Vec<(u32, f64)>,
    names: Vec<(u32, f64, bool)>,
    /// Whether a cell or name is in the journal.
    cell_is_in: Vec<bool>,
    name_is_in: Vec<bool>,
}

impl Journal {
    pub(super) fn of(cells: usize, names: usize) -> Result<Self> {
        Ok(Self {
            cells: memory::room_for(cells)?,
            names: memory::room_for(names)?,
            cell_is_in: memory::filled(false, cells)?,
            name_is_in: memory::filled(false, names)?,
        })
    }

    /// One that keeps nothing, of a fit that is never undone.
    pub(super) fn closed(cells: usize, names: usize) -> Result<Self> {
        Ok(Self {
            cells: Vec::new(),
            names: Vec::new(),
            // What is in already is not kept again.
            cell_is_in: memory::filled(true, cells)?,
            name_is_in: memory::filled(true, names)?,
        })
    }

    /// The cells that changed, with their errors before.
    pub(super) fn cells(&self) -> &[(u32, f64)] {
        &self.cells
    }

    pub(super) fn keep_cell(&mut self, at: u32, errors: &[f64]) {
        if !std::mem::replace(&mut self.cell_is_in[at as usize], true) {
            self.cells.push((at, errors[at as usize]));
        }
    }

    pub(super) fn keep_name(&mut self, name: u32, counts: &[f64], taken: &[bool]) {
        let at = name as usize;
        if !std::mem::replace(&mut self.name_is_in[at], true) {
            self.names.push((name, counts[at], taken[at]));
        }
    }

    pub(super) fn undo(&mut self, errors: &mut [f64], counts: &mut [f64], taken: &mut [bool]) {
        for (at, error) in self.cells.drain(..) {
            errors[at as usize] = error;
            self.cell_is_in[at as usize] = false;
        }
        for (name, count, was_taken) in self.names.drain(..) {
            counts[name as usize] = count;
            taken[name as usize] = was_taken;
            self.name_is_in[name as usize] = false;
        }
    }
}
