//! The sketches against their definition: a naive model that keeps every event, pushes according to
//! the schedule and adds the core's own draws in exact rational arithmetic.

use lazysketch_core::Error;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{NoiseSpec, Shape, TableKind};
use lazysketch_core::release::codec;
use lazysketch_core::schedule::{Growth, Schedule};
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::hash::RowHashes;
use lazysketch_core::table::items::Items;
use proptest::prelude::*;
use seeded::{MAX_WEIGHT, seeded, shape, spec};

mod seeded;

/// One operation on a sketch.
#[derive(Debug, Clone)]
enum Action {
    Event(u64, u64),
    Batch(Vec<(u64, u64)>),
    Tick(u64),
}

impl Action {
    /// The same action as single steps: an event, or none.
    fn steps(&self) -> Vec<Option<(u64, u64)>> {
        match self {
            Self::Event(item, weight) => vec![Some((*item, *weight))],
            Self::Batch(events) => events.iter().copied().map(Some).collect(),
            Self::Tick(steps) => vec![None; *steps as usize],
        }
    }

    fn apply(&self, sketch: &mut PrivateSketch) {
        match self {
            Self::Event(item, weight) => sketch.update(*item, *weight).unwrap(),
            Self::Batch(events) => {
                let (items, weights): (Vec<u64>, Vec<u64>) = events.iter().copied().unzip();
                sketch
                    .update_many(Items::Ready(&items), Some(&weights))
                    .unwrap();
            }
            Self::Tick(steps) => sketch.tick(*steps).unwrap(),
        }
    }
}

/// The naive model.
struct Model {
    shape: Shape,
    spec: NoiseSpec,
    pending: Vec<i64>,
    published: Vec<i64>,
    pushes: Vec<u64>,
    step: u64,
}

impl Model {
    fn new(shape: Shape, spec: NoiseSpec) -> Self {
        let cells = shape.cells() as usize;
        let columns = shape.width as usize;
        Self {
            shape,
            spec,
            pending: vec![0; cells],
            published: vec![0; cells],
            pushes: vec![0; columns],
            step: 0,
        }
    }

    fn cell(&self, row: usize, column: usize) -> usize {
        row * self.shape.width as usize + column
    }

    fn take(&mut self, event: Option<(u64, u64)>) {
        let depth = self.shape.depth as usize;
        if let Some((item, weight)) = event {
            let hashes = RowHashes::new(self.shape.hash_seed, self.shape.depth, self.shape.width);
            for row in 0..depth {
                let (column, sign) = match self.shape.kind {
                    TableKind::CountMin => (hashes.column(row, item), 1),
                    TableKind::CountSketch => {
                        (hashes.column(row, item), 1 + 2 * hashes.negative(row, item))
                    }
                    TableKind::Counters
                    | TableKind::Distinct { .. }
                    | TableKind::Values { .. }
                    | TableKind::Ranges => (item as usize, 1),
                };
                let cell = self.cell(row, column);
                self.pending[cell] += sign * weight as i64;
            }
        }
        self.step += 1;
        for column in 0..self.pushes.len() {
            let pushes = self
                .spec
                .schedule
                .progress(self.step, self.shape.width)
                .pushes(column as u32);
            while self.pushes[column] < pushes {
                self.pushes[column] += 1;
                for row in 0..depth {
                    let cell = self.cell(row, column);
                    self.published[cell] += std::mem::take(&mut self.pending[cell]);
                }
            }
        }
    }

    /// published + floor(exact noise + 1/2), from the sketch's own draws.
    fn released(&self, sketch: &PrivateSketch) -> Vec<i64> {
        let mechanism = self.spec.mechanism(&self.shape).unwrap();
        let cells = (0..self.published.len()).map(|cell| {
            let push = self.pushes[cell % self.shape.width as usize];
            if push == 0 {
                return 0;
            }
            let weights = mechanism.weights(push);
            let path = weights.exact().unwrap();
            let nodes: Vec<u64> = path.terms().map(|(node, _)| node).collect();
            let draws = sketch.draws(&[cell as u64], &nodes).unwrap();
            let sum: i128 = path
                .terms()
                .zip(draws)
                .map(|((_, n), z)| n * i128::from(z))
                .sum();
            let denominator = path.denominator() as i128;
            let exact = 2 * (i128::from(self.published[cell]) * denominator + sum) + denominator;
            exact.div_euclid(2 * denominator) as i64
        });
        cells.collect()
    }
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let growth = |numerator, denominator| Growth {
        numerator,
        denominator,
    };
    prop_oneof![
        (1..4_u64).prop_map(|period| Schedule::RoundRobin {
            horizon: 4_000,
            period
        }),
        Just(Schedule::Punctual { horizon: 4_000 }),
        (1..2_000_u64).prop_map(|horizon| Schedule::Single {
            horizon: (horizon > 300).then_some(4_000 - horizon)
        }),
        Just(Schedule::geometric()),
        Just(Schedule::Geometric {
            growth: growth(1, 3),
            rounds: 40
        }),
    ]
}

