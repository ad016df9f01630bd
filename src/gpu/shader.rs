//! The WGSL sources, put together.
//!
//! Owns the embedded files of `shaders/` and the one directive they know: a line `#import shared/file.wgsl` stands for
//! that file, once. Yields whole sources, a pass each; it compiles nothing.

/// Every file of `shaders/`, by its path there.
const FILES: [(&str, &str); 9] = [
    ("region.wgsl", include_str!("../../shaders/region.wgsl")),
    ("sky.wgsl", include_str!("../../shaders/sky.wgsl")),
    ("shared/face_colour.wgsl", include_str!("../../shaders/shared/face_colour.wgsl")),
    ("shared/frame.wgsl", include_str!("../../shaders/shared/frame.wgsl")),
    ("shared/light.wgsl", include_str!("../../shaders/shared/light.wgsl")),
    ("shared/quad.wgsl", include_str!("../../shaders/shared/quad.wgsl")),
    ("shared/shade.wgsl", include_str!("../../shaders/shared/shade.wgsl")),
    ("shared/solids.wgsl", include_str!("../../shaders/shared/solids.wgsl")),
    ("shared/words.wgsl", include_str!("../../shaders/shared/words.wgsl")),
];

/// The paths of all embedded files, passes and shared ones.
pub fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|&(path, _)| path)
}

/// A file with everything that it imports, each once, before its first use.
///
/// # Panics
///
/// A file that is imported does not exist. A test composes them all.
pub fn compose(path: &str) -> String {
    compose_with(path, &[])
}

/// [`compose`] with other files in place of embedded ones of the same path: a pass that gets its colours elsewhere.
///
/// # Panics
///
/// As [`compose`].
pub fn compose_with(path: &str, others: &[(&str, &str)]) -> String {
    let mut source = String::new();
    append(path, others, &mut Vec::new(), &mut source);
    source
}

fn append(path: &str, others: &[(&str, &str)], done: &mut Vec<String>, source: &mut String) {
    if done.iter().any(|it| it == path) {
        return;
    }
    done.push(path.to_owned());
    let mut files = others.iter().chain(&FILES);
    let (_, text) = files.find(|(it, _)| *it == path).unwrap_or_else(|| panic!("shaders/{path} does not exist"));
    for line in text.lines() {
        if let Some(import) = line.strip_prefix("#import ") {
            append(import.trim(), others, done, source);
        } else {
            source.push_str(line);
            source.push('\n');
        }
    }
}
