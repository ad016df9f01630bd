//! `--events FILE`: what the stream does, as JSON lines.
//!
//! Owns the file and the thread that writes it. Receives the scene's debug events; it tells nobody what they mean, and
//! never makes a frame wait for a disk: what comes faster than it can be written is left out, and counted.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::limits::{EVENTS_FLUSH_MILLIS, EVENTS_QUEUED_BYTES_MAX, EVENTS_QUEUED_MAX};
use crate::stream::{DebugCell, DebugEvent, Listener};

/// A file being written. Dropping it writes what waits and closes the file.
pub struct EventsFile {
    path: PathBuf,
    /// Present until the drop.
    queue: Option<SyncSender<DebugEvent>>,
    queued_bytes: Arc<AtomicUsize>,
    n_left_out: usize,
    writer: Option<JoinHandle<()>>,
}

impl EventsFile {
    /// Opens the file, empty.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or the system gives no thread.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("--events: {} cannot be written", path.display()))?;
        let (queue, events) = sync_channel(EVENTS_QUEUED_MAX);
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let writer = {
            let (path, queued_bytes) = (path.to_owned(), Arc::clone(&queued_bytes));
            Builder::new().name("voxatlas-events".to_owned()).spawn(move || {
                if let Err(error) = write_all(file, &events, &queued_bytes) {
                    tracing::warn!("--events: {}: {error}; no more events are written", path.display());
                }
            })
        };
        let writer = Some(writer.context("the system gives no thread for --events")?);
        Ok(Self { path: path.to_owned(), queue: Some(queue), queued_bytes, n_left_out: 0, writer })
    }

    /// Writes all that it is told.
    pub fn into_listener(mut self) -> Listener {
        Box::new(move |event| self.write(event))
    }

    fn write(&mut self, event: &DebugEvent) {
        let Some(queue) = &self.queue else { return };
        let bytes = size_of_event(event);
        if self.queued_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > EVENTS_QUEUED_BYTES_MAX {
            self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.n_left_out += 1;
            return;
        }
        match queue.try_send(event.clone()) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                self.n_left_out += 1;
            }
            // The writer has failed, and said so.
            Err(TrySendError::Disconnected(_)) => self.queue = None,
        }
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::warn!("--events: {}: the writer panicked; the last events are missing", self.path.display());
        }
        if self.n_left_out > 0 {
            let (path, n) = (self.path.display(), self.n_left_out);
            tracing::warn!("--events: {path}: {n} events are left out, since the disk was slower than they came");
        }
    }
}

fn size_of_event(event: &DebugEvent) -> usize {
    size_of::<DebugEvent>() + event.cells.len() * size_of::<DebugCell>()
}

/// Writes events as they come until nobody sends any more; what has been written rests at most a moment in the buffer.
fn write_all(file: File, events: &Receiver<DebugEvent>, queued_bytes: &AtomicUsize) -> io::Result<()> {
    let flush_after = Duration::from_millis(EVENTS_FLUSH_MILLIS);
    let mut file = BufWriter::new(file);
    // When the oldest line in the buffer was written.
    let mut waits_since: Option<Instant> = None;
    loop {
        let event = match waits_since {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(since) => events.recv_timeout(flush_after.saturating_sub(since.elapsed())),
        };
        match event {
            Ok(event) => {
                queued_bytes.fetch_sub(size_of_event(&event), Ordering::Relaxed);
                serde_json::to_writer(&mut file, &event)?;
                file.write_all(b"\n")?;
                waits_since.get_or_insert_with(Instant::now);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return file.flush(),
        }
        if waits_since.is_some_and(|since| since.elapsed() >= flush_after) {
            file.flush()?;
            waits_since = None;
        }
    }
}
