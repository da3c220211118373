//! Local search around a soft rule: hard rules that it may stand for, by its likely fillers.
//!
//! It starts from the rules at several shares p of the mass, and moves one slot at a time: to another
//! likely filler (which also splits a disjunction), to `P_true` (which drops the literal), or from
//! `P_true` to a likely filler (which adds one). Whatever is measured on the way is proposed.

use std::collections::BTreeMap;

use crate::graph::{Predicate, Property};
use crate::infer::{Slots, Weights};
use crate::model::Extraction;
use crate::model::SoftRule;
use crate::rule::{Filler, Filling, Rule, Schema};

/// The shares of the mass that the search starts from.
const MASSES: [f32; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];
/// A filler is likely if it has this weight.
const LIKELY: f32 = 0.04;
/// At most so many likely fillers of one slot.
const FILLERS: usize = 4;
/// So many rules go on from one round of moves to the next.
const BEAM: usize = 4;
/// Rounds of moves.
const ROUNDS: usize = 3;

/// Searches around one soft rule. `worth` measures a rule, and remembers it for the caller; none means
/// that the rule is of no use. At most `budget` rules are measured.
pub(in crate::search) fn local_search(
    soft: &SoftRule,
    schema: &Schema,
    target: Predicate,
    budget: usize,
    worth: &mut impl FnMut(Rule) -> Option<f64>,
) {
    let weights = Slots::soft(&soft.logits, schema);
    let mut seen: BTreeMap<Rule, Option<f64>> = BTreeMap::new();
    let mut measure = |filling: &Filling| -> Option<(f64, Rule)> {
        let rule = filling.rule(target);
        if !seen.contains_key(&rule) {
            if seen.len() >= budget {
                return None;
            }
            let found = worth(rule.clone());
            seen.insert(rule, found);
            return found.map(|found| (found, filling.rule(target)));
        }
        None
    };
    let starts = MASSES.iter().map(|&p| Extraction::TopP(p)).chain([Extraction::Argmax]);
    let mut beam: Vec<(f64, Rule, Filling)> = starts
        .filter_map(|start| {
            let filling = start.filling(&weights, schema);
            measure(&filling).map(|(worth, rule)| (worth, rule, filling))
        })
        .collect();
    if beam.is_empty() {
        // A start that holds nowhere may still be near one that does.
        let filling = Extraction::Argmax.filling(&weights, schema);
        beam.push((0.0, filling.rule(target), filling));
    }
    for _ in 0..ROUNDS {
        let mut next: Vec<(f64, Rule, Filling)> = Vec::new();
        for (_, _, filling) in &beam {
            for moved in moves(filling, &weights, schema) {
                if let Some((worth, rule)) = measure(&moved) {
                    next.push((worth, rule, moved));
                }
            }
        }
        beam.append(&mut next);
        beam.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        beam.truncate(BEAM);
    }
}

/// All fillings that differ in one slot, by a likely filler or by none.
fn moves(filling: &Filling, weights: &Weights, schema: &Schema) -> Vec<Filling> {
    let mut all = Vec::new();
    for (slot, ((i, j), row)) in schema.pairs().zip(weights.pair_rows(schema)).enumerate() {
        if !filling.slot(slot).is_empty() {
            all.push(filling.clone().pair(i, j, &[]));
        }
        for number in likely(row) {
            let filler = schema.filler(number);
            if filler != Filler::True && filling.slot(slot) != [filler] {
                all.push(filling.clone().pair(i, j, &[filler]));
            }
        }
    }
    for (variable, row) in weights.own_rows(schema).enumerate() {
        if !filling.own_slot(variable).is_empty() {
            all.push(filling.clone().own(variable, &[]));
        }
        for number in likely(row).into_iter().filter(|&number| number < schema.properties) {
            let property = Property(number as u32);
            if filling.own_slot(variable) != [property] {
                all.push(filling.clone().own(variable, &[property]));
            }
        }
    }
    all
}

/// The numbers of a slot's likely fillers, most weight first.
fn likely(row: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).filter(|&number| row[number] >= LIKELY).collect();
    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
    order.truncate(FILLERS);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_slot_comes_apart_into_its_fillers() {
        let schema = Schema::new(3, 3, 0).expect("in range");
        let mut logits = Slots::zero(&schema);
        // X–Z is predicate 0; Z–Y is split between 1 and 2; X–Y is free.
        for (slot, fillers) in [(0, &[0][..]), (1, &[6]), (2, &[1, 2])] {
            for filler in fillers {
                logits.pairs[slot * 7 + filler] = 8.0;
            }
        }
        let soft = SoftRule { logits, loss: 1.0, weight: 1.0 };
        let mut found = Vec::new();
        local_search(&soft, &schema, Predicate(0), 100, &mut |rule| {
            found.push(rule);
            Some(0.5)
        });
        let single = |second| {
            Filling::new(schema)
                .pair(0, 1, &[Filler::Direct(Predicate(0))])
                .pair(1, 2, &[Filler::Direct(Predicate(second))])
                .rule(Predicate(0))
        };
        assert!(found.contains(&single(1)) && found.contains(&single(2)), "{found:?}");
        assert!(found.iter().any(|rule| rule.body().iter().any(|literal| literal.atoms().len() == 2)));
    }
}
