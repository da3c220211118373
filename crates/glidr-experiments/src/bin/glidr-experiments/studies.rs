//! The studies that need no network: arguments, a run, and the tables it gives.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use glidr::{Progress, Stage};
use glidr_experiments::{Choices, Experiment, Plan, Report, ScalingMeasured, ScalingPoint, Watch};
use indicatif::ProgressBar;
use serde_json::json;

use crate::output::{Output, table};
use crate::{STOPPED, signals};

/// The studies that need no network.
#[derive(Subcommand)]
pub enum Study {
    /// Filtered ranking on Family, Kinships, UMLS and FB15k-237 (tab:metrics)
    Completion(Flags),
    /// Hits@1 as training facts are mislabelled (fig:mislabeling)
    Noise(Flags),
    /// Hits@1 as rules have more variables (`fig:rule_length`)
    Variables(Flags),
    /// The best rules with measures, shapes and pictures (tab:rules, fig:agngiya-graph)
    Rules(Flags),
    /// Learn on one part of a graph, test on a part with other entities
    Inductive(Flags),
    /// Time and memory as generated graphs and rules grow
    Scaling(Flags),
    /// What more rules, variables, rounds and other aggregations bring: MRR against time
    Beyond(Flags),
    /// MRR as more rules of each predicate are kept: chosen together, and the most confident
    Few(Flags),
    /// Mislabelled facts among the most suspicious: precision and recall
    Check(Flags),
    /// Planted constraints that are learned again, as facts are mislabelled
    Constraints(Flags),
    /// Generated hierarchies: long paths, paths of two steps, and a sampler of rules
    Sparse(Flags),
}

/// What all studies have in common.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub struct Flags {
    /// Where results go: NAME.jsonl and figures
    #[arg(short, long, value_name = "OUT", default_value = "docs/results")]
    output: PathBuf,
    /// Another plan than the one that is built in
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Print the plan that is built in, and do nothing else
    #[arg(long)]
    print_plan: bool,
    /// The folder that holds the data sets as folders [default: as planned]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Only these data sets, parted by commas: names of the plan, families (built in), generated, or
    /// paths with a slash
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    data: Vec<String>,
    /// Only these seeds, parted by commas [default: as planned]
    #[arg(long, value_name = "SEEDS", value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Only the row of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    row: Vec<String>,
    /// Training steps instead of the planned ones, to shorten a run; scaling then times less too
    #[arg(long, value_name = "COUNT")]
    steps: Option<usize>,
    /// Rules per target instead of the planned ones
    #[arg(long, value_name = "COUNT")]
    rules: Option<usize>,
    /// Only the first so many chances, numbers of variables or sizes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    points: Option<u16>,
    /// Run the rows too that take hours
    #[arg(long)]
    long: bool,
    /// Tables and figures of what OUT/NAME.jsonl holds already; run nothing
    #[arg(long)]
    done: bool,
    /// Throw away what OUT/NAME.jsonl holds, and start anew
    #[arg(long, conflicts_with = "done")]
    restart: bool,
    /// Measure one point of the scaling experiment, and print it
    #[arg(long, value_name = "JSON", hide = true)]
    one: Option<String>,
}

impl Study {
    /// Runs the study and prints its report.
    pub fn run(&self, output: &Output, threads: usize) -> anyhow::Result<ExitCode> {
        let (experiment, flags) = match self {
            Study::Completion(flags) => (Experiment::Completion, flags),
            Study::Noise(flags) => (Experiment::Noise, flags),
            Study::Variables(flags) => (Experiment::Variables, flags),
            Study::Rules(flags) => (Experiment::Rules, flags),
            Study::Inductive(flags) => (Experiment::Inductive, flags),
            Study::Scaling(flags) => (Experiment::Scaling, flags),
            Study::Beyond(flags) => (Experiment::Beyond, flags),
            Study::Few(flags) => (Experiment::Few, flags),
            Study::Check(flags) => (Experiment::Check, flags),
            Study::Constraints(flags) => (Experiment::Constraints, flags),
            Study::Sparse(flags) => (Experiment::Sparse, flags),
        };
        if flags.print_plan {
            return output.write(experiment.plan());
        }
        if let Some(point) = &flags.one {
            let point: ScalingPoint = serde_json::from_str(point)?;
            return output.write_json(&point.measure()?);
        }
        flags.run(experiment, output, threads)
    }
}

impl Flags {
    fn run(&self, experiment: Experiment, output: &Output, threads: usize) -> anyhow::Result<ExitCode> {
        let plan = match &self.plan {
            None => Plan::parse(experiment.plan(), "the plan that is built in")?,
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                Plan::parse(&text, &path.display().to_string())?
            }
        };
        let choices = Choices {
            folder: self.folder.clone(),
            data: self.data.clone(),
            seeds: self.seeds.clone(),
            rows: self.row.clone(),
            steps: self.steps,
            rules: self.rules,
            points: self.points.map(usize::from),
            long: self.long,
            done: self.done,
            restart: self.restart,
        };
        let stop = signals::listen()?;
        let bar = output.bar(0, "{prefix} {bar:20} {msg}  {elapsed} gone");
        bar.enable_steady_tick(Duration::from_millis(500));
        let seen = Seen { output, bar, stop: &stop, threads };
        let report = experiment.run(&plan, &choices, &self.output, &seen)?;
        seen.bar.finish_and_clear();
        let units = self.output.join(format!("{}.jsonl", experiment.name()));
        let Some(report) = report else {
            output.say(&format!(
                "stopped; {} keeps what was done: the same command continues",
                units.display()
            ));
            return Ok(ExitCode::from(STOPPED));
        };
        let written: Vec<PathBuf> = [vec![units], report.write_figures(&self.output)?].concat();
        let written: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        if output.json {
            let mut value = report.value.clone();
            value["tables"] = json!(report.tables);
            value["notes"] = json!(report.notes);
            value["written"] = json!(written);
            return output.write_json(&value);
        }
        output.write(&(text(&report) + &format!("written: {}\n", written.join(", "))))
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for shown in &report.tables {
        text += &format!("{}\n{}\n", shown.title, table(&shown.header, shown.left, &shown.rows));
    }
    for note in &report.notes {
        text += &format!("{note}\n");
    }
    text
}

/// Shows progress, and lends a process of its own for what measures memory.
struct Seen<'a> {
    output: &'a Output,
    bar: ProgressBar,
    stop: &'a AtomicBool,
    threads: usize,
}

impl Progress for Seen<'_> {
    fn report(&self, _stage: Stage, done: usize, all: usize) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Watch for Seen<'_> {
    fn unit(&self, done: usize, all: usize, what: &str) {
        self.bar.set_prefix(format!("{done} of {all} units"));
        self.bar.set_message(what.to_owned());
        if !std::io::stderr().is_terminal() && !what.is_empty() {
            self.output.say(&format!("unit {} of {all}: {what}", done + 1));
        }
    }

    fn say(&self, message: &str) {
        self.output.say(message);
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn measure(&self, point: &ScalingPoint) -> anyhow::Result<ScalingMeasured> {
        let program = std::env::current_exe().context("this program's own place")?;
        let mut command = Command::new(&program);
        command.args(["scaling", "--json", "--quiet", "--threads", &self.threads.to_string()]);
        let found = command.arg("--one").arg(serde_json::to_string(point)?).output();
        let found = found.with_context(|| program.display().to_string())?;
        if !found.status.success() {
            bail!(
                "{}",
                String::from_utf8_lossy(&found.stderr).trim().trim_start_matches("glidr-experiments: ")
            );
        }
        Ok(serde_json::from_slice(&found.stdout)?)
    }
}
