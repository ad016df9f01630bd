//! City models, from files to items: CityGML and CityJSON.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on is a failed test")]
#![expect(clippy::format_collect, reason = "fixtures are short")]

mod cityml;
mod collect;
mod generator;
#[path = "../../../tests/common/real_data.rs"]
mod real_data;

mod citygml;
mod citygml_bad;
mod citygml_looks;
mod cityjson;
mod real;
