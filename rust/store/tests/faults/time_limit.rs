//! A limit of the time that a test may take: a thread that waits for ever is a failure.

use std::io::{Write, stderr};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Far above what any test takes, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(150);

/// Ends the process, as a failure, unless it is dropped in time. A thread that hangs cannot be ended
/// alone, and the harness of the tests would wait for it.
pub(crate) struct TimeLimit {
    _dropped: SyncSender<()>,
}

impl TimeLimit {
    /// Begins now, for the test that calls it.
    pub(crate) fn start() -> Self {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let (dropped, waiting) = sync_channel(0);
        thread::spawn(move || {
            if let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(LONGEST) {
                // The harness would keep what eprintln! writes.
                let _ = writeln!(stderr(), "{test}: expected an end in {LONGEST:?}, got none");
                process::exit(101);
            }
        });
        Self { _dropped: dropped }
    }
}
