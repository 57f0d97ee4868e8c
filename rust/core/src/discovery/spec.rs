//! The guarantee of discovery, and what is derived from it: variant, noise, threshold and memory.
//!
//! The caller gives only epsilon and delta of discovery; the core computes the noise and the
//! threshold, so no spec can understate them. The chain (docs/theory.md, "Discovery"): a user
//! changes r units (an event counted or not; twice as many for a substitution under Misra-Gries),
//! and r units at (e, d) give (r e, d (e^(r e) - 1) / (e^e - 1)).

use super::dictionary::Dictionary;
use super::laplace::{DiscreteLaplace, LARGEST_EPSILON, SMALLEST_EPSILON};
use super::misra_gries::MisraGries;
use super::threshold;
use crate::error::check_integer;
use crate::parameters::{LARGEST_COUNT, LARGEST_WEIGHT, Relation};
use crate::{Error, Result};

/// Most names that a table may hold.
pub const LARGEST_CAPACITY: u32 = 1 << 24;
/// Smallest `max_item_bytes`: integers and short text are never truncated.
pub const SMALLEST_ITEM_BYTES: u32 = 16;
/// Largest `max_item_bytes`.
pub const LARGEST_ITEM_BYTES: u32 = 1 << 16;
/// Most bytes of one table.
const LARGEST_MEMORY: u64 = 1 << 34;
/// Version of the algorithm; part of the derivation of its noise key.
const DISCOVERY_VERSION: u16 = 1;

/// The guarantee of discovery and the size of its table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiscoverySpec {
    /// Privacy parameter epsilon of all names ever published.
    pub epsilon: f64,
    /// Privacy parameter delta of all names ever published.
    pub delta: f64,
    /// Neighbouring relation.
    pub relation: Relation,
    /// Events of one user that the guarantee covers together.
    pub max_events_per_user: u64,
    /// Largest weight of one event; used if `weighted`.
    pub max_weight: u64,
    /// Count weights instead of events.
    pub weighted: bool,
    /// Length of an epoch in steps.
    pub steps_per_epoch: u64,
    /// Most events in one step.
    pub events_per_step: u64,
    /// Most names in the table.
    pub capacity: u32,
    /// Most bytes kept of an item.
    pub max_item_bytes: u32,
}

/// How the events of an epoch are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Exactly: an epoch cannot have more events than there are slots.
    Dictionary,
    /// By Misra-Gries, with an error of at most events / (capacity + 1).
    MisraGries,
}

impl Variant {
    /// The name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::MisraGries => "misra-gries",
        }
    }
}

/// The parameters derived from a spec.
#[derive(Debug, Clone)]
pub struct Design {
    /// How the events of an epoch are counted.
    pub variant: Variant,
    /// Slots of the table.
    pub slots: u32,
    /// A name is published if its count plus noise reaches this.
    pub threshold: i64,
    /// Epsilon of the discrete Laplace noise.
    pub noise_epsilon: f64,
    /// Delta of the threshold, for one unit.
    pub threshold_delta: f64,
    /// Memory in bytes.
    pub bytes: u64,
    pub(crate) laplace: DiscreteLaplace,
}

impl Design {
    /// The probabilities of the binary digits of a geometric draw, times 2^128.
    pub fn noise_digits(&self) -> &[u128] {
        self.laplace.thresholds()
    }
}

/// Guarantee of one unit.
struct Unit {
    epsilon: f64,
    delta: f64,
}

