//! The constraints of a model, with the names that they use and the targets whose candidates they refuse.
//!
//! In: constraints by the numbers of some data. Out: the same under the names of other data. A constraint refuses
//! candidates of a target only where no fact of *valid* speaks against that, so that it can only lift their ranks.

use std::collections::BTreeMap;

use super::{Constraint, Denial, Refusals, Role};
use crate::error::Result;
use crate::graph::{Background, Dataset, Entity, Predicate, Property, Split, Triple, Vocabulary};
use crate::rule::Rule;

/// Of so many facts of *valid* one may break a constraint that is used.
const VALID_PER_EXCEPTION: usize = 500;

/// A constraint and where it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptConstraint {
    /// The constraint.
    pub constraint: Constraint,
    /// The targets whose candidates it refuses.
    pub used_for: Vec<Predicate>,
}

/// Constraints with the names that they use and no others.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptConstraints {
    /// The names.
    pub names: Vocabulary,
    /// The constraints, surest first.
    pub constraints: Vec<KeptConstraint>,
}

/// Constraints as *valid* leaves them.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Each used for those of its targets of which *valid* says nothing against it.
    pub kept: Vec<KeptConstraint>,
    /// Facts of *valid* that a constraint would refuse if it did not know them, with the confidence of the surest: how
    /// often a constraint is wrong about facts it was not checked on.
    pub refused: BTreeMap<Triple, f64>,
}

impl Checked {
    /// Checks constraints on *valid*. One that was written by hand is used whatever *valid* says.
    pub fn new(constraints: Vec<Constraint>, data: &Dataset) -> Result<Self> {
        let facts = data.graph(Background::Train).neighbours();
        let mut valid: BTreeMap<Predicate, Vec<Triple>> = BTreeMap::new();
        for &fact in data.split(Split::Valid) {
            valid.entry(fact.predicate).or_default().push(fact);
        }
        let mut checked = Checked::default();
        for constraint in constraints {
            let mut used_for = constraint.denial.targets();
            if constraint.counts.is_some() {
                let mut kept = Vec::new();
                for target in used_for {
                    let refusals = Refusals::new([&constraint.denial], target, facts)?;
                    let held_out = valid.get(&target).map_or(&[][..], Vec::as_slice);
                    let broken = || held_out.iter().filter(|fact| refusals.refuses(fact.head, fact.tail));
                    let count = broken().count();
                    if count * VALID_PER_EXCEPTION <= held_out.len() {
                        kept.push(target);
                    }
                    if count.saturating_sub(1) * VALID_PER_EXCEPTION <= held_out.len() {
                        for &fact in broken() {
                            let surest = checked.refused.entry(fact).or_insert(0.0);
                            *surest = surest.max(constraint.confidence);
                        }
                    }
                }
                used_for = kept;
            }
            checked.kept.push(KeptConstraint { constraint, used_for });
        }
        Ok(checked)
    }
}

impl KeptConstraints {
    /// Keeps constraints that are numbered by `names`.
    pub fn new(constraints: &[KeptConstraint], names: &Vocabulary) -> Self {
        let named: Vec<Rule> = constraints.iter().map(|kept| kept.constraint.denial.named()).collect();
        let own = Vocabulary::of_rules(&named, names);
        let constraints = constraints.iter().filter_map(|kept| kept.renumbered(names, &own)).collect();
        KeptConstraints { names: own, constraints }
    }

    /// The constraints under the numbers of some data, but for those that name something it lacks.
    pub fn on(&self, names: &Vocabulary) -> Vec<KeptConstraint> {
        self.constraints.iter().filter_map(|kept| kept.renumbered(&self.names, names)).collect()
    }
}

impl KeptConstraint {
    /// The same by other numbers; none where a name is lacking.
    fn renumbered(&self, from: &Vocabulary, to: &Vocabulary) -> Option<Self> {
        let predicate = |number: Predicate| to.predicates.find(from.predicates.name(number));
        let property = |number: Property| to.properties.find(from.properties.name(number));
        let entity = |number: Entity| to.entities.find(from.entities.name(number));
        let denial = match &self.constraint.denial {
            Denial::Irreflexive(p) => Denial::Irreflexive(predicate(*p)?),
            Denial::Body(rule) => match self.constraint.denial.as_disjoint() {
                Some((one, (other, forward))) => {
                    Denial::disjoint(predicate(one)?, (predicate(other)?, forward))
                }
                None => Denial::Body(rule.renumbered(predicate, property, entity)?),
            },
            Denial::AtLeast { predicate: p, counted, count } => {
                Denial::AtLeast { predicate: predicate(*p)?, counted: *counted, count: *count }
            }
            Denial::End { predicate: p, end, role } => {
                let role = match *role {
                    Role::Own(p) => Role::Own(property(p)?),
                    Role::Head(p) => Role::Head(predicate(p)?),
                    Role::Tail(p) => Role::Tail(predicate(p)?),
                };
                Denial::End { predicate: predicate(*p)?, end: *end, role }
            }
            Denial::Linked { predicate: p, denied } => {
                Denial::Linked { predicate: predicate(*p)?, denied: *denied }
            }
        };
        let used_for = self.used_for.iter().map(|&p| predicate(p)).collect::<Option<Vec<_>>>()?;
        Some(KeptConstraint { constraint: Constraint { denial, ..self.constraint.clone() }, used_for })
    }
}
