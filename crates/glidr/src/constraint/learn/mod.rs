//! Constraints learned from a graph: what never holds though chance would have it at least a few times.
//!
//! In: *facts* and *train*, and *valid* for what can be told from held-out facts alone. Out: constraints with their counts,
//! surest first. What would go together by chance is counted among the pairs that some predicate links and whose ends
//! both occur at the ends of the predicate: two predicates about different kinds of entities say nothing by never meeting.

mod bodies;
mod ends;

use std::collections::BTreeMap;

use ends::Roles;

use super::links::{degree, is_linked};
use super::{Constraint, ConstraintCounts, Denial, Step};
use crate::graph::{Background, ClassMatrix, Dataset, Direction, Neighbours, Predicate, Split};

/// Less than this by chance tells nothing.
const MIN_EXPECTED: f64 = 3.0;
/// Constraints that are less sure are left out.
const MIN_CONFIDENCE: f64 = 0.8;
/// The same of ends and of how many there are, which are fewer things to try and easier to be wrong about.
const MIN_END_CONFIDENCE: f64 = 0.95;
/// Held-out facts never join a linked pair where fewer than this share does of what chance would give.
const MAX_LINKED: f64 = 0.02;

/// Learns the constraints of all predicates.
///
/// ```
/// use glidr::Dataset;
/// use glidr::internals::constraint::learn_constraints;
/// let families = Dataset::families(0);
/// // Two families are too few facts for chance to tell much.
/// assert!(learn_constraints(&families).iter().all(|constraint| constraint.confidence < 0.95));
/// ```
pub fn learn_constraints(data: &Dataset) -> Vec<Constraint> {
    let graph = data.graph(Background::Train);
    let facts = graph.neighbours();
    let roles = Roles::new(facts);
    let usual = roles.usual(facts);
    let matrix = graph.adjacency();
    let learner = ConstraintLearner { matrix, facts, roles, usual };
    let mut found: BTreeMap<Denial, ConstraintCounts> = BTreeMap::new();
    let mut linked = Vec::new();
    for target in (0..learner.facts.predicates() as u32).map(Predicate) {
        let near = learner.near(target);
        learner.irreflexive(target, &mut found);
        learner.disjoint(target, &near, &mut found);
        learner.unlinked(target, &near, &mut found);
        for end in Direction::BOTH {
            learner.functional(target, end, &mut found);
            learner.end_kinds(target, end, &mut found);
        }
        linked.push(near.linked);
    }
    learner.bodies(&mut found);
    learner.linked(data, &linked, &mut found);
    let mut found: Vec<Constraint> =
        found.into_iter().map(|(denial, counts)| Constraint::counted(denial, counts)).collect();
    // Stable: of equals those stand first that come first by number.
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    found
}

/// The graph that constraints are learned from.
struct ConstraintLearner<'a> {
    matrix: &'a ClassMatrix,
    facts: &'a Neighbours,
    roles: Roles,
    /// By predicate and end, the roles that at least half of its entities have.
    usual: Vec<[Vec<u32>; 2]>,
}

/// The linked pairs whose ends occur at the ends of a predicate.
struct Near {
    /// How many there are, and how many pairs there are at all.
    pairs: (usize, usize),
    /// By filler (predicates, then inverses) of the pair (head → tail), how many hold it.
    holding: Vec<usize>,
    /// How many of these are pairs of the predicate.
    common: Vec<usize>,
    /// Pairs of the predicate that another predicate links too, or the same the other way round.
    linked: usize,
}