impl DiscoverySpec {
    /// Checks every field before anything is allocated, and computes variant, noise and threshold.
    pub fn design(&self) -> Result<Design> {
        self.check_fields()?;
        let events = self.steps_per_epoch.saturating_mul(self.events_per_step);
        let variant = if events <= u64::from(self.capacity) {
            Variant::Dictionary
        } else {
            Variant::MisraGries
        };
        let slots = events.min(self.capacity.into()) as u32;
        let unit = self.unit(variant)?;
        let laplace = DiscreteLaplace::new(unit.epsilon);
        let numeric = numeric_delta(&laplace, unit.epsilon, slots, events);
        if numeric > 0.01 * unit.delta {
            let expected = format!("at least {:e} after shares of each event", 100.0 * numeric);
            return Err(Error::parameter("delta", expected, unit.delta));
        }
        let threshold_delta = unit.delta - numeric;
        let of_variant = match variant {
            Variant::Dictionary => threshold::dictionary,
            Variant::MisraGries => threshold::misra_gries,
        };
        Ok(Design {
            variant,
            slots,
            threshold: of_variant(&laplace, threshold_delta),
            noise_epsilon: unit.epsilon,
            threshold_delta,
            bytes: self.bytes(variant, slots)?,
            laplace,
        })
    }

    fn check_fields(&self) -> Result<()> {
        if !(self.epsilon > 0.0 && self.epsilon <= 100.0) {
            let expected = "a number above 0, at most 100";
            return Err(Error::parameter("epsilon", expected, self.epsilon));
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            let expected = "a number between 0 and 1";
            return Err(Error::parameter("delta", expected, self.delta));
        }
        check_integer("max_events_per_user", self.max_events_per_user, 1 << 32)?;
        check_integer("max_weight", self.max_weight, LARGEST_WEIGHT)?;
        check_integer("discovery_epoch", self.steps_per_epoch, LARGEST_COUNT)?;
        check_integer("capacity", self.capacity.into(), LARGEST_CAPACITY.into())?;
        if (SMALLEST_ITEM_BYTES..=LARGEST_ITEM_BYTES).contains(&self.max_item_bytes) {
            return Ok(());
        }
        let expected = format!("an integer from {SMALLEST_ITEM_BYTES} to {LARGEST_ITEM_BYTES}");
        Err(Error::parameter(
            "max_item_bytes",
            expected,
            self.max_item_bytes,
        ))
    }

    /// The guarantee per unit with which r units together have the requested guarantee. Rounding
    /// errors favour privacy.
    fn unit(&self, variant: Variant) -> Result<Unit> {
        let weight = if self.weighted { self.max_weight } else { 1 };
        let group = self.max_events_per_user as f64 * weight as f64;
        let substitution = self.relation == Relation::Substitution;
        // In the dictionary a substitution is one unit at twice the epsilon, with no loss in delta;
        // in Misra-Gries it is two units.
        let (steps, halves) = match (variant, substitution) {
            (Variant::MisraGries, true) => (2.0 * group, 1.0),
            (Variant::Dictionary, true) => (group, 2.0),
            (_, false) => (group, 1.0),
        };
        let epsilon = (self.epsilon / (steps * halves))
            .next_down()
            .min(LARGEST_EPSILON);
        if epsilon < SMALLEST_EPSILON {
            let least = SMALLEST_EPSILON * steps * halves;
            let expected = format!("at least {least} for this many events of a person");
            return Err(Error::parameter("epsilon", expected, self.epsilon));
        }
        let delta = if steps == 1.0 {
            self.delta
        } else {
            let step = halves * epsilon;
            let share = libm::expm1(step) / libm::expm1(steps * step);
            self.delta * share * (1.0 - 1e-12)
        };
        if halves == 2.0 && delta > -libm::expm1(-epsilon) {
            let expected = format!("at most 1 - e^-{epsilon}");
            return Err(Error::parameter("delta", expected, delta));
        }
        Ok(Unit { epsilon, delta })
    }

    fn bytes(&self, variant: Variant, slots: u32) -> Result<u64> {
        let of_variant = match variant {
            Variant::Dictionary => Dictionary::bytes,
            Variant::MisraGries => MisraGries::bytes,
        };
        let bytes = of_variant(slots.into(), self.max_item_bytes.into());
        if bytes > LARGEST_MEMORY {
            let expected = format!("a table of at most {LARGEST_MEMORY} bytes");
            return Err(Error::parameter("capacity", expected, bytes));
        }
        Ok(bytes)
    }

