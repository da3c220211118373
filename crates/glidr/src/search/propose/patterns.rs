//! Endpoint patterns: what the known heads and tails of a target have in common, constants included.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::search::body::{Body, IDENTITY, Pattern, Steps};

/// How many patterns are proposed, at most.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct MaxPatterns {
    /// Patterns of one end.
    pub single: usize,
    /// Patterns of X and Y at once.
    pub paired: usize,
    /// Constants that an end may be.
    pub constants: usize,
}

/// Of ends with more patterns than this only what they are, and which steps they have, is paired.
const MAX_PAIRED: usize = 200;

/// A pattern, how many of the pairs have it, and how many entities.
type Held = (Pattern, usize, usize);

/// Endpoint patterns that hold for at least `min_support` of `pairs`, a sample of the target's `facts`.
pub(in crate::search) fn patterns(
    steps: &Steps,
    pairs: &[(u32, u32)],
    facts: usize,
    min_support: usize,
    most: MaxPatterns,
) -> Vec<Body> {
    let heads = held(steps, pairs.iter().map(|pair| pair.0), min_support);
    let tails = held(steps, pairs.iter().map(|pair| pair.1), min_support);
    let (of_heads, of_tails) = (chosen(steps, &heads, most), chosen(steps, &tails, most));
    let mut bodies: Vec<Body> = of_heads.iter().map(|&pattern| Body::X(pattern)).collect();
    bodies.extend(of_tails.iter().map(|&pattern| Body::Y(pattern)));
    let [of_heads, of_tails] =
        [(&heads, of_heads), (&tails, of_tails)].map(|(held, narrow)| Numbered::new(held, &narrow));
    let found = pairs_of_patterns(steps, pairs, &of_heads, &of_tails);
    let scale = facts as f64 / pairs.len().max(1) as f64;
    let worth = |(a, b, count): (Pattern, Pattern, usize)| {
        let answers = steps.holders(a).len() as f64 * steps.holders(b).len() as f64;
        let count = count as f64;
        (count * (count / (answers / scale + 5.0)), Body::Both(a, b))
    };
    let mut both: Vec<(f64, Body)> =
        found.into_iter().filter(|(_, _, count)| *count >= min_support).map(worth).collect();
    both.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    bodies.extend(both.into_iter().take(most.paired).map(|(_, body)| body));
    bodies
}

/// Patterns of one end by number, and which of them are narrow.
struct Numbered {
    patterns: Vec<Pattern>,
    numbers: HashMap<Pattern, usize>,
    is_narrow: Vec<bool>,
}

impl Numbered {
    fn new(held: &[Held], narrow: &[Pattern]) -> Self {
        let narrow: HashSet<&Pattern> = narrow.iter().collect();
        let patterns: Vec<Pattern> = held.iter().map(|held| held.0).collect();
        let is_narrow = patterns.iter().map(|pattern| narrow.contains(pattern)).collect();
        let numbers = patterns.iter().enumerate().map(|(number, &pattern)| (pattern, number)).collect();
        Numbered { patterns, numbers, is_narrow }
    }

    /// The numbers of the patterns that an entity has.
    fn of(&self, steps: &Steps, entity: u32) -> Vec<usize> {
        patterns_of(steps, entity, MAX_PAIRED).iter().filter_map(|of| self.numbers.get(of).copied()).collect()
    }
}

/// A narrow pattern of one end with any of the other, and how many pairs have both. Counted head pattern by head
/// pattern, so that the counts of one lie side by side.
fn pairs_of_patterns(
    steps: &Steps,
    pairs: &[(u32, u32)],
    heads: &Numbered,
    tails: &Numbered,
) -> Vec<(Pattern, Pattern, usize)> {
    let mut pairs_with: Vec<Vec<usize>> = vec![Vec::new(); heads.patterns.len()];
    for (number, &(head, _)) in pairs.iter().enumerate() {
        heads.of(steps, head).into_iter().for_each(|pattern| pairs_with[pattern].push(number));
    }
    let of_tails: Vec<Vec<usize>> = pairs.iter().map(|pair| tails.of(steps, pair.1)).collect();
    let is_narrow = |of: &&usize| tails.is_narrow[**of];
    let narrow: Vec<Vec<usize>> =
        of_tails.iter().map(|of| of.iter().filter(is_narrow).copied().collect()).collect();
    let mut found = Vec::new();
    let mut counts = vec![0; tails.patterns.len()];
    for (head, numbers) in pairs_with.iter().enumerate() {
        let of_tails = if heads.is_narrow[head] { &of_tails } else { &narrow };
        for &number in numbers {
            of_tails[number].iter().for_each(|&tail| counts[tail] += 1);
        }
        for (tail, count) in counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            found.push((heads.patterns[head], tails.patterns[tail], std::mem::take(count)));
        }
    }
    found
}

