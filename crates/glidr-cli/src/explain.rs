//! `glidr explain`: why a pair scores as it does.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use glidr::internals::explain::Detail;
use glidr::internals::solve::Limits;
use glidr::{Background, Explanation, Reasoning, Split};
use serde_json::json;

use crate::help::EXPERT;
use crate::output::{Output, counted, table};
use crate::scoring::{ScoringFlags, reasoner};
use crate::settings::Looked;
use crate::sources::open_both;
use crate::tell::{rule_text, trace_text};

/// Tell why a fact is likely or not: proofs, then rules that nearly fire.
///
/// A pair that is itself a known fact is explained without that fact. The rules are those that the model scores with; of a
/// model of soft rules alone, those taken from them by top-p, p = 0.25.
///
/// With --trace, for the soft rules of the largest contribution the domains are shown round by round, with the sum of
/// their entries and the likeliest entities, the literal that narrowed most, and for a score below 0.5 the literal that
/// emptied a domain or came nearest to it. A rule's score is what message passing leaves of the emptiest variable's
/// likeliest entity; the soft score is the sum over soft rules of weight × score.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr explain my.glidr --target uncle --head Arthur --tail Colin\n  \
    glidr explain my.glidr --target uncle --head Arthur --tail Colin --limit 10\n  \
    glidr explain my.glidr --target uncle --head Arthur --tail Colin --scoring soft --trace")]
pub struct Explain {
    /// The model, or a text of rules
    model: PathBuf,
    /// Folder or file of triples [default: what the model was learned on]
    ///
    /// For a text of rules the default is the built-in families.
    data: Option<PathBuf>,
    /// The predicate
    #[arg(long, value_name = "NAME")]
    target: String,
    /// The head of the pair
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    head: String,
    /// The tail of the pair
    #[arg(long, value_name = "ENTITY", allow_hyphen_values = true)]
    tail: String,
    #[command(flatten)]
    scoring: ScoringFlags,
    /// What the rules may look up
    #[arg(long, value_enum, default_value = "train", help_heading = EXPERT)]
    background: Looked,
    /// Show how message passing came to the soft score: domains round by round
    #[arg(long)]
    trace: bool,
    /// At most so many rules that fire, and that do not; 0 lists all
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    limit: usize,
    /// Entities shown of each domain
    #[arg(long, value_name = "COUNT", default_value_t = 3, help_heading = EXPERT)]
    entities: usize,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = EXPERT)]
    rounds: Option<u16>,
    /// Seconds for deciding or counting one rule
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..), help_heading = EXPERT)]
    time: u64,
}

impl Explain {
    /// Explains and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let scoring = self.scoring.scoring()?;
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let reasoning = Reasoning {
            scoring,
            background: self.background.into(),
            rounds: self.rounds.map(usize::from),
            ..Reasoning::default()
        };
        let reasoner = reasoner((&model, &self.model), &data, reasoning, output)?;
        let query = reasoner.query(&self.target, Some(&self.head), None)?;
        let detail = Detail {
            max_firing: self.limit,
            max_failing: self.limit,
            max_traces: if self.trace { self.limit } else { 0 },
            domain_entities: self.entities,
            limits: Limits { time: Some(Duration::from_secs(self.time)), answers: None },
        };
        let explanation = reasoner.explain_with(&self.target, &self.head, &self.tail, &detail)?;
        let fact = query.fact(data.names().entity(&self.tail)?);
        let split = Split::ALL.into_iter().find(|&split| data.split(split).contains(&fact));
        if output.json {
            let mut value = json!(explanation);
            value["target"] = json!(self.target);
            value["head"] = json!(self.head);
            value["tail"] = json!(self.tail);
            value["data"] = json!(data.source);
            value["split"] = json!(split.map(Split::name));
            value["left_out"] = json!(split.is_some_and(|split| self.is_background(split)));
            return output.write_json(&value);
        }
        output.write(&self.text(&explanation, &reasoner.predictor().scoring(), split))
    }

    fn is_background(&self, split: Split) -> bool {
        Background::from(self.background).splits().contains(&split)
    }

    fn text(&self, explanation: &Explanation, scoring: &str, split: Option<Split>) -> String {
        let mut text = format!("{}({}, {}): ", self.target, self.head, self.tail);
        if let Some(probability) = explanation.probability {
            text += &format!("probability {probability:.3}, ");
        }
        text += &format!("{scoring} score {:.4}\n", explanation.score);
        if let Some(weight) = explanation.mixing_weight {
            text += &format!("mixing weight {weight}: so much of the score is soft\n");
        }
        text += &match split {
            Some(split) if self.is_background(split) => {
                format!("a fact of {}; explained without that fact\n", split.name())
            }
            Some(split) => format!("a fact of {}, which the rules do not look up\n", split.name()),
            None => "a fact of no split\n".into(),
        };
        text += &format!("\nrules that fire: {} of {}\n", explanation.firing, explanation.decided);
        if explanation.priors > 0 {
            let count = counted(explanation.priors, "prior");
            text += &format!("{count} that fire are part of the score: how common such ends are\n");
        }
        for rule in explanation.rules.iter().filter(|rule| rule.is_firing()) {
            text += &rule_text(rule);
        }
        if explanation.firing < explanation.decided {
            text += "\nrules that do not, and where they fail\n";
        }
        for rule in explanation.rules.iter().filter(|rule| !rule.is_firing()) {
            text += &rule_text(rule);
        }
        if explanation.soft.is_empty() {
            return text;
        }
        text += "\nhow the soft score comes together: the sum of weight × score\n";
        let rows = explanation.soft.iter().map(|soft| {
            let numbers = [soft.weight, soft.score, soft.contribution];
            let mut row = vec![format!("soft rule {}", soft.rule)];
            row.extend(numbers.map(|number| format!("{number:.4}")));
            row
        });
        text += &table(&["", "weight", "score", "contribution"], 1, rows);
        for soft in &explanation.soft {
            if let Some(trace) = &soft.trace {
                text += &format!("\nsoft rule {}, score {:.4}\n", soft.rule, soft.score);
                text += &trace_text(trace);
            }
        }
        text
    }
}
