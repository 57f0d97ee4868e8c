//! A fault at every operation of random histories.

use crate::history::{Plan, run};
use crate::machine::{Fault, OPERATIONS};
use std::collections::BTreeMap;

const KINDS: [Fault; 5] = [
    Fault::Kill,
    Fault::PowerCut,
    Fault::IoError,
    Fault::FullDisk,
    Fault::ShortWrite,
];

/// Counts by fault and operation.
#[derive(Default)]
struct Table {
    counts: BTreeMap<(Fault, &'static str), u64>,
    faults: u64,
    histories: u64,
}

impl Table {
    fn run(&mut self, seed: u64, plan: Plan<'_>) -> u64 {
        self.histories += 1;
        match run(seed, plan) {
            Ok(outcome) => {
                for fault in outcome.faults {
                    *self.counts.entry(fault).or_default() += 1;
                    self.faults += 1;
                }
                outcome.operations
            }
            Err(violation) => panic!("seed {seed}, faults {plan:?}: {violation}"),
        }
    }

    fn print(&self) {
        print!("{:<12}", "");
        OPERATIONS.iter().for_each(|name| print!("{name:>9}"));
        println!("{:>9}", "all");
        for fault in KINDS {
            let count =
                |name: &&'static str| self.counts.get(&(fault, *name)).copied().unwrap_or(0);
            print!("{:<12}", format!("{fault:?}"));
            OPERATIONS
                .iter()
                .for_each(|name| print!("{:>9}", count(name)));
            println!("{:>9}", OPERATIONS.iter().map(count).sum::<u64>());
        }
        println!(
            "{} faults in {} histories, 0 violations",
            self.faults, self.histories
        );
    }
}

/// Every operation of `histories`, every `stride`-th of them, with every kind of fault, alone and
/// followed by a second fault some operations later.
fn campaign(histories: std::ops::Range<u64>, stride: usize) -> Table {
    let mut table = Table::default();
    for seed in histories {
        let operations = table.run(seed, &[]);
        let first = 1 + seed % stride as u64;
        for at in (first..=operations).step_by(stride) {
            for kind in KINDS {
                table.run(seed, &[(at, kind)]);
            }
            // A kill, and the power fails while the next process starts or works.
            let soon = 1 + (at * 7 + seed) % 29;
            table.run(seed, &[(at, Fault::Kill), (soon, Fault::PowerCut)]);
            let second = KINDS[(at as usize + seed as usize) % KINDS.len()];
            let later = 1 + (at * 13 + seed) % 97;
            table.run(
                seed,
                &[
                    (at, Fault::IoError),
                    (soon, second),
                    (later, Fault::PowerCut),
                ],
            );
        }
    }
    table
}

#[test]
fn a_fault_at_any_operation_breaks_no_promise() {
    let table = campaign(0..10, 13);
    table.print();
    assert!(table.faults >= 1000);
    assert!(table.counts.len() >= 30, "some operation never failed");
}

/// A minute or two: `cargo test -p lazysketch-store -- --ignored --nocapture`.
#[test]
#[ignore = "the whole campaign"]
fn a_fault_at_every_operation_of_many_histories_breaks_no_promise() {
    let table = campaign(0..16, 1);
    table.print();
    assert!(table.faults >= 10_000);
}