/// An entity's patterns; where they are more than `most`, those with a constant say little of it and are left out, but
/// for the one that says which entity it is.
fn patterns_of(steps: &Steps, entity: u32, most: usize) -> Vec<Pattern> {
    let mut patterns = vec![Pattern { step: IDENTITY, constant: Some(entity) }];
    for step in 0..steps.count() as u32 {
        let led = steps.from(step, entity);
        if !led.is_empty() {
            patterns.push(Pattern { step, constant: None });
            if (step as usize) < steps.between() {
                patterns.extend(led.iter().map(|&constant| Pattern { step, constant: Some(constant) }));
            }
        }
    }
    if patterns.len() > most {
        patterns.retain(|pattern| pattern.step == IDENTITY || pattern.constant.is_none());
    }
    patterns
}

/// The patterns that at least `min_support` of some entities have: what an entity is first, then in their order; of patterns that
/// the same entities have, the first.
fn held(steps: &Steps, entities: impl Iterator<Item = u32>, min_support: usize) -> Vec<Held> {
    let mut often: BTreeMap<u32, usize> = BTreeMap::new();
    for entity in entities {
        *often.entry(entity).or_default() += 1;
    }
    let mut counts: BTreeMap<Pattern, usize> = BTreeMap::new();
    for (&entity, &times) in &often {
        for pattern in patterns_of(steps, entity, usize::MAX) {
            *counts.entry(pattern).or_default() += times;
        }
    }
    let enough = counts.into_iter().filter(|&(_, count)| count >= min_support);
    let mut patterns: Vec<Held> =
        enough.map(|(pattern, count)| (pattern, count, steps.holders(pattern).len())).collect();
    patterns.sort_by_key(|held| held.0.step != IDENTITY);
    let mut known: HashSet<&[u32]> = HashSet::new();
    patterns.retain(|held| known.insert(steps.holders(held.0)));
    patterns
}

/// The patterns that tell most: some by how sure they are, some by how often they hold; of patterns that the
/// same entities have, the first. And the constants that are most often the end.
fn chosen(steps: &Steps, patterns: &[Held], most: MaxPatterns) -> Vec<Pattern> {
    let (mut constants, patterns): (Vec<Held>, Vec<Held>) =
        patterns.iter().partition(|m| m.0.step == IDENTITY);
    let mut chosen: Vec<Pattern> = Vec::new();
    let mut known: HashSet<&[u32]> = HashSet::new();
    for (power, share) in [(1.0, 2), (0.5, 1)] {
        let value = |held: &Held| held.1 as f64 / (held.2 as f64).powf(power);
        let mut order: Vec<&Held> = patterns.iter().collect();
        order.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.0.cmp(&b.0)));
        let mut left = most.single * share / 3;
        for held in order {
            if left == 0 {
                break;
            }
            if known.insert(steps.holders(held.0)) {
                chosen.push(held.0);
                left -= 1;
            }
        }
    }
    constants.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    chosen.extend(constants.iter().take(most.constants).map(|held| held.0));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Neighbours, Sizes, Triple};

    #[test]
    fn pairs_of_patterns_are_those_counted_one_by_one() {
        let triples: Vec<Triple> = (0..50u32).map(|n| Triple::new(n * 7 % 11, n % 3, n * n % 11)).collect();
        let facts = Neighbours::new(Sizes { entities: 11, predicates: 3, properties: 0 }, &triples, &[]);
        let (steps, pairs) = (Steps::new(&facts), [(0, 1), (2, 4), (2, 5), (7, 1), (3, 9)]);
        let [heads, tails] = [pairs.map(|pair| pair.0), pairs.map(|pair| pair.1)].map(|ends| {
            let held = held(&steps, ends.into_iter(), 1);
            let narrow: Vec<Pattern> = held.iter().map(|held| held.0).step_by(3).collect();
            Numbered::new(&held, &narrow)
        });
        let mut plain: BTreeMap<(Pattern, Pattern), usize> = BTreeMap::new();
        for (head, tail) in pairs {
            for a in heads.of(&steps, head) {
                for b in
                    tails.of(&steps, tail).into_iter().filter(|&b| heads.is_narrow[a] || tails.is_narrow[b])
                {
                    *plain.entry((heads.patterns[a], tails.patterns[b])).or_default() += 1;
                }
            }
        }
        let mut found = pairs_of_patterns(&steps, &pairs, &heads, &tails);
        found.sort_unstable();
        assert!(found.iter().any(|(_, _, count)| *count > 1));
        assert_eq!(found, plain.into_iter().map(|((a, b), count)| (a, b, count)).collect::<Vec<_>>());
    }
}
