//! `atlas-tools completions` and `man`: what shells and `man` read, made from the command line itself.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::flags::OutputFlags;
use crate::outcome::{Outcome, print};
use crate::output::OutputDir;

/// Prints the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools completions bash > ~/.local/share/bash-completion/completions/atlas-tools
  atlas-tools completions zsh > ~/.zfunc/_atlas-tools

Exit codes: 0 done, 2 wrong usage.")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Writes the manual pages: atlas-tools.1, and one for each command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atlas-tools man --out ~/.local/share/man/man1

Exit codes: 0 done, 2 wrong usage or nothing written.")]
pub struct ManArgs {
    /// The folder that receives the pages
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// How much it says
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Runs `completions` for a program with this command line.
///
/// # Errors
///
/// The standard output cannot be written to.
pub fn completions(args: &CompletionsArgs, mut command: Command) -> anyhow::Result<Outcome> {
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut text);
    print(&String::from_utf8(text)?)?;
    Ok(Outcome::Done)
}

/// Runs `man` for a program with this command line.
///
/// # Errors
///
/// The folder cannot be written.
pub fn man(args: &ManArgs, mut command: Command) -> anyhow::Result<Outcome> {
    command.build();
    let out = OutputDir::create(&args.out)?;
    let name = command.get_name().to_owned();
    let mut pages = vec![(name.clone(), command.clone())];
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let page = format!("{name}-{}", sub.get_name());
        // The page is named by its own title, which clap keeps for as long as it runs.
        pages.push((page.clone(), sub.clone().name(page.leak() as &'static str)));
    }
    let mut files = Vec::new();
    for (page, command) in pages {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        let file = format!("{page}.1");
        out.write(&file, &text)?;
        files.push(out.path(&file).display().to_string());
    }
    args.output.say(|| format!("{:#}\n", serde_json::json!({ "files": files })), || files.join("\n") + "\n")?;
    Ok(Outcome::Done)
}
