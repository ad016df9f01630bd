//! Pictures kept in `tests/golden/`: a change of look is a change that someone has looked at.
//!
//! `UPDATE_GOLDEN=1` writes them anew. The allowances leave room for another driver's rounding and edges.

use std::path::Path;

use voxatlas::gpu::FrameStyle;
use voxatlas::stream::SlotUpdate;
use voxatlas::view::View;

use crate::picture::{Allowance, assert_alike, read, write};
use crate::scene::{FLAT, city, fill, lit, renderer, rubble, take, view};

/// Rounding anywhere, and an edge here and there.
const ALLOWANCES: [Allowance; 2] = [(2, 400), (24, 60)];

fn check(name: &str, updates: &[SlotUpdate], view: &View, style: FrameStyle) {
    let actual = take(&mut renderer(updates), view, style);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.png"));
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|it| it == "1") {
        write(&path, &actual);
    }
    assert!(path.exists(), "{} does not exist: run the tests with UPDATE_GOLDEN=1 and look at it", path.display());
    assert_alike(&format!("golden.{name}"), &actual, &read(&path), &ALLOWANCES);
}

/// Three regions in a row to the north.
fn street() -> Vec<SlotUpdate> {
    (0..3).map(|i| fill(i, city(i as u64 + 7).indexed(), [0, 0, -256 * i as i64])).collect()
}

#[test]
fn lit_city_from_above() {
    check("lit_city", &street(), &view([250.0, 150.0, 330.0], 22.0, -22.0, 256, 256), lit());
}

#[test]
fn lit_street_closes_in_fog() {
    let mut view = view([5.0, 16.0, 250.0], -4.0, 4.0, 256, 256);
    view.draw_distance_voxels = 420.0;
    check("lit_street", &street(), &view, lit());
}

#[test]
fn flat_rubble() {
    let updates = [fill(0, rubble(3, 60).direct(), [0; 3])];
    check("flat_rubble", &updates, &view([300.0, 260.0, 330.0], 40.0, -32.0, 256, 256), FLAT);
}
