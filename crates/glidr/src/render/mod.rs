//! A rule as a picture: variables as nodes, literals as labelled arrows, properties at their node.
//!
//! In: a [`Rule`]. Out: [`Picture`], written as SVG or as DOT for Graphviz. Paper: `fig:agngiya-graph`.

mod dot;
mod layout;
mod reliability;
mod svg;

pub use reliability::reliability_diagram;

use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

/// A rule as a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What the rule defines: `uncle(X, Y)`.
    pub caption: String,
    /// The whole rule as text.
    pub text: String,
    /// X, Y, then all other variables and constants.
    pub nodes: Vec<Node>,
    /// Literals between two nodes.
    pub arrows: Vec<Arrow>,
    /// Literals about no variable.
    pub notes: Vec<String>,
}

/// A variable or a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub label: String,
    /// Whether it is a constant.
    pub constant: bool,
    /// What is asked of it alone: properties, and what else concerns no other variable.
    pub properties: Vec<String>,
}

/// A literal between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The node that it leaves.
    pub from: usize,
    /// The node that it reaches.
    pub to: usize,
    /// Its predicates, joined by *or*; one that holds the other way round is marked ⁻¹.
    pub label: String,
}

impl Picture {
    /// The graph of a rule.
    pub fn of(rule: &Rule, names: RuleNames) -> Self {
        let text = rule.show(names);
        let mut picture = Picture {
            caption: text.split(" :- ").next().unwrap_or_default().to_owned(),
            text,
            nodes: Vec::new(),
            arrows: Vec::new(),
            notes: Vec::new(),
        };
        picture.node(Term::X, names);
        picture.node(Term::Y, names);
        for literal in rule.body() {
            picture.add(literal, names);
        }
        if rule.min_groundings() > 1 {
            picture.notes.push(format!("in at least {} ways", rule.min_groundings()));
        }
        picture
    }

    fn node(&mut self, term: Term, names: RuleNames) -> usize {
        let (label, constant) = (term.show(names), matches!(term, Term::Constant(_)));
        let known = self.nodes.iter().position(|node| node.label == label && node.constant == constant);
        known.unwrap_or_else(|| {
            self.nodes.push(Node { label, constant, properties: Vec::new() });
            self.nodes.len() - 1
        })
    }

    fn add(&mut self, literal: &Literal, names: RuleNames) {
        let Some(&first) = literal.atoms().first() else { return };
        let (a, b) = first.terms();
        let is_pair = |atom: &Atom| match *atom {
            Atom::Pair(_, c, d) => c != d && ((c, d) == (a, b) || (c, d) == (b, a)),
            Atom::Own(..) | Atom::Is(..) => false,
        };
        let is_own = |atom: &Atom| matches!(atom, Atom::Own(_, of) if *of == a);
        if literal.atoms().iter().all(is_pair) {
            let name = |atom: &Atom| match *atom {
                Atom::Pair(predicate, c, _) if c == a => names.predicates.name(predicate).to_owned(),
                Atom::Pair(predicate, ..) => format!("{}⁻¹", names.predicates.name(predicate)),
                Atom::Own(..) | Atom::Is(..) => String::new(),
            };
            let label = literal.atoms().iter().map(name).collect::<Vec<_>>().join(" or ");
            let (from, to) = (self.node(a, names), self.node(b, names));
            self.arrows.push(Arrow { from, to, label });
        } else if literal.atoms().iter().all(is_own) {
            let name = |atom: &Atom| match *atom {
                Atom::Own(property, _) => names.properties.name(property).to_owned(),
                Atom::Pair(..) | Atom::Is(..) => String::new(),
            };
            let label = literal.atoms().iter().map(name).collect::<Vec<_>>().join(" or ");
            let node = self.node(a, names);
            self.nodes[node].properties.push(label);
        } else {
            // One variable with itself, with several constants or equal to one: told in full at its node.
            let one = [a, b].into_iter().find(|term| !matches!(term, Term::Constant(_)));
            match one {
                Some(term) => {
                    let node = self.node(term, names);
                    self.nodes[node].properties.push(literal.show(names));
                }
                None => self.notes.push(literal.show(names)),
            }
        }
    }

    /// The picture for Graphviz.
    pub fn dot(&self) -> String {
        dot::write(self)
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        svg::write(self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::graph::{Entity, Names, Predicate, Property};

    /// A rule of all shapes, with names that SVG and DOT must escape.
    pub fn hostile() -> Picture {
        let predicates = Names::new(["<a & \"b\">", r"back\slash", "plain"]);
        let properties = Names::new(["male", "o'<er"]);
        let entities = Names::new(["Ann & Bob"]);
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: Some(&entities) };
        let pair = |p, a, b| Atom::Pair(Predicate(p), a, b);
        let body = [
            Literal::any_of(vec![pair(0, Term::X, Term::Z(1))]),
            Literal::any_of(vec![pair(1, Term::Z(1), Term::Y), pair(2, Term::Y, Term::Z(1))]),
            Literal::any_of(vec![pair(2, Term::Z(2), Term::Y)]),
            Literal::any_of(vec![pair(2, Term::X, Term::Z(2))]),
            Literal::any_of(vec![pair(2, Term::Z(2), Term::Constant(Entity(0)))]),
            Literal::any_of(vec![Atom::Own(Property(0), Term::Y), Atom::Own(Property(1), Term::Y)]),
            Literal::any_of(vec![pair(2, Term::X, Term::X)]),
        ];
        Picture::of(&Rule::new(Predicate(2), &body), names)
    }

    #[test]
    fn every_literal_is_an_arrow_or_stands_at_its_node() {
        let picture = hostile();
        assert_eq!((picture.nodes.len(), picture.arrows.len()), (5, 5));
        assert_eq!(picture.caption, "plain(X, Y)");
        assert_eq!(picture.nodes[1].properties, ["male or o'<er"]);
        assert_eq!(picture.nodes[0].properties, ["plain(X, X)"]);
        assert!(picture.nodes.iter().any(|node| node.constant && node.label == "'Ann & Bob'"));
        let both = picture.arrows.iter().find(|arrow| arrow.label.contains(" or ")).expect("a disjunction");
        assert!(both.label.contains("⁻¹") && both.label.contains("back"), "{}", both.label);
    }
}
