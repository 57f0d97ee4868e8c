//! Faults of the thread that writes while others append.

use crate::machine::{Fault, Machine};
use crate::model::Model;
use lazysketch_store::Error;

/// More than one early write.
const RECORDS: usize = 24;
const SIZE: usize = 1 << 18;

/// A fault is reported by the first call after it, as what it was; then every call fails. What was
/// acknowledged is there again.
#[test]
fn a_fault_of_an_early_write_is_reported_and_loses_nothing() {
    let mut faults = 0;
    for fault in [
        Fault::Kill,
        Fault::PowerCut,
        Fault::IoError,
        Fault::FullDisk,
        Fault::ShortWrite,
    ] {
        for after in 1..9 {
            let (machine, mut model) = (Machine::new(after), Model::new());
            let (store, recovered) = model.open(&machine).unwrap();
            model.check(&recovered).unwrap();
            machine.plan(after, fault);
            let mut failed = None;
            for number in 0..RECORDS {
                let record = vec![number as u8; SIZE];
                match store.append(&record) {
                    Ok(sequence) => assert_eq!(sequence as usize, number + 1),
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
                model.appended.push(record);
            }
            match failed.map_or_else(|| store.commit(), Err) {
                Ok(last) => {
                    assert_eq!(last as usize, RECORDS);
                    model.durable = RECORDS;
                }
                Err(error) => {
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                    for again in [store.append(b"more"), store.commit()] {
                        assert!(matches!(again, Err(Error::Poisoned)), "{again:?}");
                    }
                    faults += 1;
                }
            }
            drop(store);
            machine.restart();
            let (_, recovered) = model.open(&machine).unwrap();
            model.check(&recovered).unwrap();
        }
    }
    // One commit has four operations, and three kinds of faults let each of them fail.
    assert!(faults >= 12, "{faults}");
}

/// Threads that append and commit while the early writer works: every commit tells the truth.
#[test]
fn many_threads_append_and_commit_while_the_writer_works() {
    let (machine, mut model) = (Machine::new(1), Model::new());
    let (store, _) = model.open(&machine).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..30 {
                    let sequence = store.append(&[thread; SIZE / 4]).unwrap();
                    if number % 8 == 7 {
                        assert!(store.commit().unwrap() >= sequence);
                    }
                }
            });
        }
    });
    assert_eq!(store.commit().unwrap(), 120);
    drop(store);
    let (_, recovered) = model.open(&machine).unwrap();
    let mut of_threads = [0; 4];
    for record in recovered.records.iter() {
        assert_eq!(record, [record[0]; SIZE / 4]);
        of_threads[record[0] as usize] += 1;
    }
    assert_eq!(of_threads, [30; 4]);
}

/// A mistake in the store must not let a caller wait for ever: those that wait for the thread that
/// panics fail, and so does every later call.
#[test]
fn a_panic_of_a_write_fails_every_caller_and_loses_nothing() {
    // One commit has four operations.
    for after in 1..=4 {
        let (machine, mut model) = (Machine::new(after), Model::new());
        let (store, recovered) = model.open(&machine).unwrap();
        model.check(&recovered).unwrap();
        for number in 0..4 {
            model.appended.push(vec![number; 100]);
            store.append(&[number; 100]).unwrap();
        }
        machine.plan(after, Fault::Panic);
        let mut panics = 0;
        std::thread::scope(|scope| {
            let commits = [(); 4].map(|()| scope.spawn(|| store.commit()));
            for commit in commits {
                match commit.join() {
                    Ok(done) => assert!(matches!(done, Err(Error::Poisoned)), "{done:?}"),
                    Err(_) => panics += 1,
                }
            }
        });
        assert_eq!(panics, 1);
        assert!(matches!(store.append(b"more"), Err(Error::Poisoned)));
        drop(store);
        machine.restart();
        let (_, recovered) = model.open(&machine).unwrap();
        model.check(&recovered).unwrap();
    }
}

/// A panic of the thread that writes early is an error of the next calls.
#[test]
fn a_panic_of_an_early_write_fails_every_caller_and_loses_nothing() {
    for after in 1..=4 {
        let (machine, mut model) = (Machine::new(after), Model::new());
        let (store, recovered) = model.open(&machine).unwrap();
        model.check(&recovered).unwrap();
        machine.plan(after, Fault::Panic);
        let mut failed = None;
        for number in 0..RECORDS {
            let record = vec![number as u8; SIZE];
            if let Err(error) = store.append(&record) {
                failed = Some(error);
                break;
            }
            model.appended.push(record);
            // The thread has begun before a commit takes the files from it.
            if number == RECORDS / 2 {
                while machine.happened().is_none() {
                    std::thread::yield_now();
                }
            }
        }
        let failed = failed.or_else(|| store.commit().err());
        assert!(matches!(failed, Some(Error::Poisoned)), "{failed:?}");
        drop(store);
        machine.restart();
        let (_, recovered) = model.open(&machine).unwrap();
        model.check(&recovered).unwrap();
    }
}
