use super::*;

fn write(bytes: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("geoid");
    std::fs::write(&path, bytes).unwrap();
    let name = path.to_str().unwrap().to_owned();
    (folder, name)
}

fn gtx(west_deg: f64, values: &[f32], n_rows: i32, n_columns: i32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [35.0, west_deg, 1.0, 1.0] {
        bytes.extend(f64::to_be_bytes(number));
    }
    bytes.extend(n_rows.to_be_bytes());
    bytes.extend(n_columns.to_be_bytes());
    for value in values {
        bytes.extend(value.to_be_bytes());
    }
    bytes
}

#[test]
fn gtx_is_bilinear_and_counts_longitudes_either_way() {
    for west_deg in [139.0, 139.0 - 360.0] {
        let (_folder, name) = write(&gtx(west_deg, &[10.0, 20.0, 30.0, 50.0], 2, 2));
        let geoid = Geoid::open(&name).unwrap();
        let check = |lon: f64, lat: f64, expected: f64| {
            assert!((geoid.height_m(lon, lat).unwrap() - expected).abs() < 1e-9, "{lon} {lat}");
        };
        check(139.0, 35.0, 10.0);
        check(140.0, 35.0, 20.0);
        check(139.0, 36.0, 30.0);
        check(140.0, 36.0, 50.0);
        check(139.5, 35.0, 15.0);
        check(139.5, 35.5, 27.5);
        for (lon, lat) in [(138.9, 35.5), (140.1, 35.5), (139.5, 34.9), (139.5, 36.1)] {
            assert!(matches!(geoid.height_m(lon, lat), Err(CrsError::OutsideGeoid { .. })));
        }
    }
}

#[test]
fn gsi_ascii_has_exact_steps_and_holes() {
    let text = " 35.00000 139.00000 0.016667 0.025000 3 2 1 ver2.2\n 36.0 37.0\n 38.0\n 39.0 999.0000 40.0\n";
    let (_folder, name) = write(text.as_bytes());
    let geoid = Geoid::open(&name).unwrap();
    let at = |lon: f64, lat: f64| geoid.height_m(lon, lat).ok();
    assert!((at(139.0125, 35.0).unwrap() - 36.5).abs() < 1e-6);
    assert!((at(139.0, 35.0 + 1.0 / 60.0).unwrap() - 38.0).abs() < 1e-6);
    assert!((at(139.025, 35.0 + 1.0 / 60.0).unwrap() - 39.0).abs() < 1e-6);
    assert_eq!(at(139.0, 35.0 + 2.0 / 60.0), None, "no value there");
    assert_eq!(at(139.01, 35.0 + 1.5 / 60.0), None, "one corner has none");
}

#[test]
fn bad_files_are_errors_that_name_them() {
    let fails = |bytes: &[u8], expected: &str| {
        let (_folder, name) = write(bytes);
        let error = Geoid::open(&name).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&name), "{error}");
    };
    fails(b"", "too short");
    fails(&[0; 39], "too short");
    fails(&gtx(139.0, &[1.0; 3], 2, 2), "cut off");
    fails(&gtx(139.0, &[1.0; 4], i32::MAX, i32::MAX), "cut off");
    fails(&gtx(139.0, &[1.0; 4], -1, 2), "rows or columns");
    fails(&gtx(f64::NAN, &[1.0; 4], 2, 2), "a grid of");
    fails(&gtx(139.0, &[1.0; 4], 1, 4), "a grid of");
    fails(b"hello world", "the first line is");
    fails(b"35 139 0.1 0.1 2 2 1 v\n1 2 3", "3 values: expected 2 rows of 2");
    fails(b"35 139 0.1 0.1 1e18 1e18 1 v\n1 2 3", "3 values");
    fails(b"35 139 0.1 0.1 2 2 1 v\n1 2 3 x", "value 4 is \"x\"");
    assert!(Geoid::open("/no/such/file").unwrap_err().to_string().contains("cannot be read"));
}
