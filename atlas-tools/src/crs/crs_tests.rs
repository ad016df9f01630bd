#![expect(clippy::unreadable_literal, reason = "coordinates as the tools of surveyors print them")]

use proptest::prelude::*;
use voxatlas::geo::LonLat;
use voxatlas::geo::mercator::metres_per_voxel_at;

use super::*;
use crate::input::Place;
use crate::real_data::real_data;

/// Places as PROJ 9.5 finds them (pyproj 3.7.2): code, easting or longitude, northing or latitude, longitude,
/// latitude, and how far from them we may be, in metres.
#[rustfmt::skip]
const PROJ_SAYS: &[(u32, f64, f64, f64, f64, f64)] = &[
    (6669, -7000.0, -33000.0, 129.425338380, 32.702387512, 0.001),
    (6676, 42081.5, -106323.7, 138.961247339, 35.040725910, 0.001),
    (6677, -7986.66, -37967.8, 139.745124487, 35.657745064, 0.001),
    (6680, -74000.0, -104000.0, 141.341504690, 43.060232792, 0.001),
    (6687, 1000.0, 2000.0, 154.009990769, 26.018053936, 0.001),
    (2451, -7986.66, -37967.8, 139.745124487, 35.657745064, 0.001),
    (2443, 5000.0, -20000.0, 129.553399668, 32.819632566, 0.001),
    (6668, 139.745433, 35.658581, 139.745433, 35.658581, 0.001),
    (4612, 139.745433, 35.658581, 139.745433, 35.658581, 0.001),
    (6697, 139.745433, 35.658581, 139.745433, 35.658581, 0.001),
    (4326, 139.745433, 35.658581, 139.745433, 35.658581, 0.001),
    (4979, 139.745433, 35.658581, 139.745433, 35.658581, 0.001),
    (3857, 15556390.0, 4256230.0, 139.745429027, 35.676725581, 0.001),
    (28992, 84816.0, 447523.0, 4.364896756, 52.011626046, 0.01),
    (28992, 155000.0, 463000.0, 5.387203508, 52.155172301, 0.01),
    (7415, 84816.0, 447523.0, 4.364896756, 52.011626046, 0.01),
    (2056, 2683111.0, 1247945.0, 8.539149724, 47.377098589, 0.001),
    (25831, 593000.0, 5787000.0, 4.361572689, 52.225563291, 0.001),
    (25832, 691000.0, 5335000.0, 11.567501229, 48.139558350, 0.001),
    (25833, 392000.0, 5820000.0, 13.408275440, 52.519395318, 0.001),
    (32654, 386500.0, 3946700.0, 139.746104439, 35.657632237, 0.001),
    (32718, 279600.0, 8667000.0, -77.024629430, -12.050942243, 0.001),
    (32633, 500000.0, 0.0, 15.0, 0.0, 0.001),
    (2154, 652300.0, 6862300.0, 2.349866785, 48.858968292, 0.001),
    (3067, 385000.0, 6672000.0, 24.927457713, 60.168666000, 0.001),
    (3035, 4321000.0, 3210000.0, 10.0, 52.0, 0.001),
    (2180, 637000.0, 487000.0, 21.006704108, 52.231977419, 0.001),
    (2193, 1749000.0, 5427000.0, 174.779580851, -41.294702693, 0.001),
    (2992, 637292.27, 851219.27, -123.068745731, 44.056275549, 0.001),
    (2991, 195000.0, 260000.0, -123.059560348, 44.061421230, 0.001),
    (2263, 982000.0, 196000.0, -74.008115083, 40.704651161, 0.001),
    (2227, 6010000.0, 2115000.0, -122.409204995, 37.787950793, 0.001),
    // PROJ takes other shifts of datums here, of several for one country; they agree to a few voxels.
    (27700, 530000.0, 180000.0, -0.128353940, 51.503990828, 3.0),
    (2994, 637292.27, 851219.27, -123.068759927, 44.056280941, 3.0),
    (31370, 149000.0, 170000.0, 4.354554705, 50.840410507, 3.0),
    (5514, -743000.0, -1043000.0, 14.418593891, 50.087346615, 10.0),
    (30169, -7986.66, -37967.8, 139.741882833, 35.660949654, 10.0),
    (2326, 834500.0, 816500.0, 114.159718107, 22.287394706, 3.0),
];

