//! A rule as a picture: variables as nodes, literals as labelled arrows, properties at their node, the conclusion as a
//! dashed arrow.
//!
//! In: a [`Rule`], or a constraint. Out: [`Picture`], written as SVG or as DOT for Graphviz, alone or on a [`sheet`]. Paper:
//! `fig:agngiya-graph`.

mod denial;
mod dot;
mod drawing;
mod geometry;
mod layout;
mod reliability;
mod sheet;
mod svg;
mod text;

pub use reliability::reliability_diagram;
pub use sheet::sheet;

use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

/// A rule as a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The whole rule as text.
    pub text: String,
    /// X, Y, then all other variables and constants.
    pub nodes: Vec<Node>,
    /// The conclusion, then literals between two nodes.
    pub arrows: Vec<Arrow>,
    /// Literals about no variable, and how many groundings the body needs.
    pub notes: Vec<String>,
    /// What is counted of the rule.
    pub measures: Option<String>,
    /// Whether the first arrow is no conclusion, but what never holds beside the others.
    pub is_denial: bool,
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
    /// Whether it is what the rule concludes; of a constraint, what it denies.
    pub is_conclusion: bool,
}

impl Picture {
    /// The graph of a rule.
    pub fn of(rule: &Rule, names: RuleNames) -> Self {
        let mut picture = Picture {
            text: rule.show(names),
            nodes: Vec::new(),
            arrows: Vec::new(),
            notes: Vec::new(),
            measures: None,
            is_denial: false,
        };
        let (from, to) = (picture.node(Term::X, names), picture.node(Term::Y, names));
        let label = names.predicates.name(rule.target).to_owned();
        picture.arrows.push(Arrow { from, to, label, is_conclusion: true });
        for literal in rule.body() {
            picture.add(literal, names);
        }
        if rule.min_groundings() > 1 {
            picture.notes.push(format!("at least {} groundings", rule.min_groundings()));
        }
        picture
    }

    /// The picture with the rule's confidence and support below it.
    #[must_use]
    pub fn with_measures(self, confidence: f64, support: usize) -> Self {
        Picture { measures: Some(format!("confidence {confidence:.3}, support {support}")), ..self }
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
            self.arrows.push(Arrow { from, to, label, is_conclusion: false });
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
    use proptest::prelude::*;

    use super::drawing::{Drawing, Words};
    use super::geometry::{Area, Point, around, hull, overlap, points};
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
        Picture::of(&Rule::new(Predicate(2), &body), names).with_measures(0.75, 3)
    }

    /// Rules of up to nine variables with up to ten literals between them, no more than two between the same variables;
    /// names short and long, properties and constants.
    pub fn random() -> impl Strategy<Value = Picture> {
        let name = prop_oneof![
            Just("is"),
            Just("brother or sister"),
            Just("/film/director/film"),
            Just("/award/award_nominee/award_nominations./award/award_nomination/award"),
        ];
        let node = (
            prop::bool::weighted(0.15),
            prop::collection::vec(name.clone(), 0..2),
            prop::bool::weighted(0.3),
        );
        let nodes = prop::collection::vec(node, 0..8);
        nodes.prop_flat_map(move |nodes| {
            let count = nodes.len() + 2;
            let arrow = (0..count, 1..count, name.clone());
            let arrows = prop::collection::vec(arrow, count - 1..=10);
            (Just(nodes), arrows).prop_map(|(inner, arrows)| {
                let ends =
                    ["X", "Y"].map(|end| Node { label: end.into(), constant: false, properties: Vec::new() });
                let mut nodes = Vec::from(ends);
                for (number, (constant, properties, asked)) in inner.into_iter().enumerate() {
                    let label = if constant {
                        "'New York City, New York'".into()
                    } else {
                        format!("Z{}", number + 1)
                    };
                    let properties = properties.into_iter().filter(|_| asked).map(String::from).collect();
                    nodes.push(Node { label, constant, properties });
                }
                let arrow = |from, to, label: &str, is_conclusion| Arrow {
                    from,
                    to,
                    label: label.into(),
                    is_conclusion,
                };
                let mut all = vec![arrow(0, 1, "the target", true)];
                // The second number is how far the other end is away, so that both differ.
                for (from, far, label) in arrows {
                    let to = (from + far) % nodes.len();
                    let alike = |arrow: &&Arrow| {
                        !arrow.is_conclusion && [(from, to), (to, from)].contains(&(arrow.from, arrow.to))
                    };
                    if all.iter().filter(alike).count() < 2 {
                        all.push(arrow(from, to, label, false));
                    }
                }
                let (text, notes, measures) = ("a rule".into(), Vec::new(), None);
                Picture { text, nodes, arrows: all, notes, measures, is_denial: false }
            })
        })
    }

