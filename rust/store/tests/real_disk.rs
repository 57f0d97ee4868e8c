//! The store on a real file system: threads, and processes that are killed.

#[path = "faults/time_limit.rs"]
mod time_limit;

use lazysketch_store::{Anchor, AnchorPlace, Directory, Error, Store, StoreKey};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use time_limit::TimeLimit;

/// A directory of this test, empty, under the build directory.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn open(folder: &Path) -> Result<(Store, lazysketch_store::Recovered), Error> {
    let disk = |name: &str| Arc::new(Directory::open(folder.join(name)).unwrap());
    let place = AnchorPlace::of_path(&folder.join("anchors/anchor")).unwrap();
    let key = StoreKey::from_bytes([9; 32]);
    Store::open(disk("store"), &key, &Anchor::At(place))
}

#[test]
fn threads_append_and_commit_and_nothing_is_lost() {
    let _limit = TimeLimit::start();
    let folder = folder("threads");
    const THREADS: u64 = 8;
    const RECORDS: u64 = 25;
    let (store, _) = open(&folder).unwrap();
    let checkpoints = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, checkpoints) = (&store, &checkpoints);
            scope.spawn(move || {
                for number in 0..RECORDS {
                    let record = [thread.to_le_bytes(), number.to_le_bytes()].concat();
                    let sequence = store.append(&record).unwrap();
                    assert!(store.commit().unwrap() >= sequence);
                    // Another thread may have appended meanwhile: then it is refused.
                    let body = sequence.to_le_bytes().to_vec();
                    match store.checkpoint(sequence, body) {
                        Ok(()) => _ = checkpoints.fetch_add(1, Ordering::Relaxed),
                        Err(error) => assert!(matches!(error, Error::Order), "{error}"),
                    }
                }
            });
        }
    });
    drop(store);
    let (_, recovered) = open(&folder).unwrap();
    assert_eq!(recovered.last, THREADS * RECORDS);
    let base = recovered.checkpoint.map_or(0, |it| {
        assert_eq!(it.body[..], it.through.to_le_bytes());
        it.through
    });
    assert!(base > 0 && checkpoints.into_inner() > 0);
    // The records of each thread are there in its order.
    let mut next = [None::<u64>; THREADS as usize];
    for record in recovered.records.iter() {
        let thread = record[0] as usize;
        let number = u64::from_le_bytes(record[8..].try_into().unwrap());
        assert!(next[thread].is_none_or(|next| next == number));
        next[thread] = Some(number + 1);
    }
    assert!(
        next.iter()
            .all(|next| next.is_none_or(|next| next == RECORDS))
    );
    assert_eq!(recovered.records.len() as u64, THREADS * RECORDS - base);
}

#[test]
fn files_are_for_their_owner_only() {
    let _limit = TimeLimit::start();
    let folder = folder("owner");
    let (store, _) = open(&folder).unwrap();
    let through = store.append(b"record").unwrap();
    store.checkpoint(through, vec![1; 10]).unwrap();
    #[cfg(unix)]
    for directory in ["store", "anchors"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let path = folder.join(directory);
        assert_eq!(mode(&path), 0o700);
        for file in std::fs::read_dir(path).unwrap() {
            assert_eq!(mode(&file.unwrap().path()), 0o600);
        }
    }
}

const CHILD: &str = "STORE_TO_WRITE_TO";

/// Not a test of its own: the process that the next test starts and kills.
#[test]
#[ignore = "started by another test"]
fn child_that_is_killed() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let (store, recovered) = open(Path::new(&path)).unwrap();
    let mut number = recovered.last;
    let mut out = std::io::stdout();
    writeln!(out, "durable {number}").unwrap();
    loop {
        for _ in 0..=number % 4 {
            number += 1;
            store
                .append(&number.to_le_bytes().repeat(1 + number as usize % 50))
                .unwrap();
        }
        if number % 16 == 3 {
            store
                .checkpoint(number, number.to_le_bytes().to_vec())
                .unwrap();
        } else {
            store.commit().unwrap();
        }
        writeln!(out, "durable {number}").unwrap();
        out.flush().unwrap();
    }
}

/// Twelve processes, each killed at another moment.
#[test]
fn a_killed_process_leaves_all_that_it_acknowledged() {
    let _limit = TimeLimit::start();
    let folder = folder("killed");
    let mut durable = 0;
    for life in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "child_that_is_killed",
                "--nocapture",
            ])
            .env(CHILD, &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It is killed after some acknowledgements; one life in four while it starts.
        let wanted = if life % 4 == 3 { 0 } else { 2 + life * 5 % 17 };
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut counts = lines.map_while(Result::ok).filter_map(|line| {
            let count = line.split_once("durable ")?.1;
            count.parse::<u64>().ok()
        });
        for count in counts.by_ref().take(wanted as usize) {
            durable = durable.max(count);
        }
        std::thread::sleep(Duration::from_micros(7_919 * life % 3_000));
        child.kill().unwrap();
        durable = counts.last().unwrap_or(0).max(durable);
        child.wait().unwrap();
        let (store, recovered) = open(&folder).unwrap();
        drop(store);
        assert!(recovered.anchored || durable == 0);
        assert!(recovered.last >= durable, "life {life}");
        let base = recovered.checkpoint.as_ref().map_or(0, |it| it.through);
        for (record, number) in recovered.records.iter().zip(base + 1..) {
            let expected = number.to_le_bytes().repeat(1 + number as usize % 50);
            assert_eq!(record, expected, "life {life}");
        }
        assert_eq!(base + recovered.records.len() as u64, recovered.last);
        durable = recovered.last;
    }
    assert!(durable > 20, "the processes wrote too little: {durable}");
}
