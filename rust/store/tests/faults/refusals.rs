//! Other keys, other anchors, other versions, two openings, wrong calls: refused by name.

use crate::damage::{history, is_whole_or_refused, without_anchor};
use crate::machine::{ANCHOR, Machine, STORE};
use crate::model::{Model, anchor, key, open};
use lazysketch_store::{Anchor, AnchorPlace, Error, LARGEST_RECORD, Store};

#[test]
fn another_key_is_refused_by_name_and_changes_nothing() {
    let (model, machine, _) = history();
    let before = machine.copy();
    for wrong in [key(0), key(9)] {
        match open(&machine, &wrong) {
            Err(Error::WrongKey { expected, got }) => assert_ne!(expected, got),
            other => panic!("{:?}", other.err()),
        }
    }
    let mut after = machine.copy();
    after[ANCHOR].remove("anchor.lock");
    let mut before = before;
    before[ANCHOR].remove("anchor.lock");
    assert!(before == after);
    assert!(is_whole_or_refused(&model, &after));
}

#[test]
fn a_store_or_an_anchor_opens_once_at_a_time() {
    let (model, machine, _) = history();
    let (store, _) = open(&machine, &model.keys[0]).unwrap();
    let second = open(&machine, &model.keys[0]).err();
    assert!(matches!(second, Some(Error::Locked { .. })), "{second:?}");
    // A copy of the directory under the same anchor.
    let copy = Machine::with(&machine.copy());
    let second = Store::open(copy.disk(STORE), &model.keys[0], &anchor(&machine)).err();
    assert!(matches!(second, Some(Error::Locked { .. })), "{second:?}");
    drop(store);
    assert!(open(&machine, &model.keys[0]).is_ok());
}

/// Two copies that take turns under one anchor: the second is older than it.
#[test]
fn copies_cannot_take_turns_under_one_anchor() {
    let (model, machine, _) = history();
    let copy = Machine::with(&machine.copy());
    let (store, _) = open(&machine, &model.keys[0]).unwrap();
    store.append(b"on").unwrap();
    store.commit().unwrap();
    drop(store);
    let second = Store::open(copy.disk(STORE), &model.keys[0], &anchor(&machine)).err();
    assert!(matches!(second, Some(Error::RolledBack(_))), "{second:?}");
    // Going on in doubt replaces the anchor, and the first copy is refused then.
    let place = AnchorPlace {
        disk: machine.disk(ANCHOR),
        name: "anchor".to_owned(),
    };
    let renewed = Store::open(copy.disk(STORE), &model.keys[0], &Anchor::Renew(place));
    let (store, recovered) = renewed.unwrap();
    assert!(!recovered.anchored);
    store.append(b"another").unwrap();
    store.commit().unwrap();
    drop(store);
    let first = open(&machine, &model.keys[0]).err();
    assert!(matches!(first, Some(Error::RolledBack(_))), "{first:?}");
}

#[test]
fn an_anchor_of_another_store_is_refused() {
    let (model, machine, _) = history();
    let fresh = Machine::new(3);
    for disk in [fresh.disk(STORE), machine.disk(STORE)] {
        let other = Machine::new(4);
        open(&other, &model.keys[0]).unwrap();
        let found = Store::open(disk, &model.keys[0], &anchor(&other)).err();
        assert!(matches!(found, Some(Error::ForeignAnchor)), "{found:?}");
    }
}

#[test]
fn another_version_is_refused_by_name() {
    let (model, machine, _) = history();
    for (folder, name) in [(STORE, "keys-0"), (ANCHOR, "anchor")] {
        let mut files = machine.copy();
        files[folder].get_mut(name).unwrap()[8] = 2;
        let found = open(&Machine::with(&files), &model.keys[0]).err();
        assert!(
            matches!(found, Some(Error::Version { got: 2, .. })),
            "{found:?}"
        );
    }
}

#[test]
fn records_without_key_files_are_refused() {
    let (model, machine, _) = history();
    let mut files = machine.copy();
    files[STORE].retain(|name, _| !name.starts_with("keys-"));
    let found = without_anchor(&Machine::with(&files), &model).err();
    assert!(matches!(found, Some(Error::Damaged(_))), "{found:?}");
}

#[test]
fn nothing_on_the_disk_is_in_clear() {
    let machine = Machine::new(5);
    let canary = [0xc5_u8, 0x1a, 0x77, 0x02, 0x9e, 0x4d, 0xb8, 0x63];
    let secret = lazysketch_store::StoreKey::from_bytes([canary; 4].concat().try_into().unwrap());
    let (store, recovered) = open(&machine, &secret).unwrap();
    let noise = *recovered.noise_key.expose();
    for _ in 0..3 {
        let through = store.append(&canary.repeat(5)).unwrap();
        store.commit().unwrap();
        store.checkpoint(through, canary.repeat(9)).unwrap();
    }
    store.append(&canary).unwrap();
    store.commit().unwrap();
    for bytes in machine.copy().iter().flat_map(|files| files.values()) {
        assert!(!bytes.windows(8).any(|window| window == canary));
        assert!(
            !bytes
                .windows(8)
                .any(|window| noise.chunks(8).any(|part| part == window))
        );
    }
    assert!(!format!("{secret:?}").contains("c51a77"));
}

#[test]
fn wrong_calls_change_nothing() {
    let (machine, mut model) = (Machine::new(1), Model::new());
    let (store, _) = model.open(&machine).unwrap();
    assert_eq!(store.commit().unwrap(), 0);
    let too_large = vec![0; LARGEST_RECORD + 1];
    assert!(matches!(
        store.append(&too_large),
        Err(Error::TooLarge { .. })
    ));
    store.append(b"one").unwrap();
    assert!(matches!(store.checkpoint(0, vec![]), Err(Error::Order)));
    assert_eq!(store.append(b"two").unwrap(), 2);
    assert_eq!(store.commit().unwrap(), 2);
    drop(store);
    model.appended = vec![b"one".to_vec(), b"two".to_vec()];
    let (_, recovered) = model.open(&machine).unwrap();
    model.check_content(&recovered).unwrap();
    assert!(recovered.checkpoint.is_none() && recovered.last == 2);
}

/// Memory is bounded: records that no caller commits are committed when too many wait.
#[test]
fn many_records_are_committed_without_being_asked() {
    let (machine, mut model) = (Machine::new(1), Model::new());
    let (store, _) = model.open(&machine).unwrap();
    for number in 0..40_u8 {
        model.appended.push(vec![number; 1 << 18]);
        store.append(&model.appended[number as usize]).unwrap();
    }
    drop(store);
    let (_, recovered) = model.open(&machine).unwrap();
    model.check_content(&recovered).unwrap();
    // Less than 1 MiB is left to the next commit.
    assert!((37..=40).contains(&recovered.last));
}
