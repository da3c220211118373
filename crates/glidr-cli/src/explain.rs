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
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let detail = Detail {
            max_firing: limit,
            max_failing: limit,
            max_traces: if self.trace { limit } else { 0 },
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
        let mut text = self.verdict(explanation, scoring, split);
        text += &self.denied(explanation);
        let (firing, failing) = (explanation.firing, explanation.decided - explanation.firing);
        let told = explanation.rules.iter().filter(|rule| rule.is_firing()).count();
        let of = counted(explanation.decided, "rule");
        text += &match firing {
            0 => format!("\nnone of {of} fires\n"),
            1 => format!("\n1 of {of} fires:\n"),
            _ => format!("\n{firing} of {of} fire:\n"),
        };
        text += &explanation.rules[..told].iter().map(rule_text).collect::<String>();
        text += &more(firing - told, ["that fires", "that fire"]);
        text += &match explanation.priors {
            0 => String::new(),
            1 => "1 prior fires too: it says how common such ends are\n".into(),
            priors => format!("{priors} priors fire too: they say how common such ends are\n"),
        };
        if !explanation.against.is_empty() {
            text += "\nrules that fire and speak against it:\n";
            text += &explanation.against.iter().map(rule_text).collect::<String>();
        }
        if !explanation.competing.is_empty() {
            let likely = |(name, p): &(String, f64)| format!("{name} {p:.3}");
            let likely: Vec<String> = explanation.competing.iter().map(likely).collect();
            text +=
                &format!("\npredicates compete for this pair; the likeliest others: {}\n", likely.join(", "));
        }
        if failing > 0 {
            text += "\nrules that do not fire, those that come nearest first:\n";
        }
        text += &explanation.rules[told..].iter().map(rule_text).collect::<String>();
        text += &more(failing - (explanation.rules.len() - told), ["that does not fire", "that do not fire"]);
        if self.trace { text + &traces(explanation) } else { text }
    }

    /// Why it cannot be, by each constraint that denies it, the surest first.
    fn denied(&self, explanation: &Explanation) -> String {
        let all = &explanation.denied_by;
        let shown = if self.limit == 0 { all.len() } else { self.limit.min(all.len()) };
        let mut text = String::new();
        for denied in &all[..shown] {
            text += &format!("\nit cannot be: {}\n", denied.why);
            text += &format!("  constraint of confidence {:.3}: {}\n", denied.confidence, denied.constraint);
        }
        text + &more(all.len() - shown, ["constraint denies it", "constraints deny it"])
    }

    /// How likely the fact is, by what, and whether it is known.
    fn verdict(&self, explanation: &Explanation, scoring: &str, split: Option<Split>) -> String {
        let mut text = format!("{}({}, {}): ", self.target, self.head, self.tail);
        if let Some(probability) = explanation.probability {
            text += &format!("probability {probability:.3}, ");
        }
        text += &format!("{scoring} score {:.4}", explanation.score);
        text += &match explanation.mixing_weight {
            None => String::new(),
            Some(0.0) => ", all by searched rules".into(),
            Some(1.0) => ", all by soft rules".into(),
            Some(weight) => format!(", mixing weight {weight}: so much of it is soft"),
        };
        let place = match split {
            Some(split) if self.is_background(split) => {
                format!("a known fact ({}), explained without itself", split.name())
            }
            Some(split) => format!("a fact of {}, which the rules do not look up", split.name()),
            None => "not in the data".into(),
        };
        format!("{text}\n{place}\n")
    }
}

/// What is not shown.
fn more(count: usize, [one, several]: [&str; 2]) -> String {
    match count {
        0 => String::new(),
        1 => format!("  and 1 more {one} (--limit 0 shows all)\n"),
        _ => format!("  and {count} more {several} (--limit 0 shows all)\n"),
    }
}

/// How the soft score comes together, and message passing for each soft rule.
fn traces(explanation: &Explanation) -> String {
    if explanation.soft.is_empty() {
        let hint = if explanation.mixing_weight.is_some() { ": --scoring soft traces them" } else { "" };
        return format!("\nno soft rule is part of this score{hint}\n");
    }
    let mut text = "\nhow the soft score comes together: the sum of weight × score\n".to_owned();
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
