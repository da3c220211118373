//! A plan in TOML: which data, seeds and settings; and choices from the command line that shorten it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use glidr::{Dataset, Generator, Search, Training};
use serde::{Deserialize, Serialize};

/// What is done in an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The folder that data sets are looked for in.
    #[serde(default)]
    pub folder: PathBuf,
    /// The data sets, by the names of their folders.
    #[serde(default)]
    pub data: Vec<String>,
    /// The seeds.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Settings, each a row of the result.
    #[serde(default, rename = "row")]
    pub rows: Vec<Row>,
    /// Chances of mislabelling, each for every row.
    #[serde(default)]
    pub mislabelled: Vec<f64>,
    /// Whether ranking sees the clean facts, so that only learning suffers the noise.
    #[serde(default = "yes")]
    pub clean_background: bool,
    /// Numbers of variables, each for every row.
    #[serde(default)]
    pub variables: Vec<usize>,
    /// Numbers of rules that are kept of each predicate, each for every row.
    #[serde(default)]
    pub kept: Vec<usize>,
    /// The share of entities in the first of two parts.
    pub share: Option<f64>,
    /// What grows in the scaling experiment.
    #[serde(default, rename = "growth")]
    pub growths: Vec<crate::scaling::Growth>,
}

fn yes() -> bool {
    true
}

/// Settings of learning and scoring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// What the row holds: shown below the table.
    #[serde(default)]
    pub note: String,
    /// Its own data sets.
    pub data: Option<Vec<String>>,
    /// Its own seeds.
    pub seeds: Option<Vec<u64>>,
    /// Only run when asked for, because it takes hours.
    #[serde(default)]
    pub long: bool,
    /// Kinds of scores.
    pub scores: Vec<Scores>,
    /// Rounds when ranking; as in training where not given.
    pub rounds: Option<usize>,
    /// How it learns.
    #[serde(default)]
    pub training: Training,
    /// How it searches.
    #[serde(default)]
    pub search: SearchPlan,
}

/// What candidates are scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scores {
    /// Soft rules.
    Soft,
    /// Hard rules, top p = 0.25.
    TopP,
    /// Hard rules by the filler of most weight.
    Argmax,
    /// Searched rules.
    Search,
    /// The blend of soft and searched rules.
    Blend,
}

impl Scores {
    /// Its name.
    pub fn name(self) -> &'static str {
        ["soft", "top-p 0.25", "argmax", "search", "blend"][self as usize]
    }
}

/// Settings of the search that differ from its defaults, by their names.
///
/// What is not set is not kept either, so that a unit of work is found again when the search gets a new setting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SearchPlan(serde_json::Map<String, serde_json::Value>);

impl SearchPlan {
    /// All settings of the search; one that it does not have is refused.
    pub fn search(&self) -> anyhow::Result<Search> {
        serde_json::from_value(self.0.clone().into()).context("search")
    }
}

/// What the command line chooses: whatever is not given stays as planned.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Another folder of data sets.
    pub folder: Option<PathBuf>,
    /// Only these data sets: names of the plan, `families`, `generated`, or paths.
    pub data: Vec<String>,
    /// Only these seeds.
    pub seeds: Vec<u64>,
    /// Only rows of these names.
    pub rows: Vec<String>,
    /// Other numbers of training steps.
    pub steps: Option<usize>,
    /// Other numbers of rules.
    pub rules: Option<usize>,
    /// At most so many points of each growth, chance or number of variables: the first ones.
    pub points: Option<usize>,
    /// Run long rows too.
    pub long: bool,
    /// Report what is done, and run nothing.
    pub done: bool,
    /// Throw away what was done before.
    pub restart: bool,
}

impl Plan {
    /// Reads a plan; an error names the place in it.
    pub fn parse(text: &str, place: &str) -> anyhow::Result<Self> {
        toml::from_str(text).with_context(|| place.to_owned())
    }

    /// The rows that are run.
    pub fn chosen_rows(&self, choices: &Choices) -> anyhow::Result<Vec<Row>> {
        if let Some(unknown) = choices.rows.iter().find(|name| self.rows.iter().all(|row| row.name != **name))
        {
            let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
            bail!("a row must be one of {}, but “{unknown}” is asked for", names.join(", "));
        }
        let chosen = |row: &&Row| {
            let named = choices.rows.contains(&row.name);
            if choices.rows.is_empty() {
                !row.long || choices.long
            } else {
                named && (!row.long || choices.long)
            }
        };
        let mut rows: Vec<Row> = self.rows.iter().filter(chosen).cloned().collect();
        if rows.is_empty() {
            bail!("no row is left to run: long ones need --long");
        }
        for row in &mut rows {
            row.training.steps = choices.steps.unwrap_or(row.training.steps);
            row.training.rules = choices.rules.unwrap_or(row.training.rules);
            row.training.check()?;
            row.search.search()?;
        }
        Ok(rows)
    }

    /// The data sets of a row.
    pub fn data_of(&self, row: &Row, choices: &Choices) -> Vec<String> {
        let planned = row.data.clone().unwrap_or_else(|| self.data.clone());
        if choices.data.is_empty() {
            return planned;
        }
        // A row with data of its own is made for that data alone.
        let fits = |name: &&String| row.data.is_none() || planned.contains(name);
        choices.data.iter().filter(fits).cloned().collect()
    }

    /// The seeds of a row.
    pub fn seeds_of(&self, row: &Row, choices: &Choices) -> Vec<u64> {
        let planned = row.seeds.clone().unwrap_or_else(|| self.seeds.clone());
        if choices.seeds.is_empty() { planned } else { choices.seeds.clone() }
    }
}

