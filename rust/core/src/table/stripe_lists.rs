//! Lists of the places of events, one for each half of each stripe of cells (`super::stripes`).

use super::Table;
use super::far_cells::are_sparse;
use super::kernels::{CHUNK, Counter, EventWeights, Events, Locate, Places, cell_of, push};
use crate::schedule::Cursor;
use crate::simd::{prefetch, widest};
use crate::{Result, memory};
use std::iter;
use std::ops::Range;

/// Most lists, two for each stripe: the number of a list is a byte.
pub(super) const LISTS: usize = 1 << u8::BITS;
/// Places of a page.
const PAGE: usize = 1 << 10;
/// Places of a list that are prefetched: a cache does not foresee writes to as many lists.
const AHEAD: usize = 24;
/// Before the first page of a list.
const NO_PAGE: u32 = u32::MAX;

/// The cells that a block pushes: a number of them, the first of the table after its last.
#[derive(Clone, Copy)]
pub(crate) struct Pushed {
    first: u32,
    number: u32,
    /// Cells of the table.
    cells: u32,
}

impl Pushed {
    pub(super) fn between(before: &Cursor, after: &Cursor, table: &Table) -> Self {
        let depth = table.depth as u32;
        let progress = before.progress();
        let pushes = progress.pushes_until(after.progress(), before.width());
        Self {
            first: progress.column * depth,
            number: pushes as u32 * depth,
            cells: table.cells() as u32,
        }
    }

    /// As if every column was pushed after every event.
    pub(super) fn all(table: &Table) -> Self {
        let (first, cells) = (0, table.cells() as u32);
        Self {
            first,
            number: cells,
            cells,
        }
    }

    /// Moves the pending counts of those cells that are in a stripe to the published ones.
    pub(super) fn push<C: Counter>(self, stripe: usize, [published, pending]: [&mut [C]; 2]) {
        let [first, number, cells] = [self.first, self.number, self.cells].map(|n| n as usize);
        let end = first + number;
        for part in [first..end.min(cells), 0..end.saturating_sub(cells)] {
            let within = |cell: usize| cell.saturating_sub(stripe).min(published.len());
            let part = within(part.start)..within(part.end);
            push(published, pending, part);
        }
    }
}

/// What the list of a place follows from.
pub(crate) struct ListOf {
    pub(super) pushed: Pushed,
    pub(super) stripe: u32,
    /// 1 if places are doubled.
    pub(super) doubled: u32,
}

widest! {
    /// Writes the lists of places to `out`: twice the stripe, plus 1 for the published counts.
    /// `done` is the number of cells that are pushed before each event.
    fn lists, lists_at(of: &ListOf, places: &[u32], done: &[u32], out: &mut [u8]) = lists_loop
}

#[inline(always)]
fn lists_loop(of: &ListOf, places: &[u32], done: &[u32], out: &mut [u8]) {
    let pushed = of.pushed;
    for ((out, &place), &done) in out.iter_mut().zip(places).zip(done) {
        let done = planted!("events-after-a-push-published", 0, done);
        let cell = place >> of.doubled;
        // From the first cell that is pushed, around the end of the table: for a cell before it
        // the difference wraps to more than any number of cells.
        let from_first = cell.wrapping_sub(pushed.first);
        let from_first = from_first.min(from_first.wrapping_add(pushed.cells));
        let published = from_first.wrapping_sub(done) < pushed.number.wrapping_sub(done);
        *out = ((cell >> of.stripe) << 1) as u8 | u8::from(published);
    }
}

/// The sorted places of a share of a block. They reveal items, so they are zeroised.
pub(super) struct Sorted {
    chunk: Places,
    places: Vec<u32>,
    /// As many as places, or none if every weight is 1.
    weights: Vec<u64>,
    /// Where the next place of each list goes.
    next: [u32; LISTS],
    /// Number of lists.
    lists: usize,
    /// For each page in use, the one before it in its list.
    before: Vec<u32>,
    is_signed: bool,
}

