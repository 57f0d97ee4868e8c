//! Noise: the keyed pseudo-random function, and rounded Gaussian draws from its blocks.
//!
//! | module | what |
//! |---|---|
//! | [`prf`] | one AES-128 block per (cell, node) under the working key |
//! | [`gaussian`] | the draw that belongs to a block |
//! | `gaussian_batch` | many draws at a time, bit for bit the same |
//! | `distribution` | tests of the distribution of draws |

#[cfg(test)]
mod distribution;
pub mod gaussian;
mod gaussian_batch;
pub mod prf;
