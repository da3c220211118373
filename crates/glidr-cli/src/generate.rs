//! `glidr generate`: a synthetic graph with planted rules, as a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use glidr::internals::synthetic::check_folder;
use glidr::{Generator, Split};
use serde_json::json;

use crate::help::EXPERT;
use crate::output::{Output, counted};

/// Make a synthetic graph with planted rules, to see whether they are found again.
///
/// Random facts of the predicates p01, p02, …; and for each planted rule a predicate whose facts are
/// exactly the answers of the rule: a chain, a branch, a loop, one with a property, one with a
/// disjunction. FOLDER gets facts.txt, train.txt, valid.txt, test.txt, the rules as planted.rules, and
/// the settings as generated.json.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr generate small/                           1000 entities, 8000 facts, five planted rules\n  \
    glidr learn small/ -o small.glidr --steps 300   learn them\n  \
    glidr rules small.glidr --target loop           and compare with small/planted.rules\n  \
    glidr generate words/ --hierarchy --entities 40000   as large dictionaries are")]
pub struct Generate {
    /// Where the graph goes: a new or empty folder
    folder: PathBuf,
    /// TOML file of settings, under the names of these flags
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Entities [default: 1000]
    #[arg(long, value_name = "COUNT")]
    entities: Option<usize>,
    /// Binary predicates, those of planted rules included [default: 24]
    #[arg(long, value_name = "COUNT")]
    predicates: Option<usize>,
    /// Properties [default: 2]
    #[arg(long, value_name = "COUNT", help_heading = EXPERT)]
    properties: Option<usize>,
    /// Facts in all four splits together [default: 8000]
    #[arg(long, value_name = "COUNT")]
    facts: Option<usize>,
    /// Facts for each entity, instead of --facts
    #[arg(long, value_name = "COUNT", conflicts_with = "facts", help_heading = EXPERT)]
    degree: Option<f64>,
    /// Planted rules, the five shapes in turn [default: 5]
    #[arg(long, value_name = "COUNT")]
    rules: Option<usize>,
    /// How often each planted body is made true of random entities, and as often all but one literal of
    /// it [default: 150]
    #[arg(long, value_name = "COUNT", help_heading = EXPERT)]
    instances: Option<usize>,
    /// The chance that a training fact of a planted target is put at a random pair [default: 0]
    #[arg(long, value_name = "P", help_heading = EXPERT)]
    noise: Option<f64>,
    /// How unevenly entities take part in random facts: 1 evenly, more makes hubs [default: 1]
    #[arg(long, value_name = "POWER", help_heading = EXPERT)]
    skew: Option<f64>,
    /// The share of a planted target's facts in valid, and again in test [default: 0.1]
    #[arg(long, value_name = "SHARE", help_heading = EXPERT)]
    held_out: Option<f64>,
    /// A hierarchy instead: classes below classes, their parts, members, instances and topics, about two
    /// facts for each entity, with rules of up to five steps that mostly hold
    #[arg(long, conflicts_with_all = ["predicates", "properties", "facts", "degree", "rules", "instances", "skew"])]
    hierarchy: bool,
    /// Seed of every random choice [default: 0]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Replace a graph that was generated there before; other files are never replaced
    #[arg(long)]
    overwrite: bool,
}

impl Generate {
    /// Makes and writes.
    pub fn run(&self, output: &Output) -> anyhow::Result<ExitCode> {
        let generator = self.generator()?;
        generator.check()?;
        check_folder(&self.folder, self.overwrite)?;
        let made = generator.run()?;
        made.write(&self.folder, self.overwrite)?;
        let names = made.data.names();
        let (entities, predicates) = (names.entities.len(), names.predicates.len());
        let rules: Vec<String> = made.rules.iter().map(|rule| made.show(rule)).collect();
        let splits = Split::ALL.map(|split| (split.name(), made.data.split(split).len()));
        if output.json {
            let splits: serde_json::Map<_, _> =
                splits.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
            return output.write_json(&json!({
                "folder": self.folder.display().to_string(), "entities": entities, "predicates": predicates,
                "properties": names.properties.len(), "splits": splits, "planted": rules,
                "generator": made.generator,
            }));
        }
        let mut text = format!(
            "{}: {}, {}, {}\n",
            self.folder.display(),
            counted(entities, "entity"),
            counted(predicates, "predicate"),
            counted(made.facts(), "fact")
        );
        for (name, count) in splits {
            text += &format!("  {name:5} {count}\n");
        }
        if !rules.is_empty() {
            text += &format!("planted:\n  {}\n", rules.join("\n  "));
        }
        output.write(&text)
    }

    #[expect(clippy::cast_sign_loss, reason = "a negative degree becomes 0, which is refused")]
    fn generator(&self) -> anyhow::Result<Generator> {
        let plain = match &self.settings {
            None => Generator::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                toml::from_str(&text).with_context(|| path.display().to_string())?
            }
        };
        let entities = self.entities.unwrap_or(plain.entities);
        let by_degree = self.degree.map(|degree| (entities as f64 * degree) as usize);
        Ok(Generator {
            entities,
            predicates: self.predicates.unwrap_or(plain.predicates),
            properties: self.properties.unwrap_or(plain.properties),
            facts: self.facts.or(by_degree).unwrap_or(plain.facts),
            rules: self.rules.unwrap_or(plain.rules),
            instances: self.instances.unwrap_or(plain.instances),
            noise: self.noise.unwrap_or(plain.noise),
            skew: self.skew.unwrap_or(plain.skew),
            held_out: self.held_out.unwrap_or(plain.held_out),
            hierarchy: self.hierarchy || plain.hierarchy,
            seed: self.seed.unwrap_or(plain.seed),
        })
    }
}
