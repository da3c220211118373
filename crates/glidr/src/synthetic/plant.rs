//! The rules that are planted: five shapes, over and over, each over predicates of its own as long as
//! there are enough.

use crate::graph::{Predicate, Property};
use crate::rule::Term::{X, Y, Z};
use crate::rule::{Atom, Literal, Rule, Term};

/// The bases that the shapes need at least: a loop has four literals.
pub(super) const MIN_BASES: usize = 4;

/// The names of the shapes, which are also those of their targets.
const SHAPES: [&str; 5] = ["chain", "branch", "loop", "property", "either"];
/// How many predicates stand in the body of each.
const BASES: [usize; 5] = [2, 3, 4, 2, 3];

/// A rule to plant.
pub(super) struct Plant {
    pub target: Predicate,
    pub rule: Rule,
}

/// The name of the target of rule `number`.
pub(super) fn name(number: usize) -> String {
    let shape = SHAPES[number % SHAPES.len()];
    match number / SHAPES.len() {
        0 => shape.to_owned(),
        again => format!("{shape}{}", again + 1),
    }
}

/// The rules; targets are the first predicates, bases the others, of which the last is in no body.
pub(super) fn plants(rules: usize, predicates: usize) -> Vec<Plant> {
    let bases = predicates.saturating_sub(rules + 1).max(1);
    let mut taken = 0;
    (0..rules)
        .map(|number| {
            let shape = number % SHAPES.len();
            let base = |place: usize| Predicate((rules + (taken + place) % bases) as u32);
            let pair = |place: usize, a: Term, b: Term| Atom::Pair(base(place), a, b);
            let one = |place, a, b| Literal::any_of(vec![pair(place, a, b)]);
            let body = match shape {
                0 => vec![one(0, X, Z(1)), one(1, Z(1), Y)],
                1 => vec![one(0, X, Z(1)), one(1, Z(1), Y), one(2, Z(1), Z(2))],
                2 => vec![one(0, X, Z(1)), one(1, Z(1), Y), one(2, X, Z(2)), one(3, Z(2), Y)],
                3 => {
                    let has = Literal::any_of(vec![Atom::Own(Property(0), Z(1))]);
                    vec![one(0, X, Z(1)), has, one(1, Z(1), Y)]
                }
                _ => vec![one(0, X, Z(1)), Literal::any_of(vec![pair(1, Z(1), Y), pair(2, Z(1), Y)])],
            };
            taken += BASES[shape];
            let target = Predicate(number as u32);
            Plant { target, rule: Rule::new(target, &body) }
        })
        .collect()
}

/// The number of the first predicate that is in no planted body, nor a target.
pub(super) fn first_idle(plants: &[Plant]) -> usize {
    let used = |atom: &Atom| match atom {
        Atom::Pair(predicate, ..) => predicate.index() + 1,
        Atom::Own(..) | Atom::Is(..) => 0,
    };
    let atoms = plants.iter().flat_map(|plant| plant.rule.body()).flat_map(Literal::atoms);
    atoms.map(used).max().unwrap_or(0)
}

/// The place of a variable in a grounding: X, Y, Z1, Z2, …
pub(super) fn place(term: Term) -> usize {
    match term {
        X => 0,
        Y => 1,
        Z(number) => number as usize + 1,
        Term::Constant(_) => unreachable!("planted rules have no constants"),
    }
}
