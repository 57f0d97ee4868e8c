//! A thread that writes what waits for a commit, while other threads append.

use crate::group_commit::GroupCommit;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The thread; it ends when this is dropped. Without one, if the system refuses it, appends and
/// commits do all the work.
pub(crate) struct EarlyWriter {
    thread: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// A forked child has no such thread.
    process: u32,
}

impl EarlyWriter {
    /// Starts the thread.
    pub(crate) fn of(commits: &Arc<GroupCommit>) -> Self {
        let commits = Arc::clone(commits);
        let (wakes, woken) = sync_channel(1);
        let builder = Builder::new().name("lazysketch-store".into());
        let thread = builder.spawn(move || write_when_woken(&commits, &woken));
        Self {
            thread: thread.ok().map(|thread| (wakes, thread)),
            process: process::id(),
        }
    }

    /// Lets the thread write what waits when the call is made. Never waits.
    pub(crate) fn wake(&self) {
        if let Some((wakes, _)) = &self.thread {
            // One wake that has not been taken stands for all.
            let _full = wakes.try_send(());
        }
    }
}

impl Drop for EarlyWriter {
    fn drop(&mut self) {
        let Some((wakes, thread)) = self.thread.take() else {
            return;
        };
        if process::id() != self.process {
            std::mem::forget((wakes, thread));
            return;
        }
        drop(wakes);
        // A panic of the thread has poisoned the store.
        let _panicked = thread.join();
    }
}

fn write_when_woken(commits: &GroupCommit, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        commits.commit_early();
    }
}
