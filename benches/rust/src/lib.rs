//! What lazysketch is measured against, and how.
//!
//! [`paper`] holds the algorithms of arXiv 2507.03361 written plainly: stored tree nodes, a
//! Gaussian draw per node update. [`interleaved`] measures several contenders in turn within one
//! run and reports medians and ratios, because machines are noisy and only ratios travel.

pub mod interleaved;
pub mod paper;
pub mod sketches;
pub mod streams;