    /// Encodes the spec; injective, because every field has a fixed width.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = DISCOVERY_VERSION.to_le_bytes().to_vec();
        out.extend(self.epsilon.to_le_bytes());
        out.extend(self.delta.to_le_bytes());
        out.push(u8::from(self.relation == Relation::Substitution));
        out.push(u8::from(self.weighted));
        for field in [
            self.max_events_per_user,
            self.max_weight,
            self.steps_per_epoch,
            self.events_per_step,
            self.capacity.into(),
            self.max_item_bytes.into(),
        ] {
            out.extend(field.to_le_bytes());
        }
        out
    }
}

/// The part of a unit's delta that is not spent on the threshold: the last value of the noise on
/// both sides (in the dictionary for two names); the block cipher, a permutation where independent
/// draws are assumed; a collision of two long items' identities. Only the epoch of the unit's event
/// counts: each epoch has its own key, and all else is equal in both streams.
fn numeric_delta(laplace: &DiscreteLaplace, epsilon: f64, slots: u32, events: u64) -> f64 {
    let blocks = laplace.blocks_per_draw() as f64 * (f64::from(slots) + 1.0);
    let cipher = blocks * blocks * TWO_POW_MINUS_128 / 2.0;
    let names = 4.0 * events as f64 * TWO_POW_MINUS_128;
    (1.0 + libm::exp(epsilon)) * (2.0 * laplace.last() + cipher + names) * 1.001
}

const TWO_POW_MINUS_128: f64 = f64::from_bits((1023 - 128) << 52);

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> DiscoverySpec {
        DiscoverySpec {
            epsilon: 1.0,
            delta: 1e-6,
            relation: Relation::Substitution,
            max_events_per_user: 1,
            max_weight: 1,
            weighted: false,
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
        assert!(close(summary.noise_epsilon, 0.5));
        assert!(close(summary.threshold_delta, 1e-6 / (1.0 + 0.5_f64.exp())));
        let exact = design(|spec| spec.capacity = 10_000);
        assert!(close(exact.noise_epsilon, 0.5));
        assert!(close(exact.threshold_delta, 1e-6));
        let zero_out = design(|spec| spec.relation = Relation::ZeroOut);
        assert!(close(zero_out.noise_epsilon, 1.0));
        assert!(close(zero_out.threshold_delta, 1e-6));
        let person = |spec: &mut DiscoverySpec| {
            spec.max_events_per_user = 3;
            spec.max_weight = 2;
            spec.weighted = true;
        };
        let summary = design(person);
        assert!(close(summary.noise_epsilon, 1.0 / 12.0));
        let twelve: f64 = (0..12).map(|i| (f64::from(i) / 12.0).exp()).sum();
        assert!(close(summary.threshold_delta, 1e-6 / twelve));
        let exact = design(|spec| {
            person(spec);
            spec.capacity = 10_000;
        });
        assert!(close(exact.noise_epsilon, 1.0 / 12.0));
        let six: f64 = (0..6).map(|i| (f64::from(i) / 6.0).exp()).sum();
        assert!(close(exact.threshold_delta, 1e-6 / six));
        assert!(design(|spec| spec.epsilon = 90.0).noise_epsilon <= LARGEST_EPSILON);
    }

    /// The unit's delta is rounded down: all steps of a person together stay within delta.
    #[test]
    fn units_together_stay_within_delta() {
        for (events, weight) in [(1, 1), (2, 1), (3, 2), (7, 5)] {
            let design = design(|spec| {
                spec.max_events_per_user = events;
                spec.max_weight = weight;
                spec.weighted = true;
            });
            let steps = 2 * events * weight;
            assert!(design.noise_epsilon * steps as f64 <= 1.0);
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
                    let found = numeric_delta(&laplace, epsilon, slots, events);
                    assert!((1.0..1.01).contains(&(found / exact)), "{slots} {events}");
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
            (
                refused(|spec| {
                    spec.capacity = 10_000;
                    spec.delta = 0.4;
                }),
                "delta:",
            ),
            (refused(|spec| spec.steps_per_epoch = 0), "discovery_epoch:"),
            (refused(|spec| spec.capacity = 0), "capacity:"),
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
            |spec| spec.weighted = true,
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
}
