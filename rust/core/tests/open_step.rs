//! Events of the open step: not visible before it is closed, however they are split over calls.

use lazysketch_core::Error;
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::release::codec;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::table::items::Items;
use proptest::prelude::*;
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

proptest! {
    /// For any split of a step's events over calls, nothing is visible before the step is closed;
    /// then the result is that of one call.
    #[test]
    fn parts_of_a_batch_are_the_batch(
        steps in prop::collection::vec(
            prop::collection::vec(
                prop::collection::vec((0..40_u64, 0..=MAX_WEIGHT), 0..6), 0..4), 1..6),
        closing in 0..3_usize,
        signed in any::<bool>(),
        is_read_before in any::<bool>(),
    ) {
        let kind = if signed { TableKind::CountSketch } else { TableKind::CountMin };
        let spec = spec(Schedule::Batch { horizon: 50 }, MechanismKind::Haar);
        let (mut parts, mut whole) = (
            seeded(shape(kind, 2, 7), spec, 5),
            seeded(shape(kind, 2, 7), spec, 5),
        );
        for step in steps {
            // The other sketch has not met the events. A release of this one is kept for the next
            // one, and would hide that they are seen too early.
            let before = codec::encode(&whole.release().unwrap()).unwrap();
            if is_read_before {
                prop_assert_eq!(&before, &codec::encode(&parts.release().unwrap()).unwrap());
            }
            let mut all = Vec::new();
            for part in &step {
                let (items, weights): (Vec<_>, Vec<_>) = part.iter().copied().unzip();
                parts.add_to_batch(Items::Ready(&items), Some(&weights)).unwrap();
                let now = parts.release().unwrap();
                prop_assert_eq!(&before, &codec::encode(&now).unwrap());
                all.extend(part.iter().copied());
            }
            match closing {
                0 => parts.tick(1).unwrap(),
                1 => {
                    parts.update(3, 2).unwrap();
                    all.push((3, 2));
                }
                _ => {
                    parts.update_batch(Items::Ready(&[3, 4]), None).unwrap();
                    all.extend([(3, 1), (4, 1)]);
                }
            }
            let (items, weights): (Vec<_>, Vec<_>) = all.into_iter().unzip();
            whole.update_batch(Items::Ready(&items), Some(&weights)).unwrap();
            prop_assert_eq!(
                codec::encode(&parts.release().unwrap()).unwrap(),
                codec::encode(&whole.release().unwrap()).unwrap()
            );
        }
    }
}

#[test]
fn an_invalid_part_of_a_batch_is_refused_entirely() {
    let spec_of = |schedule| spec(schedule, MechanismKind::Haar);
    let mut other = seeded(
        shape(TableKind::CountMin, 2, 7),
        spec_of(Schedule::Punctual { horizon: 9 }),
        5,
    );
    assert!(other.add_to_batch(Items::Ready(&[1]), None).is_err());
    let mut sketch = seeded(
        shape(TableKind::CountMin, 2, 7),
        spec_of(Schedule::Batch { horizon: 1 }),
        5,
    );
    let heavy = [MAX_WEIGHT + 1];
    assert!(
        sketch
            .add_to_batch(Items::Ready(&[1]), Some(&heavy))
            .is_err()
    );
    sketch.tick(1).unwrap();
    let mut expected = seeded(
        shape(TableKind::CountMin, 2, 7),
        spec_of(Schedule::Batch { horizon: 1 }),
        5,
    );
    expected.tick(1).unwrap();
    assert_eq!(
        codec::encode(&sketch.release().unwrap()).unwrap(),
        codec::encode(&expected.release().unwrap()).unwrap()
    );
    assert!(matches!(
        sketch.add_to_batch(Items::Ready(&[1]), None),
        Err(Error::Horizon { .. })
    ));
}
