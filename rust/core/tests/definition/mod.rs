//! The noise of a sketch by its definition (docs/guarantees.md, docs/release-format.md): keys from
//! BLAKE3, blocks from AES, weights from the recursion or the rows of a mechanism. Nothing here uses
//! the core's keys, blocks or paths.

#![allow(dead_code, reason = "each file of tests uses a part")]

use aes::Aes128;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use lazysketch_core::discovery::spec::DiscoverySpec;
use lazysketch_core::key::{MasterKey, SketchId};
use lazysketch_core::mechanism::{Mechanism, MechanismKind};
use lazysketch_core::noise::gaussian::RoundedGaussian;
use lazysketch_core::parameters::Relation;
use lazysketch_core::release::{Release, codec};
use std::collections::BTreeMap;

/// Where an encoded release of one part has its shape and, in the first versions, its noise
/// specification.
const SHAPE: std::ops::Range<usize> = 10..28;
const NOISE: std::ops::Range<usize> = 58..162;

/// The encoding of all parameters: the same bytes as in a release.
pub(crate) fn parameters(release: &Release) -> Vec<u8> {
    let bytes = codec::encode(release).unwrap();
    // Whether the sketch was finished, two final pushes, and the step after which counts begin.
    let more = match u16::from_le_bytes([bytes[8], bytes[9]]) {
        1 | 2 => 0,
        3 | 4 => 1 + 8 + 8,
        _ => 1 + 8 + 8 + 8,
    };
    [&bytes[SHAPE], &bytes[NOISE.start + more..NOISE.end + more]].concat()
}

/// The parameters of discovery follow those of the sketch, each in a fixed number of bytes.
pub(crate) fn discovery_parameters(release: &Release, spec: &DiscoverySpec) -> Vec<u8> {
    let mut out = parameters(release);
    let is_weighted = spec.counted_weight > 1;
    let (version, weight) = match is_weighted {
        false => (3_u16, spec.max_weight),
        true => (4, spec.counted_weight),
    };
    out.extend(version.to_le_bytes());
    out.extend(spec.epsilon.to_le_bytes());
    out.extend(spec.delta.to_le_bytes());
    out.push(u8::from(spec.relation == Relation::Substitution));
    out.push(u8::from(is_weighted));
    out.extend(spec.max_events_per_user.to_le_bytes());
    out.extend(weight.to_le_bytes());
    out.extend(spec.steps_per_epoch.to_le_bytes());
    out.extend(spec.events_per_step.to_le_bytes());
    out.extend(u64::from(spec.capacity).to_le_bytes());
    out.extend(u64::from(spec.max_item_bytes).to_le_bytes());
    out
}

/// Keyed BLAKE3 of label, version of the noise, id and parameters, each after its length.
pub(crate) fn derived(key: &MasterKey, label: &str, id: SketchId, parameters: &[u8]) -> [u8; 32] {
    let mut message = Vec::new();
    for part in [label.as_bytes(), &[1, 0], &id.0, parameters] {
        message.extend((part.len() as u64).to_le_bytes());
        message.extend(part);
    }
    *blake3::keyed_hash(key.expose(), &message).as_bytes()
}

/// AES-128 under the first half of a derived key.
pub(crate) struct Cipher(Aes128);

impl Cipher {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let half: [u8; 16] = std::array::from_fn(|i| key[i]);
        Self(Aes128::new(&half.into()))
    }

    /// The key of one epoch of discovery.
    pub(crate) fn of_epoch(key: &[u8; 32], epoch: u64) -> Self {
        Self::new(blake3::keyed_hash(key, &epoch.to_le_bytes()).as_bytes())
    }

    pub(crate) fn encrypt(&self, value: u128) -> u128 {
        let mut block: Block<Aes128> = value.to_le_bytes().into();
        self.0.encrypt_block(&mut block);
        u128::from_le_bytes(block.into())
    }

    /// The block of a pair of indices: the first in the low 64 bits, the second in the high ones.
    pub(crate) fn block(&self, low: u64, high: u64) -> u128 {
        self.encrypt(u128::from(low) + u128::from(high) * (1 << 64))
    }

    /// Discrete Laplace: the difference of two geometric variables. Digit i of one has the block at
    /// (slot, i), of the other at (slot, 256 + i); a digit is one if its block is below a_i.
    pub(crate) fn laplace(&self, digits: &[u128], slot: u64) -> i64 {
        let geometric = |offset: u64| {
            let ones = digits.iter().enumerate();
            ones.filter(|&(i, &a)| self.block(slot, offset + i as u64) < a)
                .map(|(i, _)| 1_i64 << i)
                .sum::<i64>()
        };
        geometric(0) - geometric(256)
    }
}

