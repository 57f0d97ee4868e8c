//! The change of one count that lowers the loss of its cells most. Source: P. Huber 1964.

use super::cells::Cell;

/// Weight of the square of a count, which decides between names with equal cells.
const RIDGE: f64 = 1e-6;
/// Where the loss becomes linear, in spreads: below and above, without and with signs.
const BELOW: f64 = 2.0;
const ABOVE: f64 = 1.5;
const BOTH: f64 = 2.5;
/// Where the loss of errors with this spread becomes linear, below and above.
pub(super) fn clips_of(spread: f64, signed: bool) -> (f64, f64) {
    if signed {
        (BOTH * spread, BOTH * spread)
    } else {
        (BELOW * spread, ABOVE * spread)
    }
}

/// The change of one count that minimises the loss of its cells.
pub(super) fn best_change(
    own: &[Cell],
    count: f64,
    errors: &[f64],
    (below, above): (f64, f64),
) -> f64 {
    // The slope of the loss grows with the change and is linear between these ends.
    let mut ends = [0.0; 128];
    let mut own_errors = [0.0; 64];
    let own_errors = &mut own_errors[..own.len()];
    let ends = &mut ends[..2 * own.len()];
    for ((cell, error), ends) in own
        .iter()
        .zip(&mut *own_errors)
        .zip(ends.chunks_exact_mut(2))
    {
        *error = errors[cell.at as usize] * f64::from(cell.sign);
        (ends[0], ends[1]) = (*error - above, *error + below);
    }
    ends.sort_unstable_by(f64::total_cmp);
    let slope = |change: f64| {
        let losses = own_errors
            .iter()
            .map(|error| (error - change).clamp(-below, above));
        RIDGE * (count + change) - losses.sum::<f64>()
    };
    let after = ends.partition_point(|&end| slope(end) < 0.0);
    if after == 0 || after == ends.len() {
        return ends[after.min(ends.len() - 1)];
    }
    let (low, high) = (ends[after - 1], ends[after]);
    let (at_low, at_high) = (slope(low), slope(high));
    low + (high - low) * at_low / (at_low - at_high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loss of a change, by its definition.
    fn loss(own: &[Cell], count: f64, errors: &[f64], clips: (f64, f64), change: f64) -> f64 {
        let huber = |error: f64| {
            let clip = if error < 0.0 { clips.0 } else { clips.1 };
            let size = error.abs();
            if size <= clip {
                size * size / 2.0
            } else {
                clip * (size - clip / 2.0)
            }
        };
        let cells = own.iter().map(|cell| {
            let sign = f64::from(cell.sign);
            huber(errors[cell.at as usize] * sign - change)
        });
        cells.sum::<f64>() + RIDGE / 2.0 * (count + change).powi(2)
    }

    fn cells_of(signs: &[f32]) -> Vec<Cell> {
        let cells = signs.iter().enumerate();
        cells
            .map(|(at, &sign)| Cell {
                at: at as u32,
                sign,
            })
            .collect()
    }

    #[test]
    fn a_change_minimises_the_loss() {
        let errors = [3.0, -50.0, 7.5, 40.0, 0.25];
        for signs in [[1.0; 5], [1.0, -1.0, -1.0, 1.0, -1.0]] {
            let own = cells_of(&signs);
            for clips in [(2.0, 1.5), (20.0, 15.0), (200.0, 200.0)] {
                let found = best_change(&own, 10.0, &errors, clips);
                let least = loss(&own, 10.0, &errors, clips, found);
                for nearby in -4000..4000 {
                    let other = f64::from(nearby) / 50.0;
                    assert!(
                        loss(&own, 10.0, &errors, clips, other) >= least - 1e-9,
                        "{clips:?}"
                    );
                }
            }
        }
    }
}
