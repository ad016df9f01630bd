use std::path::PathBuf;

use super::*;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/demo")
}

fn open(text: &str, selection: &SelectionFlags, zooms: Zooms) -> anyhow::Result<Regions> {
    Regions::open(text, &SourceConfig::default(), selection, zooms)
}

fn select(tiles: &[&str]) -> SelectionFlags {
    let tiles = tiles.iter().map(|tile| tile.parse().unwrap()).collect();
    SelectionFlags { tiles, ..SelectionFlags::default() }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_same_regions_come_from_everywhere() {
    let folder = demo();
    let folder = folder.to_str().unwrap();
    let everything = SelectionFlags::default();
    let expected = open(folder, &everything, Zooms::All).unwrap();
    assert_eq!(expected.keys().len(), 30);
    assert!(expected.keys().is_sorted());
    for text in ["demo", &format!("{folder}/tiles.json"), &format!("file://{folder}")] {
        let regions = open(text, &everything, Zooms::All).unwrap();
        assert_eq!(regions.keys(), expected.keys(), "{text}");
        for &key in &expected.keys()[..3] {
            assert_eq!(regions.read(key).unwrap(), expected.read(key).unwrap(), "{text} {key}");
        }
    }
    // The finest zoom: nine tiles, and a tower that goes on in layer 1.
    let finest = open(folder, &everything, Zooms::Finest).unwrap();
    assert_eq!((finest.keys().len(), finest.columns().len()), (10, 9));
    assert_eq!(finest.columns().iter().filter(|(_, layers)| layers[..] == [0, 1]).count(), 1);
}

#[test]
fn a_selection_means_some_of_them() {
    let folder = demo();
    let folder = folder.to_str().unwrap();
    let keys = |selection: &SelectionFlags| open(folder, selection, Zooms::Finest).unwrap().keys().to_vec();
    assert_eq!(keys(&select(&["17/65535/65535", "17/1/1"])), [RegionKey::new("17/65535/65535".parse().unwrap(), 0)]);
    assert_eq!(keys(&select(&["16/32767/32767"])).len(), 1);
    assert_eq!(keys(&SelectionFlags { zoom: Some(12), ..SelectionFlags::default() }).len(), 4);
    let none = open(folder, &select(&["17/1/1"]), Zooms::Finest).unwrap();
    assert!(none.expect_some().unwrap_err().to_string().contains("no region of it is meant"));
}

#[test]
fn what_a_document_does_not_list_is_found_or_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = std::fs::read(demo().join("17/65535/65535.png")).unwrap();
    put(&dir.path().join("tiles.json"), br#"{"tilejson": "3.0.0", "tiles": ["{z}/{x}/{y}.png"]}"#);
    put(&dir.path().join("17/65535/65535.png"), &file);
    put(&dir.path().join("17/notes.png"), b"");
    let key = RegionKey::new("17/65535/65535".parse().unwrap(), 0);
    let found = open(dir.path().to_str().unwrap(), &SelectionFlags::default(), Zooms::Finest).unwrap();
    assert_eq!(found.keys(), [key]);
    assert!(!found.is_listed(key));

    let template = format!("{}/{{z}}/{{x}}/{{y}}.png", dir.path().display());
    let error = open(&template, &SelectionFlags::default(), Zooms::Finest).unwrap_err().to_string();
    assert!(error.contains("expected --tiles or a --bbox"), "{error}");
    let asked = open(&template, &select(&["16/32767/32767"]), Zooms::Finest).unwrap();
    assert_eq!(asked.keys().len(), 4);
    let there: Vec<_> = asked.keys().iter().filter(|&&key| asked.read(key).unwrap().is_some()).collect();
    assert_eq!(there, [&key]);
}

#[test]
fn a_single_file_is_a_source_of_one_region() {
    let dir = tempfile::tempdir().unwrap();
    let path = demo().join("17/65536/65536.l1.png");
    let regions = open(path.to_str().unwrap(), &SelectionFlags::default(), Zooms::Finest).unwrap();
    let key = RegionKey::new("17/65536/65536".parse().unwrap(), 1);
    assert_eq!((regions.keys(), regions.is_placed(), regions.is_single()), (&[key][..], true, true));
    assert_eq!(regions.tileset().base(), -32);
    assert!(regions.region(key).unwrap().unwrap().occupancy.count() > 0);

    // An image without metadata: its name says where it lies, or nothing does.
    let mut plain = Vec::new();
    let mut encoder = png::Encoder::new(&mut plain, 4096, 4096);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(&[0, 0, 0]);
    encoder.set_trns(&[0]);
    encoder.write_header().unwrap().write_image_data(&vec![0; 4096 * 4096]).unwrap();
    let (named, nameless) = (dir.path().join("17/3/4.png"), dir.path().join("city.png"));
    put(&named, &plain);
    put(&nameless, &plain);
    let open = |path: &Path| open(path.to_str().unwrap(), &SelectionFlags::default(), Zooms::Finest).unwrap();
    assert_eq!(open(&named).keys()[0].to_string(), "17/3/4");
    assert!(!open(&nameless).is_placed());
    put(&nameless, b"<html>");
    assert!(open_error(&nameless).contains("city.png"));
}

fn open_error(path: &Path) -> String {
    format!("{:#}", open(path.to_str().unwrap(), &SelectionFlags::default(), Zooms::Finest).unwrap_err())
}

#[test]
fn results_are_taken_in_order() {
    let numbers: Vec<u32> = (0..100).collect();
    let mut taken = Vec::new();
    Regions::each(
        &numbers,
        |n| n * 2,
        |_, double| {
            taken.push(double);
            Ok(())
        },
    )
    .unwrap();
    assert_eq!(taken, (0..100).map(|n| n * 2).collect::<Vec<_>>());
    let error = Regions::each(&numbers, |n| *n, |_, n| if n == 7 { bail!("seven") } else { Ok(()) });
    assert_eq!(error.unwrap_err().to_string(), "seven");
}
