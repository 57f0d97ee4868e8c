//! Draws for the oracle in tests, of sketches under a seeded key only.

use super::private::PrivateSketch;
use crate::guarantee::NotPrivate;
use crate::{Error, Result, memory};

impl PrivateSketch {
    /// The draws at these nodes of these cells, for the oracle in tests; only under a seeded key.
    pub fn draws(&self, cells: &[u64], nodes: &[u64]) -> Result<Vec<i64>> {
        if !self.not_private.contains(NotPrivate::SEEDED) {
            return Err(Error::PrivateDraws);
        }
        let noise = &self.state.as_ref().ok_or(Error::Closed)?.noise;
        let (largest_cell, largest_node) = (self.shape.cells() - 1, noise.nodes());
        if cells.iter().any(|&cell| cell > largest_cell) {
            return Err(Error::parameter(
                "cells",
                format!("0 to {largest_cell}"),
                "a larger one",
            ));
        }
        if nodes.iter().any(|&node| node == 0 || node > largest_node) {
            return Err(Error::parameter(
                "nodes",
                format!("1 to {largest_node}"),
                "another",
            ));
        }
        let mut draws = memory::room_for(cells.len().saturating_mul(nodes.len()))?;
        for &cell in cells {
            draws.extend(nodes.iter().map(|&node| noise.draw(cell, node)));
        }
        Ok(draws)
    }
}