fn mechanisms() -> impl Strategy<Value = MechanismKind> {
    use MechanismKind::{Binary, Haar, Tree, TreeLog};
    proptest::sample::select(vec![Binary, Haar, Tree, TreeLog])
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (1..10_u32, 1..9_u32).prop_map(|(depth, width)| shape(TableKind::CountMin, depth, width)),
        (1..10_u32, 1..9_u32).prop_map(|(depth, width)| shape(
            TableKind::CountSketch,
            depth,
            width
        )),
        (1..9_u32).prop_map(|width| shape(TableKind::Counters, 1, width)),
    ]
}

fn actions(items: u64) -> impl Strategy<Value = Vec<Action>> {
    let event = (0..items, 0..=MAX_WEIGHT);
    let action = prop_oneof![
        event
            .clone()
            .prop_map(|(item, weight)| Action::Event(item, weight)),
        proptest::collection::vec(event, 0..120).prop_map(Action::Batch),
        (0..60_u64).prop_map(Action::Tick),
    ];
    proptest::collection::vec(action, 1..8)
}

fn cases() -> impl Strategy<Value = (Shape, Schedule, Vec<Action>)> {
    (shapes(), schedules()).prop_flat_map(|(shape, schedule)| {
        let items = if shape.kind == TableKind::Counters {
            u64::from(shape.width)
        } else {
            50
        };
        (Just(shape), Just(schedule), actions(items))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any mix of single updates, batches and ticks gives the state of the definition.
    #[test]
    fn releases_follow_the_definition(
        (shape, schedule, actions) in cases(), mechanism in mechanisms(),
    ) {
        let spec = spec(schedule, mechanism);
        let (mut sketch, mut model) = (seeded(shape, spec, 5), Model::new(shape, spec));
        for action in &actions {
            action.apply(&mut sketch);
            action.steps().into_iter().for_each(|event| model.take(event));
            let release = sketch.release().unwrap();
            prop_assert_eq!(release.table(), &model.released(&sketch)[..]);
            let cells = release.item_cells();
            let reader = release.reader(&cells);
            for item in 0..u64::from(shape.width) {
                prop_assert_eq!(sketch.estimate(item).unwrap(), reader.estimate(item));
            }
        }
    }

    /// Decoding the bytes of a release gives an equal release.
    #[test]
    fn codec_round_trip((shape, schedule, actions) in cases()) {
        let mut sketch = seeded(shape, spec(schedule, MechanismKind::Haar), 5);
        actions.iter().for_each(|action| action.apply(&mut sketch));
        let release = sketch.release().unwrap();
        let bytes = codec::encode(&release).unwrap();
        prop_assert_eq!(codec::decode(&bytes).unwrap(), release);
    }
}

/// The step at which counters widen depends on the step number alone, and no count is lost there.
#[test]
fn counters_widen_without_loss() {
    let mut spec = spec(Schedule::round_robin(1 << 20), MechanismKind::Haar);
    spec.max_weight = 1 << 28;
    let shape = shape(TableKind::CountMin, 2, 4);
    let (mut sketch, mut empty) = (seeded(shape, spec, 5), seeded(shape, spec, 5));
    let (items, weights) = (vec![9_u64; 40], vec![1 << 28; 40]);
    sketch
        .update_many(Items::Ready(&items), Some(&weights))
        .unwrap();
    empty.tick(40).unwrap();
    let difference = sketch.estimate(9).unwrap() - empty.estimate(9).unwrap();
    let lag = 4.0 * 2_f64.powi(28);
    assert!(difference <= 40.0 * 2_f64.powi(28) && difference >= 40.0 * 2_f64.powi(28) - lag);
}

#[test]
fn past_the_horizon_nothing_is_applied() {
    let spec = spec(Schedule::round_robin(10), MechanismKind::Haar);
    let mut sketch = seeded(shape(TableKind::CountMin, 2, 4), spec, 5);
    sketch.update_many(Items::Ready(&[1; 7]), None).unwrap();
    let before = sketch.release().unwrap();
    let refused = sketch.update_many(Items::Ready(&[2; 4]), None);
    assert_eq!(
        refused,
        Err(Error::Horizon {
            horizon: 10,
            remaining: 3,
            requested: 4
        })
    );
    assert!(sketch.tick(4).is_err());
    assert_eq!(sketch.release().unwrap(), before);
    sketch.tick(3).unwrap();
    assert!(sketch.update(1, 1).is_err());
}

#[test]
fn bad_weights_and_indices_reject_the_batch() {
    let spec = spec(Schedule::geometric(), MechanismKind::Haar);
    let mut sketch = seeded(shape(TableKind::Counters, 1, 4), spec, 5);
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    let heavy = message(sketch.update_many(Items::Ready(&[0, 1]), Some(&[1, MAX_WEIGHT + 1])));
    assert!(
        heavy.contains("position 1") && heavy.starts_with("weights:"),
        "{heavy}"
    );
    assert!(message(sketch.update_many(Items::Ready(&[0]), Some(&[]))).starts_with("weights:"));
    assert!(message(sketch.update_many(Items::Ready(&[0, 4]), None)).starts_with("index:"));
    assert!(message(sketch.update_vector(&[1, 0])).starts_with("vector:"));
    assert_eq!(sketch.step(), 0);
}

#[test]
fn close_forgets_and_private_sketches_show_no_draws() {
    let spec = spec(Schedule::geometric(), MechanismKind::Haar);
    let shape = shape(TableKind::CountMin, 2, 4);
    let key = MasterKey::generate().unwrap();
    let serving = NoiseSpec {
        sigma: 1000.0,
        ..spec
    };
    let fresh = || Identity::fresh().unwrap();
    let too_little = PrivateSketch::new(shape, spec, &key, fresh()).unwrap();
    assert!(!too_little.not_private().is_private());
    let mut sketch = PrivateSketch::new(shape, serving, &key, fresh()).unwrap();
    assert!(sketch.not_private().is_private());
    assert_eq!(sketch.draws(&[0], &[1]), Err(Error::PrivateDraws));
    sketch.close();
    assert_eq!(sketch.update(1, 1), Err(Error::Closed));
    assert_eq!(sketch.tick(1), Err(Error::Closed));
    assert_eq!(sketch.release().unwrap_err(), Error::Closed);
    assert_eq!(sketch.estimate(1), Err(Error::Closed));
}

/// Equal id: equal noise; a fresh id under the same key: different noise.
#[test]
fn a_fresh_id_means_fresh_noise() {
    let spec = NoiseSpec {
        sigma: 1e6,
        ..spec(Schedule::geometric(), MechanismKind::Haar)
    };
    let shape = shape(TableKind::CountMin, 2, 8);
    let key = MasterKey::seeded(1);
    let table = |identity| {
        let mut sketch = PrivateSketch::new(shape, spec, &key, identity).unwrap();
        sketch.tick(100).unwrap();
        sketch.release().unwrap().table().to_vec()
    };
    let chosen = || Identity::chosen(SketchId([1; 16]));
    assert_eq!(table(chosen()), table(chosen()));
    let (one, two) = (
        table(Identity::fresh().unwrap()),
        table(Identity::fresh().unwrap()),
    );
    assert!(one.iter().zip(&two).all(|(a, b)| a != b));
}

/// A batch of events in one step is one push of their sums.
#[test]
fn a_batch_is_one_step() {
    let spec = spec(Schedule::Batch { horizon: 10 }, MechanismKind::Tree);
    let shape = shape(TableKind::CountMin, 2, 4);
    let (mut sketch, mut empty) = (seeded(shape, spec, 5), seeded(shape, spec, 5));
    sketch.update_batch(Items::Ready(&[9; 1000]), None).unwrap();
    sketch.update_batch(Items::Ready(&[]), None).unwrap();
    empty.tick(2).unwrap();
    assert_eq!((sketch.step(), empty.step()), (2, 2));
    let difference = sketch.estimate(9).unwrap() - empty.estimate(9).unwrap();
    assert_eq!(difference, 1000.0);
    for _ in 0..8 {
        sketch.update_batch(Items::Ready(&[1]), None).unwrap();
    }
    assert!(matches!(
        sketch.update_batch(Items::Ready(&[1]), None),
        Err(Error::Horizon { horizon: 10, .. })
    ));
    let mut lazy = seeded(
        shape,
        NoiseSpec {
            schedule: Schedule::geometric(),
            ..spec
        },
        5,
    );
    let refused = lazy
        .update_batch(Items::Ready(&[1]), None)
        .unwrap_err()
        .to_string();
    assert!(refused.starts_with("schedule: "), "{refused}");
}