fn options(crs: &str) -> CrsOptions {
    CrsOptions { crs: Some(crs.to_owned()), ..CrsOptions::default() }
}

fn placer(rule: AxisRule, of_file: &str) -> Placer {
    CrsOptions::default().placer(rule, Some(of_file), None).unwrap()
}

fn traditional(of_file: &str) -> Placer {
    placer(AxisRule::Traditional, of_file)
}

fn lon_lat(place: Place) -> [f64; 2] {
    let at = LonLat::from_world(place.x, place.z);
    [at.lon_deg(), at.lat_deg()]
}

/// Metres from where a place should be, along the ground.
fn metres_off(place: Place, lon_deg: f64, lat_deg: f64) -> f64 {
    let [x, z] = LonLat::new(lon_deg, lat_deg).unwrap().to_world();
    (place.x - x).hypot(place.z - z) * metres_per_voxel_at(z)
}

#[test]
fn places_are_those_of_proj() {
    for &(code, x, y, lon_deg, lat_deg, off_m_max) in PROJ_SAYS {
        let place = traditional(&format!("EPSG:{code}")).place([x, y, 12.0]).unwrap();
        let off_m = metres_off(place, lon_deg, lat_deg);
        assert!(off_m <= off_m_max, "EPSG:{code}: {off_m} m off");
    }
}

#[test]
fn places_lead_back_to_their_coordinates() {
    for &(code, x, y, ..) in PROJ_SAYS {
        for axis in [Axis::Xy, Axis::Yx] {
            let options = CrsOptions { axis, ..options(&format!("EPSG:{code}")) };
            let placer = options.placer(AxisRule::Traditional, None, None).unwrap();
            let given = if axis == Axis::Xy { [x, y] } else { [y, x] };
            let place = placer.place([given[0], given[1], 0.0]).unwrap();
            let back = placer.unplace(place.x, place.z).unwrap();
            let again = placer.place([back[0], back[1], 0.0]).unwrap();
            let off = (again.x - place.x).hypot(again.z - place.z);
            // Shifts of datums are turned round by one step, which leaves a millimetre.
            assert!(off < 1e-2, "EPSG:{code}: {given:?} became {back:?}, {off} voxels off");
        }
    }
    let placer = traditional("EPSG:6677");
    assert!(matches!(placer.unplace(f64::NAN, 0.0), Err(CrsError::NotFinite { .. })));
    assert!(matches!(traditional("EPSG:4978").unplace(5.0, 5.0), Err(CrsError::NoCoordinates { .. })));
}

#[test]
fn gml_has_the_official_order_and_other_formats_easting_first() {
    let tower = [139.745433, 35.658581];
    let check = |text: &str, official: [f64; 2], traditional_order: [f64; 2]| {
        let of = |rule, [first, second]: [f64; 2]| placer(rule, text).place([first, second, 5.0]).unwrap();
        let place = of(AxisRule::Official, official);
        assert_eq!(place, of(AxisRule::Traditional, traditional_order), "{text}");
        assert_eq!(place.height_m, 5.0);
    };
    let swapped = [tower[1], tower[0]];
    check("http://www.opengis.net/def/crs/EPSG/0/6697", swapped, tower);
    check("EPSG:4326", swapped, tower);
    check("urn:ogc:def:crs:OGC:1.3:CRS84", tower, tower);
    check("http://www.opengis.net/gml/srs/epsg.xml#4326", tower, tower);
    check("EPSG:6677", [-37967.8, -7986.66], [-7986.66, -37967.8]);
    check("EPSG:7415", [84816.0, 447523.0], [84816.0, 447523.0]);
    check("EPSG:25832", [691000.0, 5335000.0], [691000.0, 5335000.0]);
}

