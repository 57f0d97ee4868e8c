//! Numpy arrays of text or bytes of one width, read in place: no Python object is made of a value.

use crate::arrays::{InPlace, Unit, as_contiguous};
use crate::errors::raise;
use crate::items::Fault;
use lazysketch_core::fixed_width::{ascii_of, utf8_of, without_zeros};
use lazysketch_core::item::Item;
use lazysketch_core::memory;
use lazysketch_core::table::hash::Fingerprinter;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;

/// An array of the type `U` or `S`. A value that is shorter than the width ends in zeros, which are
/// not part of it.
pub(crate) struct FixedWidthText<'py> {
    units: Units<'py>,
    /// Units of one value, not 0.
    width: usize,
}

enum Units<'py> {
    /// Code points.
    Text(InPlace<'py, u32>),
    Bytes(InPlace<'py, u8>),
}

impl<'py> FixedWidthText<'py> {
    /// `None` for an array of another type, and if there is nothing to read.
    pub(crate) fn of(array: &Bound<'py, PyUntypedArray>) -> PyResult<Option<Self>> {
        let (kind, bytes) = (array.dtype().kind(), array.dtype().itemsize());
        if bytes == 0 || array.is_empty() {
            return Ok(None);
        }
        Ok(match kind {
            b'U' => Some(Self {
                units: Units::Text(units_of(array)?),
                width: bytes / size_of::<u32>(),
            }),
            b'S' => Some(Self {
                units: Units::Bytes(units_of(array)?),
                width: bytes,
            }),
            _ => None,
        })
    }

    /// Number of values.
    pub(crate) fn len(&self) -> PyResult<usize> {
        Ok(match &self.units {
            Units::Text(units) => units.as_slice("items")?.len() / self.width,
            Units::Bytes(units) => units.as_slice("items")?.len() / self.width,
        })
    }

    /// Call `with` on each value in order, until it fails; the error gives the position.
    pub(crate) fn for_each(
        &self,
        refuse: &dyn Fn(&str) -> Fault,
        mut with: impl FnMut(Item<'_>) -> Result<(), Fault>,
    ) -> PyResult<()> {
        self.for_each_run(refuse, |start, run| match run {
            Run::Text(text) => with(Item::Text(text)).map_err(|fault| fault.at(start)),
            Run::Ascii(texts) => {
                let rows = (0..texts.len()).step_by(self.width);
                let values = rows.map(|at| &texts[at..at + self.width]);
                values.enumerate().try_for_each(|(at, value)| {
                    let text = &value[..without_zeros(value.as_bytes()).len()];
                    with(Item::Text(text)).map_err(|fault| fault.at(start + at))
                })
            }
            Run::Bytes(bytes) => {
                let mut values = bytes.chunks_exact(self.width).enumerate();
                values.try_for_each(|(at, value)| {
                    let item = Item::Bytes(without_zeros(value));
                    with(item).map_err(|fault| fault.at(start + at))
                })
            }
        })
    }

    /// Return the fingerprint of each value.
    pub(crate) fn fingerprints(
        &self,
        fingerprinter: &Fingerprinter,
        refuse: &dyn Fn(&str) -> Fault,
    ) -> PyResult<Vec<u64>> {
        let mut all = memory::zeros(self.len()?).map_err(raise)?;
        self.for_each_run(refuse, |start, run| {
            let out = &mut all[start..];
            match run {
                Run::Text(text) => out[0] = fingerprinter.text(text),
                Run::Ascii(texts) => fingerprinter.texts_to(texts, self.width, out),
                Run::Bytes(bytes) => fingerprinter.bytes_to(bytes, self.width, out),
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// Call `with` on runs of values and the position of each run, until it fails. A block of
    /// ASCII, the usual text, is converted and checked as one.
    fn for_each_run(
        &self,
        refuse: &dyn Fn(&str) -> Fault,
        mut with: impl FnMut(usize, Run<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let units = match &self.units {
            Units::Text(units) => units.as_slice("items")?,
            Units::Bytes(units) => return with(0, Run::Bytes(units.as_slice("items")?)),
        };
        let rows = (BLOCK / self.width).max(1);
        // Room for a block of ASCII, and for one text of any characters.
        let room = self.width * rows.min(units.len() / self.width).max(4);
        let mut out = Scratch(memory::zeros(room).map_err(raise)?);
        for (number, block) in units.chunks(rows * self.width).enumerate() {
            let start = number * rows;
            if let Some(texts) = ascii_of(block, &mut out.0) {
                with(start, Run::Ascii(texts))?;
                continue;
            }
            for (at, value) in block.chunks_exact(self.width).enumerate() {
                match utf8_of(without_zeros(value), &mut out.0) {
                    Some(text) => with(start + at, Run::Text(text))?,
                    None => return Err(refuse("text with a lone surrogate").at(start + at)),
                }
            }
        }
        Ok(())
    }
}

/// Values one after the other.
enum Run<'a> {
    /// One text.
    Text(&'a str),
    /// Texts of ASCII, with the zeros at their ends.
    Ascii(&'a str),
    /// Bytes, with the zeros at their ends.
    Bytes(&'a [u8]),
}

/// The units of all values, one after the other, in native byte order.
fn units_of<'py, T: Unit>(array: &Bound<'py, PyUntypedArray>) -> PyResult<InPlace<'py, T>> {
    if let Some(units) = InPlace::of_units(array) {
        return Ok(units);
    }
    let py = array.py();
    let native = array
        .dtype()
        .call_method1(intern!(py, "newbyteorder"), (intern!(py, "="),))?;
    let numpy = py.import(intern!(py, "numpy"))?;
    let plain = numpy.call_method1(intern!(py, "ascontiguousarray"), (array, native))?;
    let units = plain.call_method1(intern!(py, "view"), (T::NAME,))?;
    as_contiguous(units.cast::<PyUntypedArray>()?, T::NAME)
}

/// Memory for texts, which is erased at the end.
struct Scratch(Vec<u8>);

impl Drop for Scratch {
    fn drop(&mut self) {
        memory::wipe(&mut self.0);
    }
}

/// Code points that are converted together: they and their bytes fit the first cache.
const BLOCK: usize = 4096;
