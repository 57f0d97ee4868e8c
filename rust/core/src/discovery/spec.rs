//! The guarantee of discovery, and what is derived from it: variant, noise, threshold and memory.
//!
//! The caller gives only epsilon and delta of discovery; the core computes the noise and the
//! threshold, so no spec can understate them. The chain (docs/theory.md, "Discovery"): a user
//! changes r units (an event counted or not; twice as many for a substitution under Misra-Gries),
//! and r units at (e, d) give (r e, d (e^(r e) - 1) / (e^e - 1)).
//!
//! Where weights are counted, up to `counted_weight` of each event, that much weight is one unit of a
//! dictionary, whose law takes the sum of an item in such units, rounded up. Misra-Gries takes off
//! single weights, so there each is a unit. Thresholds are always sums of weights.

#[cfg(test)]
mod tests;

use super::dictionary::Dictionary;
use super::laplace::{DiscreteLaplace, LARGEST_EPSILON, SMALLEST_EPSILON};
use super::misra_gries::MisraGries;
use super::selection::{Rates, Selection};
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
/// Version of the algorithm; part of the derivation of its noise key, so that no state goes on with
/// another assignment of noise.
const DISCOVERY_VERSION: u16 = 3;
/// The same where weights are counted: version 3 would have taken each weight for an event.
const WEIGHTED_VERSION: u16 = 4;
/// What `rising` takes of the epsilon of a substitution, in halves of it; `falling` takes the rest. From
/// 1.2 to 1.35 the count that is found with 95 % differs by less than 2 %, for epsilon from 0.01 to 3
/// and delta from 1e-4 to 1e-12.
const RISING: f64 = 1.25;
/// The probability with which an item of the smallest share is found in an epoch.
const RECALL: f64 = 0.95;

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
    /// Largest weight of one event.
    pub max_weight: u64,
    /// Largest weight of one event that is counted; 1 counts events, whatever their weights.
    pub counted_weight: u64,
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
    /// A name is published if its count plus noise reaches this: with a dictionary, the smallest
    /// count that is published at least half of the time. Counts are sums of counted weights.
    pub threshold: i64,
    /// The smallest count that is published with a probability of 95 %.
    pub sure_count: i64,
    /// The weight that the law counts as one: in a dictionary, all that is counted of an event.
    pub weight_of_unit: u64,
    /// How fast the probability of publication may change with the count. In Misra-Gries both are
    /// the epsilon of the discrete Laplace noise.
    pub rates: Rates,
    /// Delta for one unit: the most that the probability of a name of one event may be.
    pub threshold_delta: f64,
    /// Memory in bytes.
    pub bytes: u64,
    pub(crate) law: Law,
}

/// How it is decided whether a name is published.
#[derive(Debug, Clone)]
pub(crate) enum Law {
    /// By its exact count alone.
    Selection(Selection),
    /// By Misra-Gries' count, with noise that all counts share and noise of its own.
    Laplace(Box<DiscreteLaplace>),
}

impl Design {
    /// The probabilities of the binary digits of a geometric draw, times 2^128; none in a
    /// dictionary.
    pub fn noise_digits(&self) -> &[u128] {
        match &self.law {
            Law::Laplace(laplace) => laplace.thresholds(),
            Law::Selection(_) => &[],
        }
    }

    /// The probabilities that a name with 0, 1, ... units is published, times 2^128; none in
    /// Misra-Gries.
    pub fn probabilities(&self) -> &[u128] {
        match &self.law {
            Law::Laplace(_) => &[],
            Law::Selection(selection) => selection.probabilities(),
        }
    }
}

