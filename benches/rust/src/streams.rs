//! Streams for measurements.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};

/// Return `length` Zipf-distributed items out of 2^20, scrambled to spread over 64 bits.
pub fn zipf(length: usize, skew: f64, seed: u64) -> Vec<i64> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let zipf = Zipf::new((1_u32 << 20) as f64, skew).expect("a positive skew");
    (0..length)
        .map(|_| (zipf.sample(&mut rng) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64)
        .collect()
}
