//! A table with a public list of names.

use super::cells::{Background, Cell, Extrapolated};
use super::names::{Names, names_in};
use crate::{Result, memory};
use std::sync::Arc;

/// A table with collisions, all columns of which were published, and the list.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) facts: Arc<Extrapolated>,
    pub(super) background: Background,
    pub(super) list: Vec<Cell>,
}

impl Listed {
    pub(super) fn of(facts: Arc<Extrapolated>, names: &[Cell]) -> Result<Self> {
        Ok(Self {
            background: Background::of(&facts)?,
            list: distinct(names, &facts)?,
            facts,
        })
    }

    /// Number of names.
    pub(super) fn names(&self) -> usize {
        self.list.len() / self.facts.depth
    }

    /// The cells of the name at a place of the list.
    pub(super) fn own(&self, place: u32) -> &[Cell] {
        let depth = self.facts.depth;
        &self.list[place as usize * depth..][..depth]
    }

    /// Whether all names of the list can be taken out.
    pub(super) fn is_short(&self) -> bool {
        is_short(self.names(), &self.facts)
    }

    /// The other rows, with the cells of the names in them.
    pub(super) fn without_row(&self, row: usize) -> Result<Self> {
        let (facts, list) = self.facts.without_row(row, &self.list)?;
        Ok(Self {
            background: Background::of(&facts)?,
            facts: Arc::new(facts),
            list,
        })
    }
}

/// Whether so many names can be taken out of a table.
pub(super) fn is_short(names: usize, facts: &Extrapolated) -> bool {
    names <= (facts.table.len() / 4).max(1)
}

/// The names of a list that is not much longer than the table once each; a longer one as it is.
fn distinct(list: &[Cell], facts: &Extrapolated) -> Result<Vec<Cell>> {
    let cells = facts.table.len();
    if names_in(list, facts.depth)? > 2.0 * cells as f64 {
        return memory::copied(list);
    }
    let names = memory::collected(list.chunks_exact(facts.depth))?;
    let names = Names::of(names, facts.depth, cells)?;
    let mut once = memory::room_for(names.len() * facts.depth)?;
    names.all().for_each(|own| once.extend_from_slice(own));
    Ok(once)
}
