//! The process that made a live object: nothing that holds exact counts works in a forked child.

use crate::errors::LiveStateError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of forks that led to this process; an object works only in the generation it was made in.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Mark this process as a child; registered with `os.register_at_fork`. (`os.getpid()` per call
/// would cost more than an update.)
#[pyfunction]
#[pyo3(name = "_after_fork_in_child")]
pub(crate) fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The process that made an object.
#[derive(Clone, Copy)]
pub(crate) struct MakerProcess {
    generation: u64,
    process: u32,
    what: &'static str,
    advice: &'static str,
}

impl MakerProcess {
    /// This process; `what` names the object, `advice` ends the message.
    pub(crate) fn this(what: &'static str, advice: &'static str) -> Self {
        Self {
            generation: GENERATION.load(Ordering::Relaxed),
            process: std::process::id(),
            what,
            advice,
        }
    }

    /// Raise in a child made by `os.fork()`. Called after items were converted, because conversion
    /// may run Python code, which may fork.
    #[inline]
    pub(crate) fn check_generation(&self) -> PyResult<()> {
        if self.generation == GENERATION.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.forked())
    }

    /// Raise in any other process: a fork from native code runs no hook. The check costs a system
    /// call, so single updates and short batches, which publish nothing, omit it.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.check_generation()?;
        if self.process == std::process::id() {
            Ok(())
        } else {
            Err(self.forked())
        }
    }

    #[cold]
    fn forked(&self) -> PyErr {
        LiveStateError::new_err(format!(
            "{}: expected use in the process that made it, got use in a forked child; {}",
            self.what, self.advice
        ))
    }
}
