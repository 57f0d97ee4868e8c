//! Tables of text: blocks to columns, without the interpreter lock.

use crate::field_reader::{Columns, shown};
use lazysketch_text::{DelimitedReader as Reader, Roles};
use pyo3::prelude::*;

/// Cuts the rows of one table, block by block.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct DelimitedReader {
    reader: Reader,
}

#[pymethods]
impl DelimitedReader {
    /// Columns are given by their numbers, counted from 0.
    #[new]
    #[pyo3(signature = (*, columns, field, weight, max_weight, time, value, user, delimiter, quoted))]
    #[expect(
        clippy::too_many_arguments,
        reason = "of a function of Python, by name"
    )]
    fn new(
        columns: usize,
        field: usize,
        weight: Option<usize>,
        max_weight: i64,
        time: Option<usize>,
        value: Option<usize>,
        user: Option<usize>,
        delimiter: u8,
        quoted: bool,
    ) -> Self {
        let wanted = Roles {
            item: field,
            weight: weight.map(|column| (column, max_weight)),
            time,
            value,
            user,
        };
        let reader = Reader::new(columns, &wanted, delimiter, quoted);
        Self { reader }
    }

    /// Return the rows of a block of whole lines, and the size in bytes of a row at its end that a
    /// quote leaves open. `missing` are texts that are no items and no people.
    #[pyo3(signature = (block, *, missing))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        block: &[u8],
        missing: Vec<Vec<u8>>,
    ) -> (Columns<'py>, usize) {
        let (columns, open_size) = py.detach(|| self.reader.read(block, &missing));
        (shown(py, columns), open_size)
    }
}
