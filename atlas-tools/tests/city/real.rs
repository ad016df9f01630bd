//! Real city models: the right place, the right heights, the right number of things.

use std::collections::BTreeSet;
use std::path::Path;

use atlas_tools::crs::CrsOptions;
use atlas_tools::input::{CityGml, CityJson, CityJsonSeq, Item, Place, Problem, ReadOptions, Stream as _, SurfaceKind};

use crate::collect::{Collected, at, heights, n_triangles, read};
use crate::real_data::real_data;

/// The columns and rows of the z17 tiles that places lie in.
fn tiles(places: &[Place]) -> [std::ops::RangeInclusive<u32>; 2] {
    let range = |values: BTreeSet<u32>| *values.first().unwrap()..=*values.last().unwrap();
    let tile = |value: f64| (value / 256.0) as u32;
    [
        range(places.iter().map(|place| tile(place.x)).collect()),
        range(places.iter().map(|place| tile(place.z)).collect()),
    ]
}

/// Every corner of every item, footprints at height 0.
fn all_places(collected: &Collected) -> Vec<Place> {
    let of_rings = |polygons: &[Vec<Vec<[f64; 2]>>]| -> Vec<Place> {
        polygons.iter().flatten().flatten().map(|&[x, z]| Place { x, z, height_m: 0.0 }).collect()
    };
    let of_item = |item: &Item| match item {
        Item::Prism(prism) => of_rings(&prism.polygons),
        Item::Cover(cover) => of_rings(&cover.polygons),
        _ => Vec::new(),
    };
    let others = collected.items.iter().flat_map(of_item);
    others.chain(collected.places()).chain(collected.relief().into_iter().flatten()).collect()
}

fn open(path: &Path, options: ReadOptions) -> CityGml {
    CityGml::open(path, 0, options, CrsOptions::default()).unwrap()
}

#[test]
fn yokosuka_stands_where_it_stands() {
    let Some(data) = real_data("atlas-tools: city::yokosuka_stands_where_it_stands") else { return };
    let path = data.join("plateau_citygml/52397519_bldg_6697_op.gml");
    let gml = open(&path, ReadOptions { with_attributes: true, ..ReadOptions::default() });
    let collected = read(&gml).unwrap();
    let names: BTreeSet<&str> = collected.models().iter().map(|model| model.named.name.as_str()).collect();
    assert_eq!(names.len(), 13);
    assert_eq!(collected.items.len(), 14, "one building is two parts");
    let places = collected.places();
    assert_eq!(tiles(&places), [116_412..=116_413, 51_800..=51_802]);
    let [low, high] = heights(&places);
    assert!((low - 2.193_677).abs() < 1e-6 && (high - 21.727_355).abs() < 1e-6, "{low} {high}");
    // As the file's own envelope says.
    let [south_west, north_east] =
        [at(35.258_297_338_4, 139.737_243_713_5, 0.0), at(35.261_543_955_2, 139.740_554_895_4, 0.0)];
    let west = places.iter().map(|place| place.x).fold(f64::INFINITY, f64::min);
    let north = places.iter().map(|place| place.z).fold(f64::INFINITY, f64::min);
    assert!((west - south_west.x).abs() < 0.01 && (north - north_east.z).abs() < 0.01);
    let extent = gml.extent().unwrap().unwrap();
    assert!((extent[0] - south_west.x).abs() < 0.01 && (extent[3] - south_west.z).abs() < 0.01);
    // Three buildings or parts have classes of surfaces; the others are blocks.
    let has = |kind| collected.models().into_iter().filter(|model| n_triangles(model, kind) > 0).count();
    assert_eq!([has(SurfaceKind::Roof), has(SurfaceKind::Wall), has(SurfaceKind::Ground)], [3, 3, 3]);
    // The images are not part of the sample: that is all there is to tell.
    assert!(collected.problems.iter().all(|&(_, problem)| problem == Problem::BadTexture), "{:?}", collected.problems);
    assert!(collected.textures.is_empty());
    let museum = collected.models()[0];
    assert_eq!(museum.named.name, "bldg_787d830e-2534-410a-8a2a-a531efeb2533");
    let attribute = |name: &str| museum.named.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    assert_eq!(attribute("name").unwrap(), "横須賀美術館");
    assert_eq!(attribute("measuredHeight").unwrap(), 6.0);
    assert_eq!(attribute("BuildingIDAttribute.buildingID").unwrap(), "14201-bldg-110968");
}

