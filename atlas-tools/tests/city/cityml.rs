//! CityGML for tests, in EPSG:6697: latitude, longitude, height.

/// A whole document round members.
pub(crate) fn document(members: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<core:CityModel xmlns:core="http://www.opengis.net/citygml/2.0" xmlns:bldg="http://www.opengis.net/citygml/building/2.0"
  xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink">
<gml:boundedBy><gml:Envelope srsName="http://www.opengis.net/def/crs/EPSG/0/6697" srsDimension="3">
<gml:lowerCorner>35.0 139.0 0</gml:lowerCorner><gml:upperCorner>35.001 139.001 10</gml:upperCorner>
</gml:Envelope></gml:boundedBy>{members}</core:CityModel>"#
    )
}

/// A document with one city object.
pub(crate) fn object(object: &str) -> String {
    document(&member(object))
}

/// A member round a city object.
pub(crate) fn member(object: &str) -> String {
    format!("<core:cityObjectMember>{object}</core:cityObjectMember>")
}

/// A document with one building.
pub(crate) fn building(members: &str) -> String {
    object(&format!(r#"<bldg:Building gml:id="b1">{members}</bldg:Building>"#))
}

/// A polygon; `id` may be empty.
pub(crate) fn polygon(id: &str, positions: &str) -> String {
    let ring = if id.is_empty() { String::new() } else { format!(r#" gml:id="{id}-ring""#) };
    let id = if id.is_empty() { String::new() } else { format!(r#" gml:id="{id}""#) };
    format!(
        "<gml:Polygon{id}><gml:exterior><gml:LinearRing{ring}><gml:posList>{positions}</gml:posList></gml:LinearRing>\
         </gml:exterior></gml:Polygon>"
    )
}

/// Polygons as members of a multi-surface.
pub(crate) fn multi_surface(polygons: &[String]) -> String {
    let members: String = polygons.iter().map(|polygon| surface_member(polygon)).collect();
    format!("<gml:MultiSurface>{members}</gml:MultiSurface>")
}

/// A surface member.
pub(crate) fn surface_member(surface: &str) -> String {
    format!("<gml:surfaceMember>{surface}</gml:surfaceMember>")
}

/// A solid of surface members.
pub(crate) fn solid(members: &str) -> String {
    format!(
        "<gml:Solid><gml:exterior><gml:CompositeSurface>{members}</gml:CompositeSurface></gml:exterior></gml:Solid>"
    )
}

/// References to surfaces.
pub(crate) fn references(ids: &[&str]) -> String {
    ids.iter().map(|id| format!(r##"<gml:surfaceMember xlink:href="#{id}"/>"##)).collect()
}

/// A level rectangle of 0.0001 degrees at a height, counter-clockwise seen from above.
pub(crate) fn level(height_m: f64) -> String {
    level_at(0.0, height_m)
}

/// A level rectangle whose corner lies so many degrees north and east of (35, 139).
pub(crate) fn level_at(offset_deg: f64, height_m: f64) -> String {
    let [south, west] = [35.0 + offset_deg, 139.0 + offset_deg];
    let [north, east] = [south + 0.0001, west + 0.0001];
    let h = height_m;
    format!("{south} {west} {h} {south} {east} {h} {north} {east} {h} {north} {west} {h} {south} {west} {h}")
}

/// The faces of a box from height 0 to 6: ground, roof, south, east, north, west; their ids begin with `prefix`.
pub(crate) fn box_faces(prefix: &str) -> Vec<String> {
    let corners = [[35.0, 139.0], [35.0, 139.0001], [35.0001, 139.0001], [35.0001, 139.0]];
    let text = |points: &[([f64; 2], f64)]| {
        let closed = points.iter().chain(points.first());
        closed.map(|([lat, lon], height)| format!("{lat} {lon} {height} ")).collect::<String>()
    };
    let ground: Vec<_> = corners.iter().rev().map(|&corner| (corner, 0.0)).collect();
    let roof: Vec<_> = corners.iter().map(|&corner| (corner, 6.0)).collect();
    let mut rings = vec![text(&ground), text(&roof)];
    for idx in 0..4 {
        let (a, b) = (corners[idx], corners[(idx + 1) % 4]);
        rings.push(text(&[(a, 0.0), (b, 0.0), (b, 6.0), (a, 6.0)]));
    }
    let names = ["ground", "roof", "south", "east", "north", "west"];
    let id = |name: &str| if prefix.is_empty() { String::new() } else { format!("{prefix}-{name}") };
    names.iter().zip(rings).map(|(name, ring)| polygon(&id(name), &ring)).collect()
}

/// The box as surfaces with classes, at a level of detail.
pub(crate) fn bounded_box(prefix: &str, lod: u8) -> String {
    let faces = box_faces(prefix);
    let surface = |class: &str, faces: &[String]| {
        let surfaces = multi_surface(faces);
        format!(
            "<bldg:boundedBy><bldg:{class}><bldg:lod{lod}MultiSurface>{surfaces}</bldg:lod{lod}MultiSurface></bldg:{class}></bldg:boundedBy>"
        )
    };
    [surface("GroundSurface", &faces[..1]), surface("RoofSurface", &faces[1..2]), surface("WallSurface", &faces[2..])]
        .concat()
}

/// The ids of the faces of a box.
pub(crate) const BOX_IDS: [&str; 6] = ["f-ground", "f-roof", "f-south", "f-east", "f-north", "f-west"];
