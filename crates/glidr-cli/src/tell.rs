//! Explanations in words: a rule's proof or failure, and the trace of a soft score.

use glidr::Entity;
use glidr::Rule;
use glidr::explain::{Narrowing, Slot, Trace, Verdict, prove};
use glidr::graph::{Neighbours, Vocabulary};
use glidr::rule::{Atom, RuleNames, Term, quoted};
use glidr::solve::{Limits, Solver};
use serde_json::{Value, json};

/// Fillers of a slot that are told.
const FILLERS: usize = 3;

/// A rule with what it says of one pair.
pub struct Judged {
    pub shown: String,
    pub votes: Option<f32>,
    pub confidence: f64,
    pub support: usize,
    verdict: Verdict,
    /// The facts of the proof: a predicate or property, and its arguments.
    facts: Vec<(String, Vec<Entity>)>,
    /// The literal where the rule fails.
    failing: String,
    variables: Vec<(String, Entity)>,
    /// In how many ways the body must hold.
    least: u32,
}

/// Counts a rule and decides it for one pair.
pub fn judge(
    rule: &Rule,
    votes: Option<f32>,
    facts: &Neighbours,
    pair: (Entity, Entity),
    limits: Limits,
    names: RuleNames,
) -> anyhow::Result<Judged> {
    let measures = Solver::new(rule, facts, limits)?.measure().value;
    let verdict = prove(rule, facts, pair.0, pair.1, limits)?;
    let mut judged = Judged {
        shown: rule.show(names),
        votes,
        confidence: measures.confidence(),
        support: measures.support,
        verdict: verdict.clone(),
        facts: Vec::new(),
        failing: String::new(),
        variables: Vec::new(),
        least: rule.min_groundings(),
    };
    match verdict {
        Verdict::Holds(proof) => {
            let inner = (1..proof.grounding.entities.len() - 1).map(|z| Term::Z(z as u8));
            let all = [Term::X, Term::Y].into_iter().chain(inner);
            judged.variables = all.map(|term| (term.show(names), proof.grounding.entity(term))).collect();
            judged.facts = proof.facts.iter().map(|fact| named(*fact, names)).collect();
        }
        Verdict::FailsAt(place) => judged.failing = rule.body()[place].show(names),
        Verdict::TooFew(_) | Verdict::Unknown => {}
    }
    Ok(judged)
}

/// A fact of a proof with its predicate by name.
fn named((atom, a, b): (Atom, Entity, Entity), names: RuleNames) -> (String, Vec<Entity>) {
    match atom {
        Atom::Pair(predicate, ..) => (names.predicates.name(predicate).to_owned(), vec![a, b]),
        Atom::Own(property, _) => (names.properties.name(property).to_owned(), vec![a]),
        Atom::Is(..) => unreachable!("what a variable is is no fact"),
    }
}

impl Judged {
    /// Whether the rule fires.
    pub fn fires(&self) -> bool {
        matches!(self.verdict, Verdict::Holds(_))
    }

    /// The facts of the proof by name, each with the predicate first.
    pub fn proof<'n>(&'n self, names: &'n Vocabulary) -> Vec<Vec<&'n str>> {
        let fact = |(predicate, entities): &'n (String, Vec<Entity>)| {
            let entities = entities.iter().map(|entity| names.entities.name(*entity));
            std::iter::once(predicate.as_str()).chain(entities).collect()
        };
        self.facts.iter().map(fact).collect()
    }

    /// The facts of the proof on one line.
    pub fn proof_text(&self, names: &Vocabulary) -> String {
        let fact = |fact: &Vec<&str>| format!("{}({})", quoted(fact[0]), fact[1..].join(", "));
        self.proof(names).iter().map(fact).collect::<Vec<_>>().join(", ")
    }

    pub fn text(&self, names: &Vocabulary) -> String {
        let votes = self.votes.map_or(String::new(), |votes| format!(", votes {votes:.2}"));
        let mut text = format!("  {}\n", self.shown);
        text += &format!("    confidence {:.3}, support {}{votes}\n", self.confidence, self.support);
        match &self.verdict {
            Verdict::Holds(_) => {
                let bound = self.variables.iter();
                let bound: Vec<String> = bound
                    .map(|(name, entity)| format!("{name} = {}", names.entities.name(*entity)))
                    .collect();
                text += &format!("    {}\n", bound.join(", "));
                let ways = if self.least > 1 {
                    format!(", one of at least {} ways", self.least)
                } else {
                    String::new()
                };
                text + &format!("    because {}{ways}\n", self.proof_text(names))
            }
            Verdict::FailsAt(0) => text + &format!("    fails at {}\n", self.failing),
            Verdict::FailsAt(_) => text + &format!("    holds up to {}, where it fails\n", self.failing),
            Verdict::TooFew(ways) => {
                text + &format!("    holds in {ways} of the {} ways that it needs\n", self.least)
            }
            Verdict::Unknown => text + "    the time was over before it was decided\n",
        }
    }

    pub fn value(&self, names: &Vocabulary) -> Value {
        let mut value = json!({ "rule": self.shown, "confidence": self.confidence, "support": self.support,
            "votes": self.votes, "fires": self.fires() });
        match &self.verdict {
            Verdict::Holds(_) => {
                value["grounding"] = self
                    .variables
                    .iter()
                    .map(|(name, entity)| (name.clone(), json!(names.entities.name(*entity))))
                    .collect();
                value["facts"] = json!(self.proof(names));
            }
            Verdict::FailsAt(place) => {
                value["fails_at"] = json!(place + 1);
                value["failing_literal"] = json!(self.failing);
            }
            Verdict::TooFew(ways) => value["ways"] = json!(ways),
            Verdict::Unknown => value["fires"] = Value::Null,
        }
        value
    }
}

