//! What a rule's body looks like as a graph: variables are nodes, literals links between them.
//!
//! Paper: `sec:graph-like-syntax`, where chain-like rules are told from graph-like ones.

use serde::{Deserialize, Serialize};

use super::{Literal, Rule, Term};

/// The shape of a body. Properties, and literals with a constant, change no shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One path from X to Y, and nothing else: what most rule learners find.
    Chain,
    /// No loop, but a branch, or an end that is not reached.
    Tree,
    /// A loop among the variables. Two literals on the same two variables are one link, no loop.
    Loop,
}

impl Shape {
    /// All shapes, simplest first.
    pub const ALL: [Shape; 3] = [Shape::Chain, Shape::Tree, Shape::Loop];

    /// Its word.
    pub fn name(self) -> &'static str {
        ["chain", "tree", "loop"][self as usize]
    }
}

impl Rule {
    /// The shape of its body.
    pub fn shape(&self) -> Shape {
        let mut links: Vec<(Term, Term)> = Vec::new();
        for atom in self.body().iter().flat_map(Literal::atoms) {
            let constant = |term: Term| matches!(term, Term::Constant(_));
            match *atom {
                super::Atom::Own(..) | super::Atom::Is(..) => {}
                super::Atom::Pair(_, a, b) if constant(a) || constant(b) => {}
                super::Atom::Pair(_, a, b) if a == b => return Shape::Loop,
                super::Atom::Pair(_, a, b) => links.push((a.min(b), a.max(b))),
            }
        }
        links.sort_unstable();
        links.dedup();
        // A link between two that are linked already closes a loop.
        let mut group: Vec<Term> = Vec::new();
        let mut root: Vec<usize> = Vec::new();
        for &(a, b) in &links {
            let mut find = |term: Term| {
                let place = group.iter().position(|&known| known == term).unwrap_or_else(|| {
                    group.push(term);
                    root.push(root.len());
                    root.len() - 1
                });
                root[place]
            };
            let (a, b) = (find(a), find(b));
            if a == b {
                return Shape::Loop;
            }
            root.iter_mut().filter(|root| **root == b).for_each(|root| *root = a);
        }
        let degree = |term: Term| links.iter().filter(|(a, b)| *a == term || *b == term).count();
        let connected = root.windows(2).all(|two| two[0] == two[1]);
        let ends = degree(Term::X) == 1 && degree(Term::Y) == 1;
        let inner = group.iter().filter(|term| matches!(term, Term::Z(_))).all(|&term| degree(term) == 2);
        if connected && ends && inner { Shape::Chain } else { Shape::Tree }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Atom;
    use super::super::Term::{Constant, X, Y, Z};
    use super::*;
    use crate::graph::{Entity, Predicate, Property};

    fn shape(links: &[(Term, Term)]) -> Shape {
        let body: Vec<Literal> =
            links.iter().map(|&(a, b)| Literal::any_of(vec![Atom::Pair(Predicate(1), a, b)])).collect();
        Rule::new(Predicate(0), &body).shape()
    }

    #[test]
    fn one_path_from_x_to_y_is_a_chain_whichever_way_its_literals_point() {
        assert_eq!(shape(&[(X, Y)]), Shape::Chain);
        assert_eq!(shape(&[(X, Z(1)), (Z(1), Y)]), Shape::Chain);
        assert_eq!(shape(&[(Z(1), X), (Z(1), Z(2)), (Y, Z(2))]), Shape::Chain);
        assert_eq!(shape(&[(X, Y), (Y, X)]), Shape::Chain, "one link");
    }

    #[test]
    fn a_branch_or_an_end_that_is_not_reached_makes_a_tree() {
        assert_eq!(shape(&[(X, Z(1)), (Z(1), Y), (Z(1), Z(2))]), Shape::Tree);
        assert_eq!(shape(&[(X, Y), (X, Z(1))]), Shape::Tree);
        assert_eq!(shape(&[(X, Z(1))]), Shape::Tree);
        assert_eq!(shape(&[(X, Z(1)), (Z(2), Y)]), Shape::Tree, "two parts");
        assert_eq!(shape(&[(X, Y), (Z(1), Z(2))]), Shape::Tree, "a part of its own");
        assert_eq!(shape(&[]), Shape::Tree);
    }

    #[test]
    fn a_closed_way_makes_a_loop() {
        assert_eq!(shape(&[(X, Z(1)), (Z(1), Y), (X, Z(2)), (Z(2), Y)]), Shape::Loop);
        assert_eq!(shape(&[(X, Z(1)), (Z(1), Y), (X, Y)]), Shape::Loop);
        assert_eq!(shape(&[(X, Y), (Y, Z(1)), (Z(1), Z(2)), (Z(2), Y)]), Shape::Loop);
        assert_eq!(shape(&[(X, Y), (Z(1), Z(1))]), Shape::Loop);
    }

    #[test]
    fn properties_constants_and_disjunctions_of_one_slot_change_no_shape() {
        let pair = |p, a, b| Atom::Pair(Predicate(p), a, b);
        let body = [
            Literal::any_of(vec![pair(1, X, Z(1)), pair(2, Z(1), X)]),
            Literal::any_of(vec![pair(1, Z(1), Y)]),
            Literal::any_of(vec![Atom::Own(Property(0), Z(1))]),
            Literal::any_of(vec![pair(2, Z(1), Constant(Entity(3)))]),
        ];
        assert_eq!(Rule::new(Predicate(0), &body).shape(), Shape::Chain);
    }
}
