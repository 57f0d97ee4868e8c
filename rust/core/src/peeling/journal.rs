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
    pub(super) fn closed() -> Self {
        Self {
            cells: Vec::new(),
            names: Vec::new(),
            cell_is_in: Vec::new(),
            name_is_in: Vec::new(),
        }
    }

    /// The cells that changed, with their errors before.
    pub(super) fn cells(&self) -> &[(u32, f64)] {
        &self.cells
    }

    pub(super) fn keep_cell(&mut self, at: u32, errors: &[f64]) {
        if is_new(&mut self.cell_is_in, at) {
            self.cells.push((at, errors[at as usize]));
        }
    }

    pub(super) fn keep_name(&mut self, name: u32, counts: &[f64], taken: &[bool]) {
        if is_new(&mut self.name_is_in, name) {
            let at = name as usize;
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

/// Whether a cell or name was not yet in the journal, which it is from now on; never in a closed one.
#[inline]
fn is_new(is_in: &mut [bool], at: u32) -> bool {
    is_in
        .get_mut(at as usize)
        .is_some_and(|is_in| !std::mem::replace(is_in, true))
}
