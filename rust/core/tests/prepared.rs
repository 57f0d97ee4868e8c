//! What is prepared then succeeds, what is refused is refused before anything changes, and
//! preparing changes nothing that can be seen.

use lazysketch_core::key::MasterKey;
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::TableKind;
use lazysketch_core::release::codec;
use lazysketch_core::saved_state::SavedState;
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::items::{Items, StepRows};
use proptest::prelude::*;
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

const HORIZON: u64 = 12;

fn sketch(kind: TableKind, schedule: Schedule) -> PrivateSketch {
    seeded(shape(kind, 2, 7), spec(schedule, MechanismKind::Haar), 5)
}

fn bytes(sketch: &mut PrivateSketch) -> Vec<u8> {
    codec::encode(&sketch.release().unwrap()).unwrap()
}

/// One way of counting: prepare, then apply.
type Step<'a> = (
    Box<dyn Fn(&mut PrivateSketch) -> lazysketch_core::Result<()> + 'a>,
    Box<dyn Fn(&mut PrivateSketch) -> lazysketch_core::Result<()> + 'a>,
);

proptest! {
    /// At any step, also the last, with weights on both sides of the limit.
    #[test]
    fn what_is_prepared_is_applied(
        batch in any::<bool>(),
        signed in any::<bool>(),
        before in 0..HORIZON + 1,
        way in 0..4_usize,
        weights in prop::collection::vec(0..=MAX_WEIGHT + 1, 1..4),
        empty in prop::collection::btree_set(0..4_u64, 0..3),
    ) {
        let kind = if signed { TableKind::CountSketch } else { TableKind::CountMin };
        let schedule = if batch {
            Schedule::Batch { horizon: HORIZON }
        } else {
            Schedule::round_robin(HORIZON)
        };
        let (mut with, mut without) = (sketch(kind, schedule), sketch(kind, schedule));
        with.tick(before).unwrap();
        without.tick(before).unwrap();
        let fingerprints: Vec<u64> = (0..weights.len() as u64).collect();
        let items = Items::Ready(&fingerprints);
        let empty: Vec<u64> = empty.into_iter().collect();
        let rows = StepRows::new(items, Some(&weights), &empty);
        let Ok(rows) = rows else { return Ok(()) };
        let some = Some(weights.as_slice());
        let steps: [Step<'_>; 4] = [
            (
                Box::new(|it| it.prepare_update(weights[0])),
                Box::new(|it| it.update(fingerprints[0], weights[0])),
            ),
            (Box::new(|it| it.prepare_rows(rows)), Box::new(|it| it.update_rows(rows))),
            (Box::new(|it| it.prepare_batch(items, some)), Box::new(|it| it.update_batch(items, some))),
            (Box::new(|it| it.prepare_open_step(items, some)), Box::new(|it| it.add_to_batch(items, some))),
        ];
        let (prepare, apply) = &steps[way];
        let unchanged = bytes(&mut with);
        let prepared = prepare(&mut with);
        prop_assert_eq!(&unchanged, &bytes(&mut with));
        let applied = apply(&mut without);
        prop_assert_eq!(&prepared, &applied);
        let over = match way {
            0 => weights[0] > MAX_WEIGHT,
            _ => weights.iter().any(|&weight| weight > MAX_WEIGHT),
        };
        let needed = if way == 1 { (weights.len() + empty.len()) as u64 } else { 1 };
        let alone = way < 2 || batch;
        prop_assert_eq!(prepared.is_ok(), !over && alone && before + needed <= HORIZON);
        if prepared.is_err() {
            prop_assert_eq!(&unchanged, &bytes(&mut without));
            return Ok(());
        }
        prop_assert_eq!(apply(&mut with), Ok(()));
        prop_assert_eq!(bytes(&mut with), bytes(&mut without));
    }
}

/// A saved state of the last step is restored; one of a later step is refused.
#[test]
fn steps_of_states_end_with_the_horizon() {
    let (kind, schedule) = (TableKind::CountMin, Schedule::Punctual { horizon: HORIZON });
    let mut last = sketch(kind, schedule);
    last.tick(HORIZON).unwrap();
    let saved = last.save().unwrap();
    // After the version, a digest, the id and a flag.
    let place = 2 + 32 + 16 + 1;
    assert_eq!(saved.expose()[place..place + 8], HORIZON.to_le_bytes());
    for (step, accepted) in [(11, true), (12, true), (13, false), (14, false)] {
        let mut bytes = saved.expose().to_vec();
        bytes[place] = step;
        let state = SavedState::from_bytes(bytes);
        let key = MasterKey::seeded(5);
        let restored = PrivateSketch::restore(*last.shape(), *last.spec(), &key, &state);
        assert_eq!(restored.is_ok(), accepted, "step {step}");
    }
}