impl Sorted {
    /// Room for a number of events.
    pub(super) fn of(events: usize, is_weighted: bool, table: &Table, stripe: u32) -> Result<Self> {
        let lists = 2 * table.cells().div_ceil(1 << stripe);
        let pages = (events * table.depth).div_ceil(PAGE) + lists;
        let mut chunk = Places::new(table.depth);
        chunk.make_room()?;
        Ok(Self {
            chunk,
            places: memory::zeros(pages * PAGE)?,
            weights: memory::zeros(if is_weighted { pages * PAGE } else { 0 })?,
            next: [0; LISTS],
            lists,
            before: memory::room_for(pages)?,
            is_signed: false,
        })
    }

    /// Begins a block: every list has one empty page.
    pub(super) fn clear(&mut self) {
        self.before.clear();
        for list in 0..self.lists {
            self.next[list] = new_page(&mut self.before, NO_PAGE);
        }
    }

    /// Sorts events; `done` is called with each chunk, for the cells pushed before its events.
    pub(super) fn add<L: Locate, W: EventWeights>(
        &mut self,
        locate: &L,
        events: Events<'_, W>,
        of: &ListOf,
        mut done: impl FnMut(&Events<'_, W>, &mut [u32]),
    ) {
        self.is_signed = L::SIGNED;
        let (places, weights) = (&mut self.places[..], &mut self.weights[..]);
        let (mut done_before, mut list_of) = ([0; CHUNK], [0; CHUNK]);
        for chunk in events.chunks() {
            let number = chunk.items.len();
            done(&chunk, &mut done_before[..number]);
            for row in self.chunk.fill(locate, chunk.items).chunks_exact(CHUNK) {
                let row = &row[..number];
                lists(of, row, &done_before, &mut list_of);
                for (at, (&place, &list)) in row.iter().zip(&list_of).enumerate() {
                    let next = &mut self.next[usize::from(list)];
                    let to = *next as usize;
                    places[to] = place;
                    prefetch(places, to + AHEAD);
                    if !W::ARE_ONES {
                        weights[to] = chunk.weights.weight(at);
                        prefetch(weights, to + AHEAD);
                    }
                    *next += 1;
                    if (to + 1).is_multiple_of(PAGE) {
                        *next = new_page(&mut self.before, *next / PAGE as u32 - 1);
                    }
                }
            }
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.chunk.depth()
    }

    /// The pages of a list, each as far as it is filled.
    fn pages(&self, list: usize) -> impl Iterator<Item = Range<usize>> {
        let next = self.next[list] as usize;
        let last = (next / PAGE, next % PAGE);
        let pages = iter::successors(Some(last), |&(page, _)| {
            let before = self.before[page];
            (before != NO_PAGE).then_some((before as usize, PAGE))
        });
        pages.map(|(page, filled)| page * PAGE..page * PAGE + filled)
    }

    /// Adds a list to its stripe, of which `first` is the first cell.
    pub(super) fn add_to<C: Counter>(&self, list: usize, stripe: &mut [C], first: usize) {
        match (self.is_signed, self.weights.is_empty()) {
            (false, true) => self.add_list::<C, false, false>(list, stripe, first),
            (false, false) => self.add_list::<C, false, true>(list, stripe, first),
            (true, true) => self.add_list::<C, true, false>(list, stripe, first),
            (true, false) => self.add_list::<C, true, true>(list, stripe, first),
        }
    }

    fn add_list<C: Counter, const SIGNED: bool, const WEIGHTED: bool>(
        &self,
        list: usize,
        stripe: &mut [C],
        first: usize,
    ) {
        let is_sparse = are_sparse(stripe, self.pages(list).map(|page| page.len()).sum());
        for page in self.pages(list) {
            let weights: &[u64] = if WEIGHTED {
                &self.weights[page.clone()]
            } else {
                &[]
            };
            let places = &self.places[page];
            for (at, &place) in places.iter().enumerate() {
                if is_sparse && let Some(&next) = places.get(at + AHEAD) {
                    prefetch(stripe, cell_of(SIGNED, next).0 - first);
                }
                let (cell, negative) = cell_of(SIGNED, place);
                let weight = if WEIGHTED { weights[at] } else { 1 };
                stripe[cell - first].add_signed(weight, negative);
            }
        }
    }
}

/// Takes the next page, after another in its list; there is room for all. Returns its first place.
fn new_page(before: &mut Vec<u32>, last: u32) -> u32 {
    before.push(last);
    ((before.len() - 1) * PAGE) as u32
}

impl Drop for Sorted {
    fn drop(&mut self) {
        memory::wipe(&mut self.places);
        memory::wipe(&mut self.weights);
    }
}

/// A block of events, and what falls due meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Binary logarithm of the cells of a stripe.
    pub(super) stripe: u32,
    pub(super) pushed: Pushed,
    /// The step of the first event, and the cursor before it; none if nothing is pushed.
    pub(super) due: Option<(u64, Cursor)>,
}

/// Sorts a share of a block.
pub(super) struct Sorter<'a> {
    sorted: &'a mut Sorted,
    block: &'a Block,
    /// As in the block, for the share.
    due: Option<(u64, Cursor)>,
    /// Cells of the block that are pushed before the next event.
    done: u32,
}