/// Guarantee of one unit.
struct Unit {
    /// Epsilon of what a unit's event may do to the table: in a dictionary, of a whole substitution.
    epsilon: f64,
    rates: Rates,
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
        let weight_of_unit = match variant {
            Variant::Dictionary => self.counted_weight,
            Variant::MisraGries => 1,
        };
        let laplace = (variant == Variant::MisraGries).then(|| DiscreteLaplace::new(unit.epsilon));
        let numeric = numeric_delta(laplace.as_ref(), unit.epsilon, slots, events);
        if numeric > 0.01 * unit.delta {
            let expected = format!("at least {:e} after shares of each event", 100.0 * numeric);
            return Err(Error::parameter("delta", expected, unit.delta));
        }
        let paid = planted!("numeric-delta-of-discovery-not-paid", 0.0, numeric);
        let threshold_delta = unit.delta - paid;
        let (threshold, sure_count, law) = match laplace {
            Some(laplace) => {
                let threshold = threshold::misra_gries(&laplace, threshold_delta);
                let sure = threshold::sure_count(&laplace, threshold, RECALL);
                (threshold, sure, Law::Laplace(Box::new(laplace)))
            }
            None => {
                let selection = Selection::new(unit.rates, threshold_delta);
                let least = |units| least_weight(units, weight_of_unit);
                let threshold = least(selection.threshold());
                let sure = least(selection.count_at(RECALL));
                (threshold, sure, Law::Selection(selection))
            }
        };
        Ok(Design {
            variant,
            slots,
            threshold,
            sure_count,
            weight_of_unit,
            rates: unit.rates,
            threshold_delta,
            bytes: self.bytes(variant, slots)?,
            law,
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
        check_integer("discovery_weight", self.counted_weight, self.max_weight)?;
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

    /// How often one event counts at most. One of weight 0 counts nowhere: it is an empty step.
    pub(super) fn largest_count(&self) -> u64 {
        if planted!("weights-counted-where-not-declared") && self.counted_weight == 1
            || planted!("weights-of-names-are-not-cut") && self.counted_weight > 1
        {
            return u64::MAX;
        }
        self.counted_weight
    }

    /// The guarantee per unit with which r units together have the requested guarantee. Rounding
    /// errors favour privacy.
    fn unit(&self, variant: Variant) -> Result<Unit> {
        // One event is one unit of a dictionary, and as many of Misra-Gries as weights are counted.
        let weight = match variant {
            Variant::Dictionary => 1,
            Variant::MisraGries => {
                planted!(
                    "a-weighted-event-is-one-unit-of-misra-gries",
                    1,
                    self.counted_weight
                )
            }
        };
        let group = self.max_events_per_user as f64 * weight as f64;
        let substitution = self.relation == Relation::Substitution;
        // In the dictionary a substitution is one unit, whose epsilon is that of a count that falls
        // and of one that rises; in Misra-Gries it is two units.
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
            let expected = match weight {
                1 => format!("at least {least} for this many events of a person"),
                _ => format!(
                    "at least {least} for this discovery_weight where events are not counted exactly"
                ),
            };
            return Err(Error::parameter("epsilon", expected, self.epsilon));
        }
        let rising_part = planted!("both-rates-are-those-of-one-event", 2.0, RISING);
        let falling_part = planted!("both-rates-are-those-of-one-event", 2.0, 2.0 - RISING);
        let rates = if halves == 2.0 {
            Rates {
                rising: (rising_part * epsilon).min(LARGEST_EPSILON),
                falling: (falling_part * epsilon).min(LARGEST_EPSILON),
            }
        } else {
            Rates {
                rising: epsilon,
                falling: epsilon,
            }
        };
        let delta = if steps == 1.0 {
            self.delta
        } else {
            let share = libm::expm1(rates.rising) / libm::expm1(steps * rates.rising);
            self.delta * share * (1.0 - 1e-12)
        };
        let epsilon = halves * epsilon;
        Ok(Unit {
            epsilon,
            rates,
            delta,
        })
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
        let is_weighted = self.counted_weight > 1;
        // The largest weight of an event is among the parameters of the sketch.
        let (version, weight) = match is_weighted {
            false => (DISCOVERY_VERSION, self.max_weight),
            true => (WEIGHTED_VERSION, self.counted_weight),
        };
        let mut out = version.to_le_bytes().to_vec();
        out.extend(self.epsilon.to_le_bytes());
        out.extend(self.delta.to_le_bytes());
        out.push(u8::from(self.relation == Relation::Substitution));
        out.push(u8::from(is_weighted));
        for field in [
            self.max_events_per_user,
            weight,
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

/// The least sum of weights that is this many units, rounded up; 0 for none.
fn least_weight(units: i64, weight_of_unit: u64) -> i64 {
    match units {
        ..=0 => 0,
        _ => (units - 1) * weight_of_unit as i64 + 1,
    }
}

/// The part of a unit's delta that is not spent on the threshold: the last value of Laplace noise
/// on both sides; the block cipher, a permutation where independent draws are assumed (one block
/// for every name of a dictionary); a collision of two long items' identities. Only the epoch of the
/// unit's event counts: each epoch has its own key, and all else is equal in both streams.
fn numeric_delta(laplace: Option<&DiscreteLaplace>, epsilon: f64, slots: u32, events: u64) -> f64 {
    let (each, last) = laplace.map_or((1, 0.0), |it| (it.blocks_per_draw(), it.last()));
    let blocks = each as f64 * (f64::from(slots) + 1.0);
    let cipher = blocks * blocks * TWO_POW_MINUS_128 / 2.0;
    let names = 4.0 * events as f64 * TWO_POW_MINUS_128;
    (1.0 + libm::exp(epsilon)) * (2.0 * last + cipher + names) * 1.001
}

const TWO_POW_MINUS_128: f64 = f64::from_bits((1023 - 128) << 52);
