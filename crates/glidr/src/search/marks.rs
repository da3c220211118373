//! Rules with one literal more: a variable must also have a property, or a neighbour by some predicate.
//!
//! A chain says how two ends hang together, a mark what one of its variables is: the branch of a
//! graph-like rule. Marks that all entities have, or none, say nothing and are left out.

use crate::graph::{Predicate, Property};
use crate::rule::{Atom, Literal, MOST_VARIABLES, Rule, Term};
use crate::solve::Facts;

/// What may be asked of one variable: a literal over it and perhaps another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is the head of some fact.
    Heads(Predicate),
    /// It is the tail of some fact.
    Tails(Predicate),
    /// It has a property.
    Has(Property),
}

/// All marks that some entities have and others do not.
pub(super) fn marks(facts: &Facts) -> Vec<Mark> {
    let entities = facts.entities();
    let tells = |owners: usize| owners > 0 && owners < entities;
    let distinct = |mut ends: Vec<u32>| {
        ends.sort_unstable();
        ends.dedup();
        ends.len()
    };
    let mut marks = Vec::new();
    for predicate in (0..facts.predicates() as u32).map(Predicate) {
        let (heads, tails) = facts.pairs(predicate).map(|(head, tail)| (head.0, tail.0)).unzip();
        marks.extend(tells(distinct(heads)).then_some(Mark::Heads(predicate)));
        marks.extend(tells(distinct(tails)).then_some(Mark::Tails(predicate)));
    }
    let properties = (0..facts.properties() as u32).map(Property);
    marks.extend(properties.filter(|&q| tells(facts.owners(q).len())).map(Mark::Has));
    marks
}

/// The rule with each of these marks on each of its variables, as far as it has room for one more.
pub(super) fn marked(rule: &Rule, marks: &[Mark]) -> Vec<Rule> {
    let inner = (rule.variables() - 2) as u8;
    let variables: Vec<Term> = [Term::X, Term::Y].into_iter().chain((1..=inner).map(Term::Z)).collect();
    let other = Term::Z(inner + 1);
    let room = rule.variables() < MOST_VARIABLES;
    let with = |mark: Mark, variable: Term| {
        let atom = match mark {
            Mark::Heads(predicate) => room.then_some(Atom::Pair(predicate, variable, other)),
            Mark::Tails(predicate) => room.then_some(Atom::Pair(predicate, other, variable)),
            Mark::Has(property) => Some(Atom::Own(property, variable)),
        };
        atom.map(|atom| Rule::new(rule.target, &[rule.body(), &[Literal::any_of(vec![atom])]].concat()))
    };
    let mut rules: Vec<Rule> = variables
        .iter()
        .flat_map(|&variable| marks.iter().filter_map(move |&mark| with(mark, variable)))
        .filter(|longer| longer.folded().body().len() > rule.body().len())
        .collect();
    rules.sort();
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Entity, Trait, Triple};

    #[test]
    fn marks_are_what_some_entities_have_and_others_do_not() {
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 0), Triple::new(0, 1, 1)];
        let traits = [Trait { entity: Entity(0), property: Property(0) }];
        let facts = Facts::new(2, 3, 1, &facts, &traits);
        // Predicate 0 has both entities as heads and as tails, predicate 2 nobody.
        let expected = [Mark::Heads(Predicate(1)), Mark::Tails(Predicate(1)), Mark::Has(Property(0))];
        assert_eq!(marks(&facts), expected);
    }

    #[test]
    fn a_rule_is_marked_on_each_of_its_variables_but_not_by_what_it_says_already() {
        let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]);
        let chain = [pair(1, Term::X, Term::Z(1)), pair(2, Term::Z(1), Term::Y)];
        let rule = Rule::new(Predicate(0), &chain);
        let found = marked(&rule, &[Mark::Heads(Predicate(1)), Mark::Tails(Predicate(3))]);
        // X has such a neighbour already, by the chain itself.
        assert_eq!(found.len(), 5);
        let branch = Rule::new(Predicate(0), &[&chain[..], &[pair(3, Term::Z(2), Term::Z(1))]].concat());
        assert!(found.contains(&branch), "{found:?}");
    }
}
