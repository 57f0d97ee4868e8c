//! Units, thresholds and sizes of discovery, computed by hand.

use super::*;

fn spec() -> DiscoverySpec {
    DiscoverySpec {
        epsilon: 1.0,
        delta: 1e-6,
        relation: Relation::Substitution,
        max_events_per_user: 1,
        max_weight: 1,
        counted_weight: 1,
        steps_per_epoch: 10_000,
        events_per_step: 1,
        capacity: 256,
        max_item_bytes: 64,
    }
}

fn design(change: impl Fn(&mut DiscoverySpec)) -> Design {
    let mut spec = spec();
    change(&mut spec);
    spec.design().unwrap()
}

#[test]
fn the_variant_follows_from_the_largest_epoch() {
    let exact = design(|spec| spec.capacity = 10_000);
    assert_eq!((exact.variant, exact.slots), (Variant::Dictionary, 10_000));
    assert_eq!(design(|spec| spec.capacity = 20_000).slots, 10_000);
    let summary = design(|spec| spec.capacity = 9_999);
    assert_eq!(
        (summary.variant, summary.slots),
        (Variant::MisraGries, 9_999)
    );
    let batches = design(|spec| {
        spec.events_per_step = 1 << 40;
        spec.steps_per_epoch = 1;
        spec.capacity = 1 << 20;
    });
    assert_eq!(batches.variant, Variant::MisraGries);
    assert!(exact.threshold < summary.threshold);
}

/// Computed by hand: epsilon / 2; Misra-Gries delta / (1 + e^(epsilon / 2)); g events of weight
/// c.
#[test]
fn units_follow_from_the_relation_and_the_user() {
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    let summary = design(|_| ());
    assert!(close(summary.rates.rising, 0.5) && close(summary.rates.falling, 0.5));
    assert!(close(summary.threshold_delta, 1e-6 / (1.0 + 0.5_f64.exp())));
    let exact = design(|spec| spec.capacity = 10_000);
    assert!(close(exact.rates.rising, 0.625) && close(exact.rates.falling, 0.375));
    assert!(close(exact.threshold_delta, 1e-6));
    let zero_out = design(|spec| {
        spec.relation = Relation::ZeroOut;
        spec.capacity = 10_000;
    });
    assert!(close(zero_out.rates.rising, 1.0) && close(zero_out.rates.falling, 1.0));
    assert!(close(zero_out.threshold_delta, 1e-6));
    let person = |spec: &mut DiscoverySpec| {
        spec.max_events_per_user = 3;
        spec.max_weight = 5;
        spec.counted_weight = 2;
    };
    let summary = design(person);
    assert!(close(summary.rates.rising, 1.0 / 12.0));
    let twelve: f64 = (0..12).map(|i| (f64::from(i) / 12.0).exp()).sum();
    assert!(close(summary.threshold_delta, 1e-6 / twelve));
    let exact = design(|spec| {
        person(spec);
        spec.capacity = 10_000;
    });
    // In a dictionary the weight of an event is one unit.
    assert!(close(exact.rates.rising, 1.25 / 6.0) && close(exact.rates.falling, 0.75 / 6.0));
    let three: f64 = (0..3).map(|i| (f64::from(i) * 1.25 / 6.0).exp()).sum();
    assert!(close(exact.threshold_delta, 1e-6 / three));
    for capacity in [256, 10_000] {
        let rates = design(|spec| (spec.epsilon, spec.capacity) = (90.0, capacity)).rates;
        assert!(rates.rising <= LARGEST_EPSILON && rates.falling <= LARGEST_EPSILON);
    }
}

/// The unit's delta is rounded down: all steps of a person together stay within delta.
#[test]
fn units_together_stay_within_delta() {
    for (events, weight) in [(1, 1), (2, 1), (3, 2), (7, 5)] {
        let design = design(|spec| {
            spec.max_events_per_user = events;
            spec.max_weight = weight;
            spec.counted_weight = weight;
        });
        let steps = 2 * events * weight;
        assert!(design.rates.rising * steps as f64 <= 1.0);
        let terms = (0..steps).map(|i| (i as f64 / steps as f64).exp());
        let whole = design.threshold_delta * terms.sum::<f64>();
        assert!(
            whole <= 1e-6 && whole > 1e-6 * (1.0 - 1e-9),
            "{steps} steps: {whole:e}"
        );
    }
}

