//! Which names of a list are taken out of a table.
//!
//! Round by round, the names whose cells agree on a count are taken out together, and what their fit
//! leaves decides anew. How strongly they have to agree is decided with random choices of cells,
//! which are names that never occurred. Source: J. Elias and S. Gygi 2007 (target-decoy search).

use super::cells::{Background, Cell, Extrapolated, random_choices};
use super::evidence::{Evidence, Rule};
use super::fit::Fitted;
use super::names::{Names, names_in};
use crate::{Result, memory};

const MOST_ROUNDS: usize = 12;
/// Parts by which the number of names, and the spread of what they leave, may change in the last round.
const FEW_NAMES: f64 = 0.1;
const LITTLE_SPREAD: f64 = 0.03;
/// A choice is stable if it changes by at most this part.
const STABLE: f64 = 0.03;
/// Part of the strength of a name from which it is a candidate.
const CANDIDATE: f32 = 0.5;
/// Passes over the candidates until their choice agrees with their fit, at most.
const MOST_PASSES: usize = 4;

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
const FEW_ABSENT: f64 = 5e-3;
/// The decoy from whose strength the strength of few absent names follows. The strongest decoys may
/// share cells with a name that is not taken out yet.
const DECOY: usize = 8;

impl Purity {
    fn decoys(self, names: usize) -> usize {
        match self {
            Self::Most => names.clamp(4096, 32_768),
            Self::Sure => 1 << 16,
        }
    }

