//! Columns of Arrow data, hashed in chunks while they are counted: no array of fingerprints is
//! allocated, and the interpreter lock is released.
//!
//! All errors of a column (its type, nulls, a dictionary entry that cannot be an item) are found
//! here, before the first event is counted.

use crate::arrow::{self, Chunk};
use crate::arrow_import::{Imported, broken};
use crate::arrow_items;
use crate::errors::raise;
use crate::items::Target;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, downcast_dictionary_array};
use arrow_schema::DataType;
use lazysketch_core::item::Item;
use lazysketch_core::memory;
use lazysketch_core::table::hash::Fingerprinter;
use lazysketch_core::table::items::{Columns, TextRun};
use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The columns of one batch, one after the other.
pub(crate) struct HashedColumns {
    columns: Vec<Hashed>,
    /// Number of items before each column, and in total.
    starts: Vec<usize>,
}

enum Hashed {
    /// A type of which every value is an item.
    Column(ArrayRef),
    /// A dictionary and the fingerprints of its entries.
    Dictionary(ArrayRef, Entries),
    /// Fingerprints.
    Ready(Vec<u64>),
}

/// Fingerprints of the entries of a dictionary, which are hashed once, on first use. Their memory is
/// allocated before anything is counted.
struct Entries {
    room: Mutex<Vec<u64>>,
    hashed: OnceLock<Vec<u64>>,
}

impl HashedColumns {
    /// Return the column of each chunk, validated.
    pub(crate) fn new(
        arrays: &[Imported],
        column: Option<&str>,
        fingerprinter: &Fingerprinter,
    ) -> PyResult<Self> {
        let columns = arrow::columns(arrays, column, "items")?;
        let starts = starts_of(&columns)?;
        let target = Target::Fingerprint(fingerprinter);
        let mut hashed = memory::room_for(columns.len()).map_err(raise)?;
        for (column, &start) in columns.iter().zip(&starts) {
            hashed.push(match Hashed::in_place(column)? {
                Some(in_place) => in_place,
                None => Hashed::Ready(arrow_items::fingerprints(column, start, target)?),
            });
        }
        Ok(Self {
            columns: hashed,
            starts,
        })
    }

    /// Wrap validated columns, if all their values are items that can be read in place.
    pub(crate) fn in_place(columns: &[Chunk]) -> PyResult<Option<Self>> {
        let mut hashed = memory::room_for(columns.len()).map_err(raise)?;
        for column in columns {
            match Hashed::in_place(column)? {
                Some(in_place) => hashed.push(in_place),
                None => return Ok(None),
            }
        }
        Ok(Some(Self {
            columns: hashed,
            starts: starts_of(columns)?,
        }))
    }

    /// Iterate over the columns that contain the `length` items from `start` on, with the first
    /// position and the number of positions in each.
    fn parts(&self, start: usize, length: usize) -> impl Iterator<Item = (&Hashed, usize, usize)> {
        let first = self.starts.partition_point(|&before| before <= start) - 1;
        let bounds = self.starts[first..].windows(2);
        let end = start + length;
        (self.columns[first..].iter().zip(bounds))
            .take_while(move |(_, bounds)| bounds[0] < end)
            .map(move |(column, bounds)| {
                let begin = start.max(bounds[0]);
                (column, begin - bounds[0], end.min(bounds[1]) - begin)
            })
    }
}

/// Return the number of items before each column, and in total.
fn starts_of(columns: &[Chunk]) -> PyResult<Vec<usize>> {
    let mut starts = memory::room_for(columns.len() + 1).map_err(raise)?;
    let mut end = 0_usize;
    starts.push(0);
    for column in columns {
        // Columns that have no bytes can be of any length.
        let longer = end
            .checked_add(column.len())
            .filter(|&end| end <= MOST_ITEMS);
        end = longer.ok_or_else(|| broken("items", "more than 2^48 values"))?;
        starts.push(end);
    }
    Ok(starts)
}

/// Most items of a batch: positions never overflow.
const MOST_ITEMS: usize = 1 << 48;

