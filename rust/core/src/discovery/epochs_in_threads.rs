//! Whole epochs of a batch, counted side by side in several threads.
//!
//! Epochs share nothing but their keys: each begins without counts, and its names follow from its own
//! events, its own counts and its number. So the names and their noise are those of one thread. Each
//! further thread has counts of its own while the batch lasts; without memory for them, there are
//! fewer threads.

use super::counting::{Counting, Keys};
use super::epoch_counts::Counts;
use super::name::Kept;
use super::spec::Design;
use super::{Discovery, State};
use crate::table::items::Items;
use crate::{Result, memory};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Events per thread that take longer than its start and the memory of its counts.
const EVENTS_PER_THREAD: usize = 1 << 15;
/// Epochs per thread: the first one after the start writes to all of that memory.
const EPOCHS_PER_THREAD: u64 = 2;

/// Names by the epoch that first published each.
type Published = BTreeMap<(Kept, u128), u64>;

/// Epochs of one length, and the events of all of them.
#[derive(Clone, Copy)]
struct Epochs<'a> {
    keys: &'a Keys,
    design: &'a Design,
    items: Items<'a>,
    weights: Option<&'a [u64]>,
    length: usize,
    /// The most that an event adds.
    most: u64,
    /// Number of the first epoch.
    first: u64,
}

impl Discovery {
    /// Counts and publishes the whole epochs that the events begin with, if an epoch has just been
    /// opened and several threads are faster; returns the number of their events, or 0.
    pub(super) fn feed_epochs(
        &mut self,
        items: Items<'_>,
        weights: Option<&[u64]>,
        threads: usize,
    ) -> usize {
        let length = self.spec.steps_per_epoch;
        let whole = items.len() as u64 / length;
        let most = (whole / EPOCHS_PER_THREAD).min((items.len() / EVENTS_PER_THREAD) as u64);
        let threads = most.min(threads as u64);
        let Some(State {
            keys,
            counting,
            ahead,
        }) = &mut self.state
        else {
            return 0;
        };
        if threads < 2 || self.taken > 0 || !ahead.is_empty() {
            return 0;
        }
        let counts = || Counts::new(&self.design, &self.spec, &keys.identities);
        let mut others = counting_in(threads - 1, || Counting::new(counts()?));
        if others.is_empty() {
            return 0;
        }
        let epochs = Epochs {
            keys,
            design: &self.design,
            items,
            weights,
            length: length as usize,
            most: self.spec.largest_count(),
            first: self.epoch,
        };
        let next = AtomicU64::new(0);
        let found = epochs.published(&next, whole, counting, &mut others);
        for (name, epoch) in found.into_iter().flatten() {
            let first = self.candidates.entry(name).or_insert(epoch);
            *first = planted!(
                "last-thread-says-when-a-name-came",
                epoch,
                epoch.min(*first)
            );
        }
        self.epoch += whole;
        whole as usize * epochs.length
    }
}

impl Epochs<'_> {
    /// What the first `whole` epochs publish, a map for each thread.
    fn published(
        self,
        next: &AtomicU64,
        whole: u64,
        own: &mut Counting,
        others: &mut [Counting],
    ) -> Vec<Published> {
        thread::scope(|scope| {
            let others: Vec<_> = (others.iter_mut())
                .map(|other| {
                    let work = move || self.published_by(next, whole, other);
                    // Without a thread its epochs are for the others.
                    thread::Builder::new().spawn_scoped(scope, work)
                })
                .collect();
            let mut found = vec![self.published_by(next, whole, own)];
            for other in others.into_iter().flatten() {
                match other.join() {
                    Ok(names) => found.push(names),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            found
        })
    }

    /// What the epochs publish that no other thread has begun.
    fn published_by(self, next: &AtomicU64, whole: u64, counting: &mut Counting) -> Published {
        let mut published = Published::new();
        loop {
            // Only the number has to be unique: what the threads read does not change.
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= whole {
                counting.forget();
                return published;
            }
            let start = at as usize * self.length;
            let events = start..start + self.length;
            let weights = self.weights.map(|weights| &weights[events.clone()]);
            let items = self.items.slice(events.start, events.end);
            counting.add_all(self.keys, items, weights, self.most, None);
            let epoch = planted!("noise-of-threads-begins-anew", at, self.first + at);
            counting.end(self.keys, self.design, epoch, |name| {
                published.entry(name).or_insert(self.first + at);
            });
        }
    }
}

/// Room for epochs in this many threads, or in as many as there is memory for.
fn counting_in(threads: u64, one: impl Fn() -> Result<Counting>) -> Vec<Counting> {
    let mut all = memory::room_for(threads as usize).unwrap_or_default();
    while all.len() < all.capacity().min(threads as usize)
        && let Ok(counting) = one()
    {
        all.push(counting);
    }
    all
}
