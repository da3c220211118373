//! Refinement: a rule with one literal more, by which a variable must also have a property, or a neighbour by some
//! predicate.
//!
//! A path says how two ends are linked, a branch what one of its variables is. Branches that all entities have, or
//! none, say nothing and are left out.

use crate::graph::{Entity, Neighbours, Predicate, Property, Triple};
use crate::rule::{Atom, Literal, MAX_VARIABLES, Rule, Term};

/// What may be asked of one variable: a literal over it and perhaps another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Branch {
    /// It is the head of some fact.
    Heads(Predicate),
    /// It is the tail of some fact.
    Tails(Predicate),
    /// It has a property.
    Has(Property),
}

/// Longer rules of one rule that are worth counting, at most.
const MAX_REFINEMENTS: usize = 8;

/// All branches that some entities have and others do not, and who has which.
pub(in crate::search) struct Branches {
    all: Vec<Branch>,
    /// Words of one entity's set of branches.
    words: usize,
    has: Vec<u64>,
}

/// A rule that may branch, with what was counted of it.
pub(in crate::search) struct Parent<'a> {
    pub rule: &'a Rule,
    pub confidence: f64,
    pub answers: &'a [(Entity, Entity)],
}

impl Branches {
    pub fn new(facts: &Neighbours) -> Self {
        let predicates = (0..facts.predicates() as u32).map(Predicate);
        let ends = |predicate: Predicate| {
            let (mut heads, mut tails): (Vec<u32>, Vec<u32>) =
                facts.pairs(predicate).map(|(head, tail)| (head.0, tail.0)).unzip();
            for ends in [&mut heads, &mut tails] {
                ends.sort_unstable();
                ends.dedup();
            }
            [(Branch::Heads(predicate), heads), (Branch::Tails(predicate), tails)]
        };
        let properties = (0..facts.properties() as u32).map(Property);
        let owners = properties.map(|property| (Branch::Has(property), facts.owners(property).to_vec()));
        let mut told: Vec<(Branch, Vec<u32>)> = predicates.flat_map(ends).chain(owners).collect();
        told.retain(|(_, owners)| !owners.is_empty() && owners.len() < facts.entities());
        let words = told.len().div_ceil(64);
        let mut has = vec![0u64; words * facts.entities()];
        for (number, (_, owners)) in told.iter().enumerate() {
            for &owner in owners {
                has[owner as usize * words + number / 64] |= 1 << (number % 64);
            }
        }
        Branches { all: told.into_iter().map(|(branch, _)| branch).collect(), words, has }
    }

    fn of(&self, entity: u32) -> &[u64] {
        &self.has[entity as usize * self.words..][..self.words]
    }