/// A rational combination of nodes: numerators over one positive denominator.
pub(crate) struct Combination {
    numerators: BTreeMap<u64, i128>,
    denominator: i128,
}

impl Combination {
    /// floor(sum of weight * draw + 1/2).
    pub(crate) fn rounded(&self, cipher: &Cipher, sigma: f64, cell: u64) -> i64 {
        let gaussian = RoundedGaussian::new(sigma); // against 60 digits next to its code
        let terms = self.numerators.iter();
        let sum: i128 = terms
            .map(|(&node, n)| n * i128::from(gaussian.draw(cipher.block(cell, node))))
            .sum();
        (2 * sum + self.denominator).div_euclid(2 * self.denominator) as i64
    }
}

/// The noise of push `p` of a mechanism for `leaves` pushes, as a combination of draws.
pub(crate) fn noise(kind: MechanismKind, leaves: u64, p: u64) -> Combination {
    match kind {
        MechanismKind::Binary => binary(p),
        MechanismKind::Haar => haar(leaves.next_power_of_two(), p),
        MechanismKind::Tree | MechanismKind::TreeLog => {
            tree(&Mechanism::new(kind, leaves).unwrap(), p)
        }
        MechanismKind::SquareRoot => panic!("its weights are not rational"),
        MechanismKind::DeepTree | MechanismKind::Endless => {
            panic!("rounded at every node: not one combination")
        }
    }
}

/// The dyadic blocks that make up 1 ..= p; the node of a block is its last leaf.
fn binary(p: u64) -> Combination {
    let mut numerators = BTreeMap::new();
    let mut covered = 0;
    for bit in (0..64).rev().filter(|bit| p >> bit & 1 == 1) {
        covered += 1 << bit;
        numerators.insert(covered, 1);
    }
    Combination {
        numerators,
        denominator: 1,
    }
}

/// N(n) = z / 3 and N(middle) = (N(left) + N(right)) / 2 + z / 4, by halving the interval around p.
/// The unit of 1 / (12 n) keeps every halving exact.
fn haar(n: u64, p: u64) -> Combination {
    let denominator = 12 * i128::from(n);
    let mut low = (0, BTreeMap::new());
    let mut high = (n, BTreeMap::from([(n, denominator / 3)]));
    while high.0 != p {
        let middle = (low.0 + high.0) / 2;
        let mut between: BTreeMap<u64, i128> = BTreeMap::from([(middle, denominator / 4)]);
        for (node, numerator) in low.1.iter().chain(&high.1) {
            assert_eq!(numerator % 2, 0);
            *between.entry(*node).or_default() += numerator / 2;
        }
        if p < middle {
            high = (middle, between);
        } else if p == middle {
            high = (p, between);
        } else {
            low = (middle, between);
        }
    }
    Combination {
        numerators: high.1,
        denominator,
    }
}

/// N(v) = (z_v - sum over ancestors a of U[v, a] N(a)) / U[v, v], from the root down. N(v) has the
/// denominator D_v, the product of the diagonal entries down to v.
fn tree(mechanism: &Mechanism, p: u64) -> Combination {
    let (rows, n) = (mechanism.rows(), mechanism.nodes());
    let k = n.ilog2();
    // p = (2 v + 1) n / 2^d, or the root.
    let d = if p == n { 0 } else { k - p.trailing_zeros() };
    let mut solved: Vec<(BTreeMap<u64, i128>, i128)> = Vec::new();
    for depth in 0..=d as usize {
        let (row, time) = if depth == 0 {
            (&rows[..1], n)
        } else {
            let block = n >> (depth - 1);
            let v = ((p - 1) / block) as usize;
            let start = 1 + (depth - 1) * (1 << (depth - 1)) + v * (depth + 1);
            (
                &rows[start..start + depth + 1],
                v as u64 * block + block / 2,
            )
        };
        let above = solved.last().map_or(1, |(_, product)| *product);
        let mut numerators = BTreeMap::from([(time, above)]);
        for ((terms, product), &entry) in solved.iter().zip(row) {
            for (node, numerator) in terms {
                *numerators.entry(*node).or_default() -=
                    i128::from(entry) * numerator * (above / product);
            }
        }
        solved.push((numerators, above * i128::from(row[depth])));
    }
    let (numerators, denominator) = solved.pop().unwrap();
    let sign = denominator.signum();
    Combination {
        numerators: numerators.into_iter().map(|(v, n)| (v, sign * n)).collect(),
        denominator: denominator.abs(),
    }
}
