//! Ctrl-C and SIGTERM, with which schedulers end a task: the first one asks to stop between two tiles, the second one
//! ends the program at once.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let wait = move || {
        runtime.block_on(async {
            // Where the handler cannot be set up, Ctrl-C keeps its usual meaning.
            while signal().await.is_ok() {
                if shared.swap(true, Ordering::Relaxed) {
                    std::process::exit(i32::from(crate::outcome::FATAL));
                }
                eprintln!("stopping after the tiles in work; press Ctrl-C again to stop at once");
            }
        });
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait)?;
    Ok(Arc::clone(known.insert(flag)))
}

/// Waits for the next signal that asks to stop.
#[cfg(unix)]
async fn signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt,
        _ = terminate.recv() => Ok(()),
    }
}

/// Waits for the next signal that asks to stop.
#[cfg(not(unix))]
async fn signal() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
