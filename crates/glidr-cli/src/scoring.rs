//! Which predictor a command asks for, by flags: soft rules, hard rules, or a blend of both.

use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use glidr::internals::evaluate::choose_mixing_weights;
use glidr::internals::graph::Predicate;
use glidr::internals::infer::Engine;
use glidr::internals::model::{Extraction, MixingWeight, SoftModel};
use glidr::internals::predict::{Blend, MessagePassing, Rules, Soft};
use glidr::internals::rule::TargetRules;
use glidr::internals::search::Report;
use glidr::{Background, Dataset, Evaluation, Predictor, Rule, Search, Split};

use crate::output::Output;
use crate::search::{self, SearchFlags};
use crate::sources::{read_rules, say_lacking};

/// How candidates are scored, or where rules come from.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Scoring {
    /// Soft rules, by message passing
    Soft,
    /// Hard rules taken from the soft ones: all fillers within the top p of a slot's mass, read as or
    TopP,
    /// Hard rules taken from the soft ones: the filler of most weight in every slot
    Argmax,
    /// The rules of --rules FILE, evaluated exactly
    Rules,
    /// Rules that are searched first: those that do best on training and validation data, evaluated exactly
    Search,
    /// Soft and searched rules: a weighted sum of both scores, each divided by the highest of its query, with the
    /// mixing weight for each target that does best on valid
    Blend,
}

/// How candidates are scored, by flags.
#[derive(Args)]
pub struct ScoringFlags {
    /// How candidates are scored, or which rules are taken [default: soft, or the rules of --rules]
    #[arg(long, value_enum)]
    scoring: Option<Scoring>,
    /// The part p of a slot's mass for --scoring top-p [default: 0.25]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    top_p: Option<f32>,
}

impl ScoringFlags {
    /// Whether anything is said about it.
    pub fn is_given(&self) -> bool {
        self.scoring.is_some() || self.top_p.is_some()
    }

    /// The scoring asked for, given whether there is a file of rules; p alone asks for top-p.
    pub fn scoring(&self, has_file: bool) -> anyhow::Result<Scoring> {
        let plain = match (has_file, self.top_p) {
            (true, _) => Scoring::Rules,
            (false, Some(_)) => Scoring::TopP,
            (false, None) => Scoring::Soft,
        };
        let scoring = self.scoring.unwrap_or(plain);
        ensure!(self.top_p.is_none() || scoring == Scoring::TopP, "--top-p goes with --scoring top-p alone");
        ensure!(
            scoring != Scoring::Rules || has_file,
            "--scoring rules needs rules: give --rules FILE, or search for them with --scoring search"
        );
        let takes_file = matches!(scoring, Scoring::Rules | Scoring::Search | Scoring::Blend);
        ensure!(takes_file || !has_file, "--rules goes alone or with --scoring rules, search or blend");
        Ok(scoring)
    }

    /// How hard rules are taken from soft ones; none means soft.
    pub fn extraction(&self) -> anyhow::Result<Option<Extraction>> {
        match (self.scoring, self.top_p) {
            (Some(Scoring::Argmax), None) => Ok(Some(Extraction::Argmax)),
            (Some(Scoring::TopP), p) => Ok(Some(Extraction::top_p(p.unwrap_or(0.25))?)),
            (None, Some(p)) => Ok(Some(Extraction::top_p(p)?)),
            _ => Ok(None),
        }
    }

    /// The extraction for a command that lists hard rules, or none for searched ones.
    pub fn listed(&self) -> anyhow::Result<Option<Extraction>> {
        match self.scoring(false)? {
            Scoring::Search => Ok(None),
            Scoring::Blend => bail!("--scoring blend goes with eval, predict and explain"),
            Scoring::Soft if self.is_given() => {
                bail!("soft rules are not listed: take --scoring top-p or argmax")
            }
            _ => Ok(Some(self.extraction()?.unwrap_or(Extraction::TopP(0.25)))),
        }
    }
}

