//! Columns of Arrow data that are hashed chunk by chunk while they are counted: no array of
//! fingerprints is made, and the interpreter lock is free meanwhile.
//!
//! All that can be wrong with a column (its type, nulls, an entry of a dictionary that is no item)
//! is found here, before the first event is counted.

use crate::arrow;
use crate::items::Target;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, downcast_dictionary_array};
use arrow_schema::DataType;
use lazysketch_core::batch::Columns;
use lazysketch_core::hash::Fingerprinter;
use pyo3::prelude::*;

/// The columns of one batch, one after the other.
pub(crate) struct HashedColumns {
    columns: Vec<Hashed>,
    /// Number of items before each column, and of all.
    starts: Vec<usize>,
}

enum Hashed {
    /// Of a type whose every value is an item.
    Column(ArrayRef),
    /// A dictionary, and the fingerprints of its entries: each is hashed once.
    Dictionary(ArrayRef, Vec<u64>),
    /// Fingerprints.
    Ready(Vec<u64>),
}

impl HashedColumns {
    /// The column of each chunk, checked.
    pub(crate) fn new(
        chunks: &[ArrayRef],
        column: Option<&str>,
        fingerprinter: &Fingerprinter,
    ) -> PyResult<Self> {
        let columns = arrow::columns(chunks, column)?;
        let mut starts = vec![0];
        for column in &columns {
            starts.push(starts[starts.len() - 1] + column.len());
        }
        let target = Target::Fingerprint(fingerprinter);
        let hashed = columns.into_iter().zip(&starts).map(|(column, &start)| {
            if is_items(column.data_type()) {
                return Ok(Hashed::Column(column));
            }
            if let Some(dictionary) = column.as_any_dictionary_opt()
                && is_items(dictionary.values().data_type())
            {
                let mut entries = vec![0; dictionary.values().len()];
                Hashed::Column(dictionary.values().clone()).fingerprints(
                    fingerprinter,
                    0,
                    &mut entries,
                );
                return Ok(Hashed::Dictionary(column, entries));
            }
            arrow::fingerprints(&column, start, target).map(Hashed::Ready)
        });
        Ok(Self {
            columns: hashed.collect::<PyResult<_>>()?,
            starts,
        })
    }
}

/// True for types whose values all are items.
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
        let mut number = self.starts.partition_point(|&first| first <= start) - 1;
        let (mut start, mut out) = (start - self.starts[number], out);
        while !out.is_empty() {
            let length = self.starts[number + 1] - self.starts[number];
            let (part, rest) = out.split_at_mut(out.len().min(length - start));
            self.columns[number].fingerprints(fingerprinter, start, part);
            (start, out, number) = (0, rest, number + 1);
        }
    }
}

impl Hashed {
    fn fingerprints(&self, fingerprinter: &Fingerprinter, start: usize, out: &mut [u64]) {
        let column = match self {
            Self::Ready(fingerprints) => {
                out.copy_from_slice(&fingerprints[start..start + out.len()]);
                return;
            }
            Self::Dictionary(column, entries) => {
                let column: &dyn Array = column;
                downcast_dictionary_array!(
                    column => {
                        let keys = &column.keys().values()[start..start + out.len()];
                        for (out, key) in out.iter_mut().zip(keys) {
                            *out = entries[*key as usize];
                        }
                    },
                    other => unreachable!("{other} is no dictionary"),
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

/// Integers that fit 64 bits with their sign.
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
