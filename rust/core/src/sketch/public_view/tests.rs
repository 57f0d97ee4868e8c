//! When a kept table is used, and when it is not; what it says is tested by reads of the public
//! interface.

use super::*;
use crate::key::{Identity, MasterKey, SketchId};
use crate::mechanism::MechanismKind;
use crate::parameters::{Calibration, Relation, TableKind};
use crate::schedule::Schedule;

const WIDTH: u32 = 64;
/// No true value of a cell.
const MARK: i64 = 1 << 40;
const PAPER: How = How {
    joint: false,
    now: false,
};

fn sketch() -> PrivateSketch {
    let shape = Shape {
        kind: TableKind::Counters,
        depth: 1,
        width: WIDTH,
        hash_seed: 0,
    };
    let spec = NoiseSpec {
        schedule: Schedule::RoundRobin {
            horizon: 100_000,
            period: 1,
        },
        mechanism: MechanismKind::Haar,
        sigma: 30.0,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 1,
        max_events_per_user: 1,
        max_changes: 1,
        person_bound: None,
    };
    let identity = Identity::chosen(SketchId([1; 16]));
    PrivateSketch::new(shape, spec, &MasterKey::seeded(1), identity).unwrap()
}

/// Marks a column of the kept table, as no change of the sketch does.
fn mark(view: &mut Option<PublicView>, column: usize) {
    let errors = &mut view.as_mut().unwrap().errors;
    errors.replace(column, &[MARK], 1.0, 1.0);
    errors.prepare().unwrap();
}

fn is_marked(view: Option<&PublicView>, column: usize) -> bool {
    view.unwrap().errors.value(0, column) == MARK
}

/// The estimate from the kept table, if it is current.
fn paper(sketch: &mut PrivateSketch, column: u64, view: &mut Option<PublicView>) -> f64 {
    sketch.estimate_by(column, PAPER, view).unwrap()
}

#[test]
fn a_table_is_read_while_it_is_current_and_no_longer() {
    let (mut sketch, mut view) = (sketch(), None);
    sketch.tick(u64::from(3 * WIDTH)).unwrap();
    sketch.keep_view(&mut view).unwrap();
    mark(&mut view, 5);
    assert_eq!(paper(&mut sketch, 5, &mut view), MARK as f64);
    assert_eq!(
        paper(&mut sketch, 6, &mut view),
        sketch.estimate(6).unwrap()
    );
    let none = sketch.estimate_by(u64::from(WIDTH), PAPER, &mut view);
    assert!(none.is_err());
    // One push later it is another table.
    sketch.tick(1).unwrap();
    let expected = sketch.estimate(5).unwrap();
    assert_eq!(paper(&mut sketch, 5, &mut view), expected);
    assert!(is_marked(view.as_ref(), 5));
}

#[test]
fn the_last_push_makes_another_table() {
    let (mut sketch, mut view) = (sketch(), None);
    sketch.tick(u64::from(3 * WIDTH)).unwrap();
    sketch.keep_view(&mut view).unwrap();
    mark(&mut view, 5);
    sketch.finish().unwrap();
    let expected = sketch.estimate(5).unwrap();
    assert_eq!(paper(&mut sketch, 5, &mut view), expected);
    sketch.keep_view(&mut view).unwrap();
    assert!(!is_marked(view.as_ref(), 5));
    mark(&mut view, 5);
    assert_eq!(paper(&mut sketch, 5, &mut view), MARK as f64);
}

/// The columns that were pushed are renewed, in place or with the errors of the whole table; after
/// `finish` the whole table is read again.
#[test]
fn pushes_renew_their_columns_only() {
    let (few, all) = (u64::from(WIDTH) / FEW, u64::from(WIDTH));
    for (pushes, keeps_others) in [
        (0, true),
        (1, true),
        (few, true),
        (few + 1, true),
        (all - 1, true),
        (all, false),
        (2 * all + 3, false),
    ] {
        for finishes in [false, true] {
            let (mut sketch, mut view) = (sketch(), None);
            sketch.tick(u64::from(3 * WIDTH)).unwrap();
            sketch.keep_view(&mut view).unwrap();
            let last = WIDTH as usize - 1;
            mark(&mut view, 0);
            mark(&mut view, last);
            sketch.tick(pushes).unwrap();
            if finishes {
                sketch.finish().unwrap();
            }
            sketch.keep_view(&mut view).unwrap();
            let keeps = |column, keeps: bool| {
                let marked = is_marked(view.as_ref(), column);
                assert_eq!(marked, keeps && !finishes, "{pushes} {finishes}");
            };
            keeps(last, keeps_others);
            keeps(0, pushes == 0);
            if pushes > 0 {
                let value = view.as_ref().unwrap().errors.value(0, 0);
                assert_eq!(value as f64, sketch.estimate(0).unwrap());
            }
        }
    }
}
