//! Numpy arrays of the type `StringDType`, read in place through numpy's own functions: no Python
//! object is made of a value.
//!
//! The interpreter lock is released before the texts are locked: a thread that holds them may wait
//! for the interpreter. Meanwhile another thread may run Python code; that the array is referred to
//! weakly keeps numpy from resizing it, even with `refcheck=False`, so its cells stay where they are.
//!
//! Source: NEP 55, <https://numpy.org/neps/nep-0055-string_dtype.html>, and the C interface of
//! NumPy 2.0, <https://numpy.org/doc/stable/reference/c-api/strings.html>.
#![allow(unsafe_code)]

use crate::array_cells::Cells;
use crate::items::Fault;
use lazysketch_core::item::Item;
use numpy::npyffi::PyArray_Descr;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyWeakrefReference};
use std::ffi::{c_char, c_int, c_void};
use std::slice;

/// The C struct `npy_static_string`.
#[repr(C)]
struct RawText {
    size: usize,
    bytes: *const c_char,
}

type Load = unsafe extern "C" fn(*mut c_void, *const c_void, *mut RawText) -> c_int;
type Acquire = unsafe extern "C" fn(*const PyArray_Descr) -> *mut c_void;
type Release = unsafe extern "C" fn(*mut c_void);

/// Positions in numpy's table of functions, which its binary interface fixes.
const LOAD: usize = 313;
const ACQUIRE: usize = 316;
const RELEASE: usize = 318;

/// Functions of numpy that need no interpreter.
#[derive(Clone, Copy)]
struct TextFunctions {
    load: Load,
    acquire: Acquire,
    release: Release,
}

impl TextFunctions {
    fn of_numpy(py: Python<'_>) -> PyResult<Self> {
        static FOUND: PyOnceLock<TextFunctions> = PyOnceLock::new();
        let found = FOUND.get_or_try_init(py, || {
            let module = py.import("numpy._core._multiarray_umath")?;
            let capsule = module.getattr("_ARRAY_API")?.cast_into::<PyCapsule>()?;
            let table = capsule.pointer_checked(None)?.cast::<*const c_void>();
            // SAFETY: the table has these functions since NumPy 2.0, the first one with arrays of
            // this type, which is what the caller has. numpy is never unloaded.
            PyResult::Ok(unsafe {
                Self {
                    load: std::mem::transmute::<*const c_void, Load>(table.add(LOAD).read()),
                    acquire: std::mem::transmute::<*const c_void, Acquire>(
                        table.add(ACQUIRE).read(),
                    ),
                    release: std::mem::transmute::<*const c_void, Release>(
                        table.add(RELEASE).read(),
                    ),
                }
            })
        })?;
        Ok(*found)
    }
}

/// The texts of an array, locked: no thread changes them. Unlocked when this is dropped.
struct LockedTexts {
    functions: TextFunctions,
    allocator: *mut c_void,
}

impl LockedTexts {
    /// Return the text in a cell; `None` for a missing value, and for what is no UTF-8.
    #[inline]
    fn text(&self, cell: *const u8) -> Option<&str> {
        let mut text = RawText {
            size: 0,
            bytes: std::ptr::null(),
        };
        // SAFETY: the cell is one of the array whose texts are locked; numpy fills the struct with
        // memory of the array, which stays as it is until the lock is released.
        let bytes = unsafe {
            if (self.functions.load)(self.allocator, cell.cast(), &raw mut text) != 0 {
                return None;
            }
            match text.size {
                0 => &[],
                size => slice::from_raw_parts(text.bytes.cast::<u8>(), size),
            }
        };
        if is_short_ascii(bytes) {
            // SAFETY: ASCII is UTF-8.
            return Some(unsafe { str::from_utf8_unchecked(bytes) });
        }
        str::from_utf8(bytes).ok()
    }
}

