//! Intervals of a table whose heavy names are taken out, for many cells that an item could have.
//!
//! The rest of the table is fixed. The item is placed at random choices of one cell per row: its true
//! count may be rejected at no more of them than the level says.

use lazysketch_core::estimation::{ErrorModel, TableErrors};
use lazysketch_core::peeling::{Cell, Ends, Peeled};
use std::sync::Arc;

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(end)) >> 64) as u64
    }
}

struct World {
    signed: bool,
    depth: usize,
    width: usize,
    /// The table without the item.
    rest: Vec<i64>,
    /// Cells of the names, without the item.
    names: Vec<Cell>,
}

impl World {
    /// `heavy` of the listed names have occurred, the first most often.
    fn of(signed: bool, [depth, width, listed, heavy]: [usize; 4], seed: u64) -> Self {
        let mut draws = Draws(seed);
        let (mut rest, mut names) = (vec![0; depth * width], Vec::new());
        for name in 0..listed {
            let count = Self::count(name, heavy);
            for row in 0..depth {
                let at = row * width + draws.below(width as u64) as usize;
                let sign = if signed && draws.below(2) == 1 { -1 } else { 1 };
                rest[at] += count * sign;
                names.push(Cell {
                    at: at as u32,
                    sign: sign as f32,
                });
            }
        }
        for value in &mut rest {
            let noise: u64 = (0..8).map(|_| draws.below(9)).sum();
            *value += noise as i64 - 32;
        }
        Self {
            signed,
            depth,
            width,
            rest,
            names,
        }
    }

    /// How often a name has occurred.
    fn count(name: usize, heavy: usize) -> i64 {
        if name < heavy {
            3000 / (name as i64 + 1)
        } else {
            0
        }
    }

    /// One cell per row.
    fn choice(&self, draws: &mut Draws) -> Vec<Cell> {
        let cell = |row: usize| Cell {
            at: (row * self.width) as u32 + draws.below(self.width as u64) as u32,
            sign: if self.signed && draws.below(2) == 1 {
                -1.0
            } else {
                1.0
            },
        };
        (0..self.depth).map(cell).collect()
    }

    /// The interval of the item if it has these cells and this count, as the last names of the
    /// list, or without being in it.
    fn ends(&self, own: &[Cell], count: i64, listed: bool, level: f64) -> Option<Ends> {
        let mut table = self.rest.clone();
        for cell in own {
            table[cell.at as usize] += count * cell.sign as i64;
        }
        let mut names = self.names.clone();
        if listed {
            // A name may be listed twice.
            names.extend_from_slice(own);
            names.extend_from_slice(own);
        }
        let peeled = self.peeled(table, names);
        let tests = peeled.tests(level).unwrap()?;
        Some(peeled.ends(own, &tests).unwrap()[0])
    }

    fn peeled(&self, table: Vec<i64>, names: Vec<Cell>) -> Peeled {
        let facts = TableErrors {
            signed: self.signed,
            collisions: true,
            depth: self.depth,
            table: table.into(),
            published: vec![1000.0; self.width],
            variance: vec![50.0; self.width],
            step: 1000.0,
        };
        Peeled::of(Arc::new(ErrorModel::of(facts).unwrap()), names).unwrap()
    }
}

/// The shares of choices whose interval ends above the count, and below it.
fn misses(world: &Case, count: i64, choices: u64) -> [Share; 2] {
    let (mut above, mut below) = (0, 0);
    for seed in 1..=TABLES {
        let (world, mut draws, listed) = (world.table(seed), Draws(seed << 32), world.listed);
        for _ in 0..choices {
            let own = world.choice(&mut draws);
            let ends = world.ends(&own, count, listed, LEVEL);
            let ends = ends.expect("tests that reject something");
            above += u32::from(ends.low > count as f64);
            below += u32::from(ends.high < count as f64);
        }
    }
    [above, below].map(|misses| Share {
        of: f64::from(misses) / (TABLES * choices) as f64,
        error: (LEVEL * (1.0 - LEVEL) / (TABLES * choices) as f64).sqrt(),
    })
}

/// Tables of a kind, and whether the item is in the list.
struct Case {
    signed: bool,
    names: [usize; 2],
    listed: bool,
}

impl Case {
    fn table(&self, seed: u64) -> World {
        World::of(self.signed, [3, 60, self.names[0], self.names[1]], seed)
    }
}

