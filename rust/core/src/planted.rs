//! Bugs as people make them, for the tests that must find them.
//!
//! With the cargo feature `planted`, which no released build has, the environment variable
//! `PLANTED_BUG` names one bug, and [`planted!`] takes its wrong branch. Without the feature
//! the compiler removes the wrong branches, but still checks their types. `tests/planted` lists the
//! bugs, says what each breaks, and names a test that fails for it.

use std::sync::OnceLock;

/// Takes the wrong expression if the named bug is planted, the right one otherwise. The cargo feature
/// is that of the crate that uses it.
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($bug:literal, $wrong:expr, $right:expr) => {
        if cfg!(feature = "planted") && $crate::planted::is_planted($bug) {
            $wrong
        } else {
            $right
        }
    };
    ($bug:literal) => {
        $crate::planted!($bug, true, false)
    };
}

/// True if the environment names this bug; it is read once.
pub fn is_planted(bug: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    let named = PLANTED.get_or_init(|| std::env::var("PLANTED_BUG").ok());
    named.as_deref() == Some(bug)
}
