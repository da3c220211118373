//! A rule on one pair: a grounding in real facts, or the literal where it fails.

use crate::error::Result;
use crate::graph::{Entity, Neighbours};
use crate::rule::{Atom, Rule};
use crate::solve::{Ended, Grounding, Limits, Solver};

/// Why a rule fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// An entity for every variable; of a body that needs several groundings, the first of them.
    pub grounding: Grounding,
    /// For every literal a fact that makes it true.
    pub facts: Vec<(Atom, Entity, Entity)>,
}

/// What a rule says of one pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fires, and this is why.
    Holds(Proof),
    /// It does not: the literals before this one can hold together, but not with this one.
    FailsAt(usize),
    /// It does not: its body holds, but has only so many groundings.
    TooFew(u64),
    /// The time was over before it was known.
    Unknown,
}

/// Decides `rule` for one pair.
///
/// ```
/// use glidr::internals::explain::{Verdict, prove};
/// use glidr::internals::graph::{Entity, Neighbours, Predicate, Sizes, Triple};
/// use glidr::internals::rule::{Atom, Literal, Rule, Term};
/// use glidr::internals::solve::Limits;
///
/// let sizes = Sizes { entities: 3, predicates: 2, properties: 0 };
/// let facts = Neighbours::new(sizes, &[Triple::new(0, 0, 1), Triple::new(1, 0, 2)], &[]);
/// let parent = |a, b| Literal::any_of(vec![Atom::Pair(Predicate(0), a, b)]);
/// let rule = Rule::new(Predicate(1), &[parent(Term::X, Term::Z(1)), parent(Term::Z(1), Term::Y)]);
/// let decide = |tail| prove(&rule, &facts, Entity(0), Entity(tail), Limits::default());
/// assert!(matches!(decide(2)?, Verdict::Holds(proof) if proof.facts.len() == 2));
/// assert_eq!(decide(1)?, Verdict::FailsAt(1));
/// let twice = rule.clone().with_min_groundings(2);
/// assert_eq!(prove(&twice, &facts, Entity(0), Entity(2), Limits::default())?, Verdict::TooFew(1));
/// # Ok::<(), glidr::Error>(())
/// ```
pub fn prove(rule: &Rule, facts: &Neighbours, head: Entity, tail: Entity, limits: Limits) -> Result<Verdict> {
    let solver = Solver::new(rule, facts, limits)?;
    let found = solver.grounding(head, tail);
    if let Some(grounding) = found.value {
        let facts = grounding.facts(rule, facts);
        return Ok(Verdict::Holds(Proof { grounding, facts }));
    }
    if found.ended != Ended::Complete {
        return Ok(Verdict::Unknown);
    }
    if rule.min_groundings() > 1 {
        let found = solver.groundings(head, tail, rule.min_groundings().into());
        match (found.ended, found.value) {
            (Ended::TimeLimit, _) => return Ok(Verdict::Unknown),
            (_, 0) => {}
            (_, few) => return Ok(Verdict::TooFew(few)),
        }
    }
    for place in 0..rule.body().len() {
        let start = Rule::new(rule.target, &rule.body()[..=place]);
        let held = Solver::new(&start, facts, limits)?.holds(head, tail);
        if held.ended != Ended::Complete {
            return Ok(Verdict::Unknown);
        }
        if !held.value {
            return Ok(Verdict::FailsAt(place));
        }
    }
    Ok(Verdict::Unknown)
}
