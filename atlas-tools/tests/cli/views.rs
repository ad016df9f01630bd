//! A city on the screen: looking down on it, no view shows what lies behind; and a device that is lost is replaced.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;

use voxatlas::geo::{LonLat, mercator};
use voxatlas::gpu::{FrameStyle, Gpu, Lighting, Offscreen};
use voxatlas::render::Session;
use voxatlas::source::{Source, SourceConfig};
use voxatlas::view::{View, ViewSpec};

use crate::common::{path, run};
use crate::real_data::real_data;

/// In no palette.
const MAGENTA: [u8; 3] = [255, 0, 255];

/// How many views are looked for holes.
const N_VIEWS: u32 = 200;

/// A number of 0..1 that follows from two others.
fn dice(n: u32, salt: u32) -> f64 {
    let mixed = (n.wrapping_mul(0x9E37_79B9) ^ salt.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0x27D4_EB2F);
    f64::from((mixed ^ mixed >> 15).wrapping_mul(0x2C1B_3C6D) >> 8) / f64::from(1 << 24)
}

/// Looks down from within `reach_m` of the middle, above the roofs, since what is solid is not seen from within, and so
/// steeply that every ray meets the ground: at most `tilt_deg` off the plumb line.
fn check_no_holes(source: &str, middle: LonLat, reach_m: f64, height_m: std::ops::Range<f64>, tilt_deg: f64) {
    let gpu = Gpu::headless_blocking().unwrap();
    let target = Offscreen::new(&gpu, 160, 120).unwrap();
    let source = Source::open_blocking(source, &SourceConfig::default()).unwrap();
    let mut session = Session::new(&gpu, Offscreen::FORMAT, source).unwrap();
    let [x, z] = middle.to_world();
    let voxels = reach_m / mercator::metres_per_voxel_at(z);
    for n in 0..N_VIEWS {
        let place = LonLat::from_world(x + (dice(n, 1) * 2.0 - 1.0) * voxels, z + (dice(n, 2) * 2.0 - 1.0) * voxels);
        let height_m = height_m.start + (height_m.end - height_m.start) * dice(n, 3);
        let spec = ViewSpec::new(place, height_m, dice(n, 4) * 360.0, -90.0 + tilt_deg * dice(n, 5)).unwrap();
        let view = View {
            pose: spec.pose(),
            fov_y_rad: 50_f64.to_radians(),
            width_px: 160,
            height_px: 120,
            draw_distance_voxels: 80_000.0,
        };
        session.advance(&view);
        while !session.is_complete() {
            session.wait();
            session.advance(&view);
        }
        let (picture, stats) = session.take_picture(&target, &view, FrameStyle::Flat { background: MAGENTA }).unwrap();
        let n_holes = picture.rgba.chunks(4).filter(|pixel| pixel[..3] == MAGENTA).count();
        assert_eq!(n_holes, 0, "view {n}, --view {spec}: {n_holes} pixels show what lies behind");
        assert!(stats.n_quads > 0);
    }
    assert_eq!(gpu.last_error(), None);
}

#[test]
fn the_demo_city_has_no_holes() {
    let demo = Source::open_blocking("demo", &SourceConfig::default()).unwrap();
    let [west, south, east, north] = demo.tileset().bounds.unwrap();
    let middle = LonLat::new(f64::midpoint(west, east), f64::midpoint(south, north)).unwrap();
    // Above the tower, too.
    check_no_holes("demo", middle, 60.0, 345.0..365.0, 12.0);
}

#[test]
fn tokyo_has_no_holes() {
    let Some(data) = real_data("atlas-tools: views::tokyo_has_no_holes") else { return };
    let dir = tempfile::tempdir().unwrap();
    let city = dir.path().join("city");
    encode_tokyo(&data.join("tokyo_plateau_mvt"), &city);
    // Between the towers of Toranomon, in the middle of nine by nine tiles.
    check_no_holes(path(&city), LonLat::new(139.7472, 35.6600).unwrap(), 300.0, 280.0..400.0, 25.0);
}

fn encode_tokyo(input: &Path, city: &Path) {
    let bbox = "139.7331,35.6507,139.7578,35.6684";
    run(&["encode", path(input), "--out", path(city), "--bbox", bbox, "--pyramid", "--quiet"], 0);
}

#[test]
fn a_lost_device_is_replaced_and_the_picture_is_the_same() {
    let gpu = Gpu::headless_blocking().unwrap();
    let source = Source::open_blocking("demo", &SourceConfig::default()).unwrap();
    let mut session = Session::new(&gpu, Offscreen::FORMAT, source).unwrap();
    let spec: ViewSpec = "0.0036,-0.0050,330,331,-17".parse().unwrap();
    let view = View {
        pose: spec.pose(),
        fov_y_rad: 50_f64.to_radians(),
        width_px: 200,
        height_px: 140,
        draw_distance_voxels: 80_000.0,
    };
    let shoot = |gpu: &Gpu, session: &mut Session| {
        session.advance(&view);
        while !session.is_complete() {
            session.wait();
            session.advance(&view);
        }
        let target = Offscreen::new(gpu, view.width_px, view.height_px)?;
        session.take_picture(&target, &view, FrameStyle::Lit(Lighting::default())).map(|(picture, _)| picture)
    };
    let before = shoot(&gpu, &mut session).unwrap();
    gpu.device.destroy();
    assert!(shoot(&gpu, &mut session).is_err() && gpu.lost().is_some());

    let other = Gpu::headless_blocking().unwrap();
    session.replace_device(&other, Offscreen::FORMAT);
    let after = shoot(&other, &mut session).unwrap();
    assert!(after == before, "nothing is fetched again, and everything is sent again");
    assert_eq!(other.last_error(), None);
}
