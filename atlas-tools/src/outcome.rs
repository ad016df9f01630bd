//! How a command ends, and the exit codes that say so.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

/// How a command ended that did what it was asked to; everything else is an error, exit code 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: done, but there are findings, or some tiles failed.
    Findings,
}

impl Outcome {
    /// [`Outcome::Findings`] where there are any.
    pub fn with_findings(has_findings: bool) -> Self {
        if has_findings { Self::Findings } else { Self::Done }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Findings => Self::from(1),
        }
    }
}

/// Something that is wrong, or was left out, while the work went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, relative to the folder where there is one, or the URL.
    pub file: String,
    /// What is wrong with it.
    pub finding: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file, self.finding)
    }
}

/// The exit code of usage errors and of whatever kept a command from its work.
pub const FATAL: u8 = 2;

/// Prints what a command has to say on the standard output. A reader that went away (`| head`) is no failure.
///
/// # Errors
///
/// The standard output cannot be written to.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}
