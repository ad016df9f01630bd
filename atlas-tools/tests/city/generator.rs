//! A synthetic city in CityGML, of any size, written as a stream.
//!
//! Boxes on a grid of 20 m in EPSG:6697, each with a footprint, a solid of references and surfaces with classes, as
//! PLATEAU writes them; about 8 kB a building. The same size gives the same bytes.

use std::fmt::Write as _;
use std::io::{self, Write};

/// Degrees between two buildings.
const STEP_DEG: f64 = 0.0002;

/// Buildings in a row of the grid.
const ROW: u64 = 300;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) n_buildings: u64,
    pub(crate) n_bytes: u64,
}

/// Writes buildings until there are `n_bytes_min`, then the end of the document.
pub(crate) fn write_city(out: &mut impl Write, n_bytes_min: u64) -> io::Result<Written> {
    let mut written = Written { n_buildings: 0, n_bytes: 0 };
    let mut text = String::from(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<core:CityModel xmlns:core="http://www.opengis.net/citygml/2.0" xmlns:bldg="http://www.opengis.net/citygml/building/2.0" xmlns:gml="http://www.opengis.net/gml" xmlns:xlink="http://www.w3.org/1999/xlink">
<gml:boundedBy><gml:Envelope srsName="http://www.opengis.net/def/crs/EPSG/0/6697" srsDimension="3"><gml:lowerCorner>35.5 139.5 0</gml:lowerCorner><gml:upperCorner>36.0 139.56 60</gml:upperCorner></gml:Envelope></gml:boundedBy>
"#,
    );
    loop {
        out.write_all(text.as_bytes())?;
        written.n_bytes += text.len() as u64;
        if written.n_bytes >= n_bytes_min {
            break;
        }
        text.clear();
        write_building(&mut text, written.n_buildings);
        written.n_buildings += 1;
    }
    let end = b"</core:CityModel>\n";
    out.write_all(end)?;
    written.n_bytes += end.len() as u64;
    Ok(written)
}

fn write_building(text: &mut String, number: u64) {
    let [south, west] = [35.5 + (number / ROW) as f64 * STEP_DEG, 139.5 + (number % ROW) as f64 * STEP_DEG];
    let [north, east] = [south + 0.000_1, west + 0.000_1];
    let height_m = 6.0 + (number * 7 % 50) as f64;
    let corners = [[south, west], [south, east], [north, east], [north, west]];
    let ring = |points: &[([f64; 2], f64)]| {
        let mut text = String::new();
        for ([lat, lon], height) in points.iter().chain(points.first()) {
            let _ = write!(text, "{lat:.14} {lon:.14} {height:.14} ");
        }
        text
    };
    let ground: Vec<_> = corners.iter().rev().map(|&corner| (corner, 0.0)).collect();
    let roof: Vec<_> = corners.iter().map(|&corner| (corner, height_m)).collect();
    let mut faces = vec![ring(&ground), ring(&roof)];
    for idx in 0..4 {
        let (a, b) = (corners[idx], corners[(idx + 1) % 4]);
        faces.push(ring(&[(a, 0.0), (b, 0.0), (b, height_m), (a, height_m)]));
    }
    let polygon = |idx: usize| {
        format!(
            "<gml:surfaceMember><gml:Polygon gml:id=\"poly-{number}-{idx}\"><gml:exterior><gml:LinearRing gml:id=\"ring-{number}-{idx}\">\
             <gml:posList>{}</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></gml:surfaceMember>",
            faces[idx]
        )
    };
    let reference = |idx: usize| format!("<gml:surfaceMember xlink:href=\"#poly-{number}-{idx}\"/>");
    let references = [0, 1, 2, 3, 4, 5].map(reference).concat();
    let surface = |class: &str, idx: usize| {
        format!(
            "<bldg:boundedBy><bldg:{class} gml:id=\"surface-{number}-{idx}\"><bldg:lod2MultiSurface><gml:MultiSurface>{}</gml:MultiSurface>\
             </bldg:lod2MultiSurface></bldg:{class}></bldg:boundedBy>\n",
            polygon(idx)
        )
    };
    let _ = write!(
        text,
        "<core:cityObjectMember><bldg:Building gml:id=\"bldg-{number}\"><bldg:measuredHeight uom=\"m\">{height_m}</bldg:measuredHeight>\
         <bldg:lod0FootPrint><gml:MultiSurface><gml:surfaceMember><gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>{}</gml:posList>\
         </gml:LinearRing></gml:exterior></gml:Polygon></gml:surfaceMember></gml:MultiSurface></bldg:lod0FootPrint>\n\
         <bldg:lod2Solid><gml:Solid><gml:exterior><gml:CompositeSurface>{references}</gml:CompositeSurface></gml:exterior></gml:Solid></bldg:lod2Solid>\n",
        faces[0]
    );
    for (idx, class) in
        ["GroundSurface", "RoofSurface", "WallSurface", "WallSurface", "WallSurface", "WallSurface"].iter().enumerate()
    {
        text.push_str(&surface(class, idx));
    }
    text.push_str("</bldg:Building></core:cityObjectMember>\n");
}
