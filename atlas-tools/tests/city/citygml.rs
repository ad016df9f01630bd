//! What CityGML becomes: objects, levels of detail, references, covers, relief, attributes.

use atlas_tools::crs::{Axis, CrsOptions};
use atlas_tools::input::{
    CityGml, CoverKind, Fallback, FeatureId, Item, Model, Place, Problem, ReadOptions, Stream as _, SurfaceKind, Wanted,
};
use serde_json::json;
use voxatlas::geo::WORLD_VOXELS;
use voxatlas::geo::mercator::EQUATOR_M;

use crate::cityml::{
    BOX_IDS, bounded_box, box_faces, building, document, level, level_at, member, multi_surface, object, polygon,
    references, solid, surface_member,
};
use crate::collect::{Collected, at, count, heights, is_near, n_triangles, read, read_gml, read_gml_with, write_gml};
use crate::generator::write_city;

fn footprint() -> String {
    format!("<bldg:lod0FootPrint>{}</bldg:lod0FootPrint>", multi_surface(&[polygon("", &level(2.0))]))
}

fn lod1_solid() -> String {
    let members: String = box_faces("").iter().map(|face| surface_member(face)).collect();
    format!("<bldg:lod1Solid>{}</bldg:lod1Solid>", solid(&members))
}

fn with_lod(lod: u8) -> ReadOptions {
    ReadOptions { lod: Some(lod), ..ReadOptions::default() }
}

