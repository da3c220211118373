//! The two shapes of a rule: the [`Schema`] with its slots to fill, and the finished [`Rule`]
//! with its literals, printed as logic.
//!
//! Paper: `sec:graph-like-syntax`, `sec:extended_bg_predicates`.

mod aggregation;
mod atom;
mod filling;
mod lexer;
mod measures;
mod parser;
mod printer;
mod renumber;
mod rule_set;
mod schema;
mod shape;
mod target_rules;
mod weight;
mod written;
mod written_constraint;

use std::collections::BTreeSet;

pub use aggregation::Aggregation;
pub(crate) use aggregation::Aggregator;
pub use atom::{Atom, Literal, Term};
pub use filling::Filling;
pub use measures::Measures;
pub(crate) use measures::share;
pub use parser::parse_rules;
pub use printer::{RuleNames, quoted, quoted_constant};
pub use renumber::Renumbered;
pub use rule_set::RuleSet;
pub use schema::{Filler, MAX_VARIABLES, Schema};
pub use shape::Shape;
pub use target_rules::{TargetRules, WeightedRule};
pub use weight::Weight;
pub use written::{Clause, WrittenAggregation, WrittenAtom, WrittenRule, WrittenTerm};
pub use written_constraint::{ANY_PREDICATE, WrittenConstraint, WrittenLiteral};

use crate::graph::Predicate;

/// A finished rule: `target(X, Y) :- body`, the same for all ways of naming its variables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule {
    /// The predicate that the rule defines.
    pub target: Predicate,
    body: Vec<Literal>,
    /// How many groundings the body must have at least.
    min_groundings: u32,
}

impl Rule {
    /// The rule with its body variables renamed Z1, Z2, … in one agreed way, so that equal rules
    /// are equal values.
    pub fn new(target: Predicate, body: &[Literal]) -> Self {
        let inner: Vec<Term> = inner_variables(body).into_iter().collect();
        let mut order: Vec<u8> = (1..=inner.len() as u8).collect();
        let mut best: Option<Vec<Literal>> = None;
        permutations(&mut order, 0, &mut |order| {
            let name = |variable| match inner.binary_search(&variable) {
                Ok(place) => Term::Z(order[place]),
                Err(_) => variable,
            };
            let mut renamed: Vec<Literal> = body
                .iter()
                .map(|literal| Literal::any_of(literal.atoms.iter().map(|atom| atom.rename(&name)).collect()))
                .collect();
            renamed.sort_by(|a, b| a.place().cmp(&b.place()));
            renamed.dedup();
            let places = |body: &Vec<Literal>| -> Vec<_> {
                body.iter()
                    .map(|l| {
                        let (a, b, atoms) = l.place();
                        (a, b, atoms.to_vec())
                    })
                    .collect()
            };
            if best.as_ref().is_none_or(|best| places(&renamed) < places(best)) {
                best = Some(renamed);
            }
        });
        Rule { target, body: best.unwrap_or_default(), min_groundings: 1 }
    }

    /// The same rule, but holding only for pairs whose body has at least so many groundings.
    #[must_use]
    pub fn with_min_groundings(mut self, min_groundings: u32) -> Self {
        self.min_groundings = min_groundings.max(1);
        self
    }

    /// How many groundings the body must have at least: different entities for its own variables.
    pub fn min_groundings(&self) -> u32 {
        self.min_groundings
    }

    /// The literals, all of which must hold.
    pub fn body(&self) -> &[Literal] {
        &self.body
    }

    /// How many distinct variables the rule has, X and Y always counted.
    pub fn variables(&self) -> usize {
        inner_variables(&self.body).len() + 2
    }

    /// The body with every argument renamed.
    pub fn renamed(&self, name: impl Fn(Term) -> Term) -> Vec<Literal> {
        let rename = |literal: &Literal| {
            Literal::any_of(literal.atoms.iter().map(|atom| atom.rename(&name)).collect())
        };
        self.body.iter().map(rename).collect()
    }

    /// The rule without the literal at `place`.
    #[must_use]
    pub fn without(&self, place: usize) -> Rule {
        let mut body = self.body.clone();
        body.remove(place);
        Rule::new(self.target, &body).with_min_groundings(self.min_groundings)
    }

    /// The rule without literals that can be spared: `same` is asked of every shorter rule whether it does as
    /// well, and one literal always stays.
    #[must_use]
    pub fn shortened(mut self, mut same: impl FnMut(&Rule) -> bool) -> Rule {
        let mut place = 0;
        while self.body.len() > 1 && place < self.body.len() {
            let shorter = self.without(place);
            if same(&shorter) {
                (self, place) = (shorter, 0);
            } else {
                place += 1;
            }
        }
        self
    }

    /// The same rule with fewer variables, if it has some to spare: where taking one of them for another
    /// term turns every literal into one that stands there already, it asks for nothing of its own.
    #[must_use]
    pub fn folded(&self) -> Rule {
        let mut rule = self.clone();
        if self.min_groundings > 1 {
            return rule;
        }
        while let Some(body) = rule.folded_once() {
            rule = Rule::new(rule.target, &body);
        }
        rule
    }