    /// Looks at a drawing with its own eyes: no label on a crossing of arrows, on another label, on a node or out of
    /// the picture.
    pub fn drawn_well(picture: &Picture) -> Result<(), String> {
        let drawing = Drawing::of(picture);
        let lines: Vec<Vec<Point>> = drawing.curves.iter().map(|&curve| points(curve)).collect();
        let mut areas: Vec<Area> = drawing.nodes.iter().map(|&(middle, size)| around(middle, size)).collect();
        let texts = drawing.texts.iter().filter(|words| words.class != "node");
        areas.extend(texts.chain(&drawing.labels).map(Words::area));
        for (number, &area) in areas.iter().enumerate() {
            if hull([area, drawing.area]) != drawing.area {
                return Err(format!("{area:?} is out of the picture, {:?}", drawing.area));
            }
            if let Some(other) = areas[..number].iter().find(|&&other| overlap(area, other)) {
                return Err(format!("{area:?} covers {other:?}"));
            }
        }
        for (number, line) in lines.iter().enumerate() {
            for other in &lines[..number] {
                let crossings = line.windows(2).flat_map(|a| other.windows(2).filter_map(|b| meet(a, b)));
                for point in crossings {
                    let on = |words: &&Words| overlap(words.area(), around(point, (1e-6, 1e-6)));
                    if let Some(words) = drawing.labels.iter().find(on) {
                        return Err(format!("{:?} lies on the crossing {point:?}", words.lines));
                    }
                }
            }
        }
        Ok(())
    }

    /// Where two lines cross.
    fn meet(a: &[Point], b: &[Point]) -> Option<Point> {
        let (u, v) = ((a[1].0 - a[0].0, a[1].1 - a[0].1), (b[1].0 - b[0].0, b[1].1 - b[0].1));
        let across = u.0 * v.1 - u.1 * v.0;
        let (x, y) = (b[0].0 - a[0].0, b[0].1 - a[0].1);
        let (s, t) = ((x * v.1 - y * v.0) / across, (x * u.1 - y * u.0) / across);
        let within = |share: f64| (0.0..=1.0).contains(&share);
        (within(s) && within(t)).then(|| (a[0].0 + s * u.0, a[0].1 + s * u.1))
    }

    #[test]
    fn every_literal_is_an_arrow_or_stands_at_its_node() {
        let picture = hostile();
        assert_eq!((picture.nodes.len(), picture.arrows.len()), (5, 6));
        let conclusion = &picture.arrows[0];
        assert!(conclusion.is_conclusion && (conclusion.from, conclusion.to) == (0, 1), "{conclusion:?}");
        assert_eq!(
            (conclusion.label.as_str(), picture.measures.as_deref()),
            ("plain", Some("confidence 0.750, support 3"))
        );
        assert_eq!(picture.nodes[1].properties, ["male or o'<er"]);
        assert_eq!(picture.nodes[0].properties, ["plain(X, X)"]);
        assert!(picture.nodes.iter().any(|node| node.constant && node.label == "'Ann & Bob'"));
        let both = picture.arrows.iter().find(|arrow| arrow.label.contains(" or ")).expect("a disjunction");
        assert!(both.label.contains("⁻¹") && both.label.contains("back"), "{}", both.label);
    }
}
