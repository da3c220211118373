//! Scores of a set of rules, evaluated exactly.

use crate::error::Result;
use crate::graph::{Direction, Entity, Neighbours};
use crate::rule::{Aggregator, TargetRules};
use crate::solve::{Ended, Limits, Solver};

impl TargetRules {
    /// Makes every rule ready on `facts`.
    pub fn solvers<'f>(&self, facts: &'f Neighbours, limits: Limits) -> Result<Vec<Solver<'f>>> {
        self.rules.iter().map(|weighed| Solver::new(&weighed.rule, facts, limits)).collect()
    }

    /// The scores of all entities as the other end of a known one, by exact evaluation, and how that
    /// ended. No rule means 0. Scores order the candidates of one question; those of max-plus are
    /// places in that order.
    pub fn scores(
        &self,
        solvers: &[Solver],
        direction: Direction,
        known: Entity,
        entities: usize,
    ) -> (Vec<f64>, Ended) {
        let mut board = Aggregator::new(self.aggregation, entities);
        let mut ended = Ended::Complete;
        let numbers: Vec<f64> = self.rules.iter().map(|weighed| weighed.weight.of(direction)).collect();
        for rule in self.that_count(direction) {
            let solver = &solvers[rule];
            let found = match direction {
                Direction::Tail => solver.tails(known),
                Direction::Head => solver.heads(known),
            };
            if found.ended != Ended::Complete {
                ended = found.ended;
            }
            for entity in found.value {
                board.fire(entity.index(), rule, numbers[rule]);
            }
        }
        (board.scores(&numbers), ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Predicate, Sizes, Triple};
    use crate::rule::{Aggregation, Atom, Literal, Rule, Term, Weight, WeightedRule};

    #[test]
    fn a_rule_counts_for_tails_by_one_number_and_for_heads_by_the_other() {
        let fact = |predicate, head, tail| Triple {
            head: Entity(head),
            predicate: Predicate(predicate),
            tail: Entity(tail),
        };
        let facts = [fact(0, 0, 1), fact(1, 0, 2), fact(1, 3, 1)];
        let facts = Neighbours::new(Sizes { entities: 4, predicates: 3, properties: 0 }, &facts, &[]);
        let weighed = |predicate, tail, head| {
            let atom = Atom::Pair(Predicate(predicate), Term::X, Term::Y);
            let rule = Rule::new(Predicate(2), &[Literal::any_of(vec![atom])]);
            WeightedRule::new(rule, Weight { tail, head })
        };
        let set = TargetRules::new(
            Predicate(2),
            Aggregation::Sum,
            vec![weighed(0, 1.0, 0.0), weighed(1, 0.5, 2.0)],
        );
        let solvers = set.solvers(&facts, Limits::default()).expect("sound rules");
        let scores = |direction, known| set.scores(&solvers, direction, Entity(known), 4).0;
        assert_eq!(scores(Direction::Tail, 0), [0.0, 1.0, 0.5, 0.0]);
        assert_eq!(scores(Direction::Head, 1), [0.0, 0.0, 0.0, 2.0]);
        // The rule of the greater number stands first; the one that counts nothing for heads is left out there.
        assert_eq!((set.that_count(Direction::Tail), set.that_count(Direction::Head)), (vec![1, 0], vec![0]));
    }
}
