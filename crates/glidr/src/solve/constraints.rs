//! A rule made ready for the join: its variables numbered, its literals sorted by what they bind.
//!
//! In: a [`Rule`] and [`Neighbours`]. Out: for each pair of variables one constraint, for each variable
//! what it must be by itself, and what must hold without any variable.

use std::borrow::Cow;

use super::sets::{intersect, union};
use crate::error::{Error, Result};
use crate::graph::{Entity, Neighbours, Predicate, Property, Triple};
use crate::rule::{Atom, Literal, MAX_VARIABLES, Rule, Term};

/// Number of X; Y is 1; the body's own variables follow.
pub(super) const X: usize = 0;
/// Number of Y.
pub(super) const Y: usize = 1;

/// A step from a variable to another: a predicate, read forward or backward.
type Step = (Predicate, bool);

/// All literals between two variables: each a disjunction of steps from `a` to `b`.
#[derive(Clone, Debug)]
struct Link {
    a: usize,
    b: usize,
    literals: Vec<Vec<Step>>,
}

/// A condition on one variable.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Own(Property),
    /// `v = c`
    Is(Entity),
    /// `p(v, c)` read from c backward, `p(c, v)` read from c forward.
    Beside(Predicate, bool, Entity),
    /// `p(v, v)`
    Loop(Predicate),
}

/// A rule's body as constraints over numbered variables.
#[derive(Clone, Debug)]
pub(super) struct Constraints {
    /// How many variables there are, X and Y counted.
    pub variables: usize,
    links: Vec<Link>,
    /// For every variable the other variables it is linked with, and through which link.
    beside: Vec<Vec<(usize, usize)>>,
    conditions: Vec<(usize, Vec<Condition>)>,
    ground: Vec<Vec<Atom>>,
}

impl Constraints {
    pub fn new(rule: &Rule, facts: &Neighbours) -> Result<Self> {
        let variables = rule.variables();
        if variables > MAX_VARIABLES {
            return Err(Error::Rule(format!(
                "a rule must have at most {MAX_VARIABLES} variables, but has {variables}"
            )));
        }
        let mut constraints = Constraints {
            variables,
            links: Vec::new(),
            beside: vec![Vec::new(); variables],
            conditions: Vec::new(),
            ground: Vec::new(),
        };
        for literal in rule.body() {
            constraints.add(literal, facts)?;
        }
        for (number, link) in constraints.links.iter().enumerate() {
            constraints.beside[link.a].push((link.b, number));
            constraints.beside[link.b].push((link.a, number));
        }
        Ok(constraints)
    }

    fn add(&mut self, literal: &Literal, facts: &Neighbours) -> Result<()> {
        for &atom in literal.atoms() {
            check(atom, facts)?;
        }
        let Some(&first) = literal.atoms().first() else {
            self.ground.push(Vec::new()); // a disjunction of nothing is false
            return Ok(());
        };
        let bound = variables_of(first);
        if literal.atoms().iter().any(|&atom| variables_of(atom) != bound) {
            return Err(Error::Rule(
                "the atoms of a disjunction must have the same variables, but these do not".into(),
            ));
        }
        match bound {
            (None, _) => self.ground.push(literal.atoms().to_vec()),
            (Some(one), None) => {
                let conditions = literal.atoms().iter().map(|&atom| condition(atom)).collect();
                self.conditions.push((one, conditions));
            }
            (Some(a), Some(b)) => {
                let steps: Vec<Step> = literal.atoms().iter().map(|&atom| step(atom, a)).collect();
                match self.links.iter_mut().find(|link| (link.a, link.b) == (a, b)) {
                    Some(link) => link.literals.push(steps),
                    None => self.links.push(Link { a, b, literals: vec![steps] }),
                }
            }
        }
        Ok(())
    }

    /// The variables that `variable` is linked with, and the links' numbers.
    pub fn beside(&self, variable: usize) -> &[(usize, usize)] {
        &self.beside[variable]
    }

    /// Whether all that needs no variable holds.
    pub fn ground_holds(&self, facts: &Neighbours, without: Option<Triple>) -> bool {
        let holds = |atom: &Atom| match *atom {
            Atom::Pair(predicate, Term::Constant(head), Term::Constant(tail)) => {
                let fact = Triple { head, predicate, tail };
                facts.holds(fact) && without != Some(fact)
            }
            Atom::Own(property, Term::Constant(entity)) => {
                facts.owners(property).binary_search(&entity.0).is_ok()
            }
            Atom::Is(Term::Constant(entity), other) => entity == other,
            _ => unreachable!("only atoms without variables are kept here"),
        };
        self.ground.iter().all(|literal| literal.iter().any(holds))
    }