/// True for ASCII of 4 to 16 bytes, the usual text: two words that may overlap cover it. The check
/// of the standard library takes longer than the hash of such a text.
#[inline]
fn is_short_ascii(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last), ..=16) = (bytes.first_chunk(), bytes.last_chunk(), bytes.len())
    {
        let both = u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last);
        return both & 0x8080_8080_8080_8080 == 0;
    }
    if let (Some(first), Some(last), ..=8) = (bytes.first_chunk(), bytes.last_chunk(), bytes.len())
    {
        let both = u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last);
        return both & 0x8080_8080 == 0;
    }
    false
}

impl Drop for LockedTexts {
    fn drop(&mut self) {
        // SAFETY: acquired once, by `PackedText::locked`.
        unsafe { (self.functions.release)(self.allocator) };
    }
}

/// A one-dimensional array of the type `StringDType`.
pub(crate) struct PackedText {
    cells: Cells,
    type_of_array: *const PyArray_Descr,
    functions: TextFunctions,
}

// SAFETY: the addresses are read in one call of `for_each`, during which the caller keeps the array
// and refuses to have it resized. Cells of texts are only changed under the lock that is held there.
unsafe impl Send for PackedText {}

impl PackedText {
    /// `None` for an array of another type.
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<Self>> {
        let data_type = array.dtype();
        if data_type.kind() != b'T' {
            return Ok(None);
        }
        let Some(cells) = Cells::of(array).filter(|cells| cells.are_aligned(align_of::<usize>()))
        else {
            return Ok(None);
        };
        Ok(Some(Self {
            cells,
            type_of_array: data_type.as_dtype_ptr().cast_const(),
            functions: TextFunctions::of_numpy(array.py())?,
        }))
    }

    fn locked(&self) -> LockedTexts {
        LockedTexts {
            functions: self.functions,
            // SAFETY: the array's own type, which is one of texts and lives as long as the array.
            allocator: unsafe { (self.functions.acquire)(self.type_of_array) },
        }
    }

    /// Call `with` on each text; an error gives the position, `None` a value that is missing.
    fn for_each(
        &self,
        mut with: impl FnMut(Item<'_>) -> Result<(), Fault>,
    ) -> Option<Result<(), (usize, Fault)>> {
        let texts = self.locked();
        for position in 0..self.cells.len() {
            let text = texts.text(self.cells.at(position))?;
            if let Err(fault) = with(Item::Text(text)) {
                return Some(Err((position, fault)));
            }
        }
        Some(Ok(()))
    }
}

/// Weak references to an array and to those it is a view of: numpy resizes none of them while these
/// exist, whatever the caller of `resize` says of references.
fn unresizable<'py>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Vec<Bound<'py, PyWeakrefReference>>> {
    let mut kept = Vec::with_capacity(2);
    let mut owner = array.clone();
    loop {
        kept.push(PyWeakrefReference::new(&owner)?);
        match owner.getattr("base")?.cast_into::<PyUntypedArray>() {
            Ok(base) => owner = base,
            Err(_) => return Ok(kept),
        }
    }
}

/// Up to this number of texts, Python objects cost less than weak references and locks.
const FEW: usize = 4;

/// Make a result of the texts of an array: `push` is called on each in order, until it fails; the
/// error gives the position. `None` if the array has another type, few texts, a missing value, or a
/// text that is no UTF-8: then its Python objects say what they are.
pub(crate) fn collected_of_packed_text<T: Send>(
    array: &Bound<'_, PyUntypedArray>,
    mut collected: T,
    push: impl Fn(&mut T, Item<'_>) -> Result<(), Fault> + Send,
) -> PyResult<Option<T>> {
    if array.len() <= FEW {
        return Ok(None);
    }
    // Before the address of the cells is taken: Python code may run here.
    let kept = if array.dtype().kind() == b'T' {
        unresizable(array)?
    } else {
        Vec::new()
    };
    let Some(texts) = PackedText::of(array)? else {
        return Ok(None);
    };
    let read = array.py().detach(move || {
        let read = texts.for_each(|item| push(&mut collected, item));
        read.map(|result| result.map(|()| collected))
    });
    drop(kept);
    read.transpose()
        .map_err(|(position, fault)| fault.at(position))
}