    fn folded_once(&self) -> Option<Vec<Literal>> {
        let inner: Vec<Term> = inner_variables(&self.body).into_iter().collect();
        let terms = || [Term::X, Term::Y].into_iter().chain(inner.iter().copied());
        let ways = inner.iter().flat_map(|&spare| terms().map(move |other| (spare, other)));
        ways.filter(|(spare, other)| spare != other).find_map(|(spare, other)| {
            let body = self.renamed(|term| if term == spare { other } else { term });
            body.iter().all(|literal| self.body.contains(literal)).then_some(body)
        })
    }

    /// How much there is to read beyond one atom: more atoms, and constants.
    pub(super) fn complexity(&self) -> usize {
        let constants = |atom: &Atom| {
            let (a, b) = atom.terms();
            let is_constant = |term: Term| matches!(term, Term::Constant(_));
            usize::from(is_constant(a)) + usize::from(is_constant(b) || matches!(atom, Atom::Is(..)))
        };
        let atoms = self.body.iter().flat_map(|literal| &literal.atoms);
        atoms.map(|atom| 1 + constants(atom)).sum::<usize>().saturating_sub(1)
    }

    /// Whether some literal joins X and Y by a predicate, in either direction.
    pub fn links_directly(&self) -> bool {
        let joins =
            |atom: &Atom| matches!(atom, Atom::Pair(_, Term::X, Term::Y) | Atom::Pair(_, Term::Y, Term::X));
        self.body.iter().any(|literal| literal.atoms.iter().all(joins))
    }

    /// Whether the body links X and Y: by literals from variable to variable, or by a constant for one end and
    /// something asked of the other.
    pub fn links_ends(&self) -> bool {
        let atoms = || self.body.iter().map(|literal| &literal.atoms);
        let mut reached = BTreeSet::from([Term::X]);
        loop {
            let before = reached.len();
            for of_literal in atoms() {
                let touches = |atom: &Atom| {
                    let variables = atom.variables();
                    variables.len() == 2 && variables.iter().any(|term| reached.contains(term))
                };
                if of_literal.iter().all(touches) {
                    reached.extend(of_literal.iter().flat_map(|atom| atom.variables()));
                }
            }
            if reached.len() == before {
                break;
            }
        }
        let is_named = |end: Term| {
            atoms().any(|of| of.iter().all(|atom| matches!(atom, Atom::Is(term, _) if *term == end)))
        };
        let is_asked = |end: Term| {
            let asks = |atom: &Atom| !matches!(atom, Atom::Is(..)) && atom.variables().contains(&end);
            atoms().any(|of| of.iter().any(asks))
        };
        reached.contains(&Term::Y)
            || (is_named(Term::X) && is_asked(Term::Y))
            || (is_named(Term::Y) && is_asked(Term::X))
    }

    /// Whether `predicate` stands in the body.
    pub fn uses(&self, predicate: Predicate) -> bool {
        let atoms = self.body.iter().flat_map(|literal| &literal.atoms);
        atoms.into_iter().any(|atom| matches!(atom, Atom::Pair(found, ..) if *found == predicate))
    }
}

/// The variables of a body that are neither X nor Y.
fn inner_variables(body: &[Literal]) -> BTreeSet<Term> {
    body.iter()
        .flat_map(|literal| literal.atoms.iter().map(|atom| atom.terms()))
        .flat_map(|(a, b)| [a, b])
        .filter(|term| matches!(term, Term::Z(_)))
        .collect()
}

fn permutations(order: &mut Vec<u8>, from: usize, visit: &mut impl FnMut(&[u8])) {
    if from >= order.len() {
        visit(order);
        return;
    }
    for other in from..order.len() {
        order.swap(from, other);
        permutations(order, from + 1, visit);
        order.swap(from, other);
    }
}

#[cfg(test)]
mod tests {
    use super::Term::{X, Y, Z};
    use super::*;
    use crate::graph::Property;

    fn p(number: u32, a: Term, b: Term) -> Literal {
        Literal::any_of(vec![Atom::Pair(Predicate(number), a, b)])
    }

    #[test]
    fn rules_that_differ_only_in_names_of_variables_are_equal() {
        let one = Rule::new(Predicate(0), &[p(1, X, Z(1)), p(2, Z(1), Z(5)), p(3, Z(5), Y)]);
        let two = Rule::new(Predicate(0), &[p(3, Z(2), Y), p(2, Z(7), Z(2)), p(1, X, Z(7))]);
        assert_eq!(one, two);
        assert_eq!(one.variables(), 4);
        assert_eq!(one.body()[0], p(1, X, Z(1)));
    }

    #[test]
    fn a_filling_drops_what_is_true_and_turns_inverses_round() {
        let schema = Schema::new(5, 3, 1).expect("in range");
        let filling = Filling::new(schema)
            .pair(0, 2, &[Filler::Inverse(Predicate(1))])
            .pair(2, 4, &[Filler::Direct(Predicate(2)), Filler::Direct(Predicate(0))])
            .pair(0, 4, &[Filler::Direct(Predicate(2)), Filler::True])
            .own(4, &[Property(0)]);
        let expected = Rule::new(
            Predicate(0),
            &[
                p(1, Z(1), X),
                Literal::any_of(vec![Atom::Pair(Predicate(0), Z(1), Y), Atom::Pair(Predicate(2), Z(1), Y)]),
                Literal::any_of(vec![Atom::Own(Property(0), Y)]),
            ],
        );
        assert_eq!(filling.rule(Predicate(0)), expected);
    }
}
