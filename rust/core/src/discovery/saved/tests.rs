//! Limits of states that no sketch wrote.

use crate::discovery::dictionary::Dictionary;
use crate::item::Item;
use crate::saved_state::{SavedState, StateReader, StateWriter};
use crate::table::hash::Fingerprinter;

fn saved(dictionary: &Dictionary) -> SavedState {
    // And the version.
    let mut out = StateWriter::after(Vec::new(), 2 + dictionary.saved_bytes()).unwrap();
    dictionary.save(&mut out);
    SavedState::from_bytes(out.into_bytes())
}

/// A full dictionary is restored; one of fewer slots refuses it, whatever their number.
#[test]
fn a_dictionary_takes_as_many_names_as_it_has_slots() {
    let mut full = Dictionary::new(3, 16).unwrap();
    let (hash, long) = (Fingerprinter::new(1), "x".repeat(40));
    for (identity, item) in [
        (9, Item::Text("a")),
        (8, Item::Text(&long)),
        (7, Item::Date(1)),
    ] {
        full.add(identity, 5, item, || hash.item(item));
    }
    let state = saved(&full);
    for slots in 1..6 {
        let mut other = Dictionary::new(slots, 16).unwrap();
        let mut from = StateReader::new(&state).unwrap();
        let restored = other.restore(&mut from);
        if slots < 3 {
            let message = restored.unwrap_err().to_string();
            assert!(message.contains("as many names as slots"), "{message}");
        } else {
            restored.unwrap();
            from.finish().unwrap();
            assert_eq!(saved(&other).expose(), state.expose());
        }
    }
}
