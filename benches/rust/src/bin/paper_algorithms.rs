//! Times the paper's algorithms as written (stored nodes, a draw per update) and prints JSON.
//!
//!     paper_algorithms --sketch LazyCMS --width 55 --events 100000
//!         [--depth 3] [--horizon 1048576] [--sigma 100] [--skew 1.3] [--seed 1]
//!
//! For `experiments/`, which calls it once per interleaved round. The trees have the levels of the
//! whole horizon, whatever the number of events: what is timed is the cost of one event. Making
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

/// Row functions of a Count Sketch: multiply-shift, a bucket by multiplication and a sign bit.
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

    /// The cell of an item in every row, with its sign.
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
    /// `leaves` is the number of pushes that every cell has room for; 0 for an exact table.
    fn new(asked: &Asked, leaves: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(asked.seed);
        let cells = asked.depth * asked.width;
        let counters = match leaves {
            0 => Vec::new(),
            _ => vec![GaussianBinaryMechanism::new(leaves); cells],
        };
        Self {
            hashes: SignedHashes::new(asked.depth, asked.width, &mut rng),
            pending: vec![0.0; cells],
            counters,
            released: vec![0.0; cells],
            noise: Normal::new(0.0, asked.sigma).expect("sigma is finite"),
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

/// What the command line asks for.
struct Asked {
    sketch: String,
    depth: usize,
    width: usize,
    horizon: u64,
    events: usize,
    sigma: f64,
    skew: f64,
    seed: u64,
}

impl Asked {
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
        let asked = Self {
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
        let sizes = [asked.width, asked.depth, asked.events];
        if sizes.contains(&0) || asked.horizon < asked.events as u64 {
            return Err("expected positive sizes and a horizon of at least --events".into());
        }
        if !asked.sigma.is_finite() || asked.sigma < 0.0 || asked.skew.is_nan() || asked.skew <= 0.0
        {
            return Err("expected --sigma of at least 0 and --skew above 0".into());
        }
        Ok(asked)
    }

    /// Pushes that every cell has room for.
    fn leaves(&self) -> u64 {
        match self.sketch.as_str() {
            "CMS" | "CS" => 0,
            name if name.starts_with("Lazy") => self.horizon.div_ceil(self.width as u64),
            _ => self.horizon,
        }
    }
}

/// The values of the table after all events, and nanoseconds per event.
fn timed(asked: &Asked, items: &[i64]) -> (Vec<f64>, f64) {
    let &Asked {
        depth,
        width,
        sigma,
        seed,
        ..
    } = asked;
    let signed = asked.sketch.ends_with("CS");
    let lazy = asked.sketch.starts_with("Lazy");
    // As if the stream were known at run time only; a loop per sketch, so that none is slowed
    // down by a choice at every event.
    let items = black_box(items).iter().map(|&item| item as u64);
    let mut plain_exact = PlainCountMin::new(depth, width, seed);
    let mut plain = (!signed && asked.leaves() > 0)
        .then(|| PlainSketch::new(depth, width, asked.leaves(), sigma, seed));
    let mut plain_signed = signed.then(|| PlainCountSketch::new(asked, asked.leaves()));
    let start = Instant::now();
    match (&mut plain, &mut plain_signed) {
        (Some(sketch), _) if lazy => items.for_each(|item| sketch.update_lazily(item)),
        (Some(sketch), _) => items.for_each(|item| sketch.update_punctually(item)),
        (_, Some(sketch)) if lazy => items.for_each(|item| sketch.update_lazily(item)),
        (_, Some(sketch)) if asked.leaves() > 0 => {
            items.for_each(|item| sketch.update_punctually(item));
        }
        (_, Some(sketch)) => items.for_each(|item| sketch.add(item)),
        (None, None) => items.for_each(|item| plain_exact.update(item)),
    }
    let nanoseconds = start.elapsed().as_nanos() as f64 / asked.events as f64;
    let values = match (plain, plain_signed) {
        (Some(sketch), _) => sketch.released().to_vec(),
        (_, Some(sketch)) if asked.leaves() > 0 => sketch.released,
        (_, Some(sketch)) => sketch.pending,
        (None, None) => plain_exact.table().iter().copied().map(f64::from).collect(),
    };
    (values, nanoseconds)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = match Asked::from_arguments(&arguments) {
        Ok(asked) => asked,
        Err(message) => {
            eprintln!("paper_algorithms: {message}");
            return ExitCode::from(2);
        }
    };
    let items = zipf(asked.events, asked.skew, asked.seed);
    let (values, nanoseconds) = timed(&asked, &items);
    let published: f64 = black_box(values).iter().map(|value| value.abs()).sum();
    let levels = asked.leaves().checked_ilog2().map_or(0, |most| most + 1);
    println!(
        "{{\"sketch\": \"{}\", \"depth\": {}, \"width\": {}, \"levels\": {levels}, \
         \"events\": {}, \"published\": {published:.6e}, \
         \"nanoseconds_per_event\": {nanoseconds:.4}}}",
        asked.sketch, asked.depth, asked.width, asked.events
    );
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sketch: &str, events: usize) -> Asked {
        let events = events.to_string();
        let words = ["--sketch", sketch, "--width", "16", "--events", &events];
        let more = ["--sigma", "0", "--skew", "0.1"];
        let all: Vec<String> = words.iter().chain(&more).map(|w| w.to_string()).collect();
        Asked::from_arguments(&all).expect("valid")
    }

    /// Without noise, Punctual is exact, and Lazy misses at most the last round.
    #[test]
    fn tables_without_noise_are_those_of_the_exact_sketches() {
        let items = zipf(1000, 0.1, 5);
        for (exact, punctual, lazy) in [
            ("CMS", "PunctualCMS", "LazyCMS"),
            ("CS", "PunctualCS", "LazyCS"),
        ] {
            let [exact, punctual, lazy] =
                [exact, punctual, lazy].map(|name| timed(&asked(name, 1000), &items).0);
            assert!(exact.iter().any(|&value| value != 0.0));
            assert_eq!(exact, punctual);
            assert_ne!(exact, lazy);
            let missed: f64 = exact.iter().zip(&lazy).map(|(a, b)| (a - b).abs()).sum();
            assert!(missed <= 3.0 * 16.0, "{missed}");
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
            assert!(Asked::from_arguments(&words).is_err(), "{wrong:?}");
        }
    }
}