    /// The strength from which names are taken out; both are in descending order.
    fn least(self, strong: &[f32], absent: &[f32], weight: f64) -> f32 {
        match self {
            Self::Most => {
                let accepted = (1..=strong.len()).rev().find(|&number| {
                    let least = strong[number - 1];
                    let expected = weight * absent.partition_point(|&each| each >= least) as f64;
                    expected <= ABSENT * number as f64
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

    /// Most names that are taken out of a table with this number of cells.
    fn most(self, cells: usize) -> usize {
        match self {
            Self::Most => cells / 2,
            Self::Sure => cells / 5,
        }
    }
}

/// Names and their fit to a table.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) names: Names,
    pub(super) fitted: Fitted,
    /// Which of the names are taken out; all without a rule.
    pub(super) rule: Option<Rule>,
}

impl Chosen {
    /// These names of a table, whose counts are looked for from those of others.
    fn of(
        names: Vec<&[Cell]>,
        others: Option<&Self>,
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let names = Names::of(names, facts.depth, facts.table.len())?;
        let counts = names
            .all()
            .map(|own| others.map_or(0.0, |others| others.count(own)));
        let counts = memory::collected(counts)?;
        Ok(Self {
            fitted: Fitted::of(&names, counts, background, facts)?,
            names,
            rule: None,
        })
    }

    /// All names of a list.
    pub(super) fn all(
        list: &[Cell],
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let names = memory::collected(list.chunks_exact(facts.depth))?;
        Self::of(names, None, background, facts)
    }

    /// The names of a list that have occurred, as it seems. Those of [`Purity::Sure`] are among
    /// weaker candidates, so that they can be chosen again.
    pub(super) fn occurred(
        list: &[Cell],
        purity: Purity,
        background: &Background,
        facts: &Extrapolated,
    ) -> Result<Self> {
        let names = names_in(list, facts.depth)?;
        let plausible = match purity {
            Purity::Most => None,
            Purity::Sure => Some(plausible(list, background, facts)?),
        };
        let search = Search {
            decoys: random_choices(purity.decoys(names as usize), facts)?,
            names,
            list: plausible.as_deref().unwrap_or(list),
            purity,
            background,
            facts,
        };
        let found = search.found()?;
        match found.rule {
            Some((rule, likely)) if purity == Purity::Sure => {
                search.with_candidates(&found.chosen, rule, &likely)
            }
            _ => Ok(found.chosen),
        }
    }

    /// The count of an item that is taken out; 0 for all others.
    pub(super) fn count(&self, own: &[Cell]) -> f64 {
        let found = self.names.find(own);
        found.map_or(0.0, |name| self.fitted.counts[name])
    }
}

/// Names of a list with their strength, the strongest first.
type Strong = Vec<(f32, u32)>;

/// What one round takes out.
struct Round {
    chosen: Chosen,
    /// The places of these names in the list, in order.
    taken: Vec<u32>,
    /// The rule that chose them, with all names that are half as strong as it asks for.
    rule: Option<(Rule, Strong)>,
}

impl Round {
    /// Whether it takes out about as many names as another, which leave about the same errors.
    fn hardly_differs(&self, other: &Self) -> bool {
        let names = self.taken.len().abs_diff(other.taken.len()) as f64;
        let (spread, before) = (self.chosen.fitted.spread, other.chosen.fitted.spread);
        names <= FEW_NAMES * self.taken.len() as f64
            && (spread - before).abs() <= LITTLE_SPREAD * before
    }
}

/// The search for the names that have occurred.
struct Search<'a> {
    list: &'a [Cell],
    /// How many names there are, each counted once.
    names: f64,
    decoys: Vec<Cell>,
    purity: Purity,
    background: &'a Background,
    facts: &'a Extrapolated,
}

impl<'a> Search<'a> {
    fn own(&self, name: u32) -> &'a [Cell] {
        let depth = self.facts.depth;
        &self.list[name as usize * depth..(name as usize + 1) * depth]
    }

    fn cells_of(&self, names: impl ExactSizeIterator<Item = u32>) -> Result<Vec<&'a [Cell]>> {
        memory::collected(names.map(|name| self.own(name)))
    }

    /// What the last round takes out, or the one from which hardly anything changes.
    fn found(&self) -> Result<Round> {
        let mut last = Round {
            chosen: Chosen::of(Vec::new(), None, self.background, self.facts)?,
            taken: Vec::new(),
            rule: None,
        };
        let mut earlier: Option<Round> = None;
        for left in (0..MOST_ROUNDS).rev() {
            let (rule, accepted) = self.rule_after(&last)?;
            let mut taken = memory::collected(rule.1[..accepted].iter().map(|each| each.1))?;
            taken.sort_unstable();
            if self.is_stable(&last.chosen.names, &taken)? {
                last.rule = Some(rule);
                return Ok(last);
            }
            let own = self.cells_of(taken.iter().copied())?;
            let next = Round {
                chosen: Chosen::of(own, Some(&last.chosen), self.background, self.facts)?,
                taken,
                rule: Some(rule),
            };
            if self.purity == Purity::Most && next.hardly_differs(&last) {
                return Ok(next);
            }
            // A choice that goes back and forth between two goes on so; their fits are within its
            // tolerance already.
            if earlier.is_some_and(|earlier| earlier.taken == next.taken) {
                return Ok(if left % 2 == 0 { next } else { last });
            }
            earlier = Some(std::mem::replace(&mut last, next));
        }
        Ok(last)
    }

    /// The rule that follows from what is left, the names that are half as strong as it asks for,
    /// and how many of them are as strong.
    fn rule_after(&self, round: &Round) -> Result<((Rule, Strong), usize)> {
        let found = &round.chosen;
        let evidence = of_fit(&found.fitted, self.facts)?;
        let mut strong = self.strong(found, &round.taken, &evidence)?;
        let absent = self.absent(found, &evidence)?;
        let strengths = memory::collected(strong.iter().map(|each| each.0))?;
        let weight = self.names * self.facts.depth as f64 / self.decoys.len() as f64;
        let most = self.purity.most(self.facts.table.len()).min(strong.len());
        let least = self.purity.least(&strengths[..most], &absent, weight);
        let accepted = strengths[..most].partition_point(|&each| each >= least);
        strong.truncate(strengths.partition_point(|&each| each >= CANDIDATE * least));
        Ok(((Rule { evidence, least }, strong), accepted))
    }

    /// Whether the names that are taken out hardly change.
    fn is_stable(&self, before: &Names, taken: &[u32]) -> Result<bool> {
        let own = self.cells_of(taken.iter().copied())?;
        let stay = own.iter().filter(|own| before.find(own).is_some());
        let changed = own.len() + before.len() - 2 * stay.count().min(before.len());
        Ok(changed as f64 <= STABLE * own.len() as f64)
    }

    /// The names with any strength; `taken` are those that were taken out, in order.
    fn strong(&self, found: &Chosen, taken: &[u32], evidence: &Evidence) -> Result<Strong> {
        let errors = &found.fitted.errors;
        let mut taken = taken.iter().copied().peekable();
        let mut strong = Vec::new();
        for (name, own) in self.list.chunks_exact(self.facts.depth).enumerate() {
            let count = match taken.next_if_eq(&(name as u32)) {
                Some(_) => found.count(own),
                None if !self.is_looked_at(own, evidence, errors) => continue,
                None => 0.0,
            };
            let strength = evidence.strength(own, errors, count);
            if strength > 0.0 {
                memory::push(&mut strong, (strength, name as u32))?;
            }
        }
        strong.sort_unstable_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        Ok(strong)
    }

    /// Whether a name that is not taken out may have any strength.
    #[inline]
    fn is_looked_at(&self, own: &[Cell], evidence: &Evidence, errors: &[f64]) -> bool {
        (self.purity == Purity::Most || evidence.is_promising(own, errors))
            && evidence.may_be_strong(own, errors)
    }

    /// The strengths of the decoys that have any, the largest first.
    fn absent(&self, found: &Chosen, evidence: &Evidence) -> Result<Vec<f32>> {
        let errors = &found.fitted.errors;
        let mut absent = Vec::new();
        for own in self.decoys.chunks_exact(self.facts.depth) {
            if self.is_looked_at(own, evidence, errors) {
                memory::push(&mut absent, evidence.strength(own, errors, 0.0))?;
            }
        }
        absent.sort_unstable_by(|one, two| two.total_cmp(one));
        Ok(absent)
    }

    /// The names that were found, and the candidates that the rule does not take out.
    fn with_candidates(&self, found: &Chosen, rule: Rule, likely: &Strong) -> Result<Chosen> {
        let most = self.facts.table.len().min(likely.len());
        let mut own = self.cells_of(likely[..most].iter().map(|each| each.1))?;
        memory::reserve(&mut own, found.names.len())?;
        own.extend(found.names.all());
        let names = Names::of(own, self.facts.depth, self.facts.table.len())?;
        let fitted = found.fitted.of_others(&found.names, &names)?;
        let mut fit = fitted.resumed(&names, self.facts.signed)?;
        for _ in 0..MOST_PASSES {
            let mut changed = false;
            for name in 0..names.len() as u32 {
                changed |= fit.choose(name, &rule);
            }
            fit.descend();
            if !changed {
                break;
            }
        }
        Ok(Chosen {
            fitted: fit.fitted(),
            names,
            rule: Some(rule),
        })
    }
}

/// With the errors that a fit leaves.
fn of_fit(fitted: &Fitted, facts: &Extrapolated) -> Result<Evidence> {
    Evidence::of(&fitted.errors, fitted.spread, facts.signed)
}

/// The names of a long list whose cells may agree when other names are taken out.
fn plausible(list: &[Cell], background: &Background, facts: &Extrapolated) -> Result<Vec<Cell>> {
    let none = Chosen::of(Vec::new(), None, background, facts)?;
    let evidence = of_fit(&none.fitted, facts)?;
    let mut found = Vec::new();
    for own in list.chunks_exact(facts.depth) {
        if evidence.is_plausible(own, &none.fitted.errors) {
            for &cell in own {
                memory::push(&mut found, cell)?;
            }
        }
    }
    Ok(found)
}
