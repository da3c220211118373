//! How message passing came to a soft score: every domain after every round, and which literal narrowed it.

use crate::graph::{ClassMatrix, Entity, Property};
use crate::infer::{Batch, Tables, Tape, Weights};
use crate::rule::{Atom, Filler, Schema, Term};

/// The likeliest entities of one variable after one round.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainView {
    /// The variable, as it stands in the slots: X, Z1, …, Y.
    pub variable: Term,
    /// The sum of its entries: for a hard rule, how many entities are left.
    pub mass: f64,
    /// The likeliest entities with their values, likeliest first; zeros are left out.
    pub best: Vec<(Entity, f32)>,
}

/// What the literal of one slot took from one variable in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Narrowing {
    /// The round, counted from 1.
    pub round: usize,
    /// The variable whose message it was.
    pub from: Term,
    /// The variable that was narrowed.
    pub to: Term,
    /// The sum of the variable's entries before the round.
    pub before: f64,
    /// How much of it this literal's message took.
    pub taken: f64,
    /// The variable's largest entry before and after the round.
    pub max: [f32; 2],
}

/// A slot and its likeliest fillers as atoms; none stands for `P_true`.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its variables; the same twice for an own slot.
    pub ends: (Term, Term),
    /// Fillers with their weights, likeliest first.
    pub fillers: Vec<(Option<Atom>, f32)>,
}

/// One soft rule on one pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The rule's score, without its weight.
    pub score: f32,
    /// The domains at the start and after every round.
    pub rounds: Vec<Vec<DomainView>>,
    /// All that was narrowed, in the order of rounds and variables.
    pub narrowings: Vec<Narrowing>,
    /// The rule's slots.
    pub slots: Vec<Slot>,
}

impl Trace {
    /// The literal that narrowed most: that took the largest part of a domain.
    pub fn narrowed_most(&self) -> Option<&Narrowing> {
        let part = |narrowing: &&Narrowing| narrowing.taken / narrowing.before.max(f64::MIN_POSITIVE);
        self.narrowings.iter().rev().max_by(|a, b| part(a).total_cmp(&part(b)))
    }

    /// The literal that emptied a domain, or came nearest to it: of the round in which the largest entry of
    /// a variable fell furthest, the message that took most.
    pub fn emptied(&self) -> Option<&Narrowing> {
        let left = |narrowing: &Narrowing| narrowing.max[1] / narrowing.max[0].max(f32::MIN_POSITIVE);
        let fallen = self.narrowings.iter().filter(|narrowing| narrowing.max[1] < narrowing.max[0]);
        fallen.min_by(|a, b| left(a).total_cmp(&left(b)).then(b.taken.total_cmp(&a.taken)))
    }

    /// The slot between two variables.
    pub fn slot(&self, a: Term, b: Term) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.ends == (a, b) || slot.ends == (b, a))
    }
}

/// Passes messages for one pair and writes down what happened, with the `count` likeliest entities of
/// each domain.
pub fn trace(
    weights: &Weights,
    schema: Schema,
    graph: &ClassMatrix,
    pair: (Entity, Entity),
    rounds: usize,
    count: usize,
) -> Trace {
    let tables = Tables::new(weights, schema, graph);
    let batch = Batch::<8>::new(graph, &[pair]);
    let mut tape = Tape::<8>::default();
    let score = tape.infer(graph, &tables, &batch, rounds)[0];
    let domains: Vec<Vec<Vec<f32>>> = (0..=rounds)
        .map(|round| (0..schema.variables).map(|variable| tape.domain(&batch, variable, round, 0)).collect())
        .collect();
    let view = |(variable, domain): (usize, &Vec<f32>)| {
        let mut order: Vec<usize> = (0..domain.len()).filter(|&entity| domain[entity] > 0.0).collect();
        order.sort_by(|&a, &b| domain[b].total_cmp(&domain[a]).then(a.cmp(&b)));
        DomainView {
            variable: term(variable, schema),
            mass: mass(domain),
            best: order
                .into_iter()
                .take(count)
                .map(|entity| (Entity(entity as u32), domain[entity]))
                .collect(),
        }
    };
    let mut narrowings = Vec::new();
    for round in 1..=rounds {
        for variable in 0..schema.variables {
            let (before, after) = (&domains[round - 1][variable], &domains[round][variable]);
            let mut taken = vec![0.0; schema.variables + 1];
            for (entity, winner) in tape.winners(&batch, variable, round, 0) {
                taken[usize::from(winner)] += f64::from(before[entity]) - f64::from(after[entity]);
            }
            narrowings.extend((1..taken.len()).filter(|&winner| taken[winner] > 0.0).map(|winner| {
                Narrowing {
                    round,
                    from: term(winner - 1, schema),
                    to: term(variable, schema),
                    before: mass(before),
                    taken: taken[winner],
                    max: [before, after].map(|domain| domain.iter().copied().fold(0.0, f32::max)),
                }
            }));
        }
    }
    let rounds = domains.iter().map(|domains| domains.iter().enumerate().map(view).collect()).collect();
    Trace { score, rounds, narrowings, slots: slots(weights, schema) }
}

