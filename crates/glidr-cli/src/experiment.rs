//! `glidr experiment`: the paper's experiments and ours. Those that need a network are handed over to
//! `glidr-experiment`, which is built with a network library.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use glidr_experiments::{Choices, Experiment as Study, Plan, Report, ScalingMeasured, ScalingPoint, Watch};
use indicatif::ProgressBar;
use serde_json::json;

use crate::STOPPED;
use crate::output::{Output, table};
use crate::signals::Signals;

/// Repeat the paper's experiments, and ours, with the paper's numbers beside them.
///
/// Settings are a plan in TOML (experiments/ of the project, built in); each unit of work, that is a
/// data set, a seed and a setting, is kept in OUT/NAME.jsonl as soon as it is done, so that the same
/// command goes on after Ctrl-C. OUT/NAME.json and figures as SVG are written at the end.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    glidr experiment completion                          all of tab:metrics: hours\n  \
    glidr experiment completion --data umls --seeds 0,1  a part of it\n  \
    glidr experiment noise --data families --steps 50 -o /tmp/out    a quick look on built-in data\n  \
    glidr experiment scaling --print-plan > my.toml      then change it, and run it with --plan my.toml")]
pub struct Experiment {
    #[command(subcommand)]
    study: Which,
}

#[derive(Subcommand)]
enum Which {
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
    /// What more rules, variables, rounds and other ways of joining bring: MRR against time
    Beyond(Flags),
    /// Handwritten digits: handed over to glidr-experiment (cargo install --path crates/glidr-burn)
    #[command(disable_help_flag = true)]
    Mnist(HandOver),
}

/// Arguments of another program.
#[derive(Args)]
struct HandOver {
    /// Handed on as they are
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
struct Flags {
    /// Where results go: NAME.jsonl, NAME.json and figures
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

impl Experiment {
    /// Runs the experiment, or hands over; then the exit code is the other program's.
    pub fn run(&self, output: &Output, direction: Option<u16>, threads: usize) -> anyhow::Result<ExitCode> {
        let (study, flags) = match &self.study {
            Which::Completion(flags) => (Study::Completion, flags),
            Which::Noise(flags) => (Study::Noise, flags),
            Which::Variables(flags) => (Study::Variables, flags),
            Which::Rules(flags) => (Study::Rules, flags),
            Which::Inductive(flags) => (Study::Inductive, flags),
            Which::Scaling(flags) => (Study::Scaling, flags),
            Which::Beyond(flags) => (Study::Beyond, flags),
            Which::Mnist(other) => return hand_over("mnist", &other.arguments, output, direction),
        };
        if flags.print_plan {
            return output.write(study.plan());
        }
        if let Some(point) = &flags.one {
            let point: ScalingPoint = serde_json::from_str(point)?;
            return output.write_json(&point.measure()?);
        }
        flags.run(study, output, threads)
    }
}

impl Flags {
    fn run(&self, study: Study, output: &Output, threads: usize) -> anyhow::Result<ExitCode> {
        let plan = match &self.plan {
            None => Plan::parse(study.plan(), "the plan that is built in")?,
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
            anew: self.restart,
        };
        let signals = Signals::listen()?;
        signals.training.store(true, Ordering::Relaxed);
        let bar = output.bar(0, "{prefix} {bar:20} {msg}  {elapsed} gone");
        bar.enable_steady_tick(Duration::from_millis(500));
        let seen = Seen { output, bar, stop: &signals.stop, threads };
        let report = study.run(&plan, &choices, &self.output, &seen)?;
        seen.bar.finish_and_clear();
        let Some(report) = report else {
            output.say(&format!(
                "stopped; {} keeps what was done: the same command goes on",
                self.output.join(format!("{}.jsonl", study.name())).display()
            ));
            return Ok(ExitCode::from(STOPPED));
        };
        let written = report.write(study.name(), &self.output)?;
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
        let header: Vec<&str> = shown.header.iter().map(String::as_str).collect();
        text += &format!("{}\n{}\n", shown.title, table(&header, shown.left, shown.rows.clone()));
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

impl Watch for Seen<'_> {
    fn unit(&self, done: usize, all: usize, what: &str) {
        self.bar.set_prefix(format!("{done} of {all} units"));
        self.bar.set_message(what.to_owned());
        if !std::io::stderr().is_terminal() && !what.is_empty() {
            self.output.say(&format!("unit {} of {all}: {what}", done + 1));
        }
    }

    fn progress(&self, done: usize, all: usize, _of_what: &str) {
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
    }

    fn say(&self, message: &str) {
        self.output.say(message);
    }

    fn stop(&self) -> &AtomicBool {
        self.stop
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn measure(&self, point: &ScalingPoint) -> anyhow::Result<ScalingMeasured> {
        let program = std::env::current_exe().context("this program's own place")?;
        let mut command = Command::new(&program);
        command.args(["experiment", "scaling", "--json", "--quiet", "--threads", &self.threads.to_string()]);
        let found = command.arg("--one").arg(serde_json::to_string(point)?).output();
        let found = found.with_context(|| program.display().to_string())?;
        if !found.status.success() {
            bail!("{}", String::from_utf8_lossy(&found.stderr).trim().trim_start_matches("glidr: "));
        }
        Ok(serde_json::from_slice(&found.stdout)?)
    }
}

/// Hands a study over to `glidr-experiment`; the exit code is the other program's.
fn hand_over(
    study: &str,
    arguments: &[String],
    output: &Output,
    threads: Option<u16>,
) -> anyhow::Result<ExitCode> {
    let name = format!("glidr-experiment{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join(&name)));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(&name));
    let mut command = Command::new(&program);
    command.arg(study).args(arguments);
    command.args(output.json.then_some("--json")).args(output.quiet.then_some("--quiet"));
    if let Some(threads) = threads {
        command.args(["--threads", &threads.to_string()]);
    }
    match command.status() {
        Ok(status) => Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "{name} must be beside glidr or in PATH, but is not: cargo install --path crates/glidr-burn"
        ),
        Err(error) => Err(error).with_context(|| program.display().to_string()),
    }
}
