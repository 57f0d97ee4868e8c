//! Changed bytes, older copies, exchanged records: refused, repaired, or no content at all.

use crate::machine::{ANCHOR, Copy, Machine, STORE};
use crate::model::{Model, body_of, key, open};
use crate::random::Random;
use lazysketch_store::{Anchor, Error, Recovered, Store};

/// A store of two checkpoints and three lives, with copies of all files on the way; every record
/// is acknowledged.
pub(crate) fn history() -> (Model, Machine, Vec<Copy>) {
    let (machine, mut model, mut random) = (Machine::new(7), Model::new(), Random(7));
    let mut copies = Vec::new();
    for life in 0..3 {
        let (store, recovered) = model.open(&machine).unwrap();
        model.check(&recovered).unwrap();
        for step in 0..3 {
            for _ in 0..3 {
                model.appended.push(random.bytes(24));
                store.append(model.appended.last().unwrap()).unwrap();
            }
            model.durable = store.commit().unwrap() as usize;
            copies.push(machine.copy());
            if life < 2 && step == 1 {
                let through = model.appended.len() as u64;
                store.checkpoint(through, body_of(&model.appended)).unwrap();
                copies.push(machine.copy());
            }
        }
        if life == 1 {
            store.rotate(&key(1)).unwrap();
            model.keys = vec![key(1)];
            copies.push(machine.copy());
        }
    }
    (model, machine, copies)
}

pub(crate) fn without_anchor(
    machine: &Machine,
    model: &Model,
) -> Result<(Store, Recovered), Error> {
    Store::open(machine.disk(STORE), &model.keys[0], &Anchor::None)
}

/// The store opens with all that was acknowledged, or not at all; true if it opened.
pub(crate) fn is_whole_or_refused(model: &Model, files: &Copy) -> bool {
    let machine = Machine::with(files);
    match model.clone().open(&machine) {
        Ok((_, recovered)) => {
            model.check_content(&recovered).unwrap();
            assert_eq!(
                recovered.last as usize,
                model.appended.len(),
                "lost records"
            );
            true
        }
        Err(Error::Io { .. } | Error::Poisoned | Error::Core(_) | Error::Locked { .. }) => {
            panic!("an error that says nothing about the files")
        }
        Err(_) => false,
    }
}

/// All places of all files, but of long runs of zeros only every thirteenth.
fn places(files: &Copy) -> Vec<(usize, String, usize)> {
    let mut places = Vec::new();
    for (folder, files) in files.iter().enumerate() {
        for (name, bytes) in files {
            let dull = |at: usize| bytes[at] == 0 && !at.is_multiple_of(13);
            let kept = (0..bytes.len()).filter(|&at| !dull(at));
            places.extend(kept.map(|at| (folder, name.clone(), at)));
        }
    }
    places
}

#[test]
fn one_changed_bit_is_repaired_or_refused() {
    let (model, machine, _) = history();
    let mut files = machine.copy();
    let (mut opened, mut refused) = (0, 0);
    for (folder, name, at) in places(&files) {
        let flip = 1 << (at % 8);
        files[folder].get_mut(&name).unwrap()[at] ^= flip;
        if is_whole_or_refused(&model, &files) {
            opened += 1;
        } else {
            refused += 1;
        }
        files[folder].get_mut(&name).unwrap()[at] ^= flip;
    }
    println!("{opened} repaired or of no meaning, {refused} refused");
    assert!(opened > 5000 && refused > 500);
}

/// Without an anchor the last group is dropped: nothing says that it was durable. A changed bit
/// costs one more at most.
#[test]
fn without_an_anchor_a_changed_bit_costs_the_last_groups_at_most() {
    let (model, machine, _) = history();
    let mut files = machine.copy();
    let total = model.appended.len();
    let logs: Vec<_> = (places(&files).into_iter())
        .filter(|(_, name, _)| name.starts_with("log-"))
        .collect();
    let mut dropped = 0;
    for (folder, name, at) in logs {
        files[folder].get_mut(&name).unwrap()[at] ^= 0x10;
        let damaged = Machine::with(&files);
        if let Ok((_, recovered)) = without_anchor(&damaged, &model) {
            model.check_content(&recovered).unwrap();
            assert!(!recovered.anchored);
            assert!(
                recovered.last as usize >= total - 6,
                "an earlier group was dropped"
            );
            dropped += usize::from((recovered.last as usize) < total);
        }
        files[folder].get_mut(&name).unwrap()[at] ^= 0x10;
    }
    assert!(dropped > 100);
}