fn mass(domain: &[f32]) -> f64 {
    domain.iter().copied().map(f64::from).sum()
}

/// Variable number i of a schema.
fn term(i: usize, schema: Schema) -> Term {
    match i {
        0 => Term::X,
        i if i == schema.variables - 1 => Term::Y,
        i => Term::Z(i as u8),
    }
}

/// Every slot with its fillers as atoms.
fn slots(weights: &Weights, schema: Schema) -> Vec<Slot> {
    let sorted = |mut fillers: Vec<(Option<Atom>, f32)>| {
        fillers.sort_by(|a, b| b.1.total_cmp(&a.1));
        fillers
    };
    let mut slots = Vec::new();
    for ((i, j), row) in schema.pairs().zip(weights.pair_rows(&schema)) {
        let (a, b) = (term(i, schema), term(j, schema));
        let filler = |(number, &weight): (usize, &f32)| match schema.filler(number) {
            Filler::Direct(predicate) => (Some(Atom::Pair(predicate, a, b)), weight),
            Filler::Inverse(predicate) => (Some(Atom::Pair(predicate, b, a)), weight),
            Filler::True => (None, weight),
        };
        slots.push(Slot { ends: (a, b), fillers: sorted(row.iter().enumerate().map(filler).collect()) });
    }
    for (variable, row) in weights.own_rows(&schema).enumerate() {
        let own = term(variable, schema);
        let filler = |(number, &weight): (usize, &f32)| {
            ((number < schema.properties).then_some(Atom::Own(Property(number as u32), own)), weight)
        };
        slots.push(Slot { ends: (own, own), fillers: sorted(row.iter().enumerate().map(filler).collect()) });
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Predicate, Sizes, Triple};
    use crate::infer::Slots;
    use crate::rule::Filling;

    #[test]
    fn a_hard_chain_is_traced_to_the_literal_that_empties_it() {
        // 0 → 1 → 2, and 3 → 4: the chain p(X, Z1), p(Z1, Y) holds for (0, 2) and not for (0, 4).
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 2), Triple::new(3, 0, 4)];
        let graph = ClassMatrix::new(Sizes { entities: 5, predicates: 1, properties: 0 }, &facts, &[]);
        let schema = Schema::new(3, 1, 0).expect("in range");
        let step = [Filler::Direct(Predicate(0))];
        let weights = Slots::hard(&Filling::new(schema).pair(0, 1, &step).pair(1, 2, &step));
        let at = |tail| trace(&weights, schema, &graph, (Entity(0), Entity(tail)), 2, 3);
        let good = at(2);
        assert_eq!((good.score, good.rounds.len()), (1.0, 3));
        assert_eq!(good.rounds[1][1].best, [(Entity(1), 1.0)]);
        let most = good.narrowed_most().expect("it narrowed");
        assert_eq!((most.from, most.to, most.round), (Term::X, Term::Z(1), 1));
        assert_eq!((most.before, most.taken), (5.0, 4.0));
        assert_eq!(good.emptied(), None);
        let bad = at(4);
        assert_eq!(bad.score, 0.0);
        let emptied = bad.emptied().expect("Y lost its last entity");
        assert_eq!((emptied.from, emptied.to, emptied.max), (Term::Z(1), Term::Y, [1.0, 0.0]));
        let slot = bad.slot(Term::Y, Term::Z(1)).expect("there is such a slot");
        assert_eq!(slot.fillers[0], (Some(Atom::Pair(Predicate(0), Term::Z(1), Term::Y)), 1.0));
    }
}