/// Return whether all values of a type are items.
fn is_items(data_type: &DataType) -> bool {
    use DataType::{
        Binary, BinaryView, Int8, Int16, Int32, Int64, LargeBinary, LargeUtf8, UInt8, UInt16,
        UInt32, UInt64, Utf8, Utf8View,
    };
    matches!(
        data_type,
        Utf8 | LargeUtf8
            | Utf8View
            | Binary
            | LargeBinary
            | BinaryView
            | Int8
            | Int16
            | Int32
            | Int64
            | UInt8
            | UInt16
            | UInt32
            | UInt64
    )
}

impl Columns for HashedColumns {
    fn len(&self) -> usize {
        self.starts[self.columns.len()]
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        let mut rest = out;
        for (column, start, length) in self.parts(start, rest.len()) {
            let part = rest
                .split_off_mut(..length)
                .expect("no more than there are");
            column.fingerprints(fingerprinter, start, part);
        }
    }

    fn has_items(&self) -> bool {
        let ready = |column: &Hashed| matches!(column, Hashed::Ready(_));
        !self.columns.iter().any(ready)
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        let mut rest = out;
        for (column, start, length) in self.parts(start, rest.len()) {
            let part = rest
                .split_off_mut(..length)
                .expect("no more than there are");
            column.items(start, part);
        }
    }

    fn texts(&self) -> Option<Vec<TextRun<'_>>> {
        let runs = self.columns.iter().map(|column| match column {
            Hashed::Column(column) => {
                let texts = column.as_string_opt::<i32>()?;
                Some(TextRun {
                    content: texts.value_data(),
                    offsets: texts.value_offsets(),
                })
            }
            _ => None,
        });
        runs.collect()
    }
}

impl Hashed {
    /// Wrap a validated column, if all its values are items.
    fn in_place(chunk: &Chunk) -> PyResult<Option<Self>> {
        let column = &chunk.array;
        if is_items(column.data_type()) {
            return Ok(Some(Self::Column(column.clone())));
        }
        let dictionary = column.as_any_dictionary_opt();
        let Some(dictionary) = dictionary.filter(|it| is_items(it.values().data_type())) else {
            return Ok(None);
        };
        let entries = dictionary.values().len();
        let hashed = if entries > column.len() { 0 } else { entries };
        let entries = Entries {
            room: Mutex::new(memory::zeros(hashed).map_err(raise)?),
            hashed: OnceLock::new(),
        };
        Ok(Some(Self::Dictionary(column.clone(), entries)))
    }

    fn items<'a>(&'a self, start: usize, out: &mut [Item<'a>]) {
        match self {
            // Fingerprints have no items: `has_items` is false.
            Self::Ready(_) => {}
            Self::Column(column) => items_of(column.as_ref(), out, start..),
            Self::Dictionary(column, _) => {
                // Keys are read first: a loop per pair of key type and entry type would be a
                // hundred loops.
                let mut entries = Vec::with_capacity(out.len());
                let column: &dyn Array = column;
                downcast_dictionary_array!(
                    column => {
                        let keys = &column.keys().values()[start..start + out.len()];
                        entries.extend(keys.iter().map(|&key| key as usize));
                        items_of(column.values().as_ref(), out, entries.into_iter());
                    },
                    other => unreachable!("{other} is not a dictionary"),
                );
            }
        }
    }

    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        let column = match self {
            Self::Ready(fingerprints) => {
                out.copy_from_slice(&fingerprints[start..start + out.len()]);
                return;
            }
            // More entries than rows: most entries would be hashed for nothing.
            Self::Dictionary(column, _)
                if column.as_any_dictionary().values().len() > column.len() =>
            {
                let mut items = vec![Item::Unsigned(0); out.len()];
                self.items(start, &mut items);
                for (out, &item) in out.iter_mut().zip(&items) {
                    *out = fingerprinter.item(item);
                }
                return;
            }
            Self::Dictionary(column, entries) => {
                let entries = entries.of(column, fingerprinter);
                let column: &dyn Array = column;
                downcast_dictionary_array!(
                    column => {
                        let keys = &column.keys().values()[start..start + out.len()];
                        for (out, key) in out.iter_mut().zip(keys) {
                            *out = entries[*key as usize];
                        }
                    },
                    other => unreachable!("{other} is not a dictionary"),
                );
                return;
            }
            Self::Column(column) => column.as_ref(),
        };
        macro_rules! each {
            ($array:expr, $hash:ident) => {{
                let array = $array;
                for (position, out) in out.iter_mut().enumerate() {
                    *out = fingerprinter.$hash(array.value(start + position));
                }
            }};
        }
        let positions = start..start + out.len();
        match column.data_type() {
            DataType::Utf8 => each!(column.as_string::<i32>(), text),
            DataType::LargeUtf8 => each!(column.as_string::<i64>(), text),
            DataType::Utf8View => each!(column.as_string_view(), text),
            DataType::Binary => each!(column.as_binary::<i32>(), bytes),
            DataType::LargeBinary => each!(column.as_binary::<i64>(), bytes),
            DataType::BinaryView => each!(column.as_binary_view(), bytes),
            DataType::Int64 => {
                let values = column.as_primitive::<Int64Type>().values();
                fingerprinter.signed_to(&values[positions], out);
            }
            DataType::UInt64 => {
                let values = column.as_primitive::<UInt64Type>().values();
                fingerprinter.unsigned_to(&values[positions], out);
            }
            DataType::Int32 => {
                let values = column.as_primitive::<Int32Type>().values();
                fingerprinter.narrow_to(&values[positions], out);
            }
            DataType::Int8 => signed::<Int8Type>(column, fingerprinter, start, out),
            DataType::Int16 => signed::<Int16Type>(column, fingerprinter, start, out),
            DataType::UInt8 => signed::<UInt8Type>(column, fingerprinter, start, out),
            DataType::UInt16 => signed::<UInt16Type>(column, fingerprinter, start, out),
            DataType::UInt32 => signed::<UInt32Type>(column, fingerprinter, start, out),
            other => unreachable!("{other} was converted when the batch was made"),
        }
    }
}

