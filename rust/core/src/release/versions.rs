//! Versions of the format of releases; each has what the ones before have.

/// Version of the format without names.
pub const FORMAT_VERSION: u16 = 1;
/// Version of the format with names, which readers of the first one refuse.
pub const NAMED_VERSION: u16 = 2;
/// Version of the format with finished parts, with or without names.
pub const FINISHED_VERSION: u16 = 3;
/// Version of the format with bounds of people, and with what the run of a part promised.
pub const PROMISE_VERSION: u16 = 4;
/// Version of the format with parts whose counts begin after a step.
pub const SINCE_VERSION: u16 = 5;
/// Version of the format with a large table in blocks; it has all fields of the one before.
pub const BLOCKS_VERSION: u16 = 6;
/// Fewest cells of a table in blocks: smaller ones are written faster as they are.
pub const BLOCKS_FROM: u64 = 1 << 14;
