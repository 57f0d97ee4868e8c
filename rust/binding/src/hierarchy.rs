//! Items to their names at the levels of a hierarchy.

use crate::errors::{ArgumentValueError, ItemError};
use crate::event_batch::Events;
use crate::items::{no_item, with_item};
use crate::level_names::{LevelNames, split_failed};
use arrow_buffer::ScalarBuffer;
use lazysketch_core::Error;
use lazysketch_core::item::Item;
use lazysketch_core::partial::Levels;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_text::{Hierarchy as Names, Named, NamesOfItems, SplitError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A hierarchy of networks, directories or domains.
#[pyclass(frozen, module = "lazysketch._native")]
pub(crate) struct Hierarchy {
    names: Names,
}

#[pymethods]
impl Hierarchy {
    /// Make a hierarchy of a kind: prefix lengths of networks, or a number of segments or labels.
    #[new]
    #[pyo3(signature = (kind, numbers), text_signature = "(kind, numbers)")]
    fn new(kind: &str, numbers: Vec<u32>) -> PyResult<Self> {
        let names = match (kind, numbers.as_slice()) {
            ("ipv4", [_, ..]) => Names::Ipv4(numbers),
            ("ipv6", [_, ..]) => Names::Ipv6(numbers),
            ("paths", &[depth]) => Names::Paths(depth as usize),
            ("domains", &[depth]) => Names::Domains(depth as usize),
            _ => {
                let message = "kind: expected ipv4, ipv6, paths or domains, got another";
                return Err(ArgumentValueError::new_err(message));
            }
        };
        Ok(Self { names })
    }

    /// Return the names of an item, the coarsest first.
    fn split(&self, item: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let names = with_item(item, &no_item, |item| {
            Ok(named(item).and_then(|item| self.names.names(item)))
        });
        let names = names.ok().flatten();
        names.ok_or_else(|| PyValueError::new_err("item: expected one that fits the levels"))
    }

    /// Return the name above a name.
    fn parent(&self, name: &Bound<'_, PyString>, level: usize) -> PyResult<String> {
        let above = self.names.above(name.to_str()?, level);
        above.ok_or_else(|| PyValueError::new_err("name: expected one of these levels"))
    }

    /// Return the names of the items of a batch, level by level.
    fn columns(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<Vec<LevelNames>> {
        columns_of(py, &self.names, items, None)
    }
}

/// Return the names of the items of a batch, level by level. With `misfits`, items that have none are
/// left out, and their positions are added there.
pub(crate) fn columns_of(
    py: Python<'_>,
    hierarchy: &Names,
    items: &Bound<'_, PyAny>,
    mut misfits: Option<&mut Vec<usize>>,
) -> PyResult<Vec<LevelNames>> {
    let batch = Events::of(items, None)?;
    let borrowed = batch.borrowed()?;
    let items = borrowed.items();
    let fingerprinter = Fingerprinter::new(0);
    let levels = py.detach(|| -> PyResult<_> {
        let mut names =
            NamesOfItems::of(hierarchy, items.len()).map_err(|error| split_failed(&error, 0))?;
        let mut result = Ok(());
        items.for_each_item(|at, item| {
            if result.is_ok() {
                let pushed = match named(item) {
                    Some(named) => names.push(named, fingerprinter.item(item)),
                    None => Err(SplitError::Misfit),
                };
                result = match (pushed, &mut misfits) {
                    (Err(SplitError::Misfit), Some(misfits)) => {
                        misfits.push(at);
                        Ok(())
                    }
                    (pushed, _) => pushed.map_err(|error| split_failed(&error, at)),
                };
            }
        });
        result.map(|()| names.finish())
    });
    let (levels, rows) = levels?;
    let rows = rows.map(ScalarBuffer::from);
    levels
        .into_iter()
        .map(|names| LevelNames::of(names, rows.clone()))
        .collect()
}

/// Return the hierarchy of a description for workers: its kind is a number from 1.
pub(crate) fn hierarchy_of(levels: &Levels) -> Result<Names, Error> {
    let numbers = levels.numbers();
    let names = match levels.kind() {
        1 => lengths_of(numbers, 32).map(Names::Ipv4),
        2 => lengths_of(numbers, 128).map(Names::Ipv6),
        3 => depth_of(numbers).map(Names::Paths),
        4 => depth_of(numbers).map(Names::Domains),
        _ => None,
    };
    names.ok_or_else(|| Error::parameter("spec", "levels of a known kind", "others"))
}

fn lengths_of(numbers: &[u8], most: u8) -> Option<Vec<u32>> {
    let (first, last) = (numbers.first()?, numbers.last()?);
    let are_increasing = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    (*first > 0 && *last <= most && are_increasing)
        .then(|| numbers.iter().map(|&number| number.into()).collect())
}

fn depth_of(numbers: &[u8]) -> Option<usize> {
    match numbers {
        &[depth @ 1..=32] => Some(depth.into()),
        _ => None,
    }
}

/// The names of one item, level by level.
pub(crate) struct NamesOfItem {
    text: String,
    ends: Vec<usize>,
}

impl NamesOfItem {
    /// Number of levels.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Return the name of a level.
    pub(crate) fn get(&self, level: usize) -> &str {
        let begin = level.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[level]]
    }
}

impl Hierarchy {
    /// Return what a description for workers says of it.
    pub(crate) fn levels(&self) -> Result<Levels, Error> {
        match &self.names {
            Names::Ipv4(lengths) => Levels::new(1, lengths),
            Names::Ipv6(lengths) => Levels::new(2, lengths),
            Names::Paths(depth) => Levels::new(3, &[*depth as u32]),
            Names::Domains(depth) => Levels::new(4, &[*depth as u32]),
        }
    }

    /// Return the names of an item.
    pub(crate) fn names_of(&self, item: &Bound<'_, PyAny>) -> PyResult<NamesOfItem> {
        let mut names = NamesOfItem {
            text: String::with_capacity(96),
            ends: Vec::with_capacity(self.names.levels()),
        };
        let split = with_item(item, &no_item, |item| {
            let push = &mut |_, name: &[u8]| {
                // Names are UTF-8: texts that are cut next to ASCII characters.
                names
                    .text
                    .push_str(str::from_utf8(name).unwrap_or_default());
                names.ends.push(names.text.len());
            };
            Ok(named(item).is_some_and(|item| self.names.split(item, push)))
        });
        match split {
            Ok(true) => Ok(names),
            Ok(false) => Err(ItemError::new_err(
                "items: expected items that fit the levels, got another; nothing was applied",
            )),
            Err(fault) => Err(fault.of_item()),
        }
    }
}

/// Return what a hierarchy takes.
fn named(item: Item<'_>) -> Option<Named<'_>> {
    match item {
        Item::Text(text) => Some(Named::Text(text)),
        Item::Signed(integer) => u128::try_from(integer).ok().map(Named::Number),
        Item::Unsigned(integer) => Some(Named::Number(integer.into())),
        Item::Wide(bytes) => wide(bytes).map(Named::Number),
        _ => None,
    }
}

/// Return an integer of 0 or more from its little-endian two's complement.
fn wide(bytes: &[u8]) -> Option<u128> {
    let (&last, rest) = bytes.split_last()?;
    // A byte of zeros keeps the sign of an integer whose highest bit is set.
    let bytes = if last == 0 { rest } else { bytes };
    let mut padded = [0; 16];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    (last < 0x80).then(|| u128::from_le_bytes(padded))
}