/// Data sets by name, each opened once.
#[derive(Default)]
pub struct DataSets {
    opened: BTreeMap<String, Dataset>,
}

impl DataSets {
    /// The data set called `name`: built in, generated, or a folder.
    pub fn open(&mut self, name: &str, folder: &Path) -> anyhow::Result<&Dataset> {
        if !self.opened.contains_key(name) {
            let data = match name {
                "families" => Dataset::families(0),
                "generated" => {
                    Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() }
                        .run()?
                        .data
                }
                _ => {
                    let path = if name.contains(std::path::MAIN_SEPARATOR) {
                        name.into()
                    } else {
                        folder.join(name)
                    };
                    if !path.exists() {
                        bail!(
                            "the data set {name} must be at {}, but is not: name its folder with --folder, or \
                             choose with --data families, generated or a path",
                            path.display()
                        );
                    }
                    Dataset::open(&path, 0)?
                }
            };
            self.opened.insert(name.to_owned(), data);
        }
        Ok(&self.opened[name])
    }
}

/// The folder of data sets in force.
pub fn folder(plan: &Plan, choices: &Choices) -> PathBuf {
    choices.folder.clone().unwrap_or_else(|| plan.folder.clone())
}

/// The first of `list`, as many as chosen.
pub fn first<T: Clone>(list: &[T], choices: &Choices) -> Vec<T> {
    list.iter().take(choices.points.unwrap_or(usize::MAX)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::Experiment;

    #[test]
    fn every_plan_that_is_built_in_is_sound() {
        for experiment in Experiment::ALL {
            let plan = Plan::parse(experiment.plan(), experiment.name()).expect("a sound plan");
            if experiment != Experiment::Scaling {
                assert!(!plan.chosen_rows(&Choices::default()).expect("rows").is_empty());
                assert!(!plan.seeds.is_empty() && !plan.data.is_empty());
            }
        }
    }

    #[test]
    fn an_unknown_setting_or_row_is_refused_by_name() {
        let error = format!("{:#}", Plan::parse("sedes = [1]", "my.toml").expect_err("a slip"));
        assert!(error.contains("my.toml") && error.contains("sedes"), "{error}");
        let slip = "[[row]]\nname = \"one\"\nscores = [\"search\"]\nsearch = { max_ruels = 3 }\n";
        let error = Plan::parse(slip, "my.toml").and_then(|plan| plan.chosen_rows(&Choices::default()));
        assert!(format!("{:#}", error.expect_err("a slip")).contains("max_ruels"));
        let plan = Plan::parse(Experiment::Completion.plan(), "completion").expect("a sound plan");
        let choices = Choices { rows: vec!["none".into()], ..Choices::default() };
        assert!(plan.chosen_rows(&choices).expect_err("no such row").to_string().contains("“none”"));
    }

    #[test]
    fn data_that_is_not_there_is_named_with_what_can_be_done() {
        let error = DataSets::default().open("nowhere", Path::new("/no/folder")).expect_err("not there");
        assert!(error.to_string().contains("/no/folder/nowhere") && error.to_string().contains("--folder"));
    }

    #[test]
    fn kept_units_have_the_names_of_today() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        for experiment in Experiment::ALL {
            let path = kept.join(experiment.name()).with_extension("jsonl");
            let Ok(text) = std::fs::read_to_string(path) else { return }; // not in the package
            for (number, line) in text.lines().enumerate() {
                let line: Value = serde_json::from_str(line).expect("JSON");
                let (unit, result) = (&line["unit"], &line["result"]);
                let place = format!("{}.jsonl:{}", experiment.name(), number + 1);
                match experiment {
                    Experiment::Scaling => {
                        assert_eq!(again::<crate::ScalingPoint>(unit), *unit, "{place}");
                        assert_eq!(again::<crate::ScalingMeasured>(result), *result, "{place}");
                        continue;
                    }
                    Experiment::Few => {
                        assert_eq!(again::<crate::few::Curve>(result), *result, "{place}");
                        continue;
                    }
                    Experiment::Constraints => {
                        assert_eq!(again::<crate::recovered::Recovered>(result), *result, "{place}");
                        continue;
                    }
                    Experiment::Sparse => {
                        assert_eq!(again::<crate::sparse::Reached>(result), *result, "{place}");
                        continue;
                    }
                    Experiment::Check => {
                        assert_eq!(again::<crate::check::Detected>(result), *result, "{place}");
                        continue;
                    }
                    Experiment::Rules => {
                        assert_eq!(again::<crate::rules::RulesResult>(result), *result, "{place}");
                    }
                    _ => {
                        let plan: SearchPlan =
                            serde_json::from_value(unit["search"].clone()).expect("a table");
                        assert!(plan.search().is_ok(), "{place}: {plan:?}");
                        assert_eq!(again::<Scores>(&unit["scores"]), unit["scores"], "{place}");
                        assert_eq!(again::<crate::grid::UnitResult>(result), *result, "{place}");
                    }
                }
                assert_eq!(again::<Training>(&unit["training"]), unit["training"], "{place}");
            }
        }
    }

    /// Reads a value as a `T` and writes it again.
    fn again<T: serde::de::DeserializeOwned + Serialize>(value: &Value) -> Value {
        let read: T = serde_json::from_value(value.clone()).expect("settings by their names");
        serde_json::to_value(read).expect("settings can be written")
    }
}
