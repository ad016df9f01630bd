//! The licences of all dependencies, on every platform and with every feature.
//!
//! Receives what `cargo metadata` says of the locked dependencies, yields the crates whose licence is not on the list
//! below. It reads the licence that a crate declares; it does not look into its source.

use std::process::{Command, ExitCode};

use anyhow::Context;
use serde::Deserialize;
use spdx::{Expression, ParseMode};

/// Licences that a program under MIT OR Apache-2.0 may contain: all of them permissive, so that whoever builds on
/// voxatlas owes no more than a notice. Weak copyleft (MPL, LGPL) is not among them: it asks more of those who link
/// statically, as Rust does, and no dependency has needed it so far.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // The list of root certificates: data, to be passed on with its text.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    // The HUD's fonts: a font may be embedded in any program, its licence covers only the font itself.
    "OFL-1.1",
    "Ubuntu-font-1.0",
    // Tables made from the Unicode database.
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The part of `cargo metadata` that is read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A package, as `cargo metadata` tells of it.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// An SPDX expression, in older crates with `/` for `OR`.
    license: Option<String>,
    license_file: Option<String>,
}

/// A package that may not be passed on with the others.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// Name and version.
    package: String,
    /// What was found, and what was expected.
    what: String,
}

/// Checks the workspace and prints what it found.
pub(crate) fn check() -> anyhow::Result<ExitCode> {
    let metadata = metadata()?;
    let findings: Vec<Finding> = metadata.packages.iter().filter_map(finding).collect();
    if findings.is_empty() {
        println!("{} packages, all under licences on the list", metadata.packages.len());
        return Ok(ExitCode::SUCCESS);
    }
    for Finding { package, what } in &findings {
        eprintln!("{package}: {what}");
    }
    eprintln!(
        "\n`cargo tree --workspace --all-features --target all --invert NAME` shows who brings a crate in. Do without \
         it, or take an alternative; where its licence is permissive, add it to ALLOWED in xtask/src/licences.rs and \
         say why it fits MIT OR Apache-2.0."
    );
    Ok(ExitCode::FAILURE)
}

/// Asks cargo for the packages of the whole workspace. `--locked`: the check must not change what it checks.
fn metadata() -> anyhow::Result<Metadata> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
        .output()
        .context("cargo metadata did not start")?;
    anyhow::ensure!(output.status.success(), "cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("cargo metadata printed JSON of another form")
}

/// What speaks against a package, if anything does.
fn finding(package: &Package) -> Option<Finding> {
    let what = match (&package.license, &package.license_file) {
        (Some(license), _) => objection(license)?,
        (None, Some(file)) => format!("declares no licence but the file {file}; expected an SPDX expression"),
        (None, None) => "declares no licence; expected an SPDX expression".to_owned(),
    };
    Some(Finding { package: format!("{} {}", package.name, package.version), what })
}

/// What speaks against a licence expression, if anything does.
fn objection(license: &str) -> Option<String> {
    let expression = match Expression::parse_mode(license, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => return Some(format!("licence \"{license}\" is no SPDX expression: {}", error.reason)),
    };
    let refused = expression.evaluate_with_failures(|licence| ALLOWED.contains(&licence.to_string().as_str())).err()?;
    let refused: Vec<String> = refused.iter().map(|licence| licence.req.to_string()).collect();
    Some(format!("licence \"{license}\" has parts that are not on the list: {}", refused.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(license: &str, expected: Option<&str>) {
        let found = objection(license);
        match expected {
            None => assert_eq!(found, None, "{license}"),
            Some(part) => {
                let found = found.unwrap_or_else(|| panic!("{license} was allowed"));
                assert!(found.contains(license) && found.contains(part), "{license}: {found}");
            }
        }
    }

    #[test]
    fn permissive_licences_pass() {
        for license in ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
            check(license, None);
        }
        check("Apache-2.0 WITH LLVM-exception OR MIT", None);
    }

    #[test]
    fn one_allowed_alternative_is_enough() {
        check("MIT OR Apache-2.0 OR LGPL-2.1-or-later", None);
        check("Apache-2.0 OR GPL-2.0-only", None);
    }

    #[test]
    fn every_part_of_a_conjunction_must_be_allowed() {
        check("MIT AND GPL-3.0-only", Some("not on the list: GPL-3.0-only"));
    }

    #[test]
    fn copyleft_is_refused_by_name() {
        check("GPL-3.0-or-later", Some("not on the list: GPL-3.0-or-later"));
        check("MPL-2.0 OR AGPL-3.0-only", Some("not on the list: MPL-2.0, AGPL-3.0-only"));
        // The exception changes what one owes, so it is another licence.
        check("MIT WITH LLVM-exception", Some("MIT WITH LLVM-exception"));
    }

    #[test]
    fn what_is_no_licence_is_refused() {
        check("do as you like", Some("no SPDX expression"));
        let silent = Package { name: "quiet".into(), version: "1.2.3".into(), license: None, license_file: None };
        let found = finding(&silent).expect("a package without a licence is refused");
        assert_eq!(found.package, "quiet 1.2.3");
        assert!(found.what.contains("declares no licence"), "{}", found.what);
    }

    #[test]
    fn the_list_holds_only_spdx_names() {
        for license in ALLOWED {
            Expression::parse_mode(license, ParseMode::STRICT).unwrap_or_else(|error| panic!("{license}: {error}"));
        }
    }
}
