//! Numpy arrays of text or bytes of one width, read in place: no Python object is made of a value.

use crate::arrays::{InPlace, Values, as_contiguous};
use crate::errors::raise;
use crate::items::Fault;
use lazysketch_core::item::Item;
use lazysketch_core::memory;
use numpy::{Element, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use zeroize::{Zeroize, Zeroizing};

/// An array of the type `U` or `S`. A value that is shorter than the width ends in zeros, which are
/// not part of it.
pub(crate) struct FixedWidthText<'py> {
    units: Units<'py>,
    /// Units of one value, not 0.
    width: usize,
}

enum Units<'py> {
    /// Code points.
    Text(Values<'py, u32>),
    Bytes(Values<'py, u8>),
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
                units: Units::Text(units_of(array, "uint32")?),
                width: bytes / size_of::<u32>(),
            }),
            b'S' => Some(Self {
                units: Units::Bytes(units_of(array, "uint8")?),
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
        match &self.units {
            Units::Bytes(units) => {
                let values = units.as_slice("items")?.chunks_exact(self.width);
                for (position, value) in values.enumerate() {
                    with(Item::Bytes(without_zeros(value))).map_err(|fault| fault.at(position))?;
                }
            }
            Units::Text(units) => {
                let rows = (BLOCK / self.width).max(1);
                let bytes = 4 * self.width * rows; // so that the text never moves
                let mut text = Zeroizing::new(memory::room_for(bytes).map_err(raise)?);
                let blocks = units.as_slice("items")?.chunks(rows * self.width);
                for (number, block) in blocks.enumerate() {
                    self.texts_of(block, &mut text, refuse, &mut with)
                        .map_err(|(position, fault)| fault.at(number * rows + position))?;
                }
            }
        }
        Ok(())
    }

    /// Call `with` on each value of a block of code points. A block of ASCII, the usual case, is
    /// converted and checked as one text.
    #[inline]
    fn texts_of(
        &self,
        block: &[u32],
        text: &mut Vec<u8>,
        refuse: &dyn Fn(&str) -> Fault,
        mut with: impl FnMut(Item<'_>) -> Result<(), Fault>,
    ) -> Result<(), (usize, Fault)> {
        if let Some(texts) = ascii_of(block, text) {
            for position in 0..block.len() / self.width {
                let start = position * self.width;
                let value = &texts[start..start + self.width];
                let value = &value[..without_zeros(value.as_bytes()).len()];
                with(Item::Text(value)).map_err(|fault| (position, fault))?;
            }
            return Ok(());
        }
        for (position, value) in block.chunks_exact(self.width).enumerate() {
            let result = match utf8_of(without_zeros(value), text) {
                Some(text) => with(Item::Text(text)),
                None => Err(refuse("text with a lone surrogate")),
            };
            result.map_err(|fault| (position, fault))?;
        }
        Ok(())
    }
}

/// The units of all values, one after the other, in native byte order.
fn units_of<'py, T: Element + Zeroize>(
    array: &Bound<'py, PyUntypedArray>,
    unit: &str,
) -> PyResult<Values<'py, T>> {
    let py = array.py();
    let native = array
        .dtype()
        .call_method1(intern!(py, "newbyteorder"), (intern!(py, "="),))?;
    let numpy = py.import(intern!(py, "numpy"))?;
    let plain = numpy.call_method1(intern!(py, "ascontiguousarray"), (array, native))?;
    let units = plain.call_method1(intern!(py, "view"), (unit,))?;
    let units: InPlace<'py, T> = as_contiguous(units.cast::<PyUntypedArray>()?, unit)?;
    Ok(Values::InPlace(units))
}

/// Code points that are converted together: they and their bytes fit the first cache.
const BLOCK: usize = 2048;

/// A value without the zeros at its end.
#[inline]
fn without_zeros<T: Copy + Default + PartialEq>(value: &[T]) -> &[T] {
    let zero = T::default();
    let mut end = value.len();
    // Short values of a wide type: eight zeros in one comparison.
    while end >= 8
        && value[end - 8..end]
            .iter()
            .fold(true, |all, &it| all & (it == zero))
    {
        end -= 8;
    }
    let last = value[..end].iter().rposition(|&unit| unit != zero);
    &value[..last.map_or(0, |last| last + 1)]
}

/// Code points as one ASCII text, written to `text`; `None` if one of them is another character.
#[inline]
fn ascii_of<'a>(points: &[u32], text: &'a mut Vec<u8>) -> Option<&'a str> {
    if points.iter().fold(0, |all, &point| all | point) >= 0x80 {
        return None;
    }
    text.clear();
    text.extend(points.iter().map(|&point| point as u8));
    str::from_utf8(text).ok()
}

/// Code points as UTF-8, written to `text`; `None` if one of them is no character.
#[inline]
fn utf8_of<'a>(points: &[u32], text: &'a mut Vec<u8>) -> Option<&'a str> {
    text.clear();
    for &point in points {
        let mut bytes = [0; 4];
        let character = char::from_u32(point)?.encode_utf8(&mut bytes);
        text.extend_from_slice(character.as_bytes());
    }
    str::from_utf8(text).ok()
}