/// A share of misses, and its standard error at the level.
#[derive(Debug)]
struct Share {
    of: f64,
    error: f64,
}

impl Share {
    /// Three and a half standard errors above the level at most; and not far below it, which would
    /// be too wide.
    fn assert_at_level(&self) {
        let most = LEVEL + 3.5 * self.error;
        assert!((0.4 * LEVEL..most).contains(&self.of), "{self:?}");
    }
}

const TABLES: u64 = 8;
const LEVEL: f64 = 0.05;

#[test]
fn the_true_count_is_rejected_as_often_as_the_level_says() {
    for signed in [false, true] {
        let listed = Case {
            signed,
            names: [12, 12],
            listed: true,
        };
        misses(&listed, 2500, 120)
            .iter()
            .for_each(Share::assert_at_level);
        let unlisted = Case {
            signed,
            names: [12, 12],
            listed: false,
        };
        misses(&unlisted, 2500, 30)
            .iter()
            .for_each(Share::assert_at_level);
        // No interval is below 0.
        let [above, below] = misses(&unlisted, 0, 30);
        above.assert_at_level();
        assert!(below.of == 0.0);
    }
}

#[test]
fn names_of_a_long_list_are_chosen_without_the_count() {
    for signed in [false, true] {
        for (listed, count) in [(true, 2500), (true, 150), (false, 2500)] {
            let long = Case {
                signed,
                names: [500, 9],
                listed,
            };
            misses(&long, count, 60)
                .iter()
                .for_each(Share::assert_at_level);
        }
    }
}

#[test]
fn the_heaviest_are_those_of_all_estimates() {
    // Names that are taken out, all or those that have occurred, and too many for either.
    for shape in [[4, 256, 60, 20], [3, 512, 700, 90], [5, 64, 900, 300]] {
        for signed in [false, true] {
            let world = World::of(signed, shape, 7);
            let peeled = world.peeled(world.rest.clone(), world.names.clone());
            let all = peeled.estimates(&world.names).unwrap();
            let mut order: Vec<(usize, f64)> = all.iter().copied().enumerate().collect();
            // A stable sort: those below 0 are in the order of the list.
            order.sort_by(|one, two| two.1.max(0.0).total_cmp(&one.1.max(0.0)));
            for number in [0, 1, 2, 10, all.len() / 2, all.len(), 10_000] {
                let found = peeled.heaviest(&world.names, number).unwrap();
                assert_eq!(found, order[..number.min(order.len())], "{shape:?}");
            }
        }
    }
}

#[test]
fn names_are_taken_out_where_that_makes_errors_smaller() {
    // All of a list, most of it, few of it, and a list that is of no use; with the part of the error
    // that may remain.
    for (shape, part) in [
        ([4, 256, 300, 300], 0.5),
        ([5, 128, 250, 200], 0.5),
        ([3, 1024, 1500, 300], 0.9),
        ([4, 4096, 8000, 3], 1.02),
    ] {
        for signed in [false, true] {
            let [mut before, mut after] = [0.0, 0.0];
            for seed in 1..=4 {
                let world = World::of(signed, shape, seed);
                let listed = world.peeled(world.rest.clone(), world.names.clone());
                let alone = world.peeled(world.rest.clone(), Vec::new());
                let error = |found: Vec<f64>| -> f64 {
                    let errors = found.iter().enumerate().map(|(name, found)| {
                        let count = World::count(name, shape[3]) as f64;
                        (found.max(0.0) - count).powi(2)
                    });
                    errors.sum()
                };
                before += error(alone.estimates(&world.names).unwrap());
                after += error(listed.estimates(&world.names).unwrap());
            }
            let found = f64::sqrt(after / before);
            assert!(found < part, "{shape:?}, signed: {signed}: {found}");
        }
    }
}

#[test]
fn one_name_is_not_taken_out_however_often_it_is_listed() {
    for shape in [[2, 256, 1, 1], [3, 1024, 1, 1]] {
        let world = World::of(false, shape, 5);
        let alone = world.peeled(world.rest.clone(), Vec::new());
        let expected = alone.estimates(&world.names).unwrap();
        for times in 1..4 {
            let listed = world.peeled(world.rest.clone(), world.names.repeat(times));
            assert_eq!(listed.estimates(&world.names).unwrap(), expected);
        }
    }
}