impl<'a> Sorter<'a> {
    /// For the events from `start` on.
    pub(super) fn new(sorted: &'a mut Sorted, block: &'a Block, start: usize) -> Self {
        let (mut due, mut done) = (block.due, 0);
        // Before the first event of a block, pushes of the step before it may be left.
        if let Some((step, cursor)) = &mut due
            && start > 0
        {
            let before = cursor.progress();
            *step += start as u64;
            *cursor = cursor.moved_to(*step - 1);
            let pushes = before.pushes_until(cursor.progress(), cursor.width());
            done = pushes as u32 * sorted.depth() as u32;
        }
        sorted.clear();
        Self {
            sorted,
            block,
            due,
            done,
        }
    }

    /// Writes the places of events to their lists.
    pub(super) fn add<L: Locate, W: EventWeights>(&mut self, locate: &L, events: Events<'_, W>) {
        let of = ListOf {
            pushed: self.block.pushed,
            stripe: self.block.stripe,
            doubled: L::SIGNED.into(),
        };
        let depth = self.sorted.depth() as u32;
        self.sorted.add(locate, events, &of, |chunk, out| {
            let Some((first_step, cursor)) = &mut self.due else {
                return;
            };
            // Pushes of the step before the first event may be left.
            let before = *first_step + chunk.offset - 1;
            let mut steps = [0; CHUNK];
            out.fill(0);
            loop {
                let pushes = cursor.take(before, out.len() as u64, &mut steps);
                if pushes == 0 {
                    break;
                }
                for &step in &steps[..pushes] {
                    out[usize::from(step)] += depth;
                }
            }
            for out in out {
                self.done += *out;
                *out = self.done;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Width;

    /// The definition, for pushed cells that go on with the first of the table, and for all and
    /// none; at every width of registers.
    #[test]
    fn a_list_is_that_of_the_stripe_and_of_the_push() {
        let cells = 100;
        for (first, number) in [(0, 0), (20, 30), (80, 50), (99, 1), (0, 100), (7, 100)] {
            let pushed = Pushed {
                first,
                number,
                cells,
            };
            for (done, doubled) in [0, number.min(1), number / 2, number]
                .iter()
                .flat_map(|d| [(*d, 0), (*d, 1)])
            {
                let stripe = 3;
                let of = ListOf {
                    pushed,
                    stripe,
                    doubled,
                };
                let places: Vec<u32> = (0..cells << doubled).collect();
                let later = |cell: u32| (done..number).any(|after| (first + after) % cells == cell);
                for width in Width::all() {
                    let mut out = vec![0; places.len()];
                    lists_at(width, &of, &places, &vec![done; places.len()], &mut out);
                    for (&place, &list) in places.iter().zip(&out) {
                        let cell = place >> doubled;
                        let expected = 2 * (cell / 8) + u32::from(later(cell));
                        assert_eq!(u32::from(list), expected, "{first} {number} {done} {cell}");
                    }
                }
            }
        }
    }
}