/// (1 + e^epsilon) (2 last + blocks^2 / 2^129 + 4 events / 2^128), each part on its own.
#[test]
fn the_numeric_part_of_delta_has_its_three_parts() {
    for epsilon in [0.5, 1.0, 3.0] {
        let laplace = DiscreteLaplace::new(epsilon);
        let blocks = 2.0 * laplace.thresholds().len() as f64;
        for slots in [1, 1 << 10, 1 << 24] {
            for events in [1, 1 << 40, 1 << 62] {
                let drawn = blocks * (f64::from(slots) + 1.0);
                let parts = 2.0 * laplace.last()
                    + drawn.powi(2) / 2_f64.powi(129)
                    + events as f64 / 2_f64.powi(126);
                let exact = (1.0 + epsilon.exp()) * parts;
                let found = numeric_delta(Some(&laplace), epsilon, slots, events);
                assert!((1.0..1.01).contains(&(found / exact)), "{slots} {events}");
                let blocks = f64::from(slots) + 1.0;
                let parts = blocks.powi(2) / 2_f64.powi(129) + events as f64 / 2_f64.powi(126);
                let found = numeric_delta(None, epsilon, slots, events);
                let ratio = found / ((1.0 + epsilon.exp()) * parts);
                assert!((1.0..1.01).contains(&ratio), "{slots} {events}");
            }
        }
    }
}

/// Index, hints, identities and counts, heads and bytes of names; zeros and dummies.
#[test]
fn bytes_are_those_of_the_parts() {
    let dictionary = |n: u64, item: u64| {
        let index = 4 * (4 * n).next_power_of_two() + 4 * n.next_power_of_two();
        index + n * (16 + 8) + n * (16 + item)
    };
    let exact = design(|spec| spec.capacity = 10_000);
    assert_eq!(exact.bytes, dictionary(10_000, 64));
    let summary = design(|_| ());
    assert_eq!(summary.bytes, dictionary(256, 64) + 256 * (16 + 16));
}

#[test]
fn specs_that_cannot_be_served_are_refused_by_name() {
    let refused = |change: fn(&mut DiscoverySpec)| {
        let mut spec = spec();
        change(&mut spec);
        spec.design().unwrap_err().to_string()
    };
    for (message, name) in [
        (refused(|spec| spec.epsilon = f64::NAN), "epsilon:"),
        (refused(|spec| spec.epsilon = 0.001), "epsilon:"),
        (refused(|spec| spec.max_events_per_user = 1000), "epsilon:"),
        (refused(|spec| spec.delta = 0.0), "delta:"),
        (refused(|spec| spec.delta = 1e-26), "delta:"),
        (refused(|spec| spec.steps_per_epoch = 0), "discovery_epoch:"),
        (refused(|spec| spec.capacity = 0), "capacity:"),
        (refused(|spec| spec.counted_weight = 0), "discovery_weight:"),
        (refused(|spec| spec.counted_weight = 2), "discovery_weight:"),
        (refused(|spec| spec.max_item_bytes = 15), "max_item_bytes:"),
        (
            refused(|spec| {
                spec.capacity = 1 << 24;
                spec.steps_per_epoch = 1 << 30;
                spec.max_item_bytes = 1 << 16;
            }),
            "capacity:",
        ),
    ] {
        assert!(message.starts_with(name), "{message}");
    }
}

#[test]
fn every_field_enters_the_encoding() {
    let base = spec().encode();
    let changes: [fn(&mut DiscoverySpec); 10] = [
        |spec| spec.epsilon = 2.0,
        |spec| spec.delta = 1e-7,
        |spec| spec.relation = Relation::ZeroOut,
        |spec| spec.max_events_per_user = 2,
        |spec| spec.max_weight = 2,
        |spec| (spec.max_weight, spec.counted_weight) = (3, 2),
        |spec| spec.steps_per_epoch = 2,
        |spec| spec.events_per_step = 2,
        |spec| spec.capacity = 2,
        |spec| spec.max_item_bytes = 20,
    ];
    for change in changes {
        let mut spec = spec();
        change(&mut spec);
        let encoded = spec.encode();
        assert_ne!(encoded, base);
        assert_eq!(encoded.len(), base.len());
    }
}

