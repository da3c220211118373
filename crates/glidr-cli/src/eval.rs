//! `glidr eval`: filtered ranking of held-out facts.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use glidr::rank::{Metrics, Ranked, Ties};
use glidr::search::Joined;
use glidr::solve::Ended;
use glidr::{Dataset, Ranking, Rule, RuleSet, Search, SoftModel, Split};
use serde_json::{Value, json};

use crate::output::{Output, counted, table};
use crate::search::{self, SearchFlags, targets_of};
use crate::settings::{EngineFlag, HardFlags, SelfFlag};
use crate::sources::{open_both, read_rules, say_lacking};

/// Rank held-out facts: each asks p(h, ?) and p(?, t), filtered, against all entities.
#[derive(Args)]
#[command(
    after_help = "JSON keys: mrr, hits1, hits3, hits10 (fractions of 1), queries, tails, heads, macro, per_predicate, \
    without_rules, left_out, protocol (split, split_hash, directions, filtered, ties, tie_tolerance, seed, \
    candidates, rounds, scores, self_answers); with --hard search or --rules also rules, search (per target: measured, pool, \
    rules, join, tails and heads (l2, masking), valid_mrr, ended), search_seconds, seconds, ended; with --hard joined also \
    shares (per target: share, valid_mrr)"
)]
pub struct Eval {
    /// The model
    model: PathBuf,
    /// Folder or file of triples [default: the data that the model was learned on]
    data: Option<PathBuf>,
    /// The split to ask about
    #[arg(long, value_enum, default_value = "test")]
    split: HeldOut,
    #[command(flatten)]
    hard: HardFlags,
    #[command(flatten)]
    search: SearchFlags,
    /// Rank with the rules of this file (docs/rules.md) instead of the model's; with --hard search
    /// they are mixed into the search
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// How ties are broken
    #[arg(long, value_enum, default_value = "random")]
    ties: TieRule,
    /// Seed of random ties [default: the model's seed]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Rounds of message passing, `R_max` of the paper [default: as in training]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,
    /// Which engine passes messages; none changes a rank
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineFlag,
    #[command(flatten)]
    own: SelfFlag,
}

#[derive(Clone, Copy, ValueEnum)]
enum HeldOut {
    /// The test split
    Test,
    /// The validation split
    Valid,
}

#[derive(Clone, Copy, ValueEnum)]
enum TieRule {
    /// At random, by the seed
    Random,
    /// The mean of the best and the worst rank
    Mean,
}

impl Eval {
    /// Ranks and prints.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let searches = self.hard.is_search() || self.hard.is_joined();
        let by_rules = searches || self.rules.is_some();
        let hard = if searches { None } else { self.hard.extraction()? };
        if self.rules.is_some() && hard.is_some() {
            anyhow::bail!(
                "--rules goes alone or with --hard search or joined, not with --hard top-p or argmax"
            );
        }
        let (model, data) = open_both(&self.model, self.data.as_deref(), output)?;
        let ranking = Ranking {
            split: match self.split {
                HeldOut::Test => Split::Test,
                HeldOut::Valid => Split::Valid,
            },
            ties: match self.ties {
                TieRule::Random => Ties::Random,
                TieRule::Mean => Ties::Mean,
            },
            seed: self.seed.unwrap_or(model.training.seed),
            rounds: self.rounds.map(usize::from),
            hard,
            engine: self.engine.into(),
            self_answers: self.own.self_answers,
        };
        if by_rules {
            return self.rank_by_rules(&ranking, &model, &data, output);
        }
        let ranked = rank(&ranking, &model, &data, output)?;
        if output.json {
            output.write_json(&ranked_json(&ranked))
        } else {
            output.write(&ranked_text(&ranked))
        }
    }

    fn rank_by_rules(
        &self,
        ranking: &Ranking,
        model: &SoftModel,
        data: &Dataset,
        output: &Output,
    ) -> anyhow::Result<ExitCode> {
        let started = Instant::now();
        let given = self.rules.as_deref().map(|path| read_rules(path, data)).transpose()?;
        let targets = targets_of(model, data);
        let mut joined = None;
        let (sets, reports) = if self.hard.is_search() || self.hard.is_joined() {
            let extra: Vec<Rule> = given.iter().flat_map(RuleSet::bare).cloned().collect();
            let search = Search { self_answers: self.own.self_answers, ..self.search.search() };
            let searched = search::run(search, model, data, &extra, &targets, output)?;
            if self.hard.is_joined() {
                // Shares are chosen by rules that have not seen valid.
                let limits = self.search.limits();
                joined =
                    Some(Joined::choose(model, &searched.train_rules, data, *ranking, limits, &|_, _| {})?);
            }
            let seen = ranking.split != Split::Valid;
            (if seen { searched.rules } else { searched.train_rules }, searched.reports)
        } else {
            (given.unwrap_or_default().into_targets(), Vec::new())
        };
        let searched = started.elapsed().as_secs_f64();
        let direction = if model.training.targets.is_empty() { &[][..] } else { &targets };
        let bar = output.bar(0, "{bar:30} {pos} of {len} questions  {elapsed} gone, {eta} left");
        let watch = |done: usize, all: usize| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        };
        let limits = self.search.limits();
        let (ranked, ended) = match &joined {
            Some(joined) => joined.rank(model, &sets, data, *ranking, limits, &watch)?,
            None => ranking.run_rules(&sets, direction, data, limits, &watch)?,
        };
        bar.finish_and_clear();
        let rules: usize = sets.iter().map(|set| set.rules.len()).sum();
        let seconds = started.elapsed().as_secs_f64();
        if output.json {
            let mut value = ranked_json(&ranked);
            value["rules"] = json!(rules);
            value["search"] = json!(reports);
            if let Some(joined) = &joined {
                value["shares"] = json!(joined.shares);
            }
            value["search_seconds"] = json!(searched);
            value["seconds"] = json!(seconds);
            value["ended"] = json!(ended);
            return output.write_json(&value);
        }
        let mut text = ranked_text(&ranked);
        text += &format!("{} in {seconds:.0} s", counted(rules, "rule"));
        if ended != Ended::Complete {
            text += "; a limit was reached, so some answers may be missing";
        }
        output.write(&(text + "\n"))
    }
}

