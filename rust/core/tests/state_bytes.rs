//! The bytes of saved states, pinned: a change here is another version (docs/state-format.md).

use lazysketch_core::item::Item;
use lazysketch_core::key::{Identity, MasterKey, SketchId};
use lazysketch_core::mechanism::MechanismKind;
use lazysketch_core::parameters::{Calibration, NoiseSpec, Relation, Shape, TableKind};
use lazysketch_core::schedule::Schedule;
use lazysketch_core::sketch::PrivateSketch;
use lazysketch_core::table::items::Items;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_table_with_an_open_step() {
    let shape = Shape {
        kind: TableKind::CountMin,
        depth: 1,
        width: 2,
        hash_seed: 11,
    };
    let noise = NoiseSpec {
        schedule: Schedule::Batch { horizon: 9 },
        mechanism: MechanismKind::Haar,
        sigma: 3.7,
        relation: Relation::ZeroOut,
        calibration: Calibration::Analytic,
        epsilon: 1.0,
        delta: 1e-6,
        max_weight: 3,
        max_events_per_user: 1,
        max_changes: 1,
        person_bound: None,
    };
    let identity = Identity::chosen(SketchId([3; 16]));
    let mut sketch = PrivateSketch::new(shape, noise, &MasterKey::seeded(5), identity).unwrap();
    sketch.tick(2).unwrap();
    let items = [Item::Text("a"), Item::Text("a")];
    sketch.add_to_batch(Items::Mixed(&items), None).unwrap();
    let state = sketch.save().unwrap();
    let digest = hex(&sketch.parameters_digest());
    let expected = [
        "0100",                             // version
        &digest,                            // of the parameters
        "03030303030303030303030303030303", // id
        "01",                               // chosen by the caller
        "0200000000000000",                 // steps
        "00",                               // not finished
        "01",                               // counts of 8 bytes, all published
        "00000000000000000000000000000000",
        "01",               // a step is open
        "01",               // and has begun
        "0200000000000000", // events
        "01",               // counts of 8 bytes
        "02000000000000000000000000000000",
    ];
    assert_eq!(hex(state.expose()), expected.concat());
}