    /// The rule with one branch more on one of its variables, where that promises more confidence; best first.
    /// Counted are the rule's own answers, of which a branch leaves some; of a path's inner variable some
    /// entity in between must have it.
    pub fn promising(
        &self,
        parent: &Parent,
        facts: &Neighbours,
        min_support: usize,
        smoothing: f64,
    ) -> Vec<Rule> {
        let (rule, target) = (parent.rule, parent.rule.target);
        let path = path(rule);
        let inner = path.map(|_| Term::Z(1));
        let variables: Vec<Term> = [Term::X, Term::Y].into_iter().chain(inner).collect();
        let mut counts = vec![(0usize, 0usize); variables.len() * self.all.len()];
        let mut between = vec![0u64; self.words];
        for &(head, tail) in parent.answers {
            let hit = usize::from(facts.holds(Triple { head, predicate: target, tail }));
            between.fill(0);
            if let Some([first, second]) = path {
                for &z in first.others(facts, head) {
                    if second.holds(facts, tail, z) {
                        between.iter_mut().zip(self.of(z)).for_each(|(word, more)| *word |= more);
                    }
                }
            }
            let sets = [self.of(head.0), self.of(tail.0), &between];
            for (counts, set) in counts.chunks_exact_mut(self.all.len().max(1)).zip(sets) {
                for (number, (body, hits)) in counts.iter_mut().enumerate() {
                    let one = (set[number / 64] >> (number % 64) & 1) as usize;
                    *body += one;
                    *hits += one * hit;
                }
            }
        }
        let mut found: Vec<(f64, usize)> = Vec::new();
        for (place, &(body, hits)) in counts.iter().enumerate() {
            let confidence = hits as f64 / (body as f64 + smoothing);
            if hits >= min_support && confidence > parent.confidence {
                found.push((confidence, place));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let rules = found.into_iter().filter_map(|(_, place)| {
            let (variable, branch) = (variables[place / self.all.len()], self.all[place % self.all.len()]);
            branched(rule, branch, variable)
        });
        rules.take(MAX_REFINEMENTS).collect()
    }
}

/// The rule with a branch on a variable; none where it has no room, or says so already.
fn branched(rule: &Rule, branch: Branch, variable: Term) -> Option<Rule> {
    let other = Term::Z((rule.variables() - 1) as u8);
    let room = rule.variables() < MAX_VARIABLES;
    let atom = match branch {
        Branch::Heads(predicate) => room.then_some(Atom::Pair(predicate, variable, other)),
        Branch::Tails(predicate) => room.then_some(Atom::Pair(predicate, other, variable)),
        Branch::Has(property) => Some(Atom::Own(property, variable)),
    };
    let longer = Rule::new(rule.target, &[rule.body(), &[Literal::any_of(vec![atom?])]].concat());
    (longer.folded().body().len() > rule.body().len()).then_some(longer)
}

/// A step between an end of a rule and its inner variable.
#[derive(Clone, Copy)]
struct Step {
    predicate: Predicate,
    /// Whether the end is the first argument.
    outward: bool,
}

impl Step {
    /// The step of a literal between `end` and the first inner variable, if it is one.
    fn of(literal: &Literal, end: Term) -> Option<Step> {
        match literal.atoms() {
            [Atom::Pair(predicate, a, b)] if (*a, *b) == (end, Term::Z(1)) => {
                Some(Step { predicate: *predicate, outward: true })
            }
            [Atom::Pair(predicate, a, b)] if (*a, *b) == (Term::Z(1), end) => {
                Some(Step { predicate: *predicate, outward: false })
            }
            _ => None,
        }
    }

    fn others(self, facts: &Neighbours, end: Entity) -> &[u32] {
        if self.outward { facts.tails(self.predicate, end) } else { facts.heads(self.predicate, end) }
    }

    fn holds(self, facts: &Neighbours, end: Entity, inner: u32) -> bool {
        let (head, tail) = if self.outward { (end, Entity(inner)) } else { (Entity(inner), end) };
        facts.holds(Triple { head, predicate: self.predicate, tail })
    }
}

/// The two steps of a path from X by one inner variable to Y.
fn path(rule: &Rule) -> Option<[Step; 2]> {
    let [a, b] = rule.body() else { return None };
    let both = |a, b| Some([Step::of(a, Term::X)?, Step::of(b, Term::Y)?]);
    both(a, b).or_else(|| both(b, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{PropertyFact, Sizes};

    #[test]
    fn branches_are_what_some_entities_have_and_others_do_not() {
        let facts = [Triple::new(0, 0, 1), Triple::new(1, 0, 0), Triple::new(0, 1, 1)];
        let property_facts = [PropertyFact { entity: Entity(0), property: Property(0) }];
        let branches = Branches::new(&Neighbours::new(
            Sizes { entities: 2, predicates: 3, properties: 1 },
            &facts,
            &property_facts,
        ));
        // Predicate 0 has both entities as heads and as tails, predicate 2 nobody.
        let expected = [Branch::Heads(Predicate(1)), Branch::Tails(Predicate(1)), Branch::Has(Property(0))];
        assert_eq!(branches.all, expected);
        assert_eq!((branches.of(0), branches.of(1)), (&[0b101][..], &[0b010][..]));
    }

    #[test]
    fn a_branch_on_the_entity_in_between_is_promised_where_it_tells_facts_from_other_answers() {
        // target 0(x, y) :- 1(x, z), 2(z, y), 3(z, _): six paths, three of which have the branch.
        let mut facts = Vec::new();
        for n in 0..6 {
            let (x, z, y) = (n, 10 + n, 20 + n);
            facts.extend([Triple::new(x, 1, z), Triple::new(z, 2, y)]);
            if n < 3 {
                facts.extend([Triple::new(x, 0, y), Triple::new(z, 3, 30)]);
            }
        }
        let facts = Neighbours::new(Sizes { entities: 31, predicates: 4, properties: 0 }, &facts, &[]);
        let pair = |p, a, b| Literal::any_of(vec![Atom::Pair(Predicate(p), a, b)]);
        let path = [pair(1, Term::X, Term::Z(1)), pair(2, Term::Z(1), Term::Y)];
        let rule = Rule::new(Predicate(0), &path);
        let answers: Vec<(Entity, Entity)> = (0..6).map(|n| (Entity(n), Entity(20 + n))).collect();
        let parent = Parent { rule: &rule, confidence: 0.5, answers: &answers };
        let found = Branches::new(&facts).promising(&parent, &facts, 2, 0.0);
        let branch = Rule::new(Predicate(0), &[&path[..], &[pair(3, Term::Z(1), Term::Z(2))]].concat());
        assert!(found.contains(&branch), "{found:?}");
        assert!(found.iter().all(|longer| longer.body().len() == 3), "{found:?}");
    }
}
