//! The store on this machine's disk: commits of one and of 64 writers, checkpoints next to a plain
//! write and fsync of the same bytes, and the recovery of a million records. Reported as medians
//! over interleaved rounds; other load on the disk changes all of them.

use lazysketch_store::{Anchor, AnchorPlace, Directory, Store, StoreKey};
use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const RECORD: [u8; 100] = [7; 100];
const CHECKPOINT_BYTES: usize = 42_000_000;
const RECORDS: u64 = 1_000_000;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store-bench-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a directory");
    folder
}

fn open(folder: &Path) -> (Store, u64) {
    let disk = Arc::new(Directory::open(folder.join("store")).expect("a directory"));
    let place = AnchorPlace::of_path(&folder.join("anchors/anchor")).expect("a directory");
    let key = StoreKey::from_bytes([9; 32]);
    let (store, recovered) =
        Store::open(disk, &key, &Anchor::At(place)).expect("a store that opens");
    (store, recovered.last)
}

/// Nanoseconds that this thread was on a processor (Linux), which other load disturbs less.
fn busy() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = stat.split(' ').next().and_then(|it| it.parse().ok());
    first.unwrap_or(f64::NAN)
}

/// Seconds of a run: those that passed, and those that this thread was on a processor.
fn timed(run: impl FnOnce()) -> (f64, f64) {
    let (start, before) = (Instant::now(), busy());
    run();
    (start.elapsed().as_secs_f64(), (busy() - before) / 1e9)
}

fn medians(samples: &[(f64, f64)]) -> (f64, f64) {
    let mut passed: Vec<f64> = samples.iter().map(|it| it.0).collect();
    let mut busy: Vec<f64> = samples.iter().map(|it| it.1).collect();
    (median(&mut passed), median(&mut busy))
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Commits per second: each writer appends one record and commits it, again and again.
fn commits_per_second(store: &Store, writers: usize) -> f64 {
    let start = Instant::now();
    let commits = std::thread::scope(|scope| {
        let write = || {
            let mut commits = 0_u64;
            while start.elapsed() < Duration::from_millis(400) {
                store.append(&RECORD).expect("room");
                store.commit().expect("a working disk");
                commits += 1;
            }
            commits
        };
        let threads: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
        let commits = threads.into_iter().map(|it| it.join().expect("no panic"));
        commits.sum::<u64>()
    });
    commits as f64 / start.elapsed().as_secs_f64()
}

fn commits() {
    let (store, _) = open(&folder("commits"));
    let mut samples = [(1, vec![]), (8, vec![]), (64, vec![])];
    for _ in 0..ROUNDS {
        for (writers, samples) in &mut samples {
            samples.push(commits_per_second(&store, *writers));
        }
    }
    let alone = median(&mut samples[0].1);
    println!("commits of one record of 100 bytes, with an anchor");
    for (writers, samples) in &mut samples {
        let rate = median(samples);
        println!(
            "{writers:>4} writers {rate:>12.0} commits/s {:>8.1} x",
            rate / alone
        );
    }
}

/// A file that exists, overwritten and synced.
fn plain_write(file: &mut File, bytes: &[u8]) {
    file.rewind().expect("a file");
    file.write_all(bytes).expect("room");
    file.sync_data().expect("a working disk");
}

fn show(name: &str, samples: &[(f64, f64)]) -> f64 {
    let (passed, busy) = medians(samples);
    let (passed, busy) = (passed * 1e3, busy * 1e3);
    println!("{name:<24} {passed:>9.1} ms, {busy:>9.1} ms on a processor");
    passed
}

fn checkpoints() {
    let folder = folder("checkpoints");
    let (store, _) = open(&folder);
    let body: Vec<u8> = (0..CHECKPOINT_BYTES)
        .map(|at| ((at * at) >> 7) as u8)
        .collect();
    let mut file = File::create(folder.join("plain")).expect("a file");
    let (mut plain, mut sealed) = (vec![], vec![]);
    for round in 0..ROUNDS + 2 {
        let passed = timed(|| plain_write(&mut file, &body));
        let through = store.append(&RECORD).expect("room");
        let copy = body.clone();
        let checkpoint = timed(|| store.checkpoint(through, copy).expect("a working disk"));
        // The first two rounds allocate the blocks.
        if round >= 2 {
            plain.push(passed);
            sealed.push(checkpoint);
        }
    }
    println!("\n{CHECKPOINT_BYTES} bytes");
    let ratio = 1.0 / show("plain write and fsync", &plain) * show("checkpoint", &sealed);
    println!("{ratio:.2} times the plain write");
}

fn recovery() {
    let folder = folder("recovery");
    let (store, _) = open(&folder);
    println!("\n{RECORDS} records of 32 bytes");
    let appended = timed(|| {
        for number in 0..RECORDS {
            let record = number.to_le_bytes().repeat(4);
            store.append(&record).expect("room");
        }
        store.commit().expect("a working disk");
    });
    show("append and commit", &[appended]);
    drop(store);
    let opened = || timed(|| assert_eq!(open(&folder).1, RECORDS));
    show("recovery", &[opened(), opened(), opened()]);
}

fn main() {
    commits();
    checkpoints();
    recovery();
}
