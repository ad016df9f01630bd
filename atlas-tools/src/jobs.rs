//! The threads that a command works on.

use std::num::NonZeroUsize;

use anyhow::Context;

/// A pool of so many threads, one a processor where nothing is said.
///
/// # Errors
///
/// The system refuses a thread.
pub fn pool(jobs: Option<NonZeroUsize>, name: &'static str) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.map_or(0, NonZeroUsize::get))
        .thread_name(move |idx| format!("{name}-{idx}"))
        .build()
        .context("the worker threads cannot be started")
}

/// A size in bytes from a text such as 512MiB, 1GiB or 2GB.
///
/// # Errors
///
/// The text is no size.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        _ => return Err(format!("\"{text}\" has the unit \"{unit}\": expected a size such as 512MiB or 2GB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor as f64) as u64),
        _ => Err(format!("\"{text}\" is no size: expected one such as 512MiB or 2GB")),
    }
}
