//! Limits of a step, and the width of counters, which only a test within the core sees.

use super::*;
use crate::key::{Identity, MasterKey, SketchId};
use crate::mechanism::MechanismKind;
use crate::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use crate::schedule::Schedule;

fn spec(schedule: Schedule, max_weight: u64) -> NoiseSpec {
    NoiseSpec {
        schedule,
        mechanism: MechanismKind::Haar,
        sigma: 3.0,
        relation: Relation::Substitution,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight,
        max_events_per_user: 1,
        person_bound: None,
        max_changes: 1,
    }
}

fn sketch(kind: TableKind, schedule: Schedule, max_weight: u64) -> PrivateSketch {
    let shape = Shape {
        kind,
        depth: if kind == TableKind::Counters { 1 } else { 2 },
        width: 3,
        hash_seed: 1,
    };
    let identity = Identity::chosen(SketchId([1; 16]));
    let spec = spec(schedule, max_weight);
    PrivateSketch::new(shape, spec, &MasterKey::seeded(1), identity).unwrap()
}

/// Sets the number of events by hand, as no test could bring that many.
#[test]
fn a_step_refuses_events_above_its_bound() {
    let batch = Schedule::Batch { horizon: 7 };
    let mut sketch = sketch(TableKind::CountMin, batch, 1);
    let one = Items::Ready(&[7]);
    sketch.add_to_batch(one, None).unwrap();
    let most = batch.events_per_step();
    let set = |sketch: &mut PrivateSketch, events| {
        let open = sketch.state.as_mut().unwrap().open.as_mut().unwrap();
        open.set_events(events);
    };
    set(&mut sketch, most - 1);
    let two = Items::Ready(&[7, 8]);
    assert!(sketch.add_to_batch(two, None).is_err());
    assert!(sketch.update_batch(two, None).is_err());
    sketch.add_to_batch(one, None).unwrap();
    assert!(sketch.add_to_batch(one, None).is_err());
    assert!(sketch.update(7, 1).is_err());
    assert!(sketch.update_many(one, None).is_err());
    let rows = |empty| StepRows::new(one, None, empty).unwrap();
    assert!(sketch.update_rows(rows(&[1])).is_err());
    assert_eq!(sketch.step(), 0);
    sketch.tick(1).unwrap();
    sketch.update(7, 1).unwrap();
    assert_eq!(sketch.step(), 2);
    // An empty row closes the full step, and the event has the next one.
    sketch.add_to_batch(one, None).unwrap();
    set(&mut sketch, most);
    sketch.update_rows(rows(&[0])).unwrap();
    assert_eq!(sketch.step(), 4);
    // A step that is not open has room, whatever the rows begin with.
    sketch.update_rows(rows(&[1])).unwrap();
    assert_eq!(sketch.step(), 6);
}

#[test]
fn counts_are_bounded_by_the_events_of_all_steps() {
    let batch = Schedule::Batch { horizon: 7 };
    let events = u128::from(batch.events_per_step());
    assert!(events > 3);
    assert_eq!(
        sketch(TableKind::CountMin, batch, 5).bound_at(3),
        15 * events
    );
    let lazy = Schedule::round_robin(7);
    assert_eq!(sketch(TableKind::CountMin, lazy, 5).bound_at(3), 15);
}

/// Weights of which the 32-bit counters hold two events: the third makes them wide beforehand.
#[test]
fn counters_widen_before_the_counts_that_need_it() {
    let weight = (1 << 29) - 1;
    type Way = fn(&mut PrivateSketch) -> Result<()>;
    let is_wide = |sketch: &PrivateSketch| {
        let table = &sketch.state.as_ref().unwrap().table;
        table.wider(u128::MAX).unwrap().is_none()
    };
    let one = Items::Ready(&[1]);
    let lazy: [Way; 7] = [
        |it| it.update(1, 1),
        |it| it.prepare_update(1),
        |it| it.update_many(Items::Ready(&[1, 1]), None),
        |it| it.prepare_rows(StepRows::new(Items::Ready(&[1]), None, &[]).unwrap()),
        |it| it.prepare_steps(1),
        |it| it.tick(1),
        |it| it.update_vector(&[1, 0, 2]),
    ];
    for (number, way) in lazy.iter().enumerate() {
        let mut sketch = sketch(TableKind::Counters, Schedule::round_robin(9), weight);
        sketch.tick(2).unwrap();
        assert!(!is_wide(&sketch));
        way(&mut sketch).unwrap();
        assert!(is_wide(&sketch), "way {number}");
    }
    let batches: [Way; 3] = [
        |it| it.update_batch(Items::Ready(&[1]), None),
        |it| it.prepare_batch(Items::Ready(&[1]), None),
        |it| it.prepare_open_step(Items::Ready(&[1]), None),
    ];
    for (number, way) in batches.iter().enumerate() {
        let mut sketch = sketch(TableKind::CountMin, Schedule::Batch { horizon: 9 }, 1);
        sketch.tick(0).unwrap();
        assert!(!is_wide(&sketch));
        way(&mut sketch).unwrap();
        assert!(is_wide(&sketch), "way {number}");
    }
    // What is not prepared does not widen: the step alone decides.
    let mut sketch = sketch(TableKind::CountMin, Schedule::round_robin(9), weight);
    sketch.update_many(one, None).unwrap();
    sketch.update(1, weight).unwrap();
    assert!(!is_wide(&sketch));
}

/// The first batch of a sketch is a vector: pending under a lazy schedule, published at once
/// under one that is not.
#[test]
fn vectors_are_counted_by_index() {
    // More than a narrow counter holds: room is made before the first event.
    let heavy = 1 << 32;
    for (schedule, seen) in [
        (Schedule::Punctual { horizon: 9 }, [heavy as i64, 0, 5]),
        (
            Schedule::RoundRobin {
                horizon: 9,
                period: 3,
            },
            [0, 0, 0],
        ),
    ] {
        let mut sketch = sketch(TableKind::Counters, schedule, heavy);
        sketch.update_vector(&[heavy, 0, 5]).unwrap();
        let rows = sketch.state.as_ref().unwrap().table.rows().unwrap();
        assert_eq!((rows, sketch.step()), (seen.to_vec(), 1));
        sketch.finish().unwrap();
        let rows = sketch.state.as_ref().unwrap().table.rows().unwrap();
        assert_eq!(rows, [heavy as i64, 0, 5]);
    }
}

/// Another thread may write to the weights after their check.
#[test]
fn signed_weights_are_bounded_again() {
    use crate::table::event_weights::{EventWeights, SignedBounded};
    let weights = [5_i64, -5, i64::MAX, i64::MIN, 3, -3].map(i64::cast_unsigned);
    let bounded = SignedBounded {
        weights: &weights,
        largest: 4,
    };
    let found: Vec<i64> = (0..6).map(|at| bounded.weight(at).cast_signed()).collect();
    assert_eq!(found, [4, -4, 4, -4, 3, -3]);
}
