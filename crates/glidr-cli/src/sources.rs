//! Opening the data and models that commands name, and telling what was found in them.

use std::path::{Path, PathBuf};

use anyhow::bail;
use glidr::solve::Limits;
use glidr::{Background, Dataset, RuleSet, SoftModel};

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

/// A model, and the data to use it on: `data`, or what the model was learned on.
pub fn open_both(model: &Path, data: Option<&Path>, output: &Output) -> anyhow::Result<(SoftModel, Dataset)> {
    let model = SoftModel::open(model)?;
    let recorded = PathBuf::from(&model.data.source);
    let embedded = Dataset::families(model.training.seed);
    let same_as_learned = data.is_none();
    let path = match data {
        Some(path) => Some(path.to_owned()),
        None if model.data.source == embedded.source => None,
        None if recorded.exists() => {
            output.say(&format!("using the data that the model was learned on: {}", recorded.display()));
            Some(recorded)
        }
        None => {
            bail!("the model was learned on {}, which is not here now: name DATA to use", recorded.display())
        }
    };
    let seed = model.training.seed;
    let opened = open_data(path.as_deref(), seed, output)?;
    if same_as_learned && opened.hash() != model.data.hash {
        bail!(
            "{} is no longer the data that the model was learned on: name it as DATA to use it all the same",
            opened.source
        );
    }
    Ok((model, opened))
}

/// Says which of the model's predicates the data lacks.
pub fn say_lacking(lacking: &[String], data: &Dataset, output: &Output) {
    if !lacking.is_empty() {
        let names = lacking.join(", ");
        output.say(&format!("{} lacks names of the model, which hold nowhere there: {names}", data.source));
    }
}