    /// For every variable, what its own conditions leave; `None` where it has none.
    pub fn own_domains(&self, facts: &Neighbours, without: Option<Triple>) -> Vec<Option<Vec<u32>>> {
        let mut domains: Vec<Option<Vec<u32>>> = vec![None; self.variables];
        for (variable, conditions) in &self.conditions {
            let mut any: Vec<u32> = Vec::new();
            for condition in conditions {
                let list = match *condition {
                    Condition::Own(property) => Cow::Borrowed(facts.owners(property)),
                    Condition::Is(entity) => Cow::Owned(vec![entity.0]),
                    Condition::Beside(predicate, forward, constant) => {
                        facts.neighbours(predicate, forward, constant.0, without)
                    }
                    Condition::Loop(predicate) => (0..facts.entities() as u32)
                        .filter(|&e| facts.neighbours(predicate, true, e, without).binary_search(&e).is_ok())
                        .collect(),
                };
                any = union(&any, &list);
            }
            domains[*variable] = Some(match &domains[*variable] {
                None => any,
                Some(before) => intersect(before, &any),
            });
        }
        domains
    }

    /// Whom `value` of variable `from` is linked with at the other end of a link, sorted.
    pub fn across<'f>(
        &self,
        link: usize,
        from: usize,
        value: u32,
        facts: &'f Neighbours,
        without: Option<Triple>,
    ) -> Cow<'f, [u32]> {
        let link = &self.links[link];
        let mut all: Option<Cow<'f, [u32]>> = None;
        for literal in &link.literals {
            let mut any: Option<Cow<'f, [u32]>> = None;
            for &(predicate, forward) in literal {
                let row = facts.neighbours(predicate, forward == (from == link.a), value, without);
                any = Some(match any {
                    None => row,
                    Some(before) => Cow::Owned(union(&before, &row)),
                });
            }
            let any = any.unwrap_or_default();
            all = Some(match all {
                None => any,
                Some(before) => Cow::Owned(intersect(&before, &any)),
            });
        }
        all.unwrap_or_default()
    }
}

/// The number of a variable; none for a constant.
fn number(term: Term) -> Option<usize> {
    match term {
        Term::X => Some(X),
        Term::Y => Some(Y),
        Term::Z(number) => Some(number as usize + 1),
        Term::Constant(_) => None,
    }
}

/// The distinct variables of an atom, the smaller number first.
fn variables_of(atom: Atom) -> (Option<usize>, Option<usize>) {
    let (a, b) = atom.terms();
    match (number(a), number(b)) {
        (Some(a), Some(b)) if a == b => (Some(a), None),
        (Some(a), Some(b)) => (Some(a.min(b)), Some(a.max(b))),
        (a, b) => (a.or(b), None),
    }
}

fn step(atom: Atom, a: usize) -> Step {
    match atom {
        Atom::Pair(predicate, first, _) => (predicate, number(first) == Some(a)),
        Atom::Own(..) | Atom::Is(..) => unreachable!("these have one variable"),
    }
}

fn condition(atom: Atom) -> Condition {
    match atom {
        Atom::Own(property, _) => Condition::Own(property),
        Atom::Is(_, entity) => Condition::Is(entity),
        Atom::Pair(predicate, _, Term::Constant(tail)) => Condition::Beside(predicate, false, tail),
        Atom::Pair(predicate, Term::Constant(head), _) => Condition::Beside(predicate, true, head),
        Atom::Pair(predicate, ..) => Condition::Loop(predicate),
    }
}

/// Refuses what the facts do not have.
fn check(atom: Atom, facts: &Neighbours) -> Result<()> {
    let (a, b) = atom.terms();
    for term in [a, b] {
        if let Term::Constant(entity) = term
            && entity.index() >= facts.entities()
        {
            return Err(unknown("entity", entity.0, facts.entities()));
        }
    }
    match atom {
        Atom::Pair(predicate, ..) if predicate.index() >= facts.predicates() => {
            Err(unknown("predicate", predicate.0, facts.predicates()))
        }
        Atom::Own(property, _) if property.index() >= facts.properties() => {
            Err(unknown("property", property.0, facts.properties()))
        }
        Atom::Is(_, entity) if entity.index() >= facts.entities() => {
            Err(unknown("entity", entity.0, facts.entities()))
        }
        _ => Ok(()),
    }
}

fn unknown(kind: &str, found: u32, there_are: usize) -> Error {
    Error::Rule(format!(
        "a rule's numbers must be those of the facts, but it has {kind} {found} of {there_are}"
    ))
}