#[test]
fn the_axis_option_wins() {
    let place = |axis, rule| {
        let options = CrsOptions { axis, ..CrsOptions::default() };
        options.placer(rule, Some("EPSG:4326"), None).unwrap().place([35.0, 36.0, 0.0]).unwrap()
    };
    for rule in [AxisRule::Official, AxisRule::Traditional] {
        assert_eq!(lon_lat(place(Axis::Xy, rule)).map(f64::round), [35.0, 36.0]);
        assert_eq!(lon_lat(place(Axis::Yx, rule)).map(f64::round), [36.0, 35.0]);
    }
}

#[test]
fn the_command_line_wins_over_the_file_and_the_file_over_its_format() {
    let describe = |crs: Option<&str>, file: Option<&str>, format: Option<&str>| {
        let options = CrsOptions { crs: crs.map(str::to_owned), ..CrsOptions::default() };
        options.placer(AxisRule::Traditional, file, format).map(|placer| placer.describe())
    };
    assert_eq!(
        describe(Some("EPSG:7415"), Some("EPSG:2056"), Some("OGC:CRS84")).unwrap(),
        "EPSG:7415 Amersfoort / RD New + NAP height"
    );
    assert_eq!(describe(None, Some("EPSG:2056"), Some("OGC:CRS84")).unwrap(), "EPSG:2056 CH1903+ / LV95");
    assert_eq!(describe(None, Some("  "), Some("OGC:CRS84")).unwrap(), "OGC:CRS84");
    assert!(matches!(describe(None, None, None), Err(CrsError::Missing)));
    assert!(describe(None, None, None).unwrap_err().to_string().contains("--crs EPSG:6677"));
}

#[test]
fn nirayama_lies_in_zone_viii_and_elsewhere_when_swapped() {
    let samples = [[42160.0, -106450.0, 20.0], [42170.0, -106460.0, 21.0]];
    for sample in samples {
        let [lon_deg, lat_deg] = lon_lat(traditional("EPSG:6676").place(sample).unwrap());
        assert!(
            (138.9615..138.9630).contains(&lon_deg) && (35.0390..35.0400).contains(&lat_deg),
            "{lon_deg} {lat_deg}"
        );
    }
    let swapped = CrsOptions { axis: Axis::Yx, ..options("EPSG:6676") };
    let place = swapped.placer(AxisRule::Traditional, None, None).unwrap().place(samples[0]).unwrap();
    let [lon_deg, lat_deg] = lon_lat(place);
    assert!((lon_deg - 137.31).abs() < 0.02 && (lat_deg - 36.37).abs() < 0.02, "{lon_deg} {lat_deg}");
}

#[test]
fn feet_are_feet() {
    let height = |text: &str| traditional(text).place([637292.27, 851219.27, 430.0]).unwrap().height_m;
    let check = |text: &str, expected_m: f64| assert!((height(text) - expected_m).abs() < 1e-9, "{text}");
    check("EPSG:2992", 430.0 * FOOT_M);
    check("EPSG:2992+6360", 430.0 * US_FOOT_M);
    check("EPSG:2992+5703", 430.0);
    let placer = traditional("EPSG:2263").with_height_unit_m(1.0);
    assert_eq!(placer.place([982000.0, 196000.0, 7.0]).unwrap().height_m, 7.0);
    assert_eq!(traditional("EPSG:4326+5715").place([10.0, 50.0, 3.0]).unwrap().height_m, -3.0, "a depth");
}

const AUTZEN: &str = r#"PROJCS["NAD_1983_HARN_Lambert_Conformal_Conic",GEOGCS["GCS_North_American_1983_HARN",DATUM["NAD83_High_Accuracy_Regional_Network",SPHEROID["GRS_1980",6378137,298.257222101,AUTHORITY["EPSG","7019"]],AUTHORITY["EPSG","6152"]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Lambert_Conformal_Conic_2SP"],PARAMETER["standard_parallel_1",43],PARAMETER["standard_parallel_2",45.5],PARAMETER["latitude_of_origin",41.75],PARAMETER["central_meridian",-120.5],PARAMETER["false_easting",1312335.958005249],PARAMETER["false_northing",0],UNIT["foot",0.3048,AUTHORITY["EPSG","9002"]]]"#;

