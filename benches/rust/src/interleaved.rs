//! Interleaved measurement: every round runs every contender once, so that a noisy spell of the
//! machine hits all of them.

use std::time::Instant;

/// One contender: a name, events per run, and the run.
pub struct Contender<'a> {
    name: String,
    events: usize,
    run: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender whose `run` processes `events` events.
    pub fn new(name: impl Into<String>, events: usize, run: impl FnMut() + 'a) -> Self {
        Self {
            name: name.into(),
            events,
            run: Box::new(run),
        }
    }
}

/// Nanoseconds per event of one contender.
pub struct Measured {
    /// Its name.
    pub name: String,
    /// The median of its runs.
    pub median: f64,
    /// The least, which work of others on the machine disturbs least.
    pub least: f64,
}

/// Runs each contender once per round, `rounds` times, after one round to warm up.
pub fn measured(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<Measured> {
    let mut samples = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..=rounds {
        for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
            let start = Instant::now();
            (contender.run)();
            let nanoseconds = start.elapsed().as_nanos() as f64 / contender.events as f64;
            if round > 0 {
                samples.push(nanoseconds);
            }
        }
    }
    let measured = |(contender, mut samples): (&Contender<'_>, Vec<f64>)| {
        samples.sort_by(f64::total_cmp);
        Measured {
            name: contender.name.clone(),
            median: samples[samples.len() / 2],
            least: samples[0],
        }
    };
    contenders.iter().zip(samples).map(measured).collect()
}

/// Median nanoseconds per event of each contender over `rounds` interleaved rounds, after one
/// round to warm up.
pub fn medians(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<(String, f64)> {
    let measured = measured(contenders, rounds).into_iter();
    measured.map(|one| (one.name, one.median)).collect()
}

/// Prints nanoseconds per event, millions of events per second and the ratio to `reference`.
pub fn print(results: &[(String, f64)], reference: &str) {
    let base = results
        .iter()
        .find(|(name, _)| name == reference)
        .map_or(f64::NAN, |r| r.1);
    println!(
        "{:<44} {:>12} {:>12} {:>14}",
        "", "ns / event", "M events/s", "x that speed"
    );
    for (name, nanoseconds) in results {
        let rate = 1e3 / nanoseconds;
        println!(
            "{name:<44} {nanoseconds:>12.2} {rate:>12.2} {:>14.2}",
            base / nanoseconds
        );
    }
    println!("(x that speed: relative to {reference})\n");
}
