//! Rules under the numbers of other data: they travel by name.
//!
//! In: rules, the vocabulary they are numbered by, and another. Out: the same rules by the other's numbers, without
//! those that name what it lacks.

use super::{Atom, Literal, Rule, RuleSet, Term};
use crate::graph::{Entity, Id, Names, Predicate, Property, Vocabulary};

/// Rules under other numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Renumbered {
    /// The rules all of whose names are known.
    pub rules: RuleSet,
    /// How many rules name a predicate, property or constant that is not.
    pub left_out: usize,
}

impl RuleSet {
    /// The rules, numbered by the names of `from`, under the numbers of `to`. Weights and counts stay as they are.
    #[must_use]
    pub fn renumbered(&self, from: &Vocabulary, to: &Vocabulary) -> Renumbered {
        let (rules, left_out) = self.mapped(|rule| {
            rule.renumbered(
                |predicate| to.predicates.find(from.predicates.get(predicate)?),
                |property| to.properties.find(from.properties.get(property)?),
                |entity| to.entities.find(from.entities.get(entity)?),
            )
        });
        Renumbered { rules, left_out }
    }

    /// The names that the rules use and no others, sorted, and the rules by the numbers of these.
    #[must_use]
    pub fn with_own_names(&self, names: &Vocabulary) -> (Vocabulary, RuleSet) {
        let own = Vocabulary::of_rules(self.bare(), names);
        let rules = self.renumbered(names, &own).rules;
        (own, rules)
    }
}

impl Vocabulary {
    /// The names that some rules use and no others, sorted.
    pub(crate) fn of_rules<'r>(rules: impl IntoIterator<Item = &'r Rule>, names: &Vocabulary) -> Self {
        let (mut predicates, mut properties, mut entities) = (Vec::new(), Vec::new(), Vec::new());
        for rule in rules {
            predicates.push(rule.target);
            for atom in rule.body().iter().flat_map(Literal::atoms) {
                match *atom {
                    Atom::Pair(predicate, ..) => predicates.push(predicate),
                    Atom::Own(property, _) => properties.push(property),
                    Atom::Is(_, entity) => entities.push(entity),
                }
                let (a, b) = atom.terms();
                let constant = |term| if let Term::Constant(entity) = term { Some(entity) } else { None };
                entities.extend([a, b].into_iter().filter_map(constant));
            }
        }
        Vocabulary {
            entities: sorted(entities, &names.entities),
            predicates: sorted(predicates, &names.predicates),
            properties: sorted(properties, &names.properties),
        }
    }
}

/// The names of some numbers, sorted.
fn sorted<I: Id + Ord>(mut used: Vec<I>, names: &Names<I>) -> Names<I> {
    used.sort_unstable();
    used.dedup();
    let mut list: Vec<&str> = used.into_iter().filter_map(|number| names.get(number)).collect();
    list.sort_unstable();
    Names::new(list)
}

impl Rule {
    /// The same rule under other numbers; none where one has no number.
    pub fn renumbered(
        &self,
        predicate: impl Fn(Predicate) -> Option<Predicate>,
        property: impl Fn(Property) -> Option<Property>,
        entity: impl Fn(Entity) -> Option<Entity>,
    ) -> Option<Rule> {
        let term = |term: Term| match term {
            Term::Constant(constant) => entity(constant).map(Term::Constant),
            variable => Some(variable),
        };
        let atom = |atom: &Atom| {
            Some(match *atom {
                Atom::Pair(p, a, b) => Atom::Pair(predicate(p)?, term(a)?, term(b)?),
                Atom::Own(q, a) => Atom::Own(property(q)?, term(a)?),
                Atom::Is(a, constant) => Atom::Is(term(a)?, entity(constant)?),
            })
        };
        let literal = |literal: &Literal| -> Option<Literal> {
            Some(Literal::any_of(literal.atoms().iter().map(atom).collect::<Option<_>>()?))
        };
        let body: Vec<Literal> = self.body().iter().map(literal).collect::<Option<_>>()?;
        Some(Rule::new(predicate(self.target)?, &body).with_min_groundings(self.min_groundings()))
    }
}