#[test]
fn a_text_without_a_code_is_built_from_its_parts() {
    let place = traditional(AUTZEN).place([637292.27, 851219.27, 430.0]).unwrap();
    assert!(metres_off(place, -123.068745731, 44.056275549) < 0.01);
    assert!((place.height_m - 430.0 * FOOT_M).abs() < 1e-9);

    let esri = r#"PROJCS["JGD_2011_Japan_Zone_9",GEOGCS["GCS_JGD_2011",DATUM["D_JGD_2011",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",139.8333333333333],PARAMETER["Scale_Factor",0.9999],PARAMETER["Latitude_Of_Origin",36.0],UNIT["Meter",1.0]]"#;
    let place = traditional(esri).place([-7986.66, -37967.8, 0.0]).unwrap();
    assert!(metres_off(place, 139.745124487, 35.657745064) < 0.001);

    let rd = r#"PROJCS["RD_New",GEOGCS["GCS_Amersfoort",DATUM["D_Amersfoort",SPHEROID["Bessel_1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Double_Stereographic"],PARAMETER["False_Easting",155000.0],PARAMETER["False_Northing",463000.0],PARAMETER["Central_Meridian",5.38763888888889],PARAMETER["Scale_Factor",0.9999079],PARAMETER["Latitude_Of_Origin",52.15616055555555],UNIT["Meter",1.0]]"#;
    let place = traditional(rd).place([84816.0, 447523.0, 0.0]).unwrap();
    assert!(metres_off(place, 4.364896756, 52.011626046) < 0.05);

    let geographic = r#"GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]"#;
    assert!(metres_off(traditional(geographic).place([8.5, 47.4, 0.0]).unwrap(), 8.5, 47.4) < 1e-6);

    let wkt2 = r#"PROJCRS["WGS 84 / UTM zone 54N",BASEGEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["UTM zone 54N",METHOD["Transverse Mercator"],PARAMETER["Latitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of natural origin",141,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Scale factor at natural origin",0.9996,SCALEUNIT["unity",1]],PARAMETER["False easting",500000,LENGTHUNIT["metre",1]],PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["(N)",north,ORDER[2],LENGTHUNIT["metre",1]]]"#;
    assert!(
        metres_off(traditional(wkt2).place([386500.0, 3946700.0, 0.0]).unwrap(), 139.746104439, 35.657632237) < 0.001
    );
}

#[test]
fn a_code_at_the_root_wins_over_the_parts() {
    let text = r#"COMPD_CS["RD + NAP",PROJCS["Amersfoort / RD New",PROJECTION["whatever"],AUTHORITY["EPSG","28992"]],VERT_CS["NAVD88 (ftUS)",VERT_DATUM["x",2005],UNIT["US survey foot",0.304800609601219],AXIS["Up",UP]]]"#;
    let placer = traditional(text);
    let place = placer.place([84816.0, 447523.0, 100.0]).unwrap();
    assert!(metres_off(place, 4.364896756, 52.011626046) < 0.01);
    assert!((place.height_m - 30.480_060_960_121_9).abs() < 1e-9);
    assert!(placer.describe().contains("NAVD88 (ftUS)"), "{}", placer.describe());
    let wkt2 = r#"GEOGCRS["JGD2011",DATUM["x",ELLIPSOID["y",1,2]],ID["EPSG",6668]]"#;
    assert!(metres_off(traditional(wkt2).place([139.0, 35.0, 0.0]).unwrap(), 139.0, 35.0) < 1e-6);
}

