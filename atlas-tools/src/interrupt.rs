//! Ctrl-C and SIGTERM, with which schedulers end a task: the first one asks to stop between two tiles, the second one
//! ends the program at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

/// The flag of this program, once somebody has asked for it.
static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// A flag that Ctrl-C and SIGTERM set; the same for everybody in a program, since a command may run another.
///
/// # Errors
///
/// The system refuses a thread or the signal's handler.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let mut known = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(flag) = known.as_ref() {
        return Ok(Arc::clone(flag));
    }
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (is_ready, ready) = sync_channel(1);
    let wait = move || {
        runtime.block_on(async {
            let signals = Signals::new();
            // The other side waits for it below.
            let _ = is_ready
                .send(signals.as_ref().map(drop).map_err(|error| io::Error::new(error.kind(), error.to_string())));
            let Ok(mut signals) = signals else { return };
            while signals.next().await.is_some() {
                if shared.swap(true, Ordering::Relaxed) {
                    std::process::exit(i32::from(crate::outcome::FATAL));
                }
                eprintln!("stopping after the tiles in work; press Ctrl-C again to stop at once");
            }
        });
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait)?;
    // A signal that comes before its handler would end the program, and leave what has been begun by then.
    ready.recv().map_err(io::Error::other)??;
    Ok(Arc::clone(known.insert(flag)))
}

/// The signals that ask to stop, watched from the beginning to the end.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            signal = self.interrupt.recv() => signal,
            signal = self.terminate.recv() => signal,
        }
    }
}

/// The signal that asks to stop.
#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Option<()> {
        self.0.recv().await
    }
}
