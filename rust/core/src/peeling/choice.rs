//! Which names of a list are taken out of a table.
//!
//! Round by round, the names whose cells agree on a count are taken out together, and what their fit
//! leaves decides anew. How strongly they have to agree is decided with random choices of cells,
//! which are names that never occurred. Source: J. Elias and S. Gygi 2007 (target-decoy search).

use super::care::Care;
use super::cells::{Cell, Extrapolated, random_choices};
use super::evidence::{Evidence, Rule};
use super::fit::Fitted;
use super::listed::Listed;
use super::names::{InOrder, Names, names_in};
use super::purity::Purity;
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
    fn of(names: Vec<&[Cell]>, others: Option<&Self>, care: Care, listed: &Listed) -> Result<Self> {
        let facts = &listed.facts;
        let names = Names::of(names, facts.depth, facts.table.len())?;
        let mut known = others.map(Self::counts);
        let counts = names
            .all()
            .map(|own| known.as_mut().map_or(0.0, |known| known.of(own)));
        let counts = memory::collected(counts)?;
        Self::from(names, counts, care, listed)
    }

    /// Names that are fitted from these counts.
    fn from(names: Names, counts: Vec<f64>, care: Care, listed: &Listed) -> Result<Self> {
        let Listed {
            facts, background, ..
        } = listed;
        Ok(Self {
            fitted: Fitted::of(&names, counts, care, background, facts)?,
            names,
            rule: None,
        })
    }

    /// No names.
    pub(super) fn none(listed: &Listed) -> Result<Self> {
        Self::of(Vec::new(), None, Care::Exact, listed)
    }

    /// All names of a list, whose counts are looked for from those of others.
    pub(super) fn all(listed: &Listed, others: Option<&Self>, care: Care) -> Result<Self> {
        let names = memory::collected(listed.list.chunks_exact(listed.facts.depth))?;
        Self::of(names, others, care, listed)
    }

    /// The names of a list that have occurred for sure, among weaker candidates, so that they can be
    /// chosen again.
    pub(super) fn sure(listed: &Listed) -> Result<Self> {
        let plausible = plausible(listed)?;
        let search = Search::of(&plausible, Purity::Sure, listed)?;
        let found = search.found(None)?;
        match found.rule {
            Some((rule, likely)) => search.with_candidates(&found.chosen, rule, &likely),
            None => Ok(found.chosen),
        }
    }

    /// The counts of items that mostly come in the order of the names.
    pub(super) fn counts(&self) -> Counts<'_> {
        Counts {
            names: self.names.in_order(),
            counts: &self.fitted.counts,
        }
    }
}

/// The counts of names that are taken out, by their cells.
pub(super) struct Counts<'a> {
    names: InOrder<'a>,
    counts: &'a [f64],
}

impl Counts<'_> {
    /// The count of an item that is taken out; 0 for all others.
    pub(super) fn of(&mut self, own: &[Cell]) -> f64 {
        let found = self.names.find(own);
        found.map_or(0.0, |name| self.counts[name])
    }
}

/// The names of a list that have occurred, as it seems, with rough counts.
#[derive(Debug)]
pub(super) struct Likely {
    /// Their places in the list, in order.
    places: Vec<u32>,
    pub(super) chosen: Chosen,
}

impl Likely {
    /// Looks for them, beginning with those that were found in other rows, where the same list has
    /// other cells.
    pub(super) fn of(listed: &Listed, elsewhere: Option<(&Self, &Listed)>) -> Result<Self> {
        let found = Search::of(&listed.list, Purity::Most, listed)?.found(elsewhere)?;
        Ok(Self {
            places: found.taken,
            chosen: found.chosen,
        })
    }

    /// The same names, fitted finely.
    pub(super) fn fitted(&self, listed: &Listed) -> Result<Chosen> {
        let own = memory::collected(self.chosen.names.all())?;
        Chosen::of(own, Some(&self.chosen), Care::Fine, listed)
    }
}

/// Names of a list with their strength, which is above 0.
type Strong = Vec<(f32, u32)>;

