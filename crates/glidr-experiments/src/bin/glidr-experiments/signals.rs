//! SIGINT and SIGTERM as requests to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::STOPPED;

/// Signals closer together than this are one request: some senders signal twice.
const ONE_REQUEST: Duration = Duration::from_secs(2);

/// A flag that is set by the first signal. A later signal ends the program at once.
pub fn listen() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let requested = Arc::clone(&stop);
    let mut first: Option<Instant> = None;
    ctrlc::set_handler(move || {
        if first.is_some_and(|first| first.elapsed() > ONE_REQUEST) {
            std::process::exit(i32::from(STOPPED));
        }
        first.get_or_insert_with(Instant::now);
        requested.store(true, Ordering::Relaxed);
    })?;
    Ok(stop)
}