impl ConstraintLearner<'_> {
    fn near(&self, target: Predicate) -> Near {
        let (predicates, entities) = (self.facts.predicates(), self.facts.entities() as u32);
        let [is_tail, is_head] = Direction::BOTH.map(|end| -> Vec<bool> {
            (0..entities).map(|entity| degree(self.facts, target, end.other(), entity) > 0).collect()
        });
        let count = |ends: &[bool]| ends.iter().filter(|&&is_end| is_end).count();
        let mut near = Near {
            pairs: (0, count(&is_head) * count(&is_tail)),
            holding: vec![0; 2 * predicates],
            common: vec![0; 2 * predicates],
            linked: 0,
        };
        for head in (0..entities as usize).filter(|&head| is_head[head]) {
            for link in self.matrix.row(head).iter().filter(|link| is_tail[link.entity as usize]) {
                // Classes are of the pair (neighbour → head): read the other way round.
                let class = self.matrix.inverse(link.class) as usize;
                let members = self.matrix.classes().members(class);
                let is_fact = members.iter().any(|member| member.filler == target.0);
                near.pairs.0 += 1;
                near.linked += usize::from(is_fact && members.len() > 1);
                for member in members {
                    near.holding[member.filler as usize] += 1;
                    near.common[member.filler as usize] += usize::from(is_fact);
                }
            }
        }
        near
    }

    fn irreflexive(&self, target: Predicate, found: &mut BTreeMap<Denial, ConstraintCounts>) {
        let ends = |direction, entity| degree(self.facts, target, direction, entity) as f64;
        let entities = 0..self.facts.entities() as u32;
        let with_itself = |&entity: &u32| {
            self.facts.tails(target, crate::graph::Entity(entity)).binary_search(&entity).is_ok()
        };
        let facts = self.facts.count(target);
        // By chance a head meets itself as often as it is a tail.
        let pairs: f64 = entities.clone().map(|e| ends(Direction::Tail, e) * ends(Direction::Head, e)).sum();
        let counts = ConstraintCounts {
            facts,
            exceptions: entities.filter(with_itself).count(),
            expected: pairs / facts.max(1) as f64,
        };
        keep(found, Denial::Irreflexive(target), counts, MIN_CONFIDENCE);
    }

    /// Whether the ends of two predicates are of one kind: some role is usual among both.
    fn is_alike(&self, one: Predicate, end: Direction, (other, forward): Step) -> bool {
        let other_end = if forward { end } else { end.other() };
        let usual = &self.usual[one.index()][end as usize];
        usual.iter().any(|role| self.usual[other.index()][other_end as usize].binary_search(role).is_ok())
    }

    /// Predicates that never hold of one pair, or never of a pair turned round.
    ///
    /// ```text
    /// expected = |p| · |q| / |linked pairs|,   of predicates whose ends are of one kind
    ///     or     |p| · |q among the linked pairs near p| / |linked pairs near p|
    /// ```
    fn disjoint(&self, target: Predicate, near: &Near, found: &mut BTreeMap<Denial, ConstraintCounts>) {
        let (predicates, facts) = (self.facts.predicates() as u32, self.facts.count(target));
        for filler in (0..2 * predicates).filter(|&filler| filler != target.0) {
            let (holding, exceptions) = (near.holding[filler as usize], near.common[filler as usize]);
            let mut expected = facts as f64 * holding as f64 / near.pairs.0.max(1) as f64;
            let other = (Predicate(filler % predicates), filler < predicates);
            if Direction::BOTH.iter().all(|&end| self.is_alike(target, end, other)) {
                let both = facts as f64 * self.facts.count(other.0) as f64;
                expected = expected.max(both / self.matrix.linked_pairs().max(1) as f64);
            }
            let denial = Denial::disjoint(target, other);
            let counts = ConstraintCounts { facts, exceptions, expected };
            keep(found, denial, counts, MIN_CONFIDENCE);
        }
    }

    /// Whether all pairs of a predicate are linked by others too.
    fn unlinked(&self, target: Predicate, near: &Near, found: &mut BTreeMap<Denial, ConstraintCounts>) {
        let facts = self.facts.count(target);
        let unlinked = 1.0 - near.pairs.0 as f64 / near.pairs.1.max(1) as f64;
        let counts =
            ConstraintCounts { facts, exceptions: facts - near.linked, expected: facts as f64 * unlinked };
        keep(found, Denial::Linked { predicate: target, denied: false }, counts, MIN_END_CONFIDENCE);
    }

    /// Whether held-out facts join pairs that are linked already: told by *valid*, over all predicates together.
    fn linked(&self, data: &Dataset, linked: &[usize], found: &mut BTreeMap<Denial, ConstraintCounts>) {
        let mut counts = ConstraintCounts { facts: 0, exceptions: 0, expected: 0.0 };
        let mut asked = vec![false; linked.len()];
        for fact in data.split(Split::Valid) {
            let target = fact.predicate.index();
            asked[target] = true;
            let is_linked = is_linked(self.facts, fact.predicate, fact.head.0, fact.tail.0);
            counts.facts += 1;
            counts.exceptions += usize::from(is_linked);
            counts.expected += linked[target] as f64 / self.facts.count(fact.predicate).max(1) as f64;
        }
        if counts.expected < MIN_EXPECTED || counts.exceptions as f64 > MAX_LINKED * counts.expected {
            return;
        }
        for target in (0..linked.len()).filter(|&target| asked[target]) {
            let predicate = Predicate(target as u32);
            keep(found, Denial::Linked { predicate, denied: true }, counts, MIN_CONFIDENCE);
        }
    }
}

fn is_kept(counts: ConstraintCounts, min_confidence: f64) -> bool {
    counts.expected >= MIN_EXPECTED && counts.confidence() >= min_confidence
}

/// Keeps a constraint that is sure enough; of one that is found twice the surer counts.
fn keep(
    found: &mut BTreeMap<Denial, ConstraintCounts>,
    denial: Denial,
    counts: ConstraintCounts,
    min_confidence: f64,
) -> bool {
    if !is_kept(counts, min_confidence) {
        return false;
    }
    let kept = found.entry(denial).or_insert(counts);
    if counts.expected > kept.expected {
        *kept = counts;
    }
    true
}