/// What one round takes out.
struct Round {
    chosen: Chosen,
    /// The places of these names in the list, in order.
    taken: Vec<u32>,
    /// The rule that chose them, with all names that have any strength, in order.
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
    /// The names that may have.
    list: &'a [Cell],
    /// How many names the whole list has, each counted once.
    names: f64,
    decoys: Vec<Cell>,
    purity: Purity,
    listed: &'a Listed,
    facts: &'a Extrapolated,
}

impl<'a> Search<'a> {
    fn of(list: &'a [Cell], purity: Purity, listed: &'a Listed) -> Result<Self> {
        let facts = &listed.facts;
        let names = names_in(&listed.list, facts.depth)?;
        Ok(Self {
            decoys: random_choices(purity.decoys(names as usize), facts)?,
            list,
            names,
            purity,
            listed,
            facts,
        })
    }

    fn own(&self, name: u32) -> &'a [Cell] {
        let depth = self.facts.depth;
        &self.list[name as usize * depth..(name as usize + 1) * depth]
    }

    fn cells_of(&self, names: impl ExactSizeIterator<Item = u32>) -> Result<Vec<&'a [Cell]>> {
        memory::collected(names.map(|name| self.own(name)))
    }

    /// What the last round takes out, or the one from which hardly anything changes; the first begins
    /// with nothing or with what was found elsewhere.
    fn found(&self, elsewhere: Option<(&Likely, &Listed)>) -> Result<Round> {
        let mut last = match elsewhere {
            None => Round {
                chosen: Chosen::none(self.listed)?,
                taken: Vec::new(),
                rule: None,
            },
            Some((likely, listed)) => self.begun(likely, listed)?,
        };
        let mut earlier: Option<Round> = None;
        for left in (0..MOST_ROUNDS).rev() {
            let (rule, taken) = self.rule_after(&last)?;
            if self.is_stable(&last.chosen.names, &taken) {
                last.rule = Some(rule);
                return Ok(last);
            }
            let own = self.cells_of(taken.iter().copied())?;
            let (before, care) = (Some(&last.chosen), self.purity.care());
            let next = Round {
                chosen: Chosen::of(own, before, care, self.listed)?,
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

    /// A fit of what was found elsewhere, where the list has the cells of `listed`.
    fn begun(&self, likely: &Likely, listed: &Listed) -> Result<Round> {
        let own = self.cells_of(likely.places.iter().copied())?;
        let names = Names::of(own, self.facts.depth, self.facts.table.len())?;
        let mut counts = memory::filled(0.0, names.len())?;
        let (mut here, mut known) = (names.in_order(), likely.chosen.counts());
        for &place in &likely.places {
            if let Some(name) = here.find(self.own(place)) {
                counts[name] = known.of(listed.own(place));
            }
        }
        Ok(Round {
            chosen: Chosen::from(names, counts, self.purity.care(), self.listed)?,
            taken: memory::copied(&likely.places)?,
            rule: None,
        })
    }

    /// The rule that follows from what is left, the strength of the names, and the places of those
    /// that it takes out, in order.
    fn rule_after(&self, round: &Round) -> Result<((Rule, Strong), Vec<u32>)> {
        let found = &round.chosen;
        let evidence = of_fit(&found.fitted, self.facts)?;
        let strong = self.strong(found, &round.taken, &evidence)?;
        let strengths = falling(strong.iter().map(|each| each.0))?;
        let absent = falling(self.absent(found, &evidence)?.into_iter())?;
        let weight = self.names * self.facts.depth as f64 / self.decoys.len() as f64;
        let most = self.purity.most(self.facts.table.len()).min(strong.len());
        let is_first = round.taken.is_empty();
        let least = self
            .purity
            .least(&strengths[..most], &absent, weight, is_first);
        let taken = if strengths.get(most).is_some_and(|&next| next >= least) {
            let mut strongest = memory::copied(&strong)?;
            put_strongest_first(&mut strongest);
            let mut taken = memory::collected(strongest[..most].iter().map(|each| each.1))?;
            taken.sort_unstable();
            taken
        } else {
            let mut taken = memory::room_for(strong.len())?;
            let strong = strong.iter().filter(|each| each.0 >= least);
            taken.extend(strong.map(|each| each.1));
            taken
        };
        Ok(((Rule { evidence, least }, strong), taken))
    }

    /// Whether the names that are taken out hardly change.
    fn is_stable(&self, before: &Names, taken: &[u32]) -> bool {
        let mut known = before.in_order();
        let stay = taken
            .iter()
            .filter(|&&name| known.find(self.own(name)).is_some());
        let changed = taken.len() + before.len() - 2 * stay.count().min(before.len());
        changed as f64 <= STABLE * taken.len() as f64
    }

    /// The names with any strength, in their order; `taken` are those that were taken out, in order.
    fn strong(&self, found: &Chosen, taken: &[u32], evidence: &Evidence) -> Result<Strong> {
        let errors = &found.fitted.errors;
        let mut taken = taken.iter().copied().peekable();
        let (mut known, mut strong) = (found.counts(), Vec::new());
        for (name, own) in self.list.chunks_exact(self.facts.depth).enumerate() {
            let count = match taken.next_if_eq(&(name as u32)) {
                Some(_) => known.of(own),
                None if !self.is_looked_at(own, evidence, errors) => continue,
                None => 0.0,
            };
            let strength = evidence.strength(own, errors, count);
            if strength > 0.0 {
                memory::push(&mut strong, (strength, name as u32))?;
            }
        }
        Ok(strong)
    }

    /// Whether a name that is not taken out may have any strength.
    #[inline]
    fn is_looked_at(&self, own: &[Cell], evidence: &Evidence, errors: &[f64]) -> bool {
        (self.purity == Purity::Most || evidence.is_promising(own, errors))
            && evidence.may_be_strong(own, errors)
    }

    /// The strengths of the decoys that have any.
    fn absent(&self, found: &Chosen, evidence: &Evidence) -> Result<Vec<f32>> {
        let errors = &found.fitted.errors;
        let mut absent = Vec::new();
        for own in self.decoys.chunks_exact(self.facts.depth) {
            if !self.is_looked_at(own, evidence, errors) {
                continue;
            }
            let strength = evidence.strength(own, errors, 0.0);
            if strength > 0.0 {
                memory::push(&mut absent, strength)?;
            }
        }
        Ok(absent)
    }

    /// The names that were found, and the candidates that the rule does not take out.
    fn with_candidates(&self, found: &Chosen, rule: Rule, likely: &Strong) -> Result<Chosen> {
        let mut candidates = memory::room_for(likely.len())?;
        let least = CANDIDATE * rule.least;
        candidates.extend(likely.iter().filter(|each| each.0 >= least).copied());
        put_strongest_first(&mut candidates);
        candidates.truncate(self.facts.table.len());
        let mut own = self.cells_of(candidates.iter().map(|each| each.1))?;
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

/// Strengths, the largest first. They are above 0, so that their bits are in their order.
fn falling(strengths: impl ExactSizeIterator<Item = f32>) -> Result<Vec<f32>> {
    let mut bits = memory::collected(strengths.map(f32::to_bits))?;
    bits.sort_unstable();
    memory::collected(bits.iter().rev().map(|&bits| f32::from_bits(bits)))
}

/// The strongest names first; in their order where they are equally strong.
fn put_strongest_first(names: &mut Strong) {
    names.sort_unstable_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
}

/// With the errors that a fit leaves.
fn of_fit(fitted: &Fitted, facts: &Extrapolated) -> Result<Evidence> {
    Evidence::of(&fitted.errors, fitted.spread, facts.signed)
}

/// The names of a long list whose cells may agree when other names are taken out.
fn plausible(listed: &Listed) -> Result<Vec<Cell>> {
    let none = Chosen::none(listed)?;
    let evidence = of_fit(&none.fitted, &listed.facts)?;
    let mut found = Vec::new();
    for own in listed.list.chunks_exact(listed.facts.depth) {
        if evidence.is_plausible(own, &none.fitted.errors) {
            for &cell in own {
                memory::push(&mut found, cell)?;
            }
        }
    }
    Ok(found)
}
