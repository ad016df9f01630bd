//! The Python reader that `docs/format.md` ends with reads files of ours, and the page's example is a tileset.

use std::io::Write as _;
use std::process::{Command, Stdio};

use voxatlas::atlas::{AtlasMetadata, Tileset, encode};
use voxatlas::geo::RegionKey;
use voxatlas::voxel::{ColourDepth, Occupancy, Region};

const PAGE: &str = include_str!("../docs/format.md");

/// The last fenced block of a language.
fn fenced(language: &str) -> &'static str {
    let (_, block) = PAGE.rsplit_once(&format!("```{language}\n")).expect("the page has such a block");
    block.split_once("\n```").expect("the block ends").0
}

/// Asks the reader for voxels, one `x y z` a line.
const ASK: &str = r#"
rows, palette, metadata = read_atlas(open(sys.argv[1], "rb").read())
print(*metadata, sep="|")
for line in sys.stdin:
    print(voxel(rows, palette, *map(int, line.split())))
"#;

fn scene(n_colours: u32) -> Region {
    let mut occupancy = Occupancy::empty();
    for (x, z) in (0..256).flat_map(|x| (0..256).map(move |z| (x, z))) {
        for y in 0..10 + (x * 3 + z * 5) % 60 {
            occupancy.set(x, y, z, true);
        }
    }
    Region::paint(occupancy, ColourDepth::Direct, |x, y, z| (x * 5 + y * 3 + z * 7) % n_colours * 97)
}

#[test]
fn the_python_reader_reads_our_files() {
    let dir = tempfile::tempdir().unwrap();
    let key = RegionKey::new("17/116415/51623".parse().unwrap(), -2);
    let metadata =
        AtlasMetadata { key, base: -32, voxel_size_m: 0.970_390_625, clipped: 5, credit: "© Tokyo".to_owned() };
    for n_colours in [100, 2000] {
        let region = scene(n_colours);
        let path = dir.path().join(format!("{n_colours}.png"));
        std::fs::write(&path, encode(&region, &metadata)).unwrap();
        let voxels: Vec<[u32; 3]> =
            (0..4000u32).map(|i| [i * 37 % 256, (i * 101 + i / 7) % 80, i.wrapping_mul(2_654_435_761) >> 24]).collect();
        let mut python = Command::new("python3")
            .args(["-c", &format!("{}\n{ASK}", fenced("python"))])
            .arg(&path)
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs: `make test` installs it");
        let mut questions = python.stdin.take().unwrap();
        for [x, y, z] in &voxels {
            writeln!(questions, "{x} {y} {z}").unwrap();
        }
        drop(questions);
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success());
        let answers = String::from_utf8(output.stdout).unwrap();
        let mut answers = answers.lines();
        let fields: Vec<_> = answers.next().unwrap().split('|').collect();
        assert_eq!(fields[..1], ["1"]);
        assert_eq!(fields[2..], ["64", "17", "116415", "51623", "-2", "-32", "0.970390625", "5", "© Tokyo"]);
        for [x, y, z] in voxels {
            let [r, g, b] = region.colours.get(x, y, z);
            let expected = if region.occupancy.get(x, y, z) { format!("({r}, {g}, {b})") } else { "None".to_owned() };
            assert_eq!(answers.next(), Some(expected.as_str()), "({x}, {y}, {z})");
        }
        assert_eq!(answers.next(), None);
    }
}

#[test]
fn the_example_tileset_is_one() {
    let tileset: Tileset = serde_json::from_str(fenced("json")).unwrap();
    let ours = tileset.voxatlas.expect("the page's example has the object");
    assert_eq!((ours.format, ours.base, ours.layers.len()), (1, -32, 2));
}
