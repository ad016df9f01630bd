//! Which shard a command makes: a number, or the one that a scheduler gives.

use std::str::FromStr;

use anyhow::{Context as _, bail};

/// The variables in which schedulers give a task its number: array jobs of Slurm, Indexed Jobs of Kubernetes, array jobs
/// of AWS Batch.
const VARIABLES: [&str; 3] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"];

/// What `--shard` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardChoice {
    /// A number, from 0.
    Number(usize),
    /// The number that the scheduler gives.
    Auto,
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Number).map_err(|_| "expected a number from 0, or auto".to_owned()),
        }
    }
}

impl ShardChoice {
    /// The shard, of so many.
    ///
    /// # Errors
    ///
    /// There are not so many, or no scheduler gives a number, or several give different ones.
    pub fn resolve(self, n_shards: usize) -> anyhow::Result<usize> {
        self.resolve_with(n_shards, |name| std::env::var(name).ok())
    }

    /// As [`ShardChoice::resolve`], with another environment than the program's.
    ///
    /// # Errors
    ///
    /// As [`ShardChoice::resolve`].
    pub fn resolve_with(self, n_shards: usize, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<usize> {
        let (shard, name) = match self {
            Self::Number(shard) => (shard, "--shard"),
            Self::Auto => given(variable)?,
        };
        if shard >= n_shards {
            bail!("{name} is {shard}, the plan has {n_shards} shards: expected 0 to {}", n_shards.saturating_sub(1));
        }
        Ok(shard)
    }
}

fn given(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<(usize, &'static str)> {
    let mut found: Option<(usize, &'static str)> = None;
    for name in VARIABLES {
        let Some(text) = variable(name) else { continue };
        let shard = text.trim().parse().with_context(|| format!("{name} is \"{text}\": expected a number from 0"))?;
        if let Some((other, first)) = found.filter(|&(other, _)| other != shard) {
            bail!("{first} is {other} and {name} is {shard}: name the shard with --shard K");
        }
        found = Some((shard, name));
    }
    found.with_context(|| {
        format!("--shard auto: none of {} is set: name the shard with --shard K", VARIABLES.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_from_the_flag_or_from_the_scheduler() {
        let check = |text: &str, environment: &[(&str, &str)], expected: Result<usize, &str>| {
            let variable =
                |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            let choice: ShardChoice = text.parse().unwrap();
            match (choice.resolve_with(8, variable), expected) {
                (Ok(found), Ok(shard)) => assert_eq!(found, shard),
                (Err(error), Err(part)) => assert!(format!("{error:#}").contains(part), "{error:#}"),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        };
        check("7", &[], Ok(7));
        check("8", &[], Err("--shard is 8, the plan has 8 shards"));
        check("auto", &[("SLURM_ARRAY_TASK_ID", "0")], Ok(0));
        check("auto", &[("JOB_COMPLETION_INDEX", "3")], Ok(3));
        check("auto", &[("AWS_BATCH_JOB_ARRAY_INDEX", "5"), ("SLURM_ARRAY_TASK_ID", "5")], Ok(5));
        check(
            "auto",
            &[("AWS_BATCH_JOB_ARRAY_INDEX", "5"), ("SLURM_ARRAY_TASK_ID", "4")],
            Err("SLURM_ARRAY_TASK_ID is 4"),
        );
        check("auto", &[("SLURM_ARRAY_TASK_ID", "9")], Err("SLURM_ARRAY_TASK_ID is 9"));
        check("auto", &[("SLURM_ARRAY_TASK_ID", "x")], Err("expected a number"));
        check("auto", &[], Err("none of SLURM_ARRAY_TASK_ID"));
        assert!("-1".parse::<ShardChoice>().is_err() && "all".parse::<ShardChoice>().is_err());
    }
}
