//! What rules of a target are judged by and fitted to; on a small graph all pairs that any of them fires on.

use super::Fit;
use super::fit::{Truth, fit, scores};
use super::universe::Universe;
use crate::graph::Direction;
use crate::rule::Weight;

/// What rules are judged by and fitted to.
pub(super) trait Ground {
    /// How many places rules may fire on.
    fn places(&self) -> usize;
    /// Questions of *valid*.
    fn questions(&self) -> usize;
    /// The sum of reciprocal ranks over the questions of *valid* that ask for one end, given the scores of candidates.
    fn gain(&self, scores: &[f64], direction: Direction) -> f64;
    /// Whether the weights for tails are others than those for heads; on small graphs one for both serves as well.
    fn is_parted(&self) -> bool;
    /// Weights fitted to the training facts under each restraint: plainly, and by a fit that doubts.
    fn fits(&self, fires: &[&[u32]], l2s: &[f64]) -> Vec<[Vec<Weight>; 2]>;
    /// Weights for these ends fitted to the facts of *valid* too, perhaps on from those that were judged without them.
    fn refit(
        &self,
        fires: &[&[u32]],
        fit: Fit,
        judged: &[(usize, Weight)],
        ends: &[Direction],
    ) -> Vec<Weight>;
}

/// All pairs that any rule fires on.
pub(super) struct Whole {
    pub universe: Universe,
    truth: Truth,
    all: Truth,
    valid: Vec<(u32, u32)>,
}

impl Whole {
    pub fn new(universe: Universe, known: &[(u32, u32)], valid: Vec<(u32, u32)>) -> Self {
        let truth = Truth::new(&universe, known.iter().copied());
        let all = Truth::new(&universe, known.iter().chain(&valid).copied());
        Whole { universe, truth, all, valid }
    }

    /// The fit that takes the likeliest pairs by some weights for facts that are missing.
    fn masking(&self, fires: &[&[u32]], weights: &[f64], truth: &Truth, missing: usize, l2: f64) -> Vec<f64> {
        let truth = truth.masking(&scores(self.universe.len(), fires, weights), missing);
        fit(&self.universe, fires, &truth, l2)
    }
}

impl Ground for Whole {
    fn places(&self) -> usize {
        self.universe.len()
    }

    fn questions(&self) -> usize {
        2 * self.valid.len()
    }

    fn gain(&self, scores: &[f64], direction: Direction) -> f64 {
        let gain = |&pair: &(u32, u32)| reciprocal_rank(&self.universe, &self.all, scores, direction, pair);
        self.valid.iter().map(gain).sum()
    }

    fn is_parted(&self) -> bool {
        false
    }

    fn fits(&self, fires: &[&[u32]], l2s: &[f64]) -> Vec<[Vec<Weight>; 2]> {
        let fits = |&l2: &f64| {
            let plain = fit(&self.universe, fires, &self.truth, l2);
            // As many facts again as valid has may be missing, and its own.
            let masking = self.masking(fires, &plain, &self.truth, 2 * self.valid.len(), l2);
            [plain, masking].map(|weights| weights.into_iter().map(Weight::from).collect())
        };
        l2s.iter().map(fits).collect()
    }

    fn refit(&self, fires: &[&[u32]], how: Fit, _: &[(usize, Weight)], _: &[Direction]) -> Vec<Weight> {
        let mut weights = fit(&self.universe, fires, &self.all, how.l2);
        if how.masking {
            weights = self.masking(fires, &weights, &self.all, self.valid.len(), how.l2);
        }
        weights.into_iter().map(Weight::from).collect()
    }
}

/// The reciprocal rank of one true pair among its row or its column; ties take their mean.
fn reciprocal_rank(
    universe: &Universe,
    truth: &Truth,
    scores: &[f64],
    direction: Direction,
    (head, tail): (u32, u32),
) -> f64 {
    let goal = universe.find((head, tail)).map_or(0.0, |place| scores[place]);
    let (mut above, mut equal, mut inside) = (0usize, 0usize, 0usize);
    let mut meet = |place: u32| {
        let place = place as usize;
        inside += 1;
        if !truth.inside[place] {
            above += usize::from(scores[place] > goal);
            equal += usize::from(scores[place] == goal);
        }
    };
    let outside = match direction {
        Direction::Tail => {
            universe.row(head).for_each(&mut meet);
            truth.outside.iter().filter(|pair| pair.0 == head).count()
        }
        Direction::Head => {
            universe.column(tail).iter().copied().for_each(&mut meet);
            truth.outside.iter().filter(|pair| pair.1 == tail).count()
        }
    };
    // Pairs that no rule fires on have score 0; the true ones among them do not count.
    equal += if goal == 0.0 { universe.entities - inside - outside } else { 0 };
    1.0 / (1.0 + above as f64 + equal as f64 / 2.0)
}
