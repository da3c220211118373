//! What `glidr learn` shows when it is done: the figures, the best rules, two new facts, and what to try next.

use std::cmp::Ordering;
use std::path::Path;
use std::time::Duration;

use glidr::internals::explain::Detail;
use glidr::internals::predict::{Completion, NewFact};
use glidr::{Dataset, EvaluationReport, Model, Reasoner};

use crate::learn::typed;
use crate::output::{counted, table};
use crate::tell::rule_text;

/// Rules that are shown, each the best of its predicate.
const RULES: usize = 12;
/// New facts are looked for where there are no more queries than this; where soft rules score, which takes longer, than
/// the second.
const MAX_QUERIES: [usize; 2] = [20_000, 1_000];

/// A model that was just learned.
pub struct Screen<'a> {
    pub model: &'a Model,
    pub data: &'a Dataset,
    /// Where the model was written.
    pub path: Option<&'a Path>,
    /// The data as it was named.
    pub typed_data: Option<&'a Path>,
    pub time: Duration,
}

impl Screen<'_> {
    /// The whole screen.
    pub fn text(
        &self,
        ranked: Option<&EvaluationReport>,
        searched: usize,
        soft: usize,
    ) -> anyhow::Result<String> {
        let kept = || self.model.rules.iter().flat_map(|kept| kept.rules.rules());
        let priors = kept().filter(|weighted| !weighted.rule.links_ends()).count();
        let against =
            kept().filter(|weighted| weighted.rule.links_ends() && weighted.speaks_against()).count();
        let speak_for = searched - priors - against;
        let kinds = [(speak_for, "rule"), (against, "counter-rule"), (priors, "prior"), (soft, "soft rule")];
        let kinds: Vec<String> =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| counted(*count, kind)).collect();
        let kinds = if kinds.is_empty() { "no rules".to_owned() } else { kinds.join(", ") };
        let targets = counted(self.model.learned_targets().len(), "predicate");
        let mut text = format!("learned {kinds} for {targets} in {:.1} s\n", self.time.as_secs_f64());
        if let Some(ranked) = ranked {
            text += &figures(ranked);
        }
        text += &self.best_rules()?;
        let reasoner = self.model.on(self.data)?;
        let new = self.new_facts(&reasoner)?;
        for (place, new) in new.iter().enumerate() {
            if place == 0 {
                text += "\nanswers that it was not told, with test held out:\n";
            }
            text += &self.proof(new, &reasoner)?;
        }
        Ok(text + &self.next(new.first()))
    }

    /// The best rule of each predicate, the best of these first.
    fn best_rules(&self) -> anyhow::Result<String> {
        let mut best = Vec::new();
        for target in self.model.learned_targets() {
            best.extend(self.model.rules(target)?.next());
        }
        let all = best.len();
        best.sort_by(|a, b| b.rating.total_cmp(&a.rating));
        best.truncate(RULES);
        let counts = best.iter().all(|rule| rule.measures.is_some());
        let row = |rule: glidr::NamedRule| {
            let number = |number: f64| format!("{number:.3}");
            let mut row = match rule.measures {
                Some(m) if counts => {
                    vec![number(m.confidence()), m.support.to_string(), number(m.head_coverage())]
                }
                _ => vec![format!("{:.2}", rule.weight.max())],
            };
            row.push(rule.text);
            row
        };
        let header =
            if counts { vec!["confidence", "support", "coverage", "rule"] } else { vec!["weight", "rule"] };
        let of = if all > RULES { format!(", of {RULES} of {all} predicates") } else { String::new() };
        let rows = best.into_iter().map(row);
        Ok(format!("\nthe best rule of each predicate{of}:\n{}", table(&header, header.len(), rows)))
    }

    /// The two most probable new facts, of different predicates, where they are found soon; of equally probable ones those
    /// by the most confident rules.
    fn new_facts(&self, reasoner: &Reasoner) -> anyhow::Result<Vec<NewFact>> {
        let queries = self.data.names().entities.len() * self.model.learned_targets().len();
        if queries > MAX_QUERIES[usize::from(self.model.soft.is_some())]
            || self.model.calibration.is_none()
            || self.model.rules.is_none()
        {
            return Ok(Vec::new());
        }
        let mut found = reasoner.complete(&Completion::default(), &())?;
        found.retain(|new| new.rule.is_some());
        let confidence = |new: &NewFact| {
            let rules = reasoner.searched_rules()?.target(new.fact.predicate)?;
            Some(rules.rules.get(new.rule?)?.confidence())
        };
        let rating = |new: &NewFact| (new.probability, confidence(new).unwrap_or(0.0));
        found.sort_by(|a, b| rating(b).partial_cmp(&rating(a)).unwrap_or(Ordering::Equal));
        let first = found.first().map(|new| new.fact.predicate);
        let other = found.iter().find(|new| Some(new.fact.predicate) != first);
        Ok(found.first().into_iter().chain(other).copied().collect())
    }

    fn proof(&self, new: &NewFact, reasoner: &Reasoner) -> anyhow::Result<String> {
        let names = self.data.names();
        let [head, tail] = [new.fact.head, new.fact.tail].map(|entity| names.entities.name(entity));
        let predicate = names.predicates.name(new.fact.predicate);
        let why = reasoner.explain_with(predicate, head, tail, &Detail::best_rule())?;
        let place = if new.is_held_out { "it is in test" } else { "it is not in the data" };
        let told = why.best_rule().map_or(String::new(), rule_text);
        Ok(format!("{predicate}({head}, {tail}): probability {:.2}; {place}\n{told}", new.probability))
    }

    /// Three commands to try.
    fn next(&self, new: Option<&NewFact>) -> String {
        let model = self.path.map_or("my.glidr".to_owned(), typed);
        let names = self.data.names();
        let query = new.map(|new| {
            let (target, head) =
                (names.predicates.name(new.fact.predicate), names.entities.name(new.fact.head));
            format!("--target {} --head {} --explain", typed(Path::new(target)), typed(Path::new(head)))
        });
        let query = query.unwrap_or("--target NAME --head ENTITY --explain".into());
        let data = self.typed_data.map_or(String::new(), |data| format!(" {}", typed(data)));
        let first = match self.path {
            Some(_) => format!("glidr rules {model} --per-target --limit 3"),
            None => format!("glidr learn{data} -o {model}"),
        };
        format!(
            "\ntry next:\n  {first}\n  glidr predict {model} {query}\n  glidr complete {model} -o new.tsv\n"
        )
    }
}

/// The figures on *test* in one line.
fn figures(ranked: &EvaluationReport) -> String {
    let all = &ranked.all;
    format!(
        "{}: MRR {:.3}, Hits@1 {:.3}, Hits@3 {:.3}, Hits@10 {:.3} over {}, filtered ({} scoring)\n",
        ranked.protocol.split.name(),
        all.mrr,
        all.hits1,
        all.hits3,
        all.hits10,
        counted(all.queries, "query"),
        ranked.protocol.scoring
    )
}
