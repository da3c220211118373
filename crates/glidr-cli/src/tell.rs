//! Explanations in words: a rule's proof or failure, and the trace of a soft score.

use glidr::internals::explain::{NamedNarrowing, NamedTrace, NamedVerdict, RuleEvidence};
use glidr::internals::rule::quoted;

/// A rule with what it says of a pair.
pub fn rule_text(rule: &RuleEvidence) -> String {
    let mut text = format!("  {}\n", rule.rule);
    text += &format!(
        "    confidence {:.3}, support {}, weight {:.2}\n",
        rule.confidence, rule.support, rule.weight
    );
    match &rule.verdict {
        NamedVerdict::Holds { grounding, facts, min_groundings } => {
            let bound: Vec<String> =
                grounding.iter().map(|(variable, entity)| format!("{variable} = {entity}")).collect();
            text += &format!("    {}\n", bound.join(", "));
            let fact = |fact: &Vec<String>| format!("{}({})", quoted(&fact[0]), fact[1..].join(", "));
            let facts: Vec<String> = facts.iter().map(fact).collect();
            let needed = if *min_groundings > 1 {
                format!(", one of at least {min_groundings} groundings")
            } else {
                String::new()
            };
            text + &format!("    because {}{needed}\n", facts.join(", "))
        }
        NamedVerdict::FailsAt { fails_at: 1, failing_literal } => {
            text + &format!("    fails at {failing_literal}\n")
        }
        NamedVerdict::FailsAt { failing_literal, .. } => {
            text + &format!("    holds up to {failing_literal}, where it fails\n")
        }
        NamedVerdict::TooFew { groundings, min_groundings } => {
            text + &format!("    has {groundings} of the {min_groundings} groundings that it needs\n")
        }
        NamedVerdict::Unknown {} => text + "    the time was over before it was decided\n",
    }
}

/// How message passing came to a score.
pub fn trace_text(trace: &NamedTrace) -> String {
    let mut text = String::new();
    for (round, domains) in trace.rounds.iter().enumerate() {
        for domain in domains {
            let best: Vec<String> =
                domain.best.iter().map(|(entity, value)| format!("{entity} {value:.3}")).collect();
            let start = if round == 0 { "start  ".into() } else { format!("round {round}") };
            let best = if best.is_empty() { "no entity is left".into() } else { best.join(", ") };
            text += &format!("  {start}  {:<2}  sum {:.3}: {best}\n", domain.variable, domain.sum);
        }
    }
    if let Some(most) = &trace.narrowed_most {
        text += &format!(
            "  narrowed most: {} from {}, round {}: took {:.3} of the {:.3} of {}\n",
            literal(most),
            most.from,
            most.round,
            most.taken,
            most.before,
            most.to
        );
    }
    if let Some(emptied) = &trace.emptied {
        let how = if emptied.max_after > 0.0 { "came nearest to emptying" } else { "emptied" };
        text += &format!(
            "  {how} {}: {} from {}, round {}: its likeliest entity fell from {:.3} to {:.3}\n",
            emptied.to,
            literal(emptied),
            emptied.from,
            emptied.round,
            emptied.max_before,
            emptied.max_after
        );
    }
    text
}

fn literal(narrowing: &NamedNarrowing) -> String {
    let fillers: Vec<String> =
        narrowing.literal.iter().map(|(atom, weight)| format!("{weight:.2} {atom}")).collect();
    fillers.join(" + ")
}
