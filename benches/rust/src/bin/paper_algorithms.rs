//! Time the paper's algorithms as written (stored nodes, one draw per update) and print JSON.
//!
//!     paper_algorithms --sketch LazyCMS --width 55 --events 100000
//!         [--depth 3] [--horizon 1048576] [--sigma 100] [--skew 1.3] [--seed 1]
//!
//! For `experiments/`, which calls it once per interleaved round. Trees have the levels of the full
//! horizon for any number of events, because the cost of one event is measured. Construction of
//! stream and table is not timed.

use lazysketch_benches::paper::{GaussianBinaryMechanism, PlainCountMin, PlainSketch};
use lazysketch_benches::streams::zipf;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Normal;
use std::collections::HashMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

const SKETCHES: [&str; 6] = [
    "CMS",
    "CS",
    "LazyCMS",
    "LazyCS",
    "PunctualCMS",
    "PunctualCS",
];

/// Row functions of a Count Sketch: multiply-shift, then a bucket by multiplication and a sign bit.
struct SignedHashes {
    width: usize,
    rows: Vec<[u64; 4]>,
}

impl SignedHashes {
    fn new(depth: usize, width: usize, rng: &mut SmallRng) -> Self {
        let rows = (0..depth).map(|_| {
            let [a, b, c, d]: [u64; 4] = rng.random();
            [a | 1, b, c | 1, d]
        });
        Self {
            width,
            rows: rows.collect(),
        }
    }

    /// Return the cell of an item in every row, with its sign.
    fn cells(&self, item: u64) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.rows
            .iter()
            .enumerate()
            .map(move |(row, [a, b, c, d])| {
                let hash = item.wrapping_mul(*a).wrapping_add(*b) >> 32;
                let column = ((hash * self.width as u64) >> 32) as usize;
                let sign = item.wrapping_mul(*c).wrapping_add(*d) >> 63;
                (row * self.width + column, 1.0 - 2.0 * sign as f64)
            })
    }
}

/// The Count Sketch, exact or with a continual counter in every cell.
struct PlainCountSketch {
    hashes: SignedHashes,
    pending: Vec<f64>,
    counters: Vec<GaussianBinaryMechanism>,
    released: Vec<f64>,
    noise: Normal<f64>,
    rng: SmallRng,
    step: usize,
}

impl PlainCountSketch {
    /// `leaves` is the largest number of pushes of a cell; 0 for an exact table.
    fn new(options: &Options, leaves: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(options.seed);
        let cells = options.depth * options.width;
        let counters = match leaves {
            0 => Vec::new(),
            _ => vec![GaussianBinaryMechanism::new(leaves); cells],
        };
        Self {
            hashes: SignedHashes::new(options.depth, options.width, &mut rng),
            pending: vec![0.0; cells],
            counters,
            released: vec![0.0; cells],
            noise: Normal::new(0.0, options.sigma).expect("sigma is finite"),
            rng,
            step: 0,
        }
    }

    fn add(&mut self, item: u64) {
        for (cell, sign) in self.hashes.cells(item) {
            self.pending[cell] += sign;
        }
        self.step += 1;
    }

    fn push(&mut self, cell: usize) {
        let value = std::mem::take(&mut self.pending[cell]);
        self.released[cell] = self.counters[cell].update(value, &self.noise, &mut self.rng);
    }

    fn update_lazily(&mut self, item: u64) {
        self.add(item);
        let column = (self.step - 1) % self.hashes.width;
        for row in 0..self.hashes.rows.len() {
            self.push(row * self.hashes.width + column);
        }
    }

    fn update_punctually(&mut self, item: u64) {
        self.add(item);
        for cell in 0..self.pending.len() {
            self.push(cell);
        }
    }
}

/// The command-line options.
struct Options {
    sketch: String,
    depth: usize,
    width: usize,
    horizon: u64,
    events: usize,
    sigma: f64,
    skew: f64,
    seed: u64,
}

impl Options {
    fn from_arguments(arguments: &[String]) -> Result<Self, String> {
        let mut given: HashMap<&str, &str> = HashMap::new();
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{}: expected a value, got none", pair[0]));
            };
            given.insert(name, value);
        }
        fn take<T: std::str::FromStr>(
            given: &mut HashMap<&str, &str>,
            name: &str,
            default: Option<&str>,
        ) -> Result<T, String> {
            let text = given.remove(name).or(default);
            let text = text.ok_or(format!("{name}: expected a value, got none"))?;
            let wrong = |_| format!("{name}: expected a number, got {text}");
            text.parse().map_err(wrong)
        }
        let sketch: String = take(&mut given, "--sketch", None)?;
        if !SKETCHES.contains(&sketch.as_str()) {
            let known = SKETCHES.join(", ");
            return Err(format!("--sketch: expected one of {known}, got {sketch}"));
        }
        let options = Self {
            sketch,
            width: take(&mut given, "--width", None)?,
            events: take(&mut given, "--events", None)?,
            depth: take(&mut given, "--depth", Some("3"))?,
            horizon: take(&mut given, "--horizon", Some("1048576"))?,
            sigma: take(&mut given, "--sigma", Some("100"))?,
            skew: take(&mut given, "--skew", Some("1.3"))?,
            seed: take(&mut given, "--seed", Some("1"))?,
        };
        if let Some(unknown) = given.keys().next() {
            return Err(format!("{unknown}: expected a known option"));
        }
        let sizes = [options.width, options.depth, options.events];
        if sizes.contains(&0) || options.horizon < options.events as u64 {
            return Err("expected positive sizes and a horizon of at least --events".into());
        }
        if !options.sigma.is_finite()
            || options.sigma < 0.0
            || options.skew.is_nan()
            || options.skew <= 0.0
        {
            return Err("expected --sigma of at least 0 and --skew above 0".into());
        }
        Ok(options)
    }

    /// Return the largest number of pushes of a cell.
    fn leaves(&self) -> u64 {
        match self.sketch.as_str() {
            "CMS" | "CS" => 0,
            name if name.starts_with("Lazy") => self.horizon.div_ceil(self.width as u64),
            _ => self.horizon,
        }
    }
}