#[test]
fn proj_strings_are_taken() {
    let text = "+proj=tmerc +lat_0=36 +lon_0=139.8333333333333 +k=0.9999 +ellps=GRS80 +units=m";
    let place = traditional(text).place([-7986.66, -37967.8, 3.0]).unwrap();
    assert!(metres_off(place, 139.745124487, 35.657745064) < 0.001);
    let geocentric = traditional("+proj=geocent +datum=WGS84").place([-3957199.0, 3310197.0, 3737765.0]).unwrap();
    assert!(metres_off(geocentric, 140.087517862977, 36.1060783718059) < 0.001);
    assert!((geocentric.height_m - 97.1291074892506).abs() < 1e-3);
    let rotated = traditional("+proj=longlat +ellps=GRS80 +pm=paris").place([0.0, 48.0, 0.0]).unwrap();
    assert!((lon_lat(rotated)[0] - 2.337229).abs() < 1e-5);
}

#[test]
fn what_needs_a_grid_of_shifts_says_so() {
    assert!(traditional("EPSG:27700").warnings().iter().any(|text| text.contains("OSTN15")));
    let placer = traditional("EPSG:26717");
    assert!(placer.warnings().iter().any(|text| text.contains("grid")), "{:?}", placer.warnings());
    assert!(traditional("EPSG:6677").warnings().is_empty());
}

#[test]
fn absurd_coordinates_are_errors() {
    let fails = |text: &str, coordinates: [f64; 3], expected: &str| {
        let error = traditional(text).place(coordinates).unwrap_err().to_string();
        assert!(error.contains(expected), "{text} {coordinates:?}: {error}");
    };
    fails("EPSG:4326", [f64::NAN, 0.0, 0.0], "not finite");
    fails("EPSG:4326", [0.0, 0.0, f64::INFINITY], "not finite");
    fails("EPSG:4326", [35.0, 139.0, 0.0], "nowhere on the globe in EPSG:4326");
    fails("EPSG:4326", [361.0, 0.0, 0.0], "nowhere on the globe");
    fails("EPSG:4326", [-7986.66, -37967.8, 0.0], "nowhere on the globe");
    fails("EPSG:3857", [1e9, 0.0, 0.0], "nowhere on the globe");
    fails("EPSG:6677", [691000.0, 5335000.0, 0.0], "far from where it is used");
    fails("EPSG:28992", [447523.0, 84816.0, 0.0], "far from where it is used");
    fails("EPSG:32654", [139.7, 35.6e5 * 4.0, 0.0], "EPSG:32654");
}

#[test]
fn shapes_go_on_beyond_the_antimeridian() {
    let placer = traditional("OGC:CRS84");
    let [before, after] = [179.999, 180.001].map(|lon_deg| placer.place([lon_deg, 10.0, 0.0]).unwrap());
    assert!(after.x > before.x && after.x - before.x < 200.0);
}

