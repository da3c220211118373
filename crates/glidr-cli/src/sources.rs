//! Opening the data and models that commands name, and telling what was found in them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use glidr::internals::model::{Extraction, Provenance, RuleModel, SoftModel};
use glidr::internals::solve::Limits;
use glidr::internals::util::file_kind::FileKind;
use glidr::{Background, Dataset, Model, RuleSet};

use crate::output::{Output, counted};

/// The data at `path`, or the built-in families; says what was found on the way in.
pub fn open_data(path: Option<&Path>, seed: u64, output: &Output) -> anyhow::Result<Dataset> {
    let data = match path {
        Some(path) => Dataset::open(path, seed)?,
        None => Dataset::families(seed),
    };
    let warnings = data.warnings();
    if warnings.duplicates > 0 {
        output.say(&format!("{}: dropped {}", data.source, counted(warnings.duplicates, "duplicate fact")));
    }
    for leakage in &warnings.leakage {
        let (first, second) = (leakage.first.name(), leakage.second.name());
        let (count, one) = (counted(leakage.count, "fact"), &leakage.example);
        output.say(&format!(
            "{}: leakage: {count} both in {first} and in {second}, such as {one}",
            data.source
        ));
    }
    if !warnings.unseen_predicates.is_empty() {
        let names = warnings.unseen_predicates.join(", ");
        output.say(&format!("{}: predicates that training never sees: {names}", data.source));
    }
    if warnings.unseen_entities > 0 {
        let count = counted(warnings.unseen_entities, "entity");
        output.say(&format!("{}: {count} only in valid or test", data.source));
    }
    for file in &warnings.headers {
        output.say(&format!("{file}: the first line names the columns, and is not taken for a fact"));
    }
    for (file, lines, first) in &warnings.padded {
        let count = counted(*lines, "line");
        output.say(&format!(
            "{file}: {count} with a name that begins or ends with a blank, which is part of the name; the first is line \
             {first}"
        ));
    }
    if !warnings.unread.is_empty() {
        let (source, names) = (&data.source, warnings.unread.join(", "));
        output.say(&format!("{source}: not read, as splits are facts, train, valid and test: {names}"));
    }
    if warnings.properties_left_out > 0 {
        let count = counted(warnings.properties_left_out, "property fact");
        output
            .say(&format!("{}: left out {count} in valid or test, where nothing asks for them", data.source));
    }
    Ok(data)
}

/// The rules of a file under the data's names; those without a number get the confidence counted on *facts* and *train*.
pub fn read_rules(path: &Path, data: &Dataset) -> anyhow::Result<RuleSet> {
    let mut rules = RuleSet::read(path, data.names())?;
    if !rules.unweighted().is_empty() {
        rules.weigh(data.graph(Background::Train), Limits::default())?;
    }
    Ok(rules)
}

/// What a command works from: a model, or a text of rules.
pub struct Source {
    path: PathBuf,
    /// None for a text of rules, which is read once the names of the data are known.
    model: Option<Model>,
}

impl Source {
    /// Opens a model, or finds a text of rules; any other file gets an error that says what it is.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let right = [FileKind::Model, FileKind::Rules];
        if let Some(error) = FileKind::mistaken(path, "a model or a text of rules", &right) {
            return Err(error.into());
        }
        // What is called .glidr is meant as a model, and gets its error as one.
        let meant_as_model = path.extension().is_some_and(|ending| ending == "glidr");
        let is_text = match FileKind::of(path) {
            Some(kind) => kind == FileKind::Rules,
            None => !meant_as_model && starts_like_text(path),
        };
        let model = if is_text { None } else { Some(Model::open(path)?) };
        Ok(Source { path: path.to_owned(), model })
    }

    /// The model; none where it is a text of rules.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// Its soft rules.
    pub fn soft(&self) -> anyhow::Result<&SoftModel> {
        let soft = self.model.as_ref().and_then(|model| model.soft.as_ref());
        let path = self.path.display();
        soft.with_context(|| format!("{path} holds no soft rules: glidr learn DATA -o MODEL learns some"))
    }

    /// The data to use it on: `data`, or what the model was learned on; for a text of rules the built-in families.
    /// Data that is not divided is by the model's seed, for a text of rules by `seed`.
    pub fn data(&self, data: Option<&Path>, seed: u64, output: &Output) -> anyhow::Result<Dataset> {
        match &self.model {
            Some(model) => data_of(&model.provenance, data, output),
            None => open_data(data, seed, output),
        }
    }

    /// The rules under the data's names: those of the text, those that the model keeps, or else those that top-p takes
    /// from its soft rules. Rules without a weight get the confidence counted on *facts* and *train*.
    pub fn rules(&self, data: &Dataset, output: &Output) -> anyhow::Result<RuleSet> {
        let Some(model) = &self.model else { return read_rules(&self.path, data) };
        let renumbered = if let Some(rules) = &model.rules {
            rules.on(data.names())
        } else {
            let soft = self.soft()?;
            soft.rule_set(Extraction::TopP(0.25)).renumbered(&soft.vocabulary(), data.names())
        };
        if renumbered.left_out > 0 {
            let count = counted(renumbered.left_out, "rule");
            output.say(&format!("{} lacks names that {count} use, which are left out", data.source));
        }
        let mut rules = renumbered.rules;
        if !rules.unweighted().is_empty() {
            rules.weigh(data.graph(Background::Train), Limits::default())?;
        }
        Ok(rules)
    }
}

fn starts_like_text(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut start));
    read.is_ok() && !start.contains(&0)
}

/// A model, and the data to use it on: `data`, or what the model was learned on. A text of rules is a model that holds
/// these alone.
pub fn open_both(path: &Path, data: Option<&Path>, output: &Output) -> anyhow::Result<(Model, Dataset)> {
    let source = Source::open(path)?;
    let data = source.data(data, 0, output)?;
    let model = if let Some(model) = source.model {
        model
    } else {
        let rules = read_rules(path, &data)?;
        let targets = rules.targets().iter().map(|of| data.names().predicates.name(of.target).to_owned());
        let targets = targets.collect();
        let rules = RuleModel::new(&rules, None, data.names());
        Model { targets, ..Model::new(Provenance::of(&data, 0)) }.with_rules(rules)
    };
    Ok((model, data))
}

/// The data at `path`, or the data that a model was learned on, if it is still the same.
fn data_of(provenance: &Provenance, path: Option<&Path>, output: &Output) -> anyhow::Result<Dataset> {
    let seed = provenance.seed;
    if path.is_some() {
        return open_data(path, seed, output);
    }
    let recorded = PathBuf::from(&provenance.source);
    let data = if provenance.source == Dataset::families(seed).source {
        open_data(None, seed, output)?
    } else if recorded.exists() {
        output.say(&format!("using the data that the model was learned on: {}", recorded.display()));
        open_data(Some(&recorded), seed, output)?
    } else {
        bail!("the model was learned on {}, which is not here now: name DATA to use", recorded.display())
    };
    if data.hash() != provenance.hash {
        bail!(
            "{} is no longer the data that the model was learned on: name it as DATA to use it all the same",
            data.source
        );
    }
    Ok(data)
}