/// What is needed to make a predictor.
pub struct Request<'a> {
    pub model: &'a SoftModel,
    pub data: &'a Dataset,
    pub scoring: &'a ScoringFlags,
    pub search: &'a SearchFlags,
    /// The file of --rules.
    pub rules: Option<&'a Path>,
    /// The targets to search rules for.
    pub targets: &'a [Predicate],
    /// Whether only these targets are asked about.
    pub only_targets: bool,
    pub background: Background,
    pub rounds: Option<u16>,
    pub engine: Engine,
    /// How it will be evaluated; also decides which searched rules are taken: for *valid* those fitted on *train*.
    pub evaluation: Evaluation,
}

/// Rules and mixing weights that were read, searched or chosen.
pub struct Prepared {
    pub scoring: Scoring,
    /// The hard rules.
    pub rules: Vec<TargetRules>,
    /// What the search found, target by target.
    pub reports: Vec<Report>,
    /// The mixing weights of a blend.
    pub mixing_weights: Vec<MixingWeight>,
}

impl Request<'_> {
    fn passing(&self) -> anyhow::Result<MessagePassing> {
        let rounds = self.rounds.map_or(self.model.training.rounds, usize::from);
        Ok(MessagePassing { rounds, engine: self.engine, extraction: self.scoring.extraction()? })
    }

    fn rules<'r>(&'r self, rules: &'r [TargetRules], background: Background) -> Rules<'r> {
        let rules = Rules::with(rules, self.data, background, self.search.limits());
        if self.only_targets { rules.only(self.targets) } else { rules }
    }

    /// Reads, searches and chooses what the scoring needs.
    pub fn prepare(&self, output: &Output) -> anyhow::Result<Prepared> {
        let scoring = self.scoring.scoring(self.rules.is_some())?;
        self.passing()?;
        let mut prepared =
            Prepared { scoring, rules: Vec::new(), reports: Vec::new(), mixing_weights: Vec::new() };
        let file = self.rules.map(|path| read_rules(path, self.data)).transpose()?.unwrap_or_default();
        match scoring {
            Scoring::Soft | Scoring::TopP | Scoring::Argmax => {}
            Scoring::Rules => prepared.rules = file.into_targets(),
            Scoring::Search | Scoring::Blend => {
                let extra: Vec<Rule> = file.bare().cloned().collect();
                let search =
                    Search { allow_reflexive: self.evaluation.allow_reflexive, ..self.search.search() };
                let searched = search::run(search, self.model, self.data, &extra, self.targets, output)?;
                prepared.reports = searched.reports;
                if scoring == Scoring::Blend {
                    prepared.mixing_weights = self.mixing_weights(&searched.train_rules, output)?;
                }
                let seen = self.evaluation.split != Split::Valid;
                prepared.rules = if seen { searched.rules } else { searched.train_rules };
            }
        }
        Ok(prepared)
    }

    /// Chosen on *valid* with what has not been fitted to it.
    fn mixing_weights(
        &self,
        train_rules: &[TargetRules],
        output: &Output,
    ) -> anyhow::Result<Vec<MixingWeight>> {
        let model = self.model.with_loss_weights();
        let rules = self.rules(train_rules, Background::Train);
        let soft = Soft::with(&model, self.data, Background::Train, self.passing()?)?;
        let blend = Blend::new(Arc::new(rules), Arc::new(soft));
        let bar = output.query_bar();
        let weights = choose_mixing_weights(&blend, self.data, self.evaluation, &|done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        })?;
        bar.finish_and_clear();
        Ok(weights)
    }

    /// The predictor, from what was prepared.
    pub fn predictor<'r>(
        &'r self,
        prepared: &'r Prepared,
        output: &Output,
    ) -> anyhow::Result<Box<dyn Predictor + 'r>> {
        let soft = || -> anyhow::Result<Soft<'r>> {
            let soft = Soft::with(self.model, self.data, self.background, self.passing()?)?;
            say_lacking(soft.lacking(), self.data, output);
            Ok(soft)
        };
        Ok(match prepared.scoring {
            Scoring::Soft | Scoring::TopP | Scoring::Argmax => Box::new(soft()?),
            Scoring::Rules | Scoring::Search => Box::new(self.rules(&prepared.rules, self.background)),
            Scoring::Blend => {
                let rules = self.rules(&prepared.rules, self.background);
                let blend = Blend::new(Arc::new(rules), Arc::new(soft()?));
                Box::new(blend.weighted(&prepared.mixing_weights, &self.data.names().predicates))
            }
        })
    }
}
