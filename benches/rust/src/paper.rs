//! The paper's algorithms as written: the Gaussian binary mechanism with stored nodes, the Punctual
//! sketch and the Lazy sketch. They are a careful, unoptimised implementation of the pseudo-code;
//! the noise comes from a fast generator, not from a keyed function.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Normal};

/// GaussBM: node sums and noisy node sums of the binary tree, one slot per level.
#[derive(Clone)]
pub struct GaussianBinaryMechanism {
    time: u64,
    sums: Vec<f64>,
    noisy: Vec<f64>,
}

impl GaussianBinaryMechanism {
    /// Return a counter for up to `leaves` updates.
    pub fn new(leaves: u64) -> Self {
        let levels = leaves.ilog2() as usize + 1;
        Self {
            time: 0,
            sums: vec![0.0; levels],
            noisy: vec![0.0; levels],
        }
    }

    /// Add a leaf and return the new noisy prefix sum.
    pub fn update(&mut self, value: f64, noise: &Normal<f64>, rng: &mut SmallRng) -> f64 {
        self.time += 1;
        let level = self.time.trailing_zeros() as usize;
        let merged: f64 = self.sums[..level].iter().sum();
        self.sums[..level].fill(0.0);
        self.noisy[..level].fill(0.0);
        self.sums[level] = merged + value;
        self.noisy[level] = self.sums[level] + noise.sample(rng);
        let set = |&(level, _): &(usize, &f64)| self.time >> level & 1 == 1;
        self.noisy
            .iter()
            .enumerate()
            .filter(set)
            .map(|(_, noisy)| noisy)
            .sum()
    }
}

/// A row function: multiply-shift, then a bucket by multiplication.
#[derive(Clone, Copy)]
struct RowHash {
    multiplier: u64,
    addend: u64,
}

impl RowHash {
    fn bucket(&self, item: u64, width: usize) -> usize {
        let hash = item.wrapping_mul(self.multiplier).wrapping_add(self.addend) >> 32;
        ((hash * width as u64) >> 32) as usize
    }
}

fn row_hashes(depth: usize, rng: &mut SmallRng) -> Vec<RowHash> {
    use rand::RngExt;
    (0..depth)
        .map(|_| RowHash {
            multiplier: rng.random::<u64>() | 1,
            addend: rng.random(),
        })
        .collect()
}

/// Count-Min with a continual counter in every cell.
pub struct PlainSketch {
    width: usize,
    hashes: Vec<RowHash>,
    pending: Vec<f64>,
    counters: Vec<GaussianBinaryMechanism>,
    released: Vec<f64>,
    noise: Normal<f64>,
    rng: SmallRng,
    step: usize,
}

impl PlainSketch {
    /// Return a table whose cells support `leaves` pushes; `sigma` is the deviation of node noise.
    pub fn new(depth: usize, width: usize, leaves: u64, sigma: f64, seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        Self {
            width,
            hashes: row_hashes(depth, &mut rng),
            pending: vec![0.0; depth * width],
            counters: vec![GaussianBinaryMechanism::new(leaves); depth * width],
            released: vec![0.0; depth * width],
            noise: Normal::new(0.0, sigma).expect("sigma is finite"),
            rng,
            step: 0,
        }
    }

    fn add(&mut self, item: u64) {
        for (row, hash) in self.hashes.iter().enumerate() {
            self.pending[row * self.width + hash.bucket(item, self.width)] += 1.0;
        }
        self.step += 1;
    }

    fn push(&mut self, cell: usize) {
        let value = std::mem::take(&mut self.pending[cell]);
        self.released[cell] = self.counters[cell].update(value, &self.noise, &mut self.rng);
    }

    /// Update as in the Lazy sketch: push one column per step, round robin.
    pub fn update_lazily(&mut self, item: u64) {
        self.add(item);
        let column = (self.step - 1) % self.width;
        for row in 0..self.hashes.len() {
            self.push(row * self.width + column);
        }
    }

    /// Update as in the Punctual sketch: push every cell at every step.
    pub fn update_punctually(&mut self, item: u64) {
        self.add(item);
        for cell in 0..self.pending.len() {
            self.push(cell);
        }
    }

    /// Return the released values; using them keeps the work from being optimised away.
    pub fn released(&self) -> &[f64] {
        &self.released
    }
}

/// A direct implementation of an exact Count-Min: the baseline.
pub struct PlainCountMin {
    width: usize,
    hashes: Vec<RowHash>,
    table: Vec<u32>,
}

impl PlainCountMin {
    /// Return an empty table.
    pub fn new(depth: usize, width: usize, seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        Self {
            width,
            hashes: row_hashes(depth, &mut rng),
            table: vec![0; depth * width],
        }
    }

    /// Count one event.
    pub fn update(&mut self, item: u64) {
        for (row, hash) in self.hashes.iter().enumerate() {
            self.table[row * self.width + hash.bucket(item, self.width)] += 1;
        }
    }

    /// Return the counts; using them keeps the work from being optimised away.
    pub fn table(&self) -> &[u32] {
        &self.table
    }
}
