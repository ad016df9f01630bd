//! Comparing pictures, and leaving them behind where they differ.

use std::path::{Path, PathBuf};

use voxatlas::gpu::Picture;

/// How many pixels may differ by more than how much.
pub(crate) type Allowance = (u8, usize);

/// The largest difference of a channel, by pixel.
pub(crate) fn differences(a: &Picture, b: &Picture) -> Vec<u8> {
    assert_eq!((a.width_px, a.height_px), (b.width_px, b.height_px));
    let pixels = a.rgba.as_chunks::<4>().0.iter().zip(b.rgba.as_chunks::<4>().0);
    pixels.map(|(a, b)| (0..4).map(|i| a[i].abs_diff(b[i])).max().unwrap_or(0)).collect()
}

/// Fails unless the pictures are the same, byte for byte.
pub(crate) fn assert_same(name: &str, actual: &Picture, expected: &Picture) {
    assert_alike(name, actual, expected, &[(0, 0)]);
}

/// Fails where more pixels differ than the allowances grant, and leaves both pictures and their difference behind.
pub(crate) fn assert_alike(name: &str, actual: &Picture, expected: &Picture, allowances: &[Allowance]) {
    let differences = differences(actual, expected);
    let beyond = |by: u8| differences.iter().filter(|&&it| it > by).count();
    if allowances.iter().all(|&(by, n_max)| beyond(by) <= n_max) {
        return;
    }
    let marks = differences.iter().flat_map(|&by| [by.saturating_mul(8).max(u8::from(by > 0) * 64), 0, 0, 255]);
    let marks = Picture { rgba: marks.collect(), ..*actual };
    let [actual_at, expected_at, marks_at] = [("actual", actual), ("expected", expected), ("difference", &marks)]
        .map(|(what, picture)| leave(&format!("{name}.{what}.png"), picture));
    let found: Vec<_> = allowances.iter().map(|&(by, n_max)| format!("> {by}: {} (of {n_max})", beyond(by))).collect();
    panic!(
        "{name}: pixels that differ by {}; see\n  {}\n  {}\n  {}",
        found.join(", "),
        actual_at.display(),
        expected_at.display(),
        marks_at.display()
    );
}

/// Writes a picture into the folder for test output and says where.
pub(crate) fn leave(name: &str, picture: &Picture) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    write(&path, picture);
    path
}

/// Writes a PNG.
pub(crate) fn write(path: &Path, picture: &Picture) {
    let save = image::save_buffer(path, &picture.rgba, picture.width_px, picture.height_px, image::ColorType::Rgba8);
    save.unwrap_or_else(|err| panic!("{}: {err}", path.display()));
}

/// Reads a PNG.
pub(crate) fn read(path: &Path) -> Picture {
    let image = image::open(path).unwrap_or_else(|err| panic!("{}: {err}", path.display())).into_rgba8();
    Picture { width_px: image.width(), height_px: image.height(), rgba: image.into_raw() }
}
