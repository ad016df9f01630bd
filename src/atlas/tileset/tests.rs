use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::atlas::{Presence, TileBitmap};
use crate::geo::TileCoord;

fn document() -> Value {
    let tiles = [TileCoord::new(17, 10, 20).unwrap(), TileCoord::new(17, 11, 21).unwrap()];
    let availability = TileBitmap::from_tiles(17, tiles).unwrap().encode();
    json!({
        "tilejson": "3.0.0",
        "tiles": ["{z}/{x}/{y}.png"],
        "attribution": "Somebody, CC BY 4.0",
        "bounds": [139.7, 35.6, 139.8, 35.7],
        "minzoom": 16,
        "maxzoom": 17,
        "vector_layers": [],
        "voxatlas": {
            "format": 1,
            "base": -64,
            "datum": "TP",
            "flavour": "plain",
            "layers": [
                { "layer": 0, "tiles": ["{z}/{x}/{y}.png"], "availability": [availability] },
                { "layer": 1, "tiles": ["a/{z}/{x}/{y}.l1.png", "b/{z}/{x}/{y}.l1.png"] },
            ],
        },
    })
}

fn parse(document: &Value) -> Result<Tileset, TilesetError> {
    Tileset::parse(document.to_string().as_bytes(), "city/tiles.json")
}

fn key(zoom: u8, x: u32, y: u32, layer: i32) -> RegionKey {
    RegionKey::new(TileCoord::new(zoom, x, y).unwrap(), layer)
}

#[test]
fn a_document_is_read_and_written() {
    let tileset = parse(&document()).unwrap();
    assert_eq!(tileset.base(), -64);
    assert_eq!(tileset.path_of(key(17, 10, 20, 0)).unwrap(), "17/10/20.png");
    assert_eq!(tileset.path_of(key(17, 10, 20, 1)).unwrap(), "a/17/10/20.l1.png");
    assert_eq!(tileset.path_of(key(17, 11, 20, 1)).unwrap(), "b/17/11/20.l1.png");
    assert_eq!(tileset.path_of(key(17, 10, 20, -1)), None);

    let text = tileset.to_json();
    assert_eq!(Tileset::parse(text.as_bytes(), "again"), Ok(tileset.clone()));
    assert_eq!(Tileset::parse(format!("\u{FEFF}{text}").as_bytes(), "with a byte order mark"), Ok(tileset));
}

#[test]
fn availability_tells_present_absent_and_unknown_apart() {
    let availability = Availability::of(&parse(&document()).unwrap()).unwrap();
    let check = |key, expected| assert_eq!(availability.presence(key), expected, "{key}");
    check(key(17, 10, 20, 0), Presence::Present);
    check(key(17, 11, 20, 0), Presence::Absent);
    check(key(17, 500, 500, 0), Presence::Absent);
    check(key(16, 5, 10, 0), Presence::Unknown);
    check(key(15, 2, 5, 0), Presence::Absent);
    check(key(17, 10, 20, 1), Presence::Unknown);
    check(key(17, 10, 20, 2), Presence::Absent);
    assert_eq!(availability.layers().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn the_lowest_layer_is_the_lowest_that_may_hold_something() {
    let mut document = document();
    let empty = TileBitmap::from_tiles(17, []).unwrap().encode();
    document["voxatlas"]["layers"][0]["availability"] = json!([empty]);
    let availability = Availability::of(&parse(&document).unwrap()).unwrap();
    assert_eq!(availability.lowest_layer(17), Some(1));
    assert_eq!(availability.lowest_layer(16), Some(0));
}

#[test]
fn plain_tilejson_is_one_layer_on_the_default_base() {
    let plain = json!({ "tilejson": "2.2.0", "tiles": ["t/{z}/{x}/{y}.png"], "scheme": "tms" });
    let tileset = parse(&plain).unwrap();
    assert_eq!((tileset.base(), tileset.row_scheme()), (BASE_DEFAULT, Scheme::Tms));
    assert_eq!(tileset.path_of(key(17, 0, 0, 0)).unwrap(), "t/17/0/131071.png");
    assert_eq!(tileset.path_of(key(17, 0, 0, 1)), None);
    let availability = Availability::of(&tileset).unwrap();
    assert_eq!(availability.presence(key(17, 0, 0, 0)), Presence::Unknown);
    assert_eq!(availability.presence(key(17, 0, 0, 1)), Presence::Absent);
}

#[test]
fn templates_make_tilesets() {
    let check = |template: &str, base, layers: &[i32]| {
        let tileset = Tileset::of_template(template).unwrap();
        assert_eq!(tileset.base(), base, "{template}");
        assert_eq!(Availability::of(&tileset).unwrap().layers().collect::<Vec<_>>(), layers, "{template}");
        assert_eq!(Tileset::parse(tileset.to_json().as_bytes(), template), Ok(tileset), "{template}");
    };
    check("https://host/{z}/{x}/{y}.png", BASE_DEFAULT, &[0]);
    check("https://host/{z}/{x}/{y}.l{layer}.png", BASE_DEFAULT, &[0, 1]);
    check("https://host/17_{x}_{y}.webp", BASE_REFERENCE, &[0]);
    assert!(Tileset::of_template("https://host/{z}.png").is_err());
}

#[test]
fn bad_documents_are_named() {
    let check = |change: &dyn Fn(&mut Value), expected: &str| {
        let mut document = document();
        change(&mut document);
        let text = parse(&document).unwrap_err().to_string();
        assert!(text.starts_with("city/tiles.json") && text.contains(expected), "{text}");
    };
    check(&|d| d["scheme"] = json!("wmts"), "the scheme is \"wmts\": expected \"xyz\" or \"tms\"");
    check(&|d| d["voxatlas"]["format"] = json!(2), "the atlas format is version 2: expected 1");
    check(&|d| d["voxatlas"]["base"] = json!(-31), "the base is -31: expected a multiple of 32");
    check(&|d| d["voxatlas"]["layers"] = json!([]), "lists no layer");
    check(&|d| d["voxatlas"]["layers"][1]["tiles"] = json!([]), "lists no layer");
    check(&|d| d["voxatlas"]["layers"][1]["layer"] = json!(0), "lists layer 0 twice");
    check(&|d| d["voxatlas"]["layers"][1]["tiles"] = json!(["l1.png"]), "\"l1.png\" has no {x}");
    check(&|d| d["voxatlas"]["layers"][0]["availability"][0]["bitmap"] = json!("AAAA"), "layer 0, zoom 17");
    check(&|d| d["minzoom"] = json!(18), "zooms 18 to 17 hold no region");
    check(&|d| d["bounds"] = json!([0, 10, 0, 5]), "[0.0, 10.0, 0.0, 5.0] are no place");
    check(&|d| d["tiles"] = json!("one"), "line 1 column");
    check(&|d| *d = json!([1, 2]), "line 1 column");

    let text = Tileset::parse(b"{\n  \"tilejson\": \"3.0.0\",\n  nonsense", "tiles.json").unwrap_err().to_string();
    assert!(text.contains("line 3 column 3"), "{text}");
    let plain = json!({ "tilejson": "3.0.0", "tiles": [] });
    assert!(matches!(parse(&plain), Err(TilesetError::NoLayers { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_the_parser_panic(noise in prop::collection::vec(any::<u8>(), 0..64), at in 0usize..600) {
        let _ = Tileset::parse(&noise, "noise");
        let mut bytes = document().to_string().into_bytes();
        let at = at.min(bytes.len());
        bytes.splice(at.., noise);
        let _ = Tileset::parse(&bytes, "spliced");
    }
}
