//! Who looks on while an experiment runs, and how its time is told.

use std::time::Instant;

use glidr::Progress;

use crate::{ScalingMeasured, ScalingPoint};

/// Who is told of progress, can ask to stop, and lends a process of its own.
pub trait Watch: Progress {
    /// Unit `done` of `all` begins, and what it is.
    fn unit(&self, done: usize, all: usize, what: &str);
    /// Something that the user should know.
    fn say(&self, message: &str);
    /// Threads to use.
    fn threads(&self) -> usize;
    /// Measures one point of the scaling experiment, in a process of its own where memory is to be
    /// told from that of others.
    fn measure(&self, point: &ScalingPoint) -> anyhow::Result<ScalingMeasured>;
}

/// Processor time of this process, all threads together: what else the machine does changes it little.
/// Where the system does not tell it, time by the clock.
pub struct Stopwatch {
    by_clock: Instant,
    worked: Option<f64>,
}

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Stopwatch { by_clock: Instant::now(), worked: worked() }
    }

    /// Seconds since then.
    pub fn seconds(&self) -> f64 {
        match (self.worked, worked()) {
            (Some(then), Some(now)) => now - then,
            _ => self.by_clock.elapsed().as_secs_f64(),
        }
    }
}

/// Linux counts hundredths of a second: user and system time, the 14th and 15th word. The second, the
/// program's name, may hold spaces; it ends with the last bracket.
fn worked() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let time = |place: usize| words.get(place)?.parse::<f64>().ok();
    Some((time(11)? + time(12)?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopwatch_counts_work() {
        let watch = Stopwatch::start();
        let mut sum = 0u64;
        while watch.by_clock.elapsed().as_secs_f64() < 0.5 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        let worked = watch.seconds();
        assert!(worked > 0.02, "{worked} s, though it worked all the time it was let");
    }
}
