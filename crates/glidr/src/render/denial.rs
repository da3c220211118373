//! A constraint as a picture: what never holds together, its predicate in red and crossed.
//!
//! In: a [`Constraint`]. Out: a [`Picture`].

use super::{Arrow, Node, Picture};
use crate::constraint::{Constraint, Denial, Role};
use crate::graph::{Direction, Vocabulary};

/// Stands before the label of what never holds.
const NEVER: &str = "✕ ";

impl Picture {
    /// The graph of a constraint, with its confidence below it.
    pub fn of_constraint(constraint: &Constraint, names: &Vocabulary) -> Self {
        let denial = &constraint.denial;
        let mut picture = match denial {
            Denial::Body(rule) => Picture::of(rule, names.into()),
            _ => Picture::of(&crate::rule::Rule::new(denial.targets()[0], &[]), names.into()),
        };
        picture.text = constraint.show(names);
        picture.is_denial = true;
        picture.arrows[0].label.insert_str(0, NEVER);
        let end = |end: Direction| usize::from(end == Direction::Tail);
        match denial {
            Denial::Irreflexive(_) => picture.notes.push("never where X = Y".into()),
            Denial::Body(_) => picture.notes.push("never together".into()),
            Denial::AtLeast { counted, count, .. } => {
                let (known, counted) = if *counted == Direction::Tail { ("X", "Y") } else { ("Y", "X") };
                picture.notes.push(format!("never {count} {counted} or more of one {known}"));
            }
            Denial::End { end: at, role, .. } => {
                let at = end(*at);
                let (from, to, of) = match *role {
                    Role::Own(property) => {
                        let name = names.properties.name(property);
                        picture.nodes[at].properties.push(format!("not {name}"));
                        picture.notes.push(format!("never without {name}"));
                        return picture.sure(constraint);
                    }
                    Role::Head(of) => (at, 2, of),
                    Role::Tail(of) => (2, at, of),
                };
                let label = "Z1".into();
                picture.nodes.push(Node { label, constant: false, properties: Vec::new() });
                let name = names.predicates.name(of);
                let label = format!("no {name}");
                picture.arrows.push(Arrow { from, to, label, is_conclusion: false });
                picture.notes.push(format!("never without {name}"));
            }
            Denial::Linked { denied, .. } => {
                let label = if *denied { "any predicate" } else { "no other predicate" }.into();
                picture.arrows.push(Arrow { from: 0, to: 1, label, is_conclusion: false });
                let note = if *denied { "never where another links them" } else { "never alone" };
                picture.notes.push(note.into());
            }
        }
        picture.sure(constraint)
    }

    fn sure(self, constraint: &Constraint) -> Self {
        let mut measures = format!("confidence {:.3}", constraint.confidence);
        if let Some(counts) = constraint.counts {
            measures += &format!(", exceptions {}, expected {:.1}", counts.exceptions, counts.expected);
        }
        Picture { measures: Some(measures), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::drawn_well;
    use super::*;
    use crate::constraint::ConstraintCounts;
    use crate::graph::{Names, Predicate, Property};

    #[test]
    fn every_kind_of_constraint_is_drawn_with_a_mark_that_it_never_holds() {
        let names = Vocabulary {
            entities: Names::default(),
            predicates: Names::new(["nephew & co", "niece"]),
            properties: Names::new(["male"]),
        };
        let (p, q) = (Predicate(0), Predicate(1));
        let counts = ConstraintCounts { facts: 1204, exceptions: 0, expected: 140.3 };
        for (denial, part) in [
            (Denial::Irreflexive(p), "never where X = Y"),
            (Denial::disjoint(p, (p, false)), "never together"),
            (Denial::disjoint(p, (q, true)), "never together"),
            (
                Denial::AtLeast { predicate: p, counted: Direction::Tail, count: 2 },
                "never 2 Y or more of one X",
            ),
            (Denial::End { predicate: p, end: Direction::Tail, role: Role::Tail(q) }, "no niece"),
            (
                Denial::End { predicate: p, end: Direction::Head, role: Role::Own(Property(0)) },
                "never without male",
            ),
            (Denial::Linked { predicate: p, denied: true }, "any predicate"),
            (Denial::Linked { predicate: p, denied: false }, "no other predicate"),
        ] {
            let picture = Picture::of_constraint(&Constraint::counted(denial, counts), &names);
            let svg = picture.svg();
            for part in [part, "✕ nephew &amp; co", "class=\"never\"", "140.3"] {
                assert!(svg.contains(part), "{part} is missing from:\n{svg}");
            }
            assert_eq!(drawn_well(&picture), Ok(()), "{}", picture.text);
        }
    }
}