/// A copy that was made while the store was open may have records that the store then lost in a power
/// cut, going on with others. Without an anchor they are dropped, unless something shows that they
/// were durable: a later group, a checkpoint, or the end of a life.
#[test]
fn without_an_anchor_only_proven_records_are_there() {
    let (machine, mut model) = (Machine::new(1), Model::new());
    let last_of_a_copy = |machine: &Machine, model: &Model| {
        let copy = Machine::with(&machine.copy());
        let (_, recovered) = without_anchor(&copy, model).unwrap();
        model.check_content(&recovered).unwrap();
        assert!(!recovered.anchored);
        recovered.last
    };
    let mut store = model.open(&machine).unwrap().0;
    let append = |store: &Store, model: &mut Model, number: usize| {
        for _ in 0..number {
            model.appended.push(vec![model.appended.len() as u8; 5]);
            store.append(model.appended.last().unwrap()).unwrap();
        }
    };
    append(&store, &mut model, 3);
    store.commit().unwrap();
    assert_eq!(last_of_a_copy(&machine, &model), 0);
    append(&store, &mut model, 2);
    store.commit().unwrap();
    assert_eq!(last_of_a_copy(&machine, &model), 3);
    store.settle().unwrap();
    assert_eq!(last_of_a_copy(&machine, &model), 5);
    append(&store, &mut model, 1);
    store.checkpoint(6, body_of(&model.appended)).unwrap();
    assert_eq!(last_of_a_copy(&machine, &model), 6);
    append(&store, &mut model, 2);
    store.settle().unwrap();
    append(&store, &mut model, 1);
    store.settle().unwrap();
    assert_eq!(last_of_a_copy(&machine, &model), 9);
    // A life that ended without a word, and the next one, which has all.
    append(&store, &mut model, 4);
    store.commit().unwrap();
    drop(store);
    assert_eq!(last_of_a_copy(&machine, &model), 9);
    store = model.open(&machine).unwrap().0;
    assert_eq!(last_of_a_copy(&machine, &model), 13);
    drop(store);
}

#[test]
fn older_copies_of_any_files_are_refused() {
    let (model, machine, copies) = history();
    let newest = machine.copy();
    let (mut opened, mut refused) = (0, 0);
    for older in &copies[..copies.len() - 1] {
        let mut names: Vec<&String> = older[STORE].keys().chain(newest[STORE].keys()).collect();
        names.sort();
        names.dedup();
        for subset in 1_u32..1 << names.len() {
            let mut files = newest.clone();
            for (index, name) in names.iter().enumerate() {
                if subset >> index & 1 == 1 {
                    match older[STORE].get(*name) {
                        Some(bytes) => files[STORE].insert((*name).clone(), bytes.clone()),
                        None => files[STORE].remove(*name),
                    };
                }
            }
            if is_whole_or_refused(&model, &files) {
                opened += 1;
            } else {
                refused += 1;
            }
        }
        // All of them.
        let mut files = older.clone();
        files[ANCHOR] = newest[ANCHOR].clone();
        let found = model.clone().open(&Machine::with(&files)).err();
        let by_key = matches!(found, Some(Error::WrongKey { .. }));
        assert!(
            by_key || matches!(found, Some(Error::RolledBack(_))),
            "{found:?}"
        );
        // An older anchor alone.
        let mut files = newest.clone();
        files[ANCHOR] = older[ANCHOR].clone();
        is_whole_or_refused(&model, &files);
    }
    println!("{opened} opened whole, {refused} refused");
    assert!(opened > 50 && refused > 300);
}

/// What an anchor cannot see: a copy of both. And without an anchor, an older copy says so.
#[test]
fn an_older_copy_without_its_anchor_is_not_anchored() {
    let (model, _, copies) = history();
    let mut model = model;
    model.keys = vec![key(0), key(1)];
    for older in &copies {
        let (_, recovered) = model.clone().open(&Machine::with(older)).unwrap();
        assert!(recovered.anchored);
        let mut files = older.clone();
        files[ANCHOR].clear();
        let (_, recovered) = model.clone().open(&Machine::with(&files)).unwrap();
        assert!(!recovered.anchored && !recovered.is_new);
        model.check_content(&recovered).unwrap();
    }
}