/// Each limit is accepted, and the next number beyond it is refused.
#[test]
fn limits_are_part_of_what_they_limit() {
    let zero_out = |epsilon: f64, delta: f64| {
        let mut spec = spec();
        (spec.relation, spec.epsilon, spec.delta) = (Relation::ZeroOut, epsilon, delta);
        spec.capacity = 10_000; // a dictionary, which is the quicker to design
        spec.design()
    };
    let refused = |found: Result<Design>, name: &str| {
        let message = found.unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    };
    assert!(zero_out(100.0, 1e-6).is_ok());
    for epsilon in [0.0, -1.0, 100.0_f64.next_up(), f64::INFINITY] {
        refused(zero_out(epsilon, 1e-6), "epsilon: expected a number above");
    }
    for delta in [0.0, -1e-6, 1.0, 1.5, f64::NAN] {
        refused(zero_out(1.0, delta), "delta: expected a number between");
    }
    // One event: its epsilon is the next number below that of discovery.
    let least = SMALLEST_EPSILON.next_up();
    assert_eq!(
        zero_out(least, 1e-6).unwrap().rates.rising,
        SMALLEST_EPSILON
    );
    refused(
        zero_out(SMALLEST_EPSILON, 1e-6),
        "epsilon: expected at least",
    );
}

/// The dictionary halves epsilon for a substitution, and 3,000 events divide it.
#[test]
fn the_least_epsilon_is_named() {
    let mut spec = spec();
    (spec.max_events_per_user, spec.capacity) = (3000, 10_000);
    for (relation, least) in [
        (Relation::Substitution, "5.859375"),
        (Relation::ZeroOut, "2.9296875"),
    ] {
        spec.relation = relation;
        let message = spec.design().unwrap_err().to_string();
        assert!(
            message.contains(&format!("at least {least} for")),
            "{message}"
        );
    }
}

/// A name of one event is published with the delta of a unit, but not more often than its
/// absence allows: 1 - p(1) >= e^-falling.
#[test]
fn a_single_event_has_delta_at_most() {
    for relation in [Relation::Substitution, Relation::ZeroOut] {
        for delta in [1e-9, 0.01, 0.3, 0.9] {
            let exact = design(|spec| {
                (spec.capacity, spec.relation, spec.delta) = (10_000, relation, delta);
            });
            let single = exact.probabilities()[1] as f64 / 2_f64.powi(128);
            let most = delta.min(-libm::expm1(-exact.rates.falling));
            assert!(
                single <= most && single > most * (1.0 - 1e-9),
                "{delta}: {single}"
            );
            assert_eq!(exact.probabilities()[0], 0);
            assert!(exact.noise_digits().is_empty());
        }
    }
}

/// Median and 95 % of the probabilities, by which names are planned.
#[test]
fn thresholds_of_a_dictionary_are_quantiles() {
    for delta in [1e-9, 1e-3] {
        let exact = design(|spec| (spec.capacity, spec.delta) = (10_000, delta));
        for (count, quantile) in [(exact.threshold, 0.5), (exact.sure_count, 0.95)] {
            let p = |count: i64| exact.probabilities()[count as usize] as f64 / 2_f64.powi(128);
            assert!(p(count) >= quantile && p(count - 1) < quantile, "{count}");
        }
        let summary = design(|spec| spec.delta = delta);
        assert!(exact.sure_count < summary.sure_count);
        assert!(summary.probabilities().is_empty());
    }
}

/// The numeric part is paid from delta and takes 1 % of it at most.
#[test]
fn the_numeric_part_is_paid() {
    let of = |delta: f64| {
        let mut spec = spec();
        (spec.relation, spec.delta) = (Relation::ZeroOut, delta);
        spec.design()
    };
    let design = of(1e-6).unwrap();
    let laplace = DiscreteLaplace::new(design.rates.rising);
    let numeric = numeric_delta(Some(&laplace), design.rates.rising, design.slots, 10_000);
    // The smallest delta of which it is 1 %.
    let mut least = 100.0 * numeric * (1.0 - 1e-15);
    while 0.01 * least < numeric {
        least = least.next_up();
    }
    assert!(of(least).is_ok());
    assert!(of(least.next_down().next_down()).is_err());
    for delta in [least, 3.0 * least] {
        let paid = delta - of(delta).unwrap().threshold_delta;
        assert!((paid / numeric - 1.0).abs() < 1e-9, "{paid:e} {numeric:e}");
    }
}