impl Entries {
    /// Return the fingerprint of every entry of a dictionary.
    fn of(&self, dictionary: &ArrayRef, fingerprinter: &Fingerprinter) -> &[u64] {
        self.hashed.get_or_init(|| {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let mut entries = std::mem::take(&mut *room);
            let values = dictionary.as_any_dictionary().values();
            Hashed::Column(values.clone()).fingerprints(fingerprinter, 0, &mut entries);
            entries
        })
    }
}

/// Write the items of a column at these positions.
fn items_of<'a>(column: &'a dyn Array, out: &mut [Item<'a>], places: impl Iterator<Item = usize>) {
    macro_rules! each {
        ($array:expr, $kind:ident) => {{
            let array = $array;
            for (out, place) in out.iter_mut().zip(places) {
                *out = Item::$kind(array.value(place).into());
            }
        }};
    }
    match column.data_type() {
        DataType::Utf8 => each!(column.as_string::<i32>(), Text),
        DataType::LargeUtf8 => each!(column.as_string::<i64>(), Text),
        DataType::Utf8View => each!(column.as_string_view(), Text),
        DataType::Binary => each!(column.as_binary::<i32>(), Bytes),
        DataType::LargeBinary => each!(column.as_binary::<i64>(), Bytes),
        DataType::BinaryView => each!(column.as_binary_view(), Bytes),
        DataType::Int64 => each!(column.as_primitive::<Int64Type>(), Signed),
        DataType::Int32 => each!(column.as_primitive::<Int32Type>(), Signed),
        DataType::Int16 => each!(column.as_primitive::<Int16Type>(), Signed),
        DataType::Int8 => each!(column.as_primitive::<Int8Type>(), Signed),
        DataType::UInt64 => each!(column.as_primitive::<UInt64Type>(), Unsigned),
        DataType::UInt32 => each!(column.as_primitive::<UInt32Type>(), Unsigned),
        DataType::UInt16 => each!(column.as_primitive::<UInt16Type>(), Unsigned),
        DataType::UInt8 => each!(column.as_primitive::<UInt8Type>(), Unsigned),
        other => unreachable!("{other} was refused when the batch was made"),
    }
}

/// Hash integers that fit signed 64-bit integers.
fn signed<A: ArrowPrimitiveType<Native: Into<i64>>>(
    column: &dyn Array,
    fingerprinter: &Fingerprinter,
    start: usize,
    out: &mut [u64],
) {
    let values = &column.as_primitive::<A>().values()[start..start + out.len()];
    for (out, &value) in out.iter_mut().zip(values) {
        *out = fingerprinter.signed(value.into());
    }
}