/// A slot's likeliest fillers with their weights.
fn fillers(slot: &Slot, names: RuleNames) -> Vec<(String, f32)> {
    let told = slot.fillers.iter().take(FILLERS);
    told.map(|(atom, weight)| (atom.map_or("true".into(), |atom| atom.show(names)), *weight)).collect()
}

fn literal(trace: &Trace, narrowing: &Narrowing, names: RuleNames) -> String {
    let Some(slot) = trace.slot(narrowing.from, narrowing.to) else { return String::new() };
    let told: Vec<String> =
        fillers(slot, names).iter().map(|(atom, weight)| format!("{weight:.2} {atom}")).collect();
    told.join(" + ")
}

/// The message that narrowed most, and where the score is low the one that emptied a domain.
fn points(trace: &Trace) -> [(&'static str, Option<&Narrowing>); 2] {
    let emptied = if trace.score < 0.5 { trace.emptied() } else { None };
    [("narrowed_most", trace.narrowed_most()), ("emptied", emptied)]
}

pub fn trace_text(trace: &Trace, names: RuleNames, data: &Vocabulary) -> String {
    let mut text = String::new();
    for (round, domains) in trace.rounds.iter().enumerate() {
        for domain in domains {
            let best: Vec<String> = domain
                .best
                .iter()
                .map(|(entity, value)| format!("{} {value:.3}", data.entities.name(*entity)))
                .collect();
            let start = if round == 0 { "start  ".into() } else { format!("round {round}") };
            let best = if best.is_empty() { "no entity is left".into() } else { best.join(", ") };
            text +=
                &format!("  {start}  {:<2}  sum {:.3}: {best}\n", domain.variable.show(names), domain.mass);
        }
    }
    for (what, point) in points(trace) {
        let Some(point) = point else { continue };
        let (from, to) = (point.from.show(names), point.to.show(names));
        let literal = literal(trace, point, names);
        text += &if what == "emptied" {
            let [before, after] = point.most;
            let how = if after > 0.0 { "came nearest to emptying" } else { "emptied" };
            format!(
                "  {how} {to}: {literal} from {from}, round {}: its likeliest entity fell from {before:.3} to {after:.3}\n",
                point.round
            )
        } else {
            format!(
                "  narrowed most: {literal} from {from}, round {}: took {:.3} of the {:.3} of {to}\n",
                point.round, point.taken, point.before
            )
        };
    }
    text
}

pub fn trace_value(trace: &Trace, names: RuleNames, data: &Vocabulary) -> Value {
    let domains = |domains: &Vec<glidr::explain::DomainView>| -> Value {
        domains
            .iter()
            .map(|domain| {
                let best: Vec<Value> = domain
                    .best
                    .iter()
                    .map(|(entity, value)| json!([data.entities.name(*entity), value]))
                    .collect();
                json!({ "variable": domain.variable.show(names), "sum": domain.mass, "best": best })
            })
            .collect()
    };
    let mut value = json!({ "rounds": trace.rounds.iter().map(domains).collect::<Vec<_>>() });
    for (what, point) in points(trace) {
        let Some(point) = point else { continue };
        value[what] = json!({ "round": point.round, "from": point.from.show(names), "to": point.to.show(names),
            "before": point.before, "taken": point.taken, "most_before": point.most[0], "most_after": point.most[1],
            "literal": trace.slot(point.from, point.to).map(|slot| fillers(slot, names)) });
    }
    value
}
