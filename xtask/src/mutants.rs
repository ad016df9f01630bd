//! `cargo xtask mutants`: plants bugs in the stream, one at a time, and sees that its tests find each of them.
//!
//! Works on a copy of the tracked files beside the build folder, so that the checkout stays as it is and dependencies are
//! not built again.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// A bug: one place in one file, as it is and as it would be.
struct Mutant {
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// The tests that have to find them: no network, no GPU.
const TESTS: &[&str] = &["--test", "simulation"];

const MUTANTS: &[Mutant] = &[
    Mutant {
        what: "queue: one task more than may runs",
        file: "src/stream/queue.rs",
        from: "self.n_running[b] < limits[b]",
        to: "self.n_running[b] <= limits[b]",
    },
    Mutant {
        what: "queue: an aborted task keeps its place among the running",
        file: "src/stream/queue.rs",
        from: "            self.n_running[bucket] -= 1;\n            Some(Aborted::Running)",
        to: "            Some(Aborted::Running)",
    },
    Mutant {
        what: "hosts: a host that asked to be left alone is asked",
        file: "src/stream/hosts.rs",
        from: "host.n_running < self.tasks_max && host.closed_until <= now",
        to: "host.closed_until <= now",
    },
    Mutant {
        what: "region: a task that nobody wants any more goes on",
        file: "src/stream/region.rs",
        from: "            Request::None => true,\n",
        to: "            Request::None => false,\n",
    },
    Mutant {
        what: "region: it never gives up",
        file: "src/stream/region.rs",
        from: "self.n_failures >= RETRIES_MAX",
        to: "self.n_failures > RETRIES_MAX",
    },
    Mutant {
        what: "region: an error is for ever",
        file: "src/stream/scene.rs",
        from: "heals_at(state).is_some_and(|at| at <= self.now)",
        to: "heals_at(state).is_some_and(|at| at < Duration::ZERO)",
    },
    Mutant {
        what: "slots: a region is shown half sent",
        file: "src/stream/slots.rs",
        from: "if end >= total_bytes {",
        to: "if end > 0 {",
    },
    Mutant {
        what: "slots: what left the view keeps its slot",
        file: "src/stream/slots.rs",
        from: "if self.owners[at].is_some() && !self.is_ready[at] {",
        to: "if self.owners[at].is_some() && !self.is_ready[at] && at > 0 {",
    },
    Mutant {
        what: "cover: a parent is drawn under its children",
        file: "src/stream/cover.rs",
        from: "return !draws_this && self.is_open(slots, above);",
        to: "return self.is_open(slots, above);",
    },
    Mutant {
        what: "cover: what has arrived stays hidden under its parent",
        file: "src/stream/cover.rs",
        from: "if slots.is_shown(&key) || known.is_empty(key) {",
        to: "if known.is_empty(key) {",
    },
    Mutant {
        what: "scene: what has no successor yet is taken off the screen",
        file: "src/stream/scene.rs",
        from: "return !self.slots.is_shown(&key) && !self.is_known_empty(&key);",
        to: "return false;",
    },
    Mutant {
        what: "scene: a stale answer is believed",
        file: "src/stream/scene.rs",
        from: "and_then(RegionState::task).filter(|task| task.ticket == ticket);\n        let Some(kind)",
        to: "and_then(RegionState::task);\n        let ticket = current.map_or(ticket, |task| task.ticket);\n        let Some(kind)",
    },
];

/// Plants each bug in turn. Fails where one is not found, or is no longer to be planted.
pub(crate) fn run() -> Result<()> {
    let copy = Path::new("target/mutants");
    let _ = Command::new("git").args(["worktree", "remove", "--force"]).arg(copy).status();
    git(&["worktree", "add", "--detach", "--force", "target/mutants", "HEAD"])?;
    let found = MUTANTS.iter().map(|mutant| try_mutant(copy, mutant)).collect::<Result<Vec<bool>>>();
    git(&["worktree", "remove", "--force", "target/mutants"])?;
    let n_missed = found?.into_iter().filter(|found| !found).count();
    ensure!(n_missed == 0, "{n_missed} planted bugs were not found");
    println!("all {} planted bugs were found", MUTANTS.len());
    Ok(())
}

/// Whether the tests fail with the bug in.
fn try_mutant(copy: &Path, mutant: &Mutant) -> Result<bool> {
    let path = copy.join(mutant.file);
    let source = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    if source.matches(mutant.from).count() != 1 {
        bail!("{}: expected {:?} once, to plant \"{}\"", mutant.file, mutant.from, mutant.what);
    }
    std::fs::write(&path, source.replace(mutant.from, mutant.to))?;
    let output = Command::new("cargo")
        .args(["test", "--quiet", "--package", "voxatlas", "--no-default-features"])
        .args(TESTS)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", std::fs::canonicalize("target")?.join("mutants-build"))
        .output()?;
    std::fs::write(&path, source)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // A bug that does not compile would be found by nobody's merit.
    ensure!(
        text.contains("running "),
        "\"{}\" does not compile:\n{}",
        mutant.what,
        String::from_utf8_lossy(&output.stderr)
    );
    let is_found = !output.status.success();
    println!("{}  {}", if is_found { "found " } else { "MISSED" }, mutant.what);
    Ok(is_found)
}

fn git(args: &[&str]) -> Result<()> {
    let status = Command::new("git").args(args).status().context("git cannot be run")?;
    ensure!(status.success(), "git {} failed", args.join(" "));
    Ok(())
}
