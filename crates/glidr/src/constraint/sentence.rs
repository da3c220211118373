//! Why a fact cannot be true, in one plain sentence.
//!
//! In: a denial, and the facts beside which a fact breaks it. Out: what is known, and what never holds.

use super::{Denial, Role};
use crate::graph::{Direction, Triple, Vocabulary};

impl Denial {
    /// Why a fact that breaks it beside others cannot be true.
    ///
    /// ```
    /// use glidr::internals::constraint::Denial;
    /// use glidr::internals::graph::{Names, Predicate, Triple, Vocabulary};
    /// let names = Vocabulary {
    ///     entities: Names::new(["Charlotte", "Colin"]),
    ///     predicates: Names::new(["nephew", "niece"]),
    ///     properties: Names::default(),
    /// };
    /// let denial = Denial::disjoint(Predicate(0), (Predicate(1), true));
    /// let (fact, known) = (Triple::new(0, 0, 1), Triple::new(0, 1, 1));
    /// assert_eq!(
    ///     denial.sentence(fact, &[known], &names),
    ///     "niece(Charlotte, Colin) is known, and no pair has both nephew and niece"
    /// );
    /// ```
    pub fn sentence(&self, fact: Triple, known: &[Triple], names: &Vocabulary) -> String {
        let entity = |entity| names.entities.name(entity);
        let predicate = |predicate| names.predicates.name(predicate);
        let target = predicate(fact.predicate);
        let told = |facts: &[Triple]| {
            let fact = |of: &Triple| {
                format!("{}({}, {})", predicate(of.predicate), entity(of.head), entity(of.tail))
            };
            let facts: Vec<String> = facts.iter().map(fact).collect();
            format!("{} {} known", facts.join(" and "), if facts.len() == 1 { "is" } else { "are" })
        };
        match self {
            Denial::Irreflexive(_) => format!("no entity has {target} with itself"),
            Denial::Body(_) => match self.as_disjoint() {
                Some((one, (other, false))) if one == other => {
                    format!("{}, and {target} never holds both ways round", told(known))
                }
                Some((one, (other, true))) => {
                    format!(
                        "{}, and no pair has both {} and {}",
                        told(known),
                        predicate(one),
                        predicate(other)
                    )
                }
                Some((one, (other, false))) => {
                    let (one, other) = (predicate(one), predicate(other));
                    format!("{}, and no pair has {one} one way round and {other} the other", told(known))
                }
                None => format!("{}, which never goes with {target}", told(known)),
            },
            Denial::AtLeast { counted, count, .. } => {
                let (end, of) = match counted {
                    Direction::Tail => ("head", "tail"),
                    Direction::Head => ("tail", "head"),
                };
                let most = count.saturating_sub(1);
                let ends = if most == 1 { "one ".to_owned() + of } else { format!("{most} {of}s") };
                format!("{}, and a {end} of {target} has at most {ends}", told(known))
            }
            Denial::End { end, role, .. } => {
                let (at, ends) = match end {
                    Direction::Head => (entity(fact.head), "heads"),
                    Direction::Tail => (entity(fact.tail), "tails"),
                };
                let lacking = match *role {
                    Role::Own(property) => format!("is not known as {}", names.properties.name(property)),
                    Role::Head(of) => format!("is not the head of any {}", predicate(of)),
                    Role::Tail(of) => format!("is not the tail of any {}", predicate(of)),
                };
                format!("{at} {lacking}, as all {ends} of {target} are")
            }
            Denial::Linked { denied: true, .. } => {
                format!("{}, and no pair that is linked already has {target}", told(known))
            }
            Denial::Linked { denied: false, .. } => {
                let (head, tail) = (entity(fact.head), entity(fact.tail));
                format!("nothing else links {head} and {tail}, as it does all pairs of {target}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Names, Predicate, Property};

    #[test]
    fn every_kind_of_constraint_says_why_in_a_sentence() {
        let names = Vocabulary {
            entities: Names::new(["Ann", "Bob", "Cid"]),
            predicates: Names::new(["husband", "wife"]),
            properties: Names::new(["male"]),
        };
        let (p, q) = (Predicate(0), Predicate(1));
        let said = |denial: Denial, known: &[Triple]| denial.sentence(Triple::new(0, 0, 1), known, &names);
        assert_eq!(said(Denial::Irreflexive(p), &[]), "no entity has husband with itself");
        assert_eq!(
            said(Denial::disjoint(p, (p, false)), &[Triple::new(1, 0, 0)]),
            "husband(Bob, Ann) is known, and husband never holds both ways round"
        );
        assert_eq!(
            said(Denial::disjoint(p, (q, false)), &[Triple::new(1, 1, 0)]),
            "wife(Bob, Ann) is known, and no pair has husband one way round and wife the other"
        );
        let two = Denial::AtLeast { predicate: p, counted: Direction::Tail, count: 2 };
        assert_eq!(
            said(two, &[Triple::new(0, 0, 2)]),
            "husband(Ann, Cid) is known, and a head of husband has at most one tail"
        );
        let male = Denial::End { predicate: p, end: Direction::Tail, role: Role::Own(Property(0)) };
        assert_eq!(said(male, &[]), "Bob is not known as male, as all tails of husband are");
        let tail = Denial::End { predicate: p, end: Direction::Head, role: Role::Tail(q) };
        assert_eq!(said(tail, &[]), "Ann is not the tail of any wife, as all heads of husband are");
        let linked = Denial::Linked { predicate: p, denied: true };
        assert_eq!(
            said(linked, &[Triple::new(0, 1, 1)]),
            "wife(Ann, Bob) is known, and no pair that is linked already has husband"
        );
    }
}
