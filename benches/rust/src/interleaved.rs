//! Interleaved measurement: every round runs every contender once, so that temporary load of the
//! machine affects all of them.

use std::time::Instant;

/// A contender: its name, the events per run, and the run.
pub struct Contender<'a> {
    name: String,
    events: usize,
    run: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    /// Return a contender whose `run` processes `events` events.
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
    /// The contender's name.
    pub name: String,
    /// The median over the rounds.
    pub median: f64,
    /// The minimum over the rounds, which other load on the machine disturbs least.
    pub minimum: f64,
}

/// Run each contender once per round, for `rounds` rounds after a warm-up round.
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
            minimum: samples[0],
        }
    };
    contenders.iter().zip(samples).map(measured).collect()
}

/// Return each contender's median nanoseconds per event over `rounds` interleaved rounds, after a
/// warm-up round.
pub fn medians(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<(String, f64)> {
    let measured = measured(contenders, rounds).into_iter();
    measured.map(|one| (one.name, one.median)).collect()
}

/// Print nanoseconds per event, millions of events per second, and speed relative to `reference`.
pub fn print(results: &[(String, f64)], reference: &str) {
    let base = results
        .iter()
        .find(|(name, _)| name == reference)
        .map_or(f64::NAN, |r| r.1);
    println!(
        "{:<44} {:>12} {:>12} {:>14}",
        "", "ns / event", "M events/s", "relative speed"
    );
    for (name, nanoseconds) in results {
        let rate = 1e3 / nanoseconds;
        println!(
            "{name:<44} {nanoseconds:>12.2} {rate:>12.2} {:>14.2}",
            base / nanoseconds
        );
    }
    println!("(relative speed: {reference} = 1)\n");
}