/// The law of a dictionary is that of events, and its counts are weights: a sum is rounded up to whole
/// units. In Misra-Gries a unit is a weight of 1.
#[test]
fn thresholds_are_sums_of_weights() {
    let at = |counted: u64, capacity: u32| {
        design(|spec| {
            (spec.max_weight, spec.counted_weight) = (1_000, counted);
            (spec.epsilon, spec.capacity) = (3.0, capacity);
        })
    };
    let of_events = at(1, 10_000);
    for counted in [2, 7, 1_000] {
        let exact = at(counted, 10_000);
        assert_eq!(exact.probabilities(), of_events.probabilities());
        assert_eq!(exact.weight_of_unit, counted);
        for (found, events) in [
            (exact.threshold, of_events.threshold),
            (exact.sure_count, of_events.sure_count),
        ] {
            assert_eq!(found, counted as i64 * (events - 1) + 1);
        }
    }
    let (one, seven) = (at(1, 256), at(7, 256));
    assert_eq!((one.weight_of_unit, seven.weight_of_unit), (1, 1));
    let ratio = seven.threshold as f64 / one.threshold as f64;
    assert!((7.0..10.0).contains(&ratio), "{ratio}");
    let mut spec = spec();
    (spec.max_weight, spec.counted_weight) = (1_000, 1_000);
    let message = spec.design().unwrap_err().to_string();
    assert!(message.starts_with("epsilon: expected at least 1.953125 for this discovery_weight"));
    assert_eq!(
        (least_weight(0, 5), least_weight(1, 5), least_weight(3, 5)),
        (0, 1, 11)
    );
}

/// Each field in 8 bytes, the version in 2 and the flags in 1 each; written out by hand.
#[test]
fn the_encoding_never_changes() {
    let mut spec = spec();
    spec.max_events_per_user = 2;
    spec.max_weight = 5;
    let integer = |value: u8| [vec![value], vec![0; 7]].concat();
    let expected = [
        vec![3, 0],
        vec![0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
        vec![0x8D, 0xED, 0xB5, 0xA0, 0xF7, 0xC6, 0xB0, 0x3E],
        vec![1, 0],
        integer(2),
        integer(5),
        vec![0x10, 0x27, 0, 0, 0, 0, 0, 0],
        integer(1),
        vec![0, 1, 0, 0, 0, 0, 0, 0],
        integer(64),
    ];
    assert_eq!(spec.encode(), expected.concat());
    // With weights: another version, and the largest weight that is counted.
    spec.counted_weight = 3;
    let mut weighted = expected.concat();
    (weighted[0], weighted[19], weighted[28]) = (4, 1, 3);
    assert_eq!(spec.encode(), weighted);
    spec.relation = Relation::ZeroOut;
    assert_eq!(spec.encode()[18], 0);
}

#[test]
fn both_ways_of_counting_have_their_names() {
    assert_eq!(Variant::Dictionary.name(), "dictionary");
    assert_eq!(Variant::MisraGries.name(), "misra-gries");
}

/// Digit i of a geometric draw is 1 with probability 1 / (1 + e^(epsilon 2^i)).
#[test]
fn the_digits_of_the_noise_are_those_of_its_epsilon() {
    for epsilon in [0.5, 2.0] {
        let design = design(|spec| (spec.relation, spec.epsilon) = (Relation::ZeroOut, epsilon));
        assert!(design.noise_digits().len() > 4);
        for (digit, &threshold) in design.noise_digits().iter().take(5).enumerate() {
            let expected = 1.0 / (1.0 + (epsilon * f64::from(1 << digit)).exp());
            let found = threshold as f64 / 2_f64.powi(128);
            assert!((found / expected - 1.0).abs() < 1e-9, "{epsilon} {digit}");
        }
    }
}
