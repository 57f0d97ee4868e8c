//! How strong names have to be to be taken out.

use super::care::Care;

/// Which names count as having occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purity {
    /// Of a list that is not much longer than the table is large, an absent name costs little: as
    /// many as possible, of which [`ABSENT`] are expected to be absent.
    Most,
    /// Of a long list few names have occurred, and an absent one takes the counts of others: those of
    /// which [`FEW_ABSENT`] are expected to be absent. So few that no item whose interval is asked for
    /// is taken out for its noise: the choice would then depend on the item's own cells.
    Sure,
}

const ABSENT: f64 = 0.1;
/// In the first round, which nothing was taken out before: most of those that are absent lose their
/// strength when the others are taken out, and the errors spread less the sooner.
const FIRST_ABSENT: f64 = 0.5;
const FEW_ABSENT: f64 = 5e-3;
/// The decoy from whose strength the strength of few absent names follows. The strongest decoys may
/// share cells with a name that is not taken out yet.
const DECOY: usize = 8;

impl Purity {
    /// How many names that never occurred decide it.
    pub(super) fn decoys(self, names: usize) -> usize {
        match self {
            Self::Most => names.clamp(4096, 8192),
            Self::Sure => 1 << 16,
        }
    }

    /// The strength from which names are taken out, in the first round or a later one. The strengths
    /// of names and of those that never occurred are in descending order; each of the latter stands for
    /// `weight` names.
    pub(super) fn least(self, strong: &[f32], absent: &[f32], weight: f64, is_first: bool) -> f32 {
        match self {
            Self::Most => {
                let absent_part = if is_first { FIRST_ABSENT } else { ABSENT };
                let mut as_strong = absent.len();
                let accepted = (1..=strong.len()).rev().find(|&number| {
                    let least = strong[number - 1];
                    let weaker = absent[..as_strong].iter().rev();
                    as_strong -= weaker.take_while(|&&each| each < least).count();
                    weight * as_strong as f64 <= absent_part * number as f64
                });
                accepted.map_or(f32::INFINITY, |number| strong[number - 1])
            }
            Self::Sure => {
                // A ratio of likelihoods of x or more has a probability of at most 1 / x.
                let decoy = absent.get(DECOY - 1).map_or(0.0, |most| most.max(0.0));
                decoy + (DECOY as f64 * weight / FEW_ABSENT).ln().max(1.0) as f32
            }
        }
    }

    /// How exactly the names of a round are fitted.
    pub(super) fn care(self) -> Care {
        match self {
            Self::Most => Care::Rough,
            Self::Sure => Care::Exact,
        }
    }

    /// Most names that are taken out of a table with this number of cells.
    pub(super) fn most(self, cells: usize) -> usize {
        match self {
            Self::Most => cells / 2,
            Self::Sure => cells / 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::mixed;
    use super::*;

    #[test]
    fn the_weakest_that_is_taken_out_has_few_absent_names_as_strong() {
        for case in 0..300_u64 {
            let falling = |salt: u64, number: u64| {
                let each = (0..number).map(|at| mixed(case << 20 | salt << 10 | at) % 40);
                let mut each: Vec<f32> = each.map(|each| each as f32 / 4.0 + 0.25).collect();
                each.sort_unstable_by(|one, two| two.total_cmp(one));
                each
            };
            let (strong, absent) = (falling(1, case % 60), falling(2, case / 7 % 40));
            for (weight, is_first, part) in [(0.5, false, ABSENT), (0.1, true, FIRST_ABSENT)] {
                let is_taken = |&least: &f32| {
                    let number = strong.iter().filter(|&&each| each >= least).count();
                    let expected = absent.iter().filter(|&&each| each >= least).count();
                    weight * expected as f64 <= part * number as f64
                };
                let wanted = strong.iter().copied().rev().find(is_taken);
                let found = Purity::Most.least(&strong, &absent, weight, is_first);
                assert_eq!(found, wanted.unwrap_or(f32::INFINITY), "{case}");
            }
        }
    }
}
