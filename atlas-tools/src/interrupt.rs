//! Ctrl-C: the first one asks to stop between two tiles, the second one ends the program at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that Ctrl-C sets; call it once a program.
///
/// # Errors
///
/// The system refuses a thread or the signal's handler.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wait = move || {
        runtime.block_on(async {
            // Where the handler cannot be set up, Ctrl-C keeps its usual meaning.
            while tokio::signal::ctrl_c().await.is_ok() {
                if shared.swap(true, Ordering::Relaxed) {
                    std::process::exit(i32::from(crate::outcome::FATAL));
                }
                eprintln!("stopping after the tiles in work; press Ctrl-C again to stop at once");
            }
        });
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait)?;
    Ok(flag)
}
