//! Reference implementations and the measurement harness of the benchmarks.
//!
//! [`paper`] implements the algorithms of arXiv 2507.03361 directly: stored tree nodes, one
//! Gaussian draw per node update. [`interleaved`] measures several contenders in turn within one
//! run and reports medians and ratios: machines are noisy, and only ratios are comparable.

pub mod interleaved;
pub mod paper;
pub mod sketches;
pub mod streams;
