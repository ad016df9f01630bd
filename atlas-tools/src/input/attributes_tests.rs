use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::super::Fallback;
use super::*;

fn attributes(value: &Value) -> Attributes {
    value.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What is read, and the problems on the way.
fn read(value: &Value) -> (Figures, Vec<Problem>) {
    let mut problems = Vec::new();
    let figures = figures(&attributes(value), &ReadOptions::default(), &mut |problem| problems.push(problem));
    (figures, problems)
}

#[test]
fn lengths_are_read_as_people_write_them() {
    let check = |text: &str, expected_m: Option<f64>| {
        let found_m = length_m(text);
        let is_equal = match (found_m, expected_m) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
            (found, expected) => found == expected,
        };
        assert!(is_equal, "{text:?}: {found_m:?}");
    };
    check("12", Some(12.0));
    check(" 12.5 ", Some(12.5));
    check("12,5", Some(12.5));
    check("1,234.5", Some(1234.5));
    check("12 m", Some(12.0));
    check("12m", Some(12.0));
    check("12 metres", Some(12.0));
    check("~12 m", Some(12.0));
    check("40'", Some(12.192));
    check("40 ft", Some(12.192));
    check("40 feet", Some(12.192));
    check("5'6\"", Some(1.6764));
    check("5' 6\"", Some(1.6764));
    check("5\u{2032}6\u{2033}", Some(1.6764));
    check("66\"", Some(1.6764));
    check("250 cm", Some(2.5));
    check("-3.42", Some(-3.42));
    check("1e1", Some(10.0));
    check("6;9", Some(9.0));
    for text in ["", "tall", "12 storeys", "m", "nan", "inf", "1 2", "'", "1e999", "5'x\""] {
        check(text, None);
    }
}

#[test]
fn colours_are_digits_or_names() {
    let check = |text: &str, expected: Option<Colour>| assert_eq!(colour(text), expected, "{text:?}");
    check("#B0a090", Some([0xB0, 0xA0, 0x90]));
    check("b0a090", Some([0xB0, 0xA0, 0x90]));
    check("#fa0", Some([255, 170, 0]));
    check("#fa0c", Some([255, 170, 0]));
    check("#b0a09080", Some([0xB0, 0xA0, 0x90]));
    check("red", Some([255, 0, 0]));
    check("Light Grey", Some([211, 211, 211]));
    check("light_grey", Some([211, 211, 211]));
    check("lightgray", Some([211, 211, 211]));
    for text in ["", "#", "#12345", "#gggggg", "brick", "é"] {
        check(text, None);
    }
    assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn heights_come_from_fields_then_storeys_then_the_fallback() {
    let check = |value: Value, metres: f64, fallback: Option<Fallback>| {
        let (figures, _) = read(&value);
        assert_eq!(figures.height.fallback, fallback, "{value}");
        assert!((figures.height.metres - metres).abs() < 1e-9, "{value}: {figures:?}");
    };
    check(json!({"height": 12.5}), 12.5, None);
    check(json!({"height": "40'", "building:levels": 9}), 12.192, None);
    check(json!({"measuredHeight": "7"}), 7.0, None);
    check(json!({"building:levels": "4"}), 12.0, None);
    check(json!({"num_floors": 3}), 9.0, None);
    check(json!({"height": null, "building:height": 8}), 8.0, None);
    check(json!({"height": "tall", "levels": 2}), 6.0, None);
    check(json!({"height": 0, "levels": 2}), 6.0, None);
    check(json!({"height": -3.42, "levels": 0}), 3.0, Some(Fallback::Negative));
    check(json!({"height": 0}), 3.0, Some(Fallback::Zero));
    check(json!({"height": ""}), 3.0, Some(Fallback::Missing));
    check(json!({}), 3.0, Some(Fallback::Missing));
    assert_eq!(read(&json!({"height": "tall"})).1, [Problem::BadAttribute]);

    let options = ReadOptions { fallback_height_m: 6.0, height_fields: vec!["h".into()], ..ReadOptions::default() };
    let found = figures(&attributes(&json!({"height": 20})), &options, &mut |_| ());
    assert_eq!((found.height.metres, found.height.fallback), (6.0, Some(Fallback::Missing)));
}

#[test]
fn undersides_lie_below_tops() {
    let check = |value: Value, expected_m: f64, expected_problems: &[Problem]| {
        let (figures, problems) = read(&value);
        assert_eq!((figures.min_height_m, problems.as_slice()), (expected_m, expected_problems), "{value}");
    };
    check(json!({"height": 20, "min_height": "12 m"}), 12.0, &[]);
    check(json!({"height": 20, "building:min_level": 2}), 6.0, &[]);
    check(json!({"height": 20, "min_height": 20}), 0.0, &[Problem::BadMinHeight]);
    check(json!({"height": 20, "min_height": -4}), 0.0, &[]);
}

#[test]
fn colours_come_from_the_palette_then_the_file() {
    let value = json!({"building:colour": "#102030", "roof:colour": "maroon", "usage": "401"});
    let (found, _) = read(&value);
    assert_eq!((found.wall, found.roof), (Some([16, 32, 48]), Some([128, 0, 0])));
    let palette = BTreeMap::from([("401".to_owned(), [1, 2, 3]), ("*".to_owned(), [9, 9, 9])]);
    let options = ReadOptions { colour_by: Some(("usage".to_owned(), palette)), ..ReadOptions::default() };
    let with = |value: &Value| figures(&attributes(value), &options, &mut |_| ()).wall;
    assert_eq!(with(&value), Some([1, 2, 3]));
    assert_eq!(with(&json!({"usage": 401})), Some([1, 2, 3]));
    assert_eq!(with(&json!({"usage": "402"})), Some([9, 9, 9]));
    assert_eq!(with(&json!({})), Some([9, 9, 9]));
    assert_eq!(read(&json!({"roof:colour": "brick"})).1, [Problem::BadAttribute]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_text_panics(text in "\\PC{0,12}") {
        let _ = (length_m(&text), colour(&text));
    }

    #[test]
    fn metres_read_back(metres in -1e6..1e6f64) {
        prop_assert_eq!(length_m(&format!("{metres} m")), Some(metres));
    }
}