/// Return the values of the table after all events, and nanoseconds per event.
fn timed(options: &Options, items: &[i64]) -> (Vec<f64>, f64) {
    let &Options {
        depth,
        width,
        sigma,
        seed,
        ..
    } = options;
    let signed = options.sketch.ends_with("CS");
    let lazy = options.sketch.starts_with("Lazy");
    // The black box hides the stream from the optimiser; one loop per sketch avoids a branch at
    // every event.
    let items = black_box(items).iter().map(|&item| item as u64);
    let mut plain_exact = PlainCountMin::new(depth, width, seed);
    let mut plain = (!signed && options.leaves() > 0)
        .then(|| PlainSketch::new(depth, width, options.leaves(), sigma, seed));
    let mut plain_signed = signed.then(|| PlainCountSketch::new(options, options.leaves()));
    let start = Instant::now();
    match (&mut plain, &mut plain_signed) {
        (Some(sketch), _) if lazy => items.for_each(|item| sketch.update_lazily(item)),
        (Some(sketch), _) => items.for_each(|item| sketch.update_punctually(item)),
        (_, Some(sketch)) if lazy => items.for_each(|item| sketch.update_lazily(item)),
        (_, Some(sketch)) if options.leaves() > 0 => {
            items.for_each(|item| sketch.update_punctually(item));
        }
        (_, Some(sketch)) => items.for_each(|item| sketch.add(item)),
        (None, None) => items.for_each(|item| plain_exact.update(item)),
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / options.events as f64;
    let values = match (plain, plain_signed) {
        (Some(sketch), _) => sketch.released().to_vec(),
        (_, Some(sketch)) if options.leaves() > 0 => sketch.released,
        (_, Some(sketch)) => sketch.pending,
        (None, None) => plain_exact.table().iter().copied().map(f64::from).collect(),
    };
    (values, nanoseconds)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::from_arguments(&arguments) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("paper_algorithms: {message}");
            return ExitCode::from(2);
        }
    };
    let items = zipf(options.events, options.skew, options.seed);
    let (values, nanoseconds) = timed(&options, &items);
    let published: f64 = black_box(values).iter().map(|value| value.abs()).sum();
    let levels = options
        .leaves()
        .checked_ilog2()
        .map_or(0, |highest| highest + 1);
    println!(
        "{{\"sketch\": \"{}\", \"depth\": {}, \"width\": {}, \"levels\": {levels}, \
         \"events\": {}, \"published\": {published:.6e}, \
         \"nanoseconds_per_event\": {nanoseconds:.4}}}",
        options.sketch, options.depth, options.width, options.events
    );
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(sketch: &str, events: usize) -> Options {
        let events = events.to_string();
        let words = ["--sketch", sketch, "--width", "16", "--events", &events];
        let more = ["--sigma", "0", "--skew", "0.1"];
        let all: Vec<String> = words.iter().chain(&more).map(|w| w.to_string()).collect();
        Options::from_arguments(&all).expect("valid")
    }

    /// Without noise, Punctual is exact, and Lazy lacks at most the last round.
    #[test]
    fn tables_without_noise_agree_with_exact_sketches() {
        let items = zipf(1000, 0.1, 5);
        for (exact, punctual, lazy) in [
            ("CMS", "PunctualCMS", "LazyCMS"),
            ("CS", "PunctualCS", "LazyCS"),
        ] {
            let [exact, punctual, lazy] =
                [exact, punctual, lazy].map(|name| timed(&options(name, 1000), &items).0);
            assert!(exact.iter().any(|&value| value != 0.0));
            assert_eq!(exact, punctual);
            assert_ne!(exact, lazy);
            let missing: f64 = exact.iter().zip(&lazy).map(|(a, b)| (a - b).abs()).sum();
            assert!(missing <= 3.0 * 16.0, "{missing}");
        }
    }

    #[test]
    fn arguments_are_checked() {
        for wrong in [
            vec!["--sketch", "LazyCMS"],
            vec!["--sketch", "Other", "--width", "8", "--events", "8"],
            vec!["--sketch", "CMS", "--width", "0", "--events", "8"],
            vec!["--sketch", "CMS", "--width", "8", "--events"],
            vec![
                "--sketch", "CMS", "--width", "8", "--events", "8", "--x", "1",
            ],
        ] {
            let words: Vec<String> = wrong.iter().map(|w| w.to_string()).collect();
            assert!(Options::from_arguments(&words).is_err(), "{wrong:?}");
        }
    }
}
