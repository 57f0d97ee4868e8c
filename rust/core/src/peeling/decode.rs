//! Which names of a long list have occurred: those whose cells agree once the others are taken out.
//!
//! Round by round, names whose cells agree on a large count are taken out, until no more are found.
//! How large it must be is decided with random choices of cells, which are names that never
//! occurred. Source: J. Elias and S. Gygi 2007 (target-decoy search).
//!
//! Estimates use these names. Intervals do not: the choice depends on the whole table.

use super::cells::{Background, Cell, Extrapolated, random_choices};
use super::chosen::Chosen;
use super::fit::Fitted;
use crate::{Result, memory};

const MOST_ROUNDS: usize = 8;
const DECOYS: usize = 1 << 17;
/// Within how many spreads cells agree.
const AGREEMENT: f64 = 6.0;
/// Factor by which a name has to be stronger than the strongest that never occurred: a name that is
/// taken out wrongly takes its count from others.
const MARGIN: f64 = 1.25;
/// Smallest count that is looked for, in spreads.
const LEAST: f64 = 3.0;

/// Takes the names of a long list that have occurred out of a table.
pub(super) fn decoded(
    cells: &[Cell],
    background: &Background,
    facts: &Extrapolated,
) -> Result<(Chosen, Fitted)> {
    let decoys = random_choices(DECOYS, facts)?;
    let mut chosen = Chosen::all(Vec::new(), facts)?;
    let mut fitted = Fitted::of(&chosen, background, facts)?;
    for _ in 0..MOST_ROUNDS {
        let rule = Rule {
            signed: facts.signed,
            window: AGREEMENT * fitted.spread,
        };
        let absent = decoys.chunks_exact(facts.depth);
        let strongest = absent
            .map(|own| rule.strength(own, fitted.errors(), 0.0))
            .fold(0.0, f64::max);
        let least = (MARGIN * strongest).max(LEAST * fitted.spread);
        let mut names: Vec<(f64, &[Cell])> = Vec::new();
        for own in cells.chunks_exact(facts.depth) {
            // Names that are taken out left nothing in their cells.
            let count = fitted.count(&chosen, own);
            let strength = rule.strength(own, fitted.errors(), count);
            if strength > least {
                memory::push(&mut names, (strength, own))?;
            }
        }
        names.sort_unstable_by(|one, two| two.0.total_cmp(&one.0));
        names.truncate(facts.table.len() / 5);
        let before = chosen.len();
        let names = memory::collected(names.into_iter().map(|(_, own)| own))?;
        chosen = Chosen::all(names, facts)?;
        fitted = Fitted::of(&chosen, background, facts)?;
        if chosen.len().abs_diff(before) * 100 <= before {
            break;
        }
    }
    Ok((chosen, fitted))
}

/// When the cells of a name agree.
#[derive(Debug, Clone, Copy)]
struct Rule {
    signed: bool,
    /// Distance within which they do.
    window: f64,
}

impl Rule {
    /// A count that the cells of a name agree on, of which `count` was taken out: in a Count-Min
    /// sketch the smallest value, if another one is near; with signs the lowest of more than half of
    /// the values, if they are near each other.
    fn strength(self, own: &[Cell], errors: &[f64], count: f64) -> f64 {
        let mut room = [0.0; 64];
        let found = &mut room[..own.len()];
        for (value, cell) in found.iter_mut().zip(own) {
            *value = errors[cell.at as usize] * f64::from(cell.sign) + count;
        }
        found.sort_unstable_by(f64::total_cmp);
        let needed = if self.signed {
            own.len() / 2 + 1
        } else {
            own.len().min(2)
        };
        let groups = found.windows(needed);
        let groups = groups.take(if self.signed { own.len() } else { 1 });
        groups
            .filter(|group| group[needed - 1] - group[0] <= self.window)
            .map(|group| group[0])
            .fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(signed: bool, values: &[f64]) -> f64 {
        let cells = (0..values.len() as u32).map(|at| Cell { at, sign: 1.0 });
        let rule = Rule {
            signed,
            window: 10.0,
        };
        rule.strength(&cells.collect::<Vec<_>>(), values, 0.0)
    }

    #[test]
    fn cells_agree_on_a_count() {
        assert_eq!(strength(false, &[90.0, 50.0, 900.0, 55.0]), 50.0);
        assert_eq!(
            strength(false, &[90.0, 50.0, 95.0, 70.0]),
            f64::NEG_INFINITY
        );
        assert_eq!(strength(true, &[90.0, -50.0, 95.0, 85.0]), 85.0);
        assert_eq!(strength(true, &[90.0, 85.0, 20.0, 15.0]), f64::NEG_INFINITY);
        assert_eq!(strength(false, &[4.0]), 4.0);
    }
}