#[test]
fn names_that_cannot_be_used_are_errors_with_a_way_out() {
    let fails = |text: &str, expected: &str| {
        let error = CrsOptions::default().placer(AxisRule::Traditional, Some(text), None).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    };
    fails("EPSG:6695", "name a horizontal one");
    fails("EPSG:1", "not in the table");
    fails("EPSG:70000", "not in the table");
    fails("EPSG:28992+4326", "EPSG:4326 is no vertical CRS");
    fails("+proj=nonsense", "cannot be used");
    fails("+proj=tmerc +units=parsec", "cannot be used");
    fails(r#"LOCAL_CS["here"]"#, "give --crs");
    fails(r#"PROJCS["odd",GEOGCS["g",DATUM["d",SPHEROID["s",6378137,298.25]]],PROJECTION["Bonne"]]"#, "Bonne");
    fails("PROJCS[", "is no known CRS");
}

#[test]
fn heights_above_the_ellipsoid_are_known_as_such() {
    let placer = traditional("EPSG:4979");
    assert!(placer.warnings().iter().any(|text| text.contains("--geoid")));
    assert_eq!(placer.place([139.7, 35.6, 40.0]).unwrap().height_m, 40.0);
    let as_is = CrsOptions { vertical_from: Some(Vertical::AsIs), ..options("EPSG:4979") };
    assert!(as_is.placer(AxisRule::Traditional, None, None).unwrap().warnings().is_empty());
    let no_geoid = CrsOptions { vertical_from: Some(Vertical::Ellipsoid), ..options("EPSG:6677") };
    let error = no_geoid.placer(AxisRule::Traditional, None, None).unwrap_err();
    assert!(matches!(error, CrsError::NoGeoid));
}

#[cfg(feature = "japan-geoid")]
#[test]
fn the_geoid_stands_36_59_m_high_at_tokyo_tower() {
    let at = |crs: &str, geoid: &str, vertical_from| {
        let options = CrsOptions { geoid: Some(geoid.to_owned()), vertical_from, ..options(crs) };
        let placer = options.placer(AxisRule::Traditional, None, None).unwrap();
        placer.place([139.745433, 35.658581, 100.0]).unwrap().height_m
    };
    assert!((at("EPSG:4979", "jp2011", None) - (100.0 - 36.59)).abs() < 0.01);
    assert!((at("EPSG:4326", "jp2011", Some(Vertical::Ellipsoid)) - (100.0 - 36.59)).abs() < 0.01);
    assert_eq!(at("EPSG:6697", "jp2011", None), 100.0, "heights above sea level stay as they are");
    let newer = at("EPSG:4979", "jp2024", None);
    assert!((newer - (100.0 - 36.59)).abs() < 1.0 && newer != at("EPSG:4979", "jp2011", None));
}

#[cfg(not(feature = "japan-geoid"))]
#[test]
fn without_the_feature_the_geoids_of_japan_say_what_to_do() {
    let options = CrsOptions { geoid: Some("jp2011".to_owned()), ..options("EPSG:4979") };
    let error = options.placer(AxisRule::Traditional, None, None).unwrap_err().to_string();
    assert!(error.contains("--features japan-geoid"), "{error}");
}

#[test]
fn a_guess_names_what_lands_in_the_box() {
    let tokyo = [139.5, 35.5, 140.0, 36.0];
    let check = |sample: [f64; 2], near: Option<[f64; 4]>, expected: Option<&str>| {
        let found = guess(&[[sample[0], sample[1], 0.0]], near);
        assert_eq!(found.as_deref(), expected, "{sample:?}");
    };
    check([-7986.66, -37967.8], Some(tokyo), Some("looks like EPSG:6677"));
    check([-37967.8, -7986.66], Some(tokyo), Some("looks like EPSG:6677, x and y swapped"));
    check([139.7, 35.7], Some(tokyo), Some("looks like EPSG:4326, longitude before latitude"));
    check([35.7, 139.7], Some(tokyo), Some("looks like EPSG:4326, latitude before longitude"));
    check([15556390.0, 4256230.0], Some(tokyo), Some("looks like EPSG:3857"));
    check([386500.0, 3946700.0], Some(tokyo), Some("looks like EPSG:6691"));
    check([84816.0, 447523.0], Some([4.0, 52.0, 5.0, 53.0]), Some("looks like EPSG:28992"));
    check([637292.27, 851219.27], Some([-124.0, 44.0, -123.0, 45.0]), Some("looks like EPSG:2992"));
    check([5.0, 5.0], Some(tokyo), None);
    check([139.7, 35.7], None, Some("looks like EPSG:4326, longitude before latitude"));
    check([8.5, 47.4], None, None);
    check([2683111.0, 1247945.0], None, Some("looks like EPSG:2056"));
    assert_eq!(guess(&[], Some(tokyo)), None);
    assert_eq!(guess(&[[f64::NAN; 3]], Some(tokyo)), None);
}

#[test]
fn a_guess_is_made_from_where_a_wrong_crs_led() {
    // A square kilometre near Tokyo Tower, in zone IX: easting, northing.
    let [x, y] = [-7986.66, -37967.8];
    let square = [[x - 500.0, y - 500.0, 0.0], [x + 500.0, y + 500.0, 0.0]];
    let check = |placer: &Placer, corners: [[f64; 3]; 2], near: [f64; 4], expected: Option<&str>| {
        let [a, b] = corners.map(|corner| placer.place(corner).unwrap());
        let extent = [a.x.min(b.x), a.z.min(b.z), a.x.max(b.x), a.z.max(b.z)];
        assert_eq!(guess_again(placer, extent, near).as_deref(), expected);
    };
    let around = [139.7, 35.6, 139.8, 35.7];
    let within = [139.743, 35.657, 139.747, 35.660];
    let across = [139.745, 35.6585, 140.5, 36.0];
    for near in [around, within, across] {
        check(&traditional("EPSG:6676"), square, near, Some("looks like EPSG:6677"));
        let swapped = square.map(|[x, y, z]| [y, x, z]);
        check(&traditional("EPSG:6676"), swapped, near, Some("looks like EPSG:6677, x and y swapped"));
    }
    check(&traditional("EPSG:6676"), square, [8.0, 47.0, 8.1, 47.1], None);
    let delft = [[52.0, 4.36, 0.0], [52.01, 4.37, 0.0]];
    let near = [4.3, 51.9, 4.4, 52.1];
    check(&traditional("EPSG:4326"), delft, near, Some("looks like EPSG:4326, latitude before longitude"));
}

/// The box of a LAS header: least x, y and z, then the greatest.
fn las_box(path: &std::path::Path) -> [[f64; 3]; 2] {
    let bytes = std::fs::read(path).unwrap();
    let number = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // Greatest and least of each axis, in turn.
    [[number(187), number(203), number(219)], [number(179), number(195), number(211)]]
}

/// The z17 tiles from one place to another: columns, then rows.
fn tiles(placer: &Placer, corners: [[f64; 3]; 2]) -> [[u32; 2]; 2] {
    let [a, b] = corners.map(|corner| placer.place(corner).unwrap());
    let range = |a: f64, b: f64| [(a.min(b) / 256.0) as u32, (a.max(b) / 256.0) as u32];
    [range(a.x, b.x), range(a.z, b.z)]
}

#[test]
fn real_files_lie_in_the_tiles_that_they_should() {
    let Some(data) = real_data("crs::real_files_lie_in_the_tiles_that_they_should") else { return };
    let nirayama = las_box(&data.join("pointcloud_jp/nirayama.las"));
    let placer = traditional("EPSG:6676");
    assert_eq!(tiles(&placer, nirayama), [[116_130, 116_130], [51_899, 51_899]]);
    let [west, south] = lon_lat(placer.place(nirayama[0]).unwrap());
    let [east, north] = lon_lat(placer.place(nirayama[1]).unwrap());
    assert!((west - 138.96198).abs() < 2e-5 && (east - 138.96219).abs() < 2e-5, "{west} {east}");
    assert!((south - 35.03955).abs() < 2e-5 && (north - 35.03969).abs() < 2e-5, "{south} {north}");
    let near = Some([138.9, 35.0, 139.0, 35.1]);
    assert_eq!(guess(&nirayama, near).unwrap(), "looks like EPSG:6676");
    let swapped = nirayama.map(|[x, y, z]| [y, x, z]);
    assert_eq!(guess(&swapped, near).unwrap(), "looks like EPSG:6676, x and y swapped");

    let autzen = las_box(&data.join("pointcloud/autzen_trim.laz"));
    let placer = traditional(AUTZEN);
    assert_eq!(tiles(&placer, autzen), [[20_726, 20_727], [47_634, 47_635]]);
    let [least, greatest] = autzen.map(|corner| placer.place(corner).unwrap().height_m);
    assert!(least > 120.0 && greatest < 160.0, "feet are metres: {least} {greatest}");

    let delft = std::fs::read(data.join("cityjson_cjio/delft.json")).unwrap();
    let delft: serde_json::Value = serde_json::from_slice(&delft).unwrap();
    let metadata = &delft["metadata"];
    let placer = traditional(metadata["referenceSystem"].as_str().unwrap());
    let extent: Vec<f64> = serde_json::from_value(metadata["geographicalExtent"].clone()).unwrap();
    let corners = [[extent[0], extent[1], extent[2]], [extent[3], extent[4], extent[5]]];
    assert_eq!(tiles(&placer, corners), [[67_124, 67_126], [43_286, 43_288]]);
    assert!((placer.place(corners[1]).unwrap().height_m - 16.8).abs() < 0.1);
}

#[test]
fn many_places_are_those_of_each_to_a_tenth_of_a_millimetre() {
    for (code, x, y) in [(6676, 42160.0, -106450.0), (28992, 84816.0, 447523.0), (2992, 637292.27, 851219.27)] {
        let placer = traditional(&format!("EPSG:{code}"));
        let points: Vec<_> = (0..500_i32)
            .map(|nth| [x + f64::from(nth * 37 % 1000) * 0.77, y + f64::from(nth * 91 % 1000) * 0.53, f64::from(nth)])
            .collect();
        let mut places = Vec::new();
        placer.place_all(&points, &mut places).unwrap();
        for (&point, &place) in points.iter().zip(&places) {
            let exact = placer.place(point).unwrap();
            let off_m = (place.x - exact.x).hypot(place.z - exact.z) * metres_per_voxel_at(exact.z);
            assert!(off_m < 1.5e-4 && (place.height_m - exact.height_m).abs() < 1e-9, "EPSG:{code}: {off_m} m off");
            // Whatever else is in the call.
            let mut alone = Vec::new();
            placer.place_all(&[point], &mut alone).unwrap();
            assert_eq!(alone, [place]);
        }
    }
    let mut places = Vec::new();
    let error = traditional("EPSG:6677").place_all(&[[0.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0]], &mut places);
    assert!(matches!(error, Err(CrsError::NotFinite { .. })) && places.len() == 1);
    let far = traditional("EPSG:28992").place_all(&[[447523.0, 84816.0, 0.0]], &mut places);
    assert!(matches!(far, Err(CrsError::OutsideArea { .. })));
}

#[test]
fn options_survive_a_plan() {
    let options = CrsOptions {
        crs: Some("EPSG:6676".to_owned()),
        axis: Axis::Yx,
        vertical_from: Some(Vertical::Ellipsoid),
        geoid: Some("jp2011".to_owned()),
    };
    let json = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<CrsOptions>(&json).unwrap(), options);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_coordinates_panic(code_idx in 0..PROJ_SAYS.len(), x in any::<f64>(), y in any::<f64>(), z in any::<f64>()) {
        let placer = traditional(&format!("EPSG:{}", PROJ_SAYS[code_idx].0));
        if let Ok(place) = placer.place([x, y, z]) {
            prop_assert!(place.x.is_finite() && place.z.is_finite());
        }
    }

    #[test]
    fn no_text_panics(text in "[A-Z_]{0,8}[\\[\\(\\]\\),\"+:= a-z0-9.]{0,60}") {
        let _ = CrsOptions::default().placer(AxisRule::Official, Some(&text), None);
    }

    #[test]
    fn no_damaged_wkt_panics(at in 0..AUTZEN.len(), with in "[\\[\\],\"0-9a-z]{0,3}") {
        let text = format!("{}{with}{}", &AUTZEN[..at], &AUTZEN[(at + 1)..]);
        let _ = CrsOptions::default().placer(AxisRule::Traditional, Some(&text), None);
    }
}

#[test]
fn deep_nesting_is_no_stack_overflow() {
    for text in ["A[".repeat(20_000), "[".repeat(200_000), format!("PROJCS[\"{}", "\"\"".repeat(10_000))] {
        assert!(CrsOptions::default().placer(AxisRule::Traditional, Some(&text), None).is_err());
    }
}