/// Ranks with a progress bar, and says what the data lacks.
pub fn rank(ranking: &Ranking, model: &SoftModel, data: &Dataset, output: &Output) -> anyhow::Result<Ranked> {
    say_lacking(&model.lacking(data), data, output);
    let bar = output.bar(0, "{bar:30} {pos} of {len} questions  {elapsed} gone, {eta} left");
    let ranked = ranking.run(model, data, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    Ok(ranked)
}

fn metrics_json(metrics: &Metrics) -> Value {
    serde_json::to_value(metrics).unwrap_or_default()
}

/// The result under its documented keys.
pub fn ranked_json(ranked: &Ranked) -> Value {
    let mut value = metrics_json(&ranked.all);
    [value["tails"], value["heads"]] = ranked.by_direction.each_ref().map(metrics_json);
    value["macro"] = metrics_json(&ranked.by_predicate_mean);
    value["per_predicate"] =
        ranked.per_predicate.iter().map(|(name, metrics)| (name.clone(), metrics_json(metrics))).collect();
    value["without_rules"] = json!(ranked.without_rules);
    value["left_out"] = json!(ranked.left_out);
    value["protocol"] = json!(ranked.protocol);
    value
}

/// The result as a table, and what the figures mean.
pub fn ranked_text(ranked: &Ranked) -> String {
    let row = |name: &str, m: &Metrics| {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        vec![
            name.to_owned(),
            format!("{:.3}", m.mrr),
            percent(m.hits1),
            percent(m.hits3),
            percent(m.hits10),
            m.queries.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> =
        ranked.per_predicate.iter().map(|(name, metrics)| row(name, metrics)).collect();
    rows.push(row("mean of predicates", &ranked.by_predicate_mean));
    for (name, metrics) in
        ["all that ask for a tail", "all that ask for a head"].iter().zip(&ranked.by_direction)
    {
        rows.push(row(name, metrics));
    }
    rows.push(row("all", &ranked.all));
    let mut text = table(&["predicate", "MRR", "Hits@1", "Hits@3", "Hits@10", "queries"], 1, rows);
    if !ranked.without_rules.is_empty() {
        text += &format!("without rules, so all candidates tie: {}\n", ranked.without_rules.join(", "));
    }
    if ranked.left_out > 0 {
        text +=
            &format!("left out: {} about predicates that are no targets\n", counted(ranked.left_out, "fact"));
    }
    let c = &ranked.protocol;
    let ties = match c.ties {
        Ties::Random => format!("ties at random by seed {}", c.seed),
        Ties::Mean => "ties at their mean".into(),
    };
    let own = if c.self_answers { ", an entity may be its own answer" } else { "" };
    text + &format!(
        "{} split {}, both directions, filtered, {ties}, {}, {}, {}{own}\n",
        c.split.name(),
        &c.split_hash[..12],
        counted(c.candidates, "candidate"),
        c.scores,
        if c.rounds == 0 { "no rounds".into() } else { counted(c.rounds, "round") }
    )
}
