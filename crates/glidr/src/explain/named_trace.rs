//! A trace by name, ready to be shown.

use serde::Serialize;

use super::{DomainView, Narrowing, Slot, Trace};
use crate::graph::{Entity, Names};
use crate::rule::RuleNames;

/// Fillers of a slot that are shown.
const FILLERS: usize = 3;
/// Below this score it is told which literal emptied a domain.
const LOW_SCORE: f32 = 0.5;

/// How message passing came to the score of one soft rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedTrace {
    /// The rule's score, without its weight.
    #[serde(skip)]
    pub score: f32,
    /// The domains at the start and after every round.
    pub rounds: Vec<Vec<NamedDomain>>,
    /// The message that took the largest part of a domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrowed_most: Option<NamedNarrowing>,
    /// Of a low score, the message that emptied a domain or came nearest to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied: Option<NamedNarrowing>,
}

/// The likeliest entities of one variable after one round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedDomain {
    /// The variable.
    pub variable: String,
    /// The sum of its entries.
    pub sum: f64,
    /// The likeliest entities with their values, likeliest first.
    pub best: Vec<(String, f32)>,
}

/// What the literal of one slot took from one variable in one round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NamedNarrowing {
    /// The round, from 1.
    pub round: usize,
    /// The variable whose message it was.
    pub from: String,
    /// The variable that was narrowed.
    pub to: String,
    /// The sum of the variable's entries before the round.
    pub before: f64,
    /// How much of it this message took.
    pub taken: f64,
    /// The variable's largest entry before the round.
    pub max_before: f32,
    /// The variable's largest entry after the round.
    pub max_after: f32,
    /// The slot's fillers of most weight.
    pub literal: Vec<(String, f32)>,
}

impl NamedTrace {
    /// A trace under these names.
    pub fn new(trace: &Trace, names: RuleNames, entities: &Names<Entity>) -> Self {
        let domain = |domain: &DomainView| NamedDomain {
            variable: domain.variable.show(names),
            sum: domain.mass,
            best: domain
                .best
                .iter()
                .map(|&(entity, value)| (entities.name(entity).to_owned(), value))
                .collect(),
        };
        let narrowing = |narrowing: &Narrowing| NamedNarrowing {
            round: narrowing.round,
            from: narrowing.from.show(names),
            to: narrowing.to.show(names),
            before: narrowing.before,
            taken: narrowing.taken,
            max_before: narrowing.max[0],
            max_after: narrowing.max[1],
            literal: trace.slot(narrowing.from, narrowing.to).map_or(Vec::new(), |slot| fillers(slot, names)),
        };
        NamedTrace {
            score: trace.score,
            rounds: trace.rounds.iter().map(|domains| domains.iter().map(domain).collect()).collect(),
            narrowed_most: trace.narrowed_most().map(narrowing),
            emptied: trace.emptied().filter(|_| trace.score < LOW_SCORE).map(narrowing),
        }
    }
}

/// A slot's likeliest fillers with their weights.
fn fillers(slot: &Slot, names: RuleNames) -> Vec<(String, f32)> {
    let fillers = slot.fillers.iter().take(FILLERS);
    fillers.map(|(atom, weight)| (atom.map_or("true".into(), |atom| atom.show(names)), *weight)).collect()
}
