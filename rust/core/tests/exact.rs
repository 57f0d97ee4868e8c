//! Exact sketches and the readers of releases against counts by hand, and the limits of totals.

use lazysketch_core::Error;
use lazysketch_core::parameters::{LARGEST_COUNT, TableKind};
use lazysketch_core::release::Release;
use lazysketch_core::sketch::exact::ExactSketch;
use lazysketch_core::table::items::Items;
use seeded::shape;

mod seeded;

/// Wide enough that no two of the items share a cell in most rows.
const WIDTH: u32 = 1 << 14;
const ITEMS: [i64; 7] = [3, -4, 0, 9, 3, 3, 9];
const COUNTS: [(i64, f64); 5] = [(3, 3.0), (-4, 1.0), (0, 1.0), (9, 2.0), (77, 0.0)];

fn exact(kind: TableKind) -> ExactSketch {
    ExactSketch::new(shape(kind, 3, WIDTH)).unwrap()
}

#[test]
fn estimates_are_the_counts_of_a_wide_table() {
    for kind in [TableKind::CountMin, TableKind::CountSketch] {
        let mut sketch = exact(kind);
        sketch.update_many(Items::Signed(&ITEMS), None).unwrap();
        assert_eq!(sketch.step(), 7);
        let items = COUNTS.map(|(item, _)| item);
        let expected = COUNTS.map(|(_, count)| count);
        let fingerprinter = *sketch.fingerprinter();
        let one_by_one = items.map(|item| sketch.estimate(fingerprinter.signed(item)));
        assert_eq!(one_by_one, expected);
        let items = Items::Signed(&items);
        assert_eq!(sketch.estimate_many(items).unwrap(), expected);
        let release = sketch.release().unwrap();
        let cells = release.item_cells();
        let reader = release.reader(&cells);
        let read = reader.estimate_many(items, &release.fingerprinter());
        assert_eq!(read.unwrap(), expected);
        // Every cell that the reader names holds the count, with the sign that it states.
        let (columns, flipped) = reader.locate_many(items, &release.fingerprinter()).unwrap();
        assert_eq!((columns.len(), flipped.len()), (15, 15));
        for (number, &expected) in expected.iter().enumerate() {
            for row in 0..3 {
                let place = row * WIDTH as usize + columns[3 * number + row] as usize;
                let sign = if flipped[3 * number + row] { -1 } else { 1 };
                assert_eq!((sign * release.table()[place]) as f64, expected);
            }
        }
        assert_eq!(flipped.contains(&true), kind == TableKind::CountSketch);
        assert!(flipped.contains(&false));
    }
}

#[test]
fn steps_and_totals_of_all_ways_of_counting_add() {
    let mut sketch = exact(TableKind::CountMin);
    sketch.update(5, 10).unwrap();
    sketch.update(5, 20).unwrap();
    sketch
        .update_many(Items::Ready(&[5, 6, 5]), Some(&[1, 2, 3]))
        .unwrap();
    sketch.update_many(Items::Ready(&[6, 6]), None).unwrap();
    assert_eq!(
        (sketch.step(), sketch.estimate(5), sketch.estimate(6)),
        (7, 34.0, 4.0)
    );
    let copy = ExactSketch::from_release(&sketch.release().unwrap()).unwrap();
    let both = sketch.merged(&copy).unwrap();
    assert_eq!(
        (both.step(), both.estimate(5), both.estimate(6)),
        (14, 68.0, 8.0)
    );
    assert_eq!((copy.step(), copy.estimate(5)), (7, 34.0));
    assert_eq!(copy.table().unwrap(), sketch.table().unwrap());
    assert!(ExactSketch::from_release(&both.release().unwrap()).is_ok());
}

/// A total of 2^62 - 1 is accepted in one event, in a batch and in a sum; 2^62 is not.
#[test]
fn totals_stay_below_their_bound() {
    let most = LARGEST_COUNT - 1;
    let refused = |found: Result<(), Error>, name: &str| {
        let message = found.unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    };
    for kind in [TableKind::CountMin, TableKind::CountSketch] {
        let mut sketch = exact(kind);
        refused(sketch.update(1, LARGEST_COUNT), "weight:");
        let batch = |weights: &[u64]| {
            let items = vec![1; weights.len()];
            exact(kind).update_many(Items::Ready(&items), Some(weights))
        };
        refused(batch(&[0, LARGEST_COUNT]), "weights: expected integers");
        refused(batch(&[1, most]), "weights: expected a total");
        assert_eq!(batch(&[0, most]), Ok(()));
        sketch.update(1, most).unwrap();
        assert_eq!(sketch.estimate(1), most as f64);
        refused(sketch.update(1, 1), "weights: expected a total");
        refused(
            sketch.update_many(Items::Ready(&[1, 2]), None),
            "weights: expected a total",
        );
        assert_eq!(sketch.step(), 1);
        let mut one = exact(kind);
        one.update(2, 1).unwrap();
        assert!(matches!(sketch.merged(&one), Err(Error::Merge(_))));
        let copy = ExactSketch::from_release(&one.release().unwrap()).unwrap();
        assert_eq!(one.merged(&copy).unwrap().estimate(2), 2.0);
    }
}

#[test]
fn only_releases_of_one_exact_sketch_are_counted_on() {
    let (mut one, mut other) = (exact(TableKind::CountMin), exact(TableKind::CountMin));
    one.update(1, 1).unwrap();
    other.update(1, 2).unwrap();
    let (one, other) = (one.release().unwrap(), other.release().unwrap());
    let both = Release::merge(&[&one, &other]).unwrap();
    assert!(matches!(
        ExactSketch::from_release(&both),
        Err(Error::Format(_))
    ));
    let mut finished = ExactSketch::from_release(&one).unwrap();
    assert!(!finished.is_finished());
    finished.finish();
    let again = ExactSketch::from_release(&finished.release().unwrap()).unwrap();
    assert!(again.is_finished());
    let schedule = lazysketch_core::schedule::Schedule::Single { horizon: None };
    let mechanism = lazysketch_core::mechanism::MechanismKind::Binary;
    let spec = seeded::spec(schedule, mechanism);
    for kind in [TableKind::CountMin, TableKind::Counters] {
        let depth = if kind == TableKind::Counters { 1 } else { 3 };
        let release = seeded::seeded(shape(kind, depth, 8), spec, 1)
            .release()
            .unwrap();
        assert!(matches!(
            ExactSketch::from_release(&release),
            Err(Error::Format(_))
        ));
    }
}
