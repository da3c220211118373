//! SIGINT and SIGTERM as requests to stop.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::STOPPED;

/// Signals closer together than this are one request: some senders signal twice.
const ONE_REQUEST: Duration = Duration::from_secs(2);

/// What SIGINT and SIGTERM ask for while rules are trained: a flag that ends training after the
/// step. A later signal, or one when there is nothing to keep, ends the program at once.
#[derive(Clone, Default)]
pub struct Signals {
    /// Set when the work is to end after the present step.
    pub stop: Arc<AtomicBool>,
    /// Whether there is work that can be taken up again.
    pub training: Arc<AtomicBool>,
    /// Whether the model is written, and only its report is missing.
    pub written: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> anyhow::Result<Self> {
        let signals = Signals::default();
        let Signals { stop, training, written } = signals.clone();
        let mut first: Option<Instant> = None;
        ctrlc::set_handler(move || {
            let again = first.is_some_and(|first| first.elapsed() > ONE_REQUEST);
            if again || !training.load(Ordering::Relaxed) {
                if written.load(Ordering::Relaxed) {
                    let _ =
                        writeln!(std::io::stderr(), "stopped; the model is written, its report is cut short");
                }
                std::process::exit(i32::from(STOPPED));
            }
            first.get_or_insert_with(Instant::now);
            stop.store(true, Ordering::Relaxed);
        })?;
        Ok(signals)
    }
}