#[test]
fn a_damaged_newest_checkpoint_costs_nothing() {
    let (model, machine, _) = history();
    let mut files = machine.copy();
    let (_, before) = model.clone().open(&Machine::with(&files)).unwrap();
    let newest = before.checkpoint.unwrap().through;
    for slot in ["slot-0", "slot-1"] {
        let bytes = files[STORE].get_mut(slot).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        let damaged = Machine::with(&files);
        let (store, recovered) = model.clone().open(&damaged).unwrap();
        model.check_content(&recovered).unwrap();
        let through = recovered.checkpoint.as_ref().unwrap().through;
        assert!(through <= newest);
        // The next checkpoint leaves the one that is whole alone.
        let all = model.appended.len() as u64;
        store.checkpoint(all, body_of(&model.appended)).unwrap();
        drop(store);
        let (_, again) = model.clone().open(&damaged).unwrap();
        model.check_content(&again).unwrap();
        assert_eq!(again.checkpoint.unwrap().through, all);
        *files[STORE].get_mut(slot).unwrap().last_mut().unwrap() ^= 1;
    }
}

/// Records of equal length, exchanged, repeated, or left out, without an anchor that would notice.
#[test]
fn a_record_at_another_place_is_refused() {
    let (machine, mut model) = (Machine::new(1), Model::new());
    let (store, _) = model.open(&machine).unwrap();
    for number in 0..6_u8 {
        model.appended.push(vec![number; 8]);
        store.append(&[number; 8]).unwrap();
        store.commit().unwrap();
    }
    drop(store);
    let files = machine.copy();
    let (name, log) = files[STORE]
        .iter()
        .find(|(name, _)| name.starts_with("log-"))
        .unwrap();
    let (header, size) = (48, 48 + 8);
    let record = |number: usize| header + number * size..header + (number + 1) * size;
    for (to, from) in [(0, 1), (1, 0), (2, 4), (4, 2), (5, 0)] {
        let mut changed = log.clone();
        changed.copy_within(record(from), record(to).start);
        let exchanged = from != 0 && to != 5;
        if exchanged {
            changed[record(from)].copy_from_slice(&log[record(to)]);
        }
        let mut files = files.clone();
        files[STORE].insert(name.clone(), changed);
        let opened = without_anchor(&Machine::with(&files), &model);
        match opened {
            Err(Error::Damaged(_)) => {}
            Err(error) => panic!("{error}"),
            // The last record, overwritten, is a torn tail.
            Ok((_, recovered)) => {
                // And the record before it is the last, of which nothing follows.
                assert_eq!((to, recovered.last), (5, 4));
                model.check_content(&recovered).unwrap();
            }
        }
    }
    let mut shorter = log.clone();
    shorter.drain(record(2));
    let mut files = files.clone();
    files[STORE].insert(name.clone(), shorter);
    let opened = without_anchor(&Machine::with(&files), &model);
    assert!(matches!(opened, Err(Error::Damaged(_))));
}

/// Bodies of several parts, of which one is not full; a changed bit in any part is noticed.
#[test]
fn a_large_checkpoint_is_whole_or_refused() {
    let mut random = Random(11);
    for length in [1 << 20, (1 << 20) + 1, 9 << 20, 2_500_000] {
        let (machine, model) = (Machine::new(1), Model::new());
        let (store, _) = open(&machine, &model.keys[0]).unwrap();
        let body = random.bytes(length);
        let through = store.append(b"one").unwrap();
        store.checkpoint(through, body.clone()).unwrap();
        drop(store);
        machine.cut_power();
        let (_, recovered) = open(&machine, &model.keys[0]).unwrap();
        assert!(recovered.checkpoint.is_some_and(|it| it.body[..] == body));
        let mut files = machine.copy();
        for at in [
            4096,
            4096 + length / 2,
            4096 + length - 1,
            4096 + length,
            4096 + length + 16,
        ] {
            if let Some(byte) = files[STORE].get_mut("slot-0").unwrap().get_mut(at) {
                *byte ^= 4;
                let (_, recovered) = open(&Machine::with(&files), &model.keys[0]).unwrap();
                assert!(recovered.checkpoint.is_none());
                assert!(recovered.records.iter().eq([b"one"]));
                files[STORE].get_mut("slot-0").unwrap()[at] ^= 4;
            }
        }
    }
}
