//! The square-root mechanism: the Toeplitz factorisation of Fichtenberger, Henzinger and Upadhyay
//! (ICML 2023), for comparison with the literature.
//!
//! A = L R with L = R the Toeplitz matrix of c_j = C(2j, j) / 4^j: release p has the noise
//! c_0 z_p + c_1 z_(p-1) + ... + c_(p-1) z_1 and sensitivity2 = c_0^2 + ... + c_(n-1)^2. Its
//! coefficients are real: rounding the sum is not post-processing of an integer query, so releases
//! are marked NOT PRIVATE. Cost of a read: p draws.

/// The square-root mechanism for `leaves` pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SquareRoot {
    leaves: u64,
}

/// Most leaves; a read costs as many draws.
pub const LARGEST_LEAVES: u64 = 1 << 16;

impl SquareRoot {
    pub(super) fn new(leaves: u64) -> Self {
        Self { leaves }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.leaves
    }

    pub(super) fn nodes_per_leaf(&self) -> u64 {
        self.leaves
    }

    /// The sum of c_j^2 over j < n, rounded up.
    pub(super) fn sensitivity2(&self) -> f64 {
        let sum: f64 = coefficients(self.leaves).map(|c| c * c).sum();
        sum * (1.0 + 1e-12)
    }

    /// Nodes p, p - 1, ..., 1 with c_0, c_1, ...
    pub(super) fn weights(&self, p: u64) -> impl Iterator<Item = (u64, f64)> + use<> {
        (1..=p).rev().zip(coefficients(p))
    }
}

/// c_0 = 1, c_j = c_(j-1) (2j - 1) / (2j).
fn coefficients(count: u64) -> impl Iterator<Item = f64> {
    let next = |c: &mut f64, j: u64| {
        if j > 0 {
            *c *= (2 * j - 1) as f64 / (2 * j) as f64;
        }
        Some(*c)
    };
    (0..count).scan(1.0, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The square of the Toeplitz matrix is the matrix of ones.
    #[test]
    fn the_factor_squares_to_prefix_sums() {
        let c: Vec<f64> = coefficients(200).collect();
        for p in 0..200 {
            let entry: f64 = (0..=p).map(|j| c[j] * c[p - j]).sum();
            assert!((entry - 1.0).abs() < 1e-12, "{p}: {entry}");
        }
        assert_eq!(c[1], 0.5);
        assert_eq!(c[2], 0.375);
    }
}