#[test]
fn a_footprint_is_a_prism_as_high_as_its_attributes_say() {
    let check = |attributes: &str, height_m: f64, fallback: Option<Fallback>| {
        let collected = read_gml(&building(&format!("{attributes}{}", footprint())));
        let [prism] = collected.prisms()[..] else { panic!("{collected:?}") };
        assert_eq!((prism.height.metres, prism.height.fallback), (height_m, fallback), "{attributes}");
        assert_eq!(prism.min_height_m, 0.0);
        assert_eq!(prism.named.id, FeatureId::of_text("b1"));
        assert_eq!(prism.named.name, "b1");
        let [rings] = &prism.polygons[..] else { panic!("{prism:?}") };
        assert_eq!(rings[0].len(), 4);
        let corner = at(35.0, 139.0, 0.0);
        assert!((rings[0][0][0] - corner.x).abs() < 0.01 && (rings[0][0][1] - corner.z).abs() < 0.01);
        assert!(rings[0][1][0] > rings[0][0][0], "east is to the right");
        assert!(rings[0][2][1] < rings[0][0][1], "north is up");
    };
    check(r#"<bldg:measuredHeight uom="m">7.5</bldg:measuredHeight>"#, 7.5, None);
    check("<bldg:storeysAboveGround>4</bldg:storeysAboveGround>", 12.0, None);
    check("", 3.0, Some(Fallback::Missing));
    check(r#"<bldg:measuredHeight uom="m">-9999</bldg:measuredHeight>"#, 3.0, Some(Fallback::Negative));
}

#[test]
fn the_footprint_counts_before_the_edge_of_the_roof() {
    let roof = multi_surface(&[polygon("", &level_at(0.01, 9.0))]);
    let edge = format!("<bldg:lod0RoofEdge>{roof}</bldg:lod0RoofEdge>");
    let collected = read_gml(&building(&format!("{edge}{}", footprint())));
    assert_eq!(collected.prisms()[0].polygons.len(), 1);
    assert!((collected.prisms()[0].polygons[0][0][0][0] - at(35.0, 139.0, 0.0).x).abs() < 0.01);
    let collected = read_gml(&building(&edge));
    assert!((collected.prisms()[0].polygons[0][0][0][0] - at(35.01, 139.01, 0.0).x).abs() < 0.01);
}

#[test]
fn a_solid_is_a_model_with_its_heights() {
    let collected = read_gml(&building(&lod1_solid()));
    let model = collected.model();
    assert_eq!(n_triangles(model, SurfaceKind::Other), 12);
    assert_eq!(model.surfaces.len(), 1);
    assert_eq!(heights(&collected.places()), [0.0, 6.0]);
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
}

#[test]
fn one_level_of_detail_is_read() {
    let text = building(&[footprint(), lod1_solid(), bounded_box("f", 2)].concat());
    let check = |lod: Option<u8>, n_prisms: usize, n_other: usize, n_walls: usize| {
        let collected = read_gml_with(&text, ReadOptions { lod, ..ReadOptions::default() });
        assert_eq!(collected.items.len(), 1, "{lod:?}");
        assert_eq!(collected.prisms().len(), n_prisms, "{lod:?}");
        let count = |kind| collected.models().iter().map(|model| n_triangles(model, kind)).sum::<usize>();
        assert_eq!([count(SurfaceKind::Other), count(SurfaceKind::Wall)], [n_other, n_walls], "{lod:?}");
    };
    check(None, 0, 0, 8);
    check(Some(4), 0, 0, 8);
    check(Some(2), 0, 0, 8);
    check(Some(1), 0, 12, 0);
    check(Some(0), 1, 0, 0);
}

#[test]
fn references_are_followed_in_both_directions() {
    let solid_of_references = format!("<bldg:lod2Solid>{}</bldg:lod2Solid>", solid(&references(&BOX_IDS)));
    let check = |members: &str| {
        let collected = read_gml(&building(members));
        let model = collected.model();
        let count = [SurfaceKind::Ground, SurfaceKind::Roof, SurfaceKind::Wall, SurfaceKind::Other];
        assert_eq!(count.map(|kind| n_triangles(model, kind)), [2, 2, 8, 0]);
        assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    };
    // The solid refers to surfaces behind it, and before it.
    check(&[solid_of_references.clone(), bounded_box("f", 2)].concat());
    check(&[bounded_box("f", 2), solid_of_references].concat());
    // The surfaces refer to the faces of the solid.
    let members: String = box_faces("f").iter().map(|face| surface_member(face)).collect();
    let solid_of_faces = format!("<bldg:lod2Solid>{}</bldg:lod2Solid>", solid(&members));
    let surface = |class: &str, ids: &[&str]| {
        let members = references(ids);
        format!(
            "<bldg:boundedBy><bldg:{class}><bldg:lod2MultiSurface><gml:MultiSurface>{members}</gml:MultiSurface>\
             </bldg:lod2MultiSurface></bldg:{class}></bldg:boundedBy>"
        )
    };
    let surfaces = [
        surface("GroundSurface", &BOX_IDS[..1]),
        surface("RoofSurface", &BOX_IDS[1..2]),
        surface("WallSurface", &BOX_IDS[2..]),
    ]
    .concat();
    check(&[surfaces.clone(), solid_of_faces.clone()].concat());
    check(&[solid_of_faces, surfaces].concat());
    // The faces stand in both, without a reference.
    let copies: String = box_faces("").iter().map(|face| surface_member(face)).collect();
    check(&[format!("<bldg:lod2Solid>{}</bldg:lod2Solid>", solid(&copies)), bounded_box("f", 2)].concat());
}

#[test]
fn a_reference_may_name_a_group_of_references() {
    let group = format!(
        r#"<bldg:lod2MultiSurface><gml:MultiSurface gml:id="all">{}</gml:MultiSurface></bldg:lod2MultiSurface>"#,
        references(&BOX_IDS)
    );
    let faces: String = box_faces("f").iter().map(|face| surface_member(face)).collect();
    let lod3 = format!("<bldg:lod3MultiSurface><gml:MultiSurface>{faces}</gml:MultiSurface></bldg:lod3MultiSurface>");
    let solid = format!("<bldg:lod2Solid>{}</bldg:lod2Solid>", solid(&references(&["all"])));
    let collected = read_gml_with(&building(&[group, lod3, solid].concat()), with_lod(2));
    assert_eq!(n_triangles(collected.model(), SurfaceKind::Other), 12);
}

#[test]
fn a_reference_to_nothing_is_told() {
    let solid = format!("<bldg:lod2Solid>{}</bldg:lod2Solid>", solid(&references(&["f-roof", "nowhere"])));
    let collected = read_gml(&building(&[solid, bounded_box("f", 2)].concat()));
    assert_eq!(collected.problems, [("b1".to_owned(), Problem::DanglingReference)]);
    assert_eq!(collected.items.len(), 1);
}

#[test]
fn references_in_a_circle_end() {
    let group = |id: &str, to: &str| {
        format!(
            r#"<bldg:lod2MultiSurface><gml:MultiSurface gml:id="{id}">{}</gml:MultiSurface></bldg:lod2MultiSurface>"#,
            references(&[to, to])
        )
    };
    let collected = read_gml(&building(&[group("a", "b"), group("b", "a"), lod1_solid()].concat()));
    assert_eq!(n_triangles(collected.model(), SurfaceKind::Other), 12);
    assert!(collected.kinds_of_problems().contains(&Problem::DanglingReference));
}

#[test]
fn parts_are_one_building_and_hide_its_coarser_hull() {
    let part = |id: &str, members: &str| {
        format!(
            r#"<bldg:consistsOfBuildingPart><bldg:BuildingPart gml:id="{id}">{members}</bldg:BuildingPart></bldg:consistsOfBuildingPart>"#
        )
    };
    let height = r#"<bldg:measuredHeight uom="m">6</bldg:measuredHeight>"#;
    let parts = [part("p1", &format!("{height}{}", bounded_box("f", 2))), part("p2", &bounded_box("g", 2))].concat();
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let collected = read_gml_with(&building(&[lod1_solid(), parts.clone()].concat()), options.clone());
    assert_eq!(collected.models().len(), 2, "a model a part");
    for model in collected.models() {
        assert_eq!(n_triangles(model, SurfaceKind::Wall), 8);
        assert_eq!(n_triangles(model, SurfaceKind::Other), 0);
        assert_eq!(model.named.name, "b1");
        assert_eq!(model.named.attributes, [("measuredHeight".to_owned(), json!(6))]);
    }
    // As fine as its parts, the building's own hull stays.
    let own = ["<bldg:lod2Solid>".to_owned(), solid(&references(&["f-roof"])), "</bldg:lod2Solid>".to_owned()].concat();
    let collected = read_gml(&building(&[own, parts].concat()));
    assert_eq!(collected.models().len(), 3);
    // Footprints of parts are prisms of their own heights.
    let parts = [part("p1", &format!("{height}{}", footprint())), part("p2", &footprint())].concat();
    let collected = read_gml_with(&building(&parts), options);
    let heights: Vec<f64> = collected.prisms().iter().map(|prism| prism.height.metres).collect();
    assert_eq!(heights, [6.0, 3.0]);
}

#[test]
fn openings_installations_and_inner_things() {
    let face = |height: f64| multi_surface(&[polygon("", &level(height))]);
    let wall = format!(
        "<bldg:boundedBy><bldg:WallSurface><bldg:lod3MultiSurface>{}</bldg:lod3MultiSurface>\
         <bldg:opening><bldg:Window><bldg:lod3MultiSurface>{}</bldg:lod3MultiSurface></bldg:Window></bldg:opening>\
         <bldg:opening><bldg:Door><bldg:lod3MultiSurface>{}</bldg:lod3MultiSurface></bldg:Door></bldg:opening>\
         </bldg:WallSurface></bldg:boundedBy>",
        face(1.0),
        face(2.0),
        face(3.0)
    );
    let installation = |lod: u8, height: f64| {
        format!(
            "<bldg:outerBuildingInstallation><bldg:BuildingInstallation><bldg:lod{lod}Geometry>{}</bldg:lod{lod}Geometry>\
             </bldg:BuildingInstallation></bldg:outerBuildingInstallation>",
            face(height)
        )
    };
    let room = format!(
        "<bldg:interiorRoom><bldg:Room><bldg:lod4MultiSurface>{}</bldg:lod4MultiSurface></bldg:Room></bldg:interiorRoom>",
        face(99.0)
    );
    let text = building(&[wall, installation(2, 4.0), installation(4, 98.0), room].concat());
    let collected = read_gml(&text);
    let count = [SurfaceKind::Wall, SurfaceKind::Opening, SurfaceKind::Other].map(|kind| count(&collected, kind));
    assert_eq!(count, [2, 4, 2]);
    assert_eq!(collected.models().len(), 2, "what is added is a model of its own");
    assert_eq!(heights(&collected.places()), [1.0, 4.0]);
}

#[test]
fn kinds_of_surfaces() {
    let check = |class: &str, kind: SurfaceKind| {
        let surfaces = multi_surface(&[polygon("", &level(1.0))]);
        let collected = read_gml(&building(&format!(
            "<bldg:boundedBy><bldg:{class}><bldg:lod2MultiSurface>{surfaces}</bldg:lod2MultiSurface></bldg:{class}></bldg:boundedBy>"
        )));
        assert_eq!(collected.model().surfaces[0].kind, kind, "{class}");
    };
    check("RoofSurface", SurfaceKind::Roof);
    check("WallSurface", SurfaceKind::Wall);
    check("GroundSurface", SurfaceKind::Ground);
    check("ClosureSurface", SurfaceKind::Closure);
    check("OuterCeilingSurface", SurfaceKind::Floor);
    check("OuterFloorSurface", SurfaceKind::Roof);
    check("InteriorWallSurface", SurfaceKind::Other);
}

#[test]
fn an_orientable_surface_turns_its_base() {
    let winding = |text: &str| {
        let collected = read_gml(&building(&format!("<bldg:lod2MultiSurface>{text}</bldg:lod2MultiSurface>")));
        let [a, b, c] = collected.model().surfaces[0].triangles[0];
        ((b.x - a.x) * (c.z - a.z) - (b.z - a.z) * (c.x - a.x)).signum()
    };
    let plain = multi_surface(&[polygon("", &level(1.0))]);
    let turned = |sign: &str| {
        format!(
            r#"<gml:OrientableSurface orientation="{sign}"><gml:baseSurface>{}</gml:baseSurface></gml:OrientableSurface>"#,
            polygon("", &level(1.0))
        )
    };
    assert_eq!(winding(&plain), winding(&turned("+")));
    assert_eq!(winding(&plain), -winding(&turned("-")));
}

#[test]
fn positions_however_they_are_written() {
    let check = |ring: &str, height_m: f64| {
        let polygon = format!("<gml:Polygon><gml:exterior>{ring}</gml:exterior></gml:Polygon>");
        let text = building(&format!("<bldg:lod1MultiSurface>{}</bldg:lod1MultiSurface>", multi_surface(&[polygon])));
        let collected = read_gml(&text);
        let places = collected.places();
        assert_eq!(places.len(), 3, "{ring}");
        for expected in [at(35.0, 139.0, height_m), at(35.0, 139.001, height_m), at(35.001, 139.0, height_m)] {
            assert!(places.iter().any(|&place| is_near(place, expected)), "{ring}: {places:?}");
        }
        assert!(collected.problems.is_empty(), "{ring}: {:?}", collected.problems);
    };
    check(
        "<gml:LinearRing><gml:posList>35 139 5\n35 139.001 5\t35.001 139 5 35 139 5</gml:posList></gml:LinearRing>",
        5.0,
    );
    check(
        r#"<gml:LinearRing srsDimension="2"><gml:posList>35 139 35 139.001 35.001 139 35 139</gml:posList></gml:LinearRing>"#,
        0.0,
    );
    check(
        r#"<gml:LinearRing><gml:posList srsDimension="2">35 139 35 139.001 35.001 139 35 139</gml:posList></gml:LinearRing>"#,
        0.0,
    );
    check(
        "<gml:LinearRing><gml:pos>35 139 5</gml:pos><gml:pos>35 139.001 5</gml:pos><gml:pos>35.001 139 5</gml:pos>\
         <gml:pos>35 139 5</gml:pos></gml:LinearRing>",
        5.0,
    );
    check(
        "<gml:LinearRing><gml:coordinates>35,139,5 35,139.001,5 35.001,139,5 35,139,5</gml:coordinates></gml:LinearRing>",
        5.0,
    );
    check(
        "<gml:Ring><gml:curveMember><gml:LineString><gml:posList>35 139 5 35 139.001 5</gml:posList></gml:LineString></gml:curveMember>\
         <gml:curveMember><gml:LineString><gml:posList>35.001 139 5 35 139 5</gml:posList></gml:LineString></gml:curveMember></gml:Ring>",
        5.0,
    );
}

#[test]
fn a_geometry_may_name_its_own_crs() {
    let positions = "139 35 5 139.001 35 5 139 35.001 5 139 35 5";
    let surfaces = multi_surface(&[polygon("", positions)])
        .replace("<gml:MultiSurface>", r#"<gml:MultiSurface srsName="http://www.opengis.net/def/crs/EPSG/0/3857">"#);
    let collected = read_gml(&building(&format!("<bldg:lod1MultiSurface>{surfaces}</bldg:lod1MultiSurface>")));
    let voxels_per_m = f64::from(WORLD_VOXELS) / EQUATOR_M;
    let middle = f64::from(WORLD_VOXELS) / 2.0;
    let expected = Place { x: middle + 139.0 * voxels_per_m, z: middle - 35.0 * voxels_per_m, height_m: 5.0 };
    assert!(collected.places().into_iter().any(|place| is_near(place, expected)), "{:?}", collected.places());
}

#[test]
fn holes_stay_open() {
    let ring = |positions: &str| format!("<gml:LinearRing><gml:posList>{positions}</gml:posList></gml:LinearRing>");
    let outer = ring("35 139 0 35 139.003 0 35.003 139.003 0 35.003 139 0 35 139 0");
    let inner = ring("35.001 139.001 0 35.002 139.001 0 35.002 139.002 0 35.001 139.002 0 35.001 139.001 0");
    let polygon =
        format!("<gml:Polygon><gml:exterior>{outer}</gml:exterior><gml:interior>{inner}</gml:interior></gml:Polygon>");
    let text = building(&format!("<bldg:lod1MultiSurface>{}</bldg:lod1MultiSurface>", multi_surface(&[polygon])));
    let collected = read_gml(&text);
    assert_eq!(n_triangles(collected.model(), SurfaceKind::Other), 8);
}

#[test]
fn city_gml_3() {
    let surface = |class: &str, faces: &[String]| {
        format!(
            "<core:boundary><con:{class} gml:id=\"s-{class}\"><core:lod2MultiSurface>{}</core:lod2MultiSurface></con:{class}></core:boundary>",
            multi_surface(faces)
        )
    };
    let faces = box_faces("f");
    let window = format!(
        "<core:boundary><con:WallSurface><con:fillingSurface><con:WindowSurface><core:lod2MultiSurface>{}</core:lod2MultiSurface>\
         </con:WindowSurface></con:fillingSurface></con:WallSurface></core:boundary>",
        multi_surface(&[polygon("", &level(3.0))])
    );
    let members = [
        "<con:height><con:Height><con:highReference>highestRoofEdge</con:highReference><con:value uom=\"m\">6.5</con:value></con:Height></con:height>".to_owned(),
        "<core:genericAttribute><gen:IntAttribute><gen:name>floors</gen:name><gen:value>2</gen:value></gen:IntAttribute></core:genericAttribute>".to_owned(),
        surface("GroundSurface", &faces[..1]),
        surface("RoofSurface", &faces[1..2]),
        surface("WallSurface", &faces[2..]),
        format!("<core:lod2Solid>{}</core:lod2Solid>", solid(&references(&BOX_IDS))),
        "<bldg:buildingPart><bldg:BuildingPart>".to_owned(),
        window,
        "</bldg:BuildingPart></bldg:buildingPart>".to_owned(),
    ];
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let collected = read_gml_with(&building(&members.concat()), options);
    let kinds = [SurfaceKind::Ground, SurfaceKind::Roof, SurfaceKind::Wall, SurfaceKind::Opening, SurfaceKind::Other];
    assert_eq!(kinds.map(|kind| count(&collected, kind)), [2, 2, 8, 2, 0]);
    let attribute = |name: &str| {
        let found = collected.models()[0].named.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(attribute("measuredHeight"), Some(json!(6.5)));
    assert_eq!(attribute("floors"), Some(json!(2)));
    assert_eq!(attribute("Height.highReference"), Some(json!("highestRoofEdge")));
}

#[test]
fn relief_is_triangles_of_the_ground() {
    let triangle = |height: f64| {
        format!(
            "<gml:Triangle><gml:exterior><gml:LinearRing><gml:posList>35 139 {height} 35 139.001 {height} 35.001 139 {height} 35 139 {height}\
             </gml:posList></gml:LinearRing></gml:exterior></gml:Triangle>"
        )
    };
    let triangles: String = (0..5000).map(|idx| triangle(f64::from(idx))).collect();
    let text = object(&format!(
        r#"<dem:ReliefFeature gml:id="r"><dem:lod>1</dem:lod><dem:reliefComponent><dem:TINRelief gml:id="t"><dem:lod>1</dem:lod><dem:tin>
        <gml:TriangulatedSurface><gml:trianglePatches>{triangles}</gml:trianglePatches></gml:TriangulatedSurface></dem:tin></dem:TINRelief>
        </dem:reliefComponent></dem:ReliefFeature>"#
    ));
    let collected = read_gml(&text);
    let relief = collected.relief();
    assert_eq!(relief.len(), 5000);
    assert!(collected.items.len() > 1, "the ground is passed on piece by piece");
    assert!(is_near(relief[7][0], at(35.0, 139.0, 7.0)) && is_near(relief[4999][2], at(35.001, 139.0, 4999.0)));
    assert!(collected.problems.is_empty());
    let text = object(
        "<dem:ReliefFeature><dem:lod>1</dem:lod><dem:reliefComponent><dem:MassPointRelief><dem:reliefPoints/></dem:MassPointRelief></dem:reliefComponent></dem:ReliefFeature>",
    );
    assert_eq!(read_gml(&text).kinds_of_problems(), [Problem::UnusedGeometry]);
}

#[test]
fn streets_water_plants_and_land_are_covers() {
    let check = |object_text: &str, expected: &[CoverKind]| {
        let collected = read_gml(&object(object_text));
        let kinds: Vec<CoverKind> = collected.covers().iter().map(|cover| cover.kind).collect();
        assert_eq!(kinds, expected, "{object_text}");
        assert!(collected.problems.is_empty(), "{object_text}: {:?}", collected.problems);
    };
    let flat = |lod: u8| {
        format!("<x:lod{lod}MultiSurface>{}</x:lod{lod}MultiSurface>", multi_surface(&[polygon("", &level(0.0))]))
    };
    let area = |class: &str, function: u32| {
        format!("<x:trafficArea><x:{class}><x:function>{function}</x:function>{}</x:{class}></x:trafficArea>", flat(2))
    };
    check(&format!("<t:Road>{}</t:Road>", flat(1)), &[CoverKind::Road]);
    check(&format!("<t:Railway>{}</t:Railway>", flat(1)), &[CoverKind::Rail]);
    check(&format!("<t:Track>{}</t:Track>", flat(1)), &[CoverKind::Path]);
    check(&format!("<t:Square>{}</t:Square>", flat(1)), &[CoverKind::Paved]);
    let areas = [
        area("TrafficArea", 1000),
        area("TrafficArea", 2000),
        area("AuxiliaryTrafficArea", 3000),
        area("AuxiliaryTrafficArea", 5000),
    ];
    check(
        &format!("<t:Road>{}{}</t:Road>", flat(1), areas.concat()),
        &[CoverKind::Road, CoverKind::Path, CoverKind::Paved, CoverKind::Green],
    );
    check(&format!("<w:WaterBody>{}</w:WaterBody>", flat(1)), &[CoverKind::Water]);
    let water = format!(
        "<w:WaterBody><w:boundedBy><w:WaterSurface><w:lod2Surface>{0}</w:lod2Surface></w:WaterSurface></w:boundedBy>\
         <w:boundedBy><w:WaterGroundSurface><w:lod3Surface>{0}</w:lod3Surface></w:WaterGroundSurface></w:boundedBy></w:WaterBody>",
        polygon("", &level(0.0))
    );
    check(&water, &[CoverKind::Water]);
    check(&format!("<v:PlantCover>{}</v:PlantCover>", flat(1)), &[CoverKind::Green]);
    check(
        &format!(r#"<v:PlantCover><v:averageHeight uom="m">8</v:averageHeight>{}</v:PlantCover>"#, flat(1)),
        &[CoverKind::Wood],
    );
    for (class, kind) in [
        (201, CoverKind::Farm),
        (203, CoverKind::Wood),
        (204, CoverKind::Water),
        (211, CoverKind::Other),
        (215, CoverKind::Road),
        (217, CoverKind::Green),
    ] {
        check(&format!("<l:LandUse><l:class>{class}</l:class>{}</l:LandUse>", flat(1)), &[kind]);
    }
}

#[test]
fn a_body_of_water_covers_what_it_covers_from_above() {
    let members: String = box_faces("").iter().map(|face| surface_member(face)).collect();
    let collected =
        read_gml(&object(&format!("<w:WaterBody><w:lod1Solid>{}</w:lod1Solid></w:WaterBody>", solid(&members))));
    assert_eq!(collected.covers()[0].polygons.len(), 2, "bottom and top, no sides");
}

#[test]
fn bridges_trees_and_furniture_are_models() {
    for class in ["Bridge", "Tunnel", "CityFurniture", "GenericCityObject", "SolitaryVegetationObject"] {
        let surfaces = multi_surface(&[polygon("", &level(4.0))]);
        let collected = read_gml(&object(&format!(
            r#"<x:{class} gml:id="x"><x:lod2Geometry>{surfaces}</x:lod2Geometry></x:{class}>"#
        )));
        assert_eq!(heights(&collected.places()), [4.0, 4.0], "{class}");
    }
}

#[test]
fn an_implicit_geometry_stands_at_its_point() {
    let shape = "<gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>0 0 0 10 0 0 0 0 5 0 0 0</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon>";
    let text = object(&format!(
        "<frn:CityFurniture gml:id=\"lamp\"><frn:lod1ImplicitRepresentation><core:ImplicitGeometry>\
         <core:transformationMatrix>0 -1 0 0 1 0 0 0 0 0 2 1 0 0 0 1</core:transformationMatrix>\
         <core:relativeGMLGeometry>{}</core:relativeGMLGeometry>\
         <core:referencePoint><gml:Point><gml:pos>35 139 100</gml:pos></gml:Point></core:referencePoint>\
         </core:ImplicitGeometry></frn:lod1ImplicitRepresentation></frn:CityFurniture>",
        multi_surface(&[shape.to_owned()])
    ));
    let collected = read_gml(&text);
    let places = collected.places();
    let origin = at(35.0, 139.0, 101.0);
    assert!(places.iter().any(|&place| is_near(place, origin)));
    assert!(places.iter().any(|&place| is_near(place, at(35.0, 139.0, 111.0))), "two metres a metre, and one up");
    // Ten metres along x are turned to the north.
    let north = places.iter().find(|place| (place.z - origin.z).abs() > 1.0).unwrap();
    let voxel_m = voxatlas::geo::mercator::metres_per_voxel_at(origin.z);
    assert!(((origin.z - north.z) * voxel_m - 10.0).abs() < 1e-6 && (north.x - origin.x).abs() < 1e-6);
}

#[test]
fn attributes_are_kept_in_their_order_and_types() {
    let members = [
        "<gml:name>横須賀 &amp; co</gml:name>",
        r#"<gen:intAttribute name="n"><gen:value>16943</gen:value></gen:intAttribute>"#,
        r#"<gen:doubleAttribute name="d"><gen:value>0.5</gen:value></gen:doubleAttribute>"#,
        r#"<gen:measureAttribute name="m"><gen:value uom="m2">42.0</gen:value></gen:measureAttribute>"#,
        r#"<gen:stringAttribute name="s"><gen:value>12</gen:value></gen:stringAttribute>"#,
        r#"<bldg:usage codeSpace="x.xml">422</bldg:usage>"#,
        r#"<bldg:measuredHeight uom="ft">20</bldg:measuredHeight>"#,
        "<bldg:storeysAboveGround>2</bldg:storeysAboveGround>",
        "<uro:buildingDetailAttribute><uro:BuildingDetailAttribute><uro:surveyYear>2016</uro:surveyYear></uro:BuildingDetailAttribute></uro:buildingDetailAttribute>",
        "<uro:buildingDataQualityAttribute><uro:BuildingDataQualityAttribute><uro:lod1HeightType>6</uro:lod1HeightType></uro:BuildingDataQualityAttribute></uro:buildingDataQualityAttribute>",
        "<bldg:roofType/>",
    ]
    .concat();
    let text = building(&format!("{members}{}", lod1_solid()));
    let collected = read_gml_with(&text, ReadOptions { with_attributes: true, ..ReadOptions::default() });
    let expected = [
        ("name", json!("横須賀 & co")),
        ("n", json!(16943)),
        ("d", json!(0.5)),
        ("m", json!(42.0)),
        ("s", json!("12")),
        ("usage", json!("422")),
        ("measuredHeight", json!("20 ft")),
        ("storeysAboveGround", json!(2)),
        ("BuildingDetailAttribute.surveyYear", json!("2016")),
        ("BuildingDataQualityAttribute.lod1HeightType", json!("6")),
    ];
    assert_eq!(collected.model().named.attributes, expected.map(|(name, value)| (name.to_owned(), value)));
    assert!(read_gml(&text).model().named.attributes.is_empty(), "only where they are asked for");
}

#[test]
fn attributes_of_the_wrong_type_stay_text() {
    let members = r#"<gen:intAttribute name="n"><gen:value>many</gen:value></gen:intAttribute><bldg:measuredHeight uom="m">high</bldg:measuredHeight>"#;
    let options = ReadOptions { with_attributes: true, ..ReadOptions::default() };
    let collected = read_gml_with(&building(&format!("{members}{}", footprint())), options);
    assert_eq!(collected.kinds_of_problems(), [Problem::BadAttribute, Problem::BadAttribute]);
    let prism = collected.prisms()[0];
    assert_eq!(prism.height.fallback, Some(Fallback::Missing));
    assert_eq!(prism.named.attributes[0], ("n".to_owned(), json!("many")));
}

#[test]
fn objects_without_an_id_are_named_by_where_they_begin() {
    let one = member(&format!("<bldg:Building>{}</bldg:Building>", lod1_solid()));
    let text = document(&one.repeat(2));
    let collected = read_gml(&text);
    let begins: Vec<_> = text.match_indices("<bldg:Building>").map(|(at, _)| at as u64).collect();
    let ids: Vec<_> = collected.models().iter().map(|model| model.named.id).collect();
    assert_eq!(ids, [begins[0], begins[1]].map(|nth| FeatureId::Nth { input: 7, nth }));
}

#[test]
fn classes_are_chosen_by_name_and_others_are_told() {
    let text = document(
        &[
            member(&format!("<bldg:Building>{}</bldg:Building>", lod1_solid())),
            member(&format!(
                "<brid:Bridge><brid:lod1Solid>{}</brid:lod1Solid></brid:Bridge>",
                solid(&surface_member(&polygon("", &level(1.0))))
            )),
            member(&format!(
                r#"<urf:UseDistrict gml:id="u"><urf:lod1MultiSurface>{}</urf:lod1MultiSurface></urf:UseDistrict>"#,
                multi_surface(&[polygon("", &level(0.0))])
            )),
            member("<grp:CityObjectGroup/>"),
        ]
        .concat(),
    );
    let collected = read_gml(&text);
    assert_eq!(collected.items.len(), 2);
    assert_eq!(collected.problems, [("u".to_owned(), Problem::UnusedGeometry)]);
    let bridges = read_gml_with(&text, ReadOptions { layers: vec!["bridge".to_owned()], ..ReadOptions::default() });
    assert_eq!(bridges.items.len(), 1);
    assert!(bridges.problems.is_empty());
}

#[test]
fn what_is_not_wanted_is_passed_over() {
    let far = format!(
        "<bldg:Building gml:id=\"far\"><bldg:lod1MultiSurface>{}</bldg:lod1MultiSurface></bldg:Building>",
        multi_surface(&[polygon("", &level_at(0.5, 1.0))])
    );
    let near = format!(r#"<bldg:Building gml:id="near">{}</bldg:Building>"#, lod1_solid());
    let folder = tempfile::tempdir().unwrap();
    let gml = write_gml(folder.path(), document(&[member(&far), member(&near)].concat()), ReadOptions::default());
    let corner = at(35.0, 139.0, 0.0);
    let wanted = Wanted { boxes: vec![[corner.x - 1.0, corner.z - 1.0, corner.x + 1.0, corner.z + 1.0]] };
    let mut collected = Collected::default();
    gml.read(&wanted, &mut collected).unwrap();
    assert_eq!(collected.model().named.name, "near");
}

#[test]
fn the_extent_is_that_of_the_envelope_or_of_the_objects() {
    let folder = tempfile::tempdir().unwrap();
    let text = building(&lod1_solid());
    let near = |found: Option<[f64; 4]>, expected: [f64; 4]| {
        let found = found.unwrap();
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01),
            "{found:?} {expected:?}"
        );
    };
    let [south_west, north_east] = [at(35.0, 139.0, 0.0), at(35.001, 139.001, 0.0)];
    let gml = write_gml(folder.path(), &text, ReadOptions::default());
    near(gml.extent().unwrap(), [south_west.x, north_east.z, north_east.x, south_west.z]);
    let start = text.find("<gml:lowerCorner>").unwrap();
    let end = text.find("</gml:Envelope>").unwrap();
    let without = format!("{}{}", &text[..start], &text[end..]);
    let gml = write_gml(folder.path(), without, ReadOptions::default());
    let box_corner = at(35.0001, 139.0001, 0.0);
    near(gml.extent().unwrap(), [south_west.x, box_corner.z, box_corner.x, south_west.z]);
    let gml = write_gml(folder.path(), "<CityModel/>", ReadOptions::default());
    assert_eq!(gml.extent().unwrap(), None);
}

#[test]
fn reading_twice_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let text = building(&[footprint(), lod1_solid(), bounded_box("f", 2)].concat());
    let gml = write_gml(folder.path(), text, ReadOptions::default());
    let (first, second) = (read(&gml).unwrap(), read(&gml).unwrap());
    assert_eq!(first.items, second.items);
    assert!(matches!(first.items[..], [Item::Model(_)]));
}

#[test]
fn a_synthetic_city_is_read_whole() {
    let mut bytes = Vec::new();
    let written = write_city(&mut bytes, 400_000).unwrap();
    assert_eq!(written.n_bytes, bytes.len() as u64);
    let mut again = Vec::new();
    write_city(&mut again, 400_000).unwrap();
    assert!(bytes == again, "the same size gives the same bytes");
    let folder = tempfile::tempdir().unwrap();
    let collected = read(&write_gml(folder.path(), &bytes, ReadOptions::default())).unwrap();
    assert_eq!(collected.models().len() as u64, written.n_buildings);
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
    let n_triangles = |model: &Model| model.surfaces.iter().map(|surface| surface.triangles.len()).sum::<usize>();
    assert!(collected.models().into_iter().all(|model| n_triangles(model) == 12));
}

#[test]
fn a_wrong_order_of_axes_is_guessed() {
    // Northing and easting of zone IX, as the definition of EPSG:6677 has them.
    let ring = "-38000 -8000 5 -38000 -7990 5 -37990 -7990 5 -37990 -8000 5 -38000 -8000 5";
    let outline = format!("<bldg:lod0FootPrint>{}</bldg:lod0FootPrint>", multi_surface(&[polygon("", ring)]));
    let text = building(&outline).replace("EPSG/0/6697", "EPSG/0/6677");
    // The envelope tells, or every object has to be looked at.
    let told = text.replace("35.0 139.0 0", "-38000 -8000 0").replace("35.001 139.001 10", "-37990 -7990 10");
    let untold = text.replace("35.0 139.0 0", "0 0 0").replace("35.001 139.001 10", "0 0 0");
    let near = [139.7, 35.6, 139.8, 35.7];
    for text in [told, untold] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("city.gml");
        std::fs::write(&path, text).unwrap();
        let crs = CrsOptions { axis: Axis::Xy, ..CrsOptions::default() };
        let wrong = CityGml::open(&path, 0, ReadOptions::default(), crs).unwrap();
        assert_eq!(wrong.guess(near).as_deref(), Some("looks like EPSG:6677, x and y swapped"));
    }
}