#[test]
fn yokosuka_at_each_level_of_detail() {
    let Some(data) = real_data("atlas-tools: city::yokosuka_at_each_level_of_detail") else { return };
    let path = data.join("plateau_citygml/52397519_bldg_6697_op.gml");
    let count = |lod: u8| {
        let collected = read(&open(&path, ReadOptions { lod: Some(lod), ..ReadOptions::default() })).unwrap();
        let models = collected.models();
        let roofs = models.iter().filter(|model| n_triangles(model, SurfaceKind::Roof) > 0).count();
        [models.len(), roofs, collected.prisms().len()]
    };
    assert_eq!(count(2), [14, 3, 0]);
    assert_eq!(count(1), [14, 0, 0]);
    assert_eq!(count(0), [0, 0, 14]);
}

#[test]
fn the_ground_of_yokosuka() {
    let Some(data) = real_data("atlas-tools: city::the_ground_of_yokosuka") else { return };
    let gml = open(&data.join("plateau_citygml/523965_dem_6697_05_op.gml"), ReadOptions::default());
    let collected = read(&gml).unwrap();
    let relief = collected.relief();
    assert_eq!(relief.len(), 1066);
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    let places: Vec<Place> = relief.into_iter().flatten().collect();
    let [low, high] = heights(&places);
    assert!((low + 0.02).abs() < 1e-9 && (high - 24.199_632).abs() < 1e-9, "{low} {high}");
    assert_eq!(tiles(&places), [116_394..=116_399, 51_824..=51_830]);
}

fn open_json(path: &Path) -> CityJson {
    CityJson::open(path, 0, ReadOptions::default(), CrsOptions::default()).unwrap()
}

#[test]
fn delft_stands_where_it_stands() {
    let Some(data) = real_data("atlas-tools: city::delft_stands_where_it_stands") else { return };
    let json = open_json(&data.join("cityjson_cjio/delft.json"));
    let collected = read(&json).unwrap();
    let all = all_places(&collected);
    assert_eq!(tiles(&all), [67_124..=67_126, 43_286..=43_288]);
    let [low, high] = heights(&collected.places());
    assert!((low + 0.34).abs() < 1e-6 && (high - 16.846).abs() < 1e-6, "{low} {high}");
    let extent = json.extent().unwrap().unwrap();
    assert!(all.iter().all(|place| extent[0] <= place.x && place.x <= extent[2]));
    assert!(all.iter().all(|place| extent[1] <= place.z && place.z <= extent[3]));
    let one = read(&open_json(&data.join("cityjson_cjio/delft_1b.json"))).unwrap();
    assert_eq!(tiles(&one.places()), [67_126..=67_126, 43_288..=43_288]);
    assert_eq!(one.models().len(), 1);
}

#[test]
fn documents_without_a_crs_ask_for_one() {
    let Some(data) = real_data("atlas-tools: city::documents_without_a_crs_ask_for_one") else { return };
    for name in ["rotterdam_subset.json", "cube.json"] {
        let path = data.join("cityjson_cjio").join(name);
        let error = read(&open_json(&path)).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("--crs"), "{error}");
    }
    let crs = CrsOptions { crs: Some("EPSG:28992".to_owned()), ..CrsOptions::default() };
    let path = data.join("cityjson_cjio/rotterdam_subset.json");
    let json = CityJson::open(&path, 0, ReadOptions::default(), crs).unwrap();
    let collected = read(&json).unwrap();
    assert!(!collected.models().is_empty());
    let rotterdam = at(51.92, 4.48, 0.0);
    let far = |place: &Place| (place.x - rotterdam.x).hypot(place.z - rotterdam.z) > 20_000.0;
    assert!(!collected.places().iter().any(far), "Rotterdam is in Rotterdam");
}

#[test]
fn a_house_of_the_3dbag_is_the_same_in_both_notations() {
    let Some(data) = real_data("atlas-tools: city::a_house_of_the_3dbag_is_the_same_in_both_notations") else { return };
    let path = data.join("cityjsonseq_3dbag/3dbag_b2.city.jsonl");
    let sequence = CityJsonSeq::open(&path, 0, ReadOptions::default(), CrsOptions::default()).unwrap();
    let of_sequence = read(&sequence).unwrap();
    let of_document = read(&open_json(&data.join("cityjsonseq_3dbag/3dbag_b2.city.json"))).unwrap();
    for collected in [&of_sequence, &of_document] {
        let places = collected.places();
        assert_eq!(tiles(&places), [67_126..=67_126, 43_293..=43_293]);
        let [low, high] = heights(&places);
        assert!((low + 0.3).abs() < 0.05 && (high - 13.1).abs() < 0.05, "{low} {high}");
        assert!(collected.models().iter().all(|model| n_triangles(model, SurfaceKind::Roof) > 0));
        assert!(collected.models().iter().all(|model| model.named.name.starts_with("NL.IMBAG.Pand.")));
    }
    assert_eq!(of_sequence.models().len(), of_document.models().len());
    let [ours, theirs] = [&of_sequence, &of_document].map(|collected| collected.places().len());
    assert_eq!(ours, theirs);
}
