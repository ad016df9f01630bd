//! Colours and images of CityGML surfaces.

use std::collections::BTreeMap;

use atlas_tools::input::{Paint, Problem, ReadOptions, SurfaceKind, Texture};

use crate::cityml::{bounded_box, building, document, level, member, multi_surface, object, polygon, surface_member};
use crate::collect::{Collected, read, read_gml, read_gml_with, write_gml};

fn material(colour: &str, target: &str) -> String {
    format!(
        "<app:surfaceDataMember><app:X3DMaterial><app:diffuseColor>{colour}</app:diffuseColor>\
         <app:target>#{target}</app:target></app:X3DMaterial></app:surfaceDataMember>"
    )
}

fn appearance(element: &str, data: &str) -> String {
    format!("<app:{element}><app:Appearance><app:theme>t</app:theme>{data}</app:Appearance></app:{element}>")
}

fn two_faces() -> String {
    let faces: String =
        [polygon("p", &level(1.0)), polygon("q", &level(2.0))].iter().map(|face| surface_member(face)).collect();
    format!(
        "<bldg:lod2MultiSurface><gml:MultiSurface gml:id=\"both\">{faces}</gml:MultiSurface></bldg:lod2MultiSurface>"
    )
}

fn paints(collected: &Collected) -> Vec<Paint> {
    collected.model().surfaces.iter().map(|surface| surface.paint.clone()).collect()
}

#[test]
fn a_material_colours_its_target_and_all_within_it() {
    let red = material("1 0 0", "p");
    let check = |text: &str, expected: &[Paint]| assert_eq!(paints(&read_gml(text)), expected);
    let at_object = appearance("appearance", &red);
    check(&building(&format!("{at_object}{}", two_faces())), &[Paint::Colour([255, 0, 0]), Paint::Look]);
    check(&building(&format!("{}{at_object}", two_faces())), &[Paint::Colour([255, 0, 0]), Paint::Look]);
    let both = appearance("appearance", &format!("{red}{}", material("0 0.5 1", "both")));
    check(&building(&format!("{}{both}", two_faces())), &[Paint::Colour([255, 0, 0]), Paint::Colour([0, 128, 255])]);
    // The first theme counts.
    let themes = appearance("appearance", &format!("{red}{}", material("0 0 1", "p")));
    check(&building(&format!("{}{themes}", two_faces())), &[Paint::Colour([255, 0, 0]), Paint::Look]);
    // What is no colour is none.
    let none = appearance("appearance", &material("red", "p"));
    check(&building(&format!("{}{none}", two_faces())), &[Paint::Look]);
}

#[test]
fn appearances_before_and_after_the_objects_count() {
    let red = appearance("appearanceMember", &material("1 0 0", "both"));
    let one = member(&format!("<bldg:Building>{}</bldg:Building>", two_faces()));
    for text in [document(&format!("{red}{one}")), document(&format!("{one}{red}"))] {
        assert_eq!(paints(&read_gml(&text)), [Paint::Colour([255, 0, 0])]);
    }
}

fn texture(image: &str) -> String {
    format!(
        "<app:surfaceDataMember><app:ParameterizedTexture><app:imageURI>{image}</app:imageURI>\
         <app:target uri=\"#p\"><app:TexCoordList><app:textureCoordinates ring=\"#p-ring\">0 0 1 0 1 1 0 1 0 0</app:textureCoordinates>\
         </app:TexCoordList></app:target></app:ParameterizedTexture></app:surfaceDataMember>"
    )
}

/// Reads with an image file beside the city.
fn read_with_image(text: &str) -> Collected {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("images")).unwrap();
    std::fs::write(folder.path().join("images/a.png"), b"png").unwrap();
    let collected = read(&write_gml(folder.path(), text, ReadOptions::default())).unwrap();
    for texture in &collected.textures {
        assert_eq!(*texture, Texture::File(folder.path().join("images/a.png")));
    }
    collected
}

fn check_textured(collected: &Collected) {
    let textured = &collected.model().surfaces[0];
    let Paint::Texture { texture: 0, uvs, tint: [255, 255, 255] } = &textured.paint else { panic!("{textured:?}") };
    assert_eq!(uvs.len(), textured.triangles.len());
    let south = textured.triangles.iter().flatten().map(|place| place.z).fold(f64::NEG_INFINITY, f64::max);
    let west = textured.triangles.iter().flatten().map(|place| place.x).fold(f64::INFINITY, f64::min);
    for (triangle, uvs) in textured.triangles.iter().zip(uvs) {
        for (place, [u, v]) in triangle.iter().zip(uvs) {
            // The image's lower edge lies in the south, its left in the west, and v goes down.
            assert_eq!(*v, if place.z == south { 1.0 } else { 0.0 });
            assert_eq!(*u, if place.x == west { 0.0 } else { 1.0 });
        }
    }
    assert_eq!(collected.model().surfaces[1].paint, Paint::Look);
    assert_eq!(collected.textures.len(), 1);
    assert!(collected.problems.is_empty(), "{:?}", collected.problems);
}

#[test]
fn an_image_lies_on_its_ring() {
    for image in ["images/a.png", "images\\a.png"] {
        let at_object = appearance("appearance", &texture(image));
        check_textured(&read_with_image(&building(&format!("{}{at_object}", two_faces()))));
    }
    let at_end = appearance("appearanceMember", &texture("images/a.png"));
    let one = member(&format!("<bldg:Building>{}</bldg:Building>", two_faces()));
    check_textured(&read_with_image(&document(&format!("{one}{at_end}"))));
}

#[test]
fn an_image_of_city_gml_3() {
    let data = "<app:surfaceData><app:ParameterizedTexture><app:imageURI>images/a.png</app:imageURI><app:textureParameterization>\
        <app:TextureAssociation><app:target>#p</app:target><app:textureParameterization><app:TexCoordList>\
        <app:textureCoordinates>0 0 1 0 1 1 0 1 0 0</app:textureCoordinates><app:ring>#p-ring</app:ring></app:TexCoordList>\
        </app:textureParameterization></app:TextureAssociation></app:textureParameterization></app:ParameterizedTexture></app:surfaceData>";
    check_textured(&read_with_image(&building(&format!("{}{}", two_faces(), appearance("appearance", data)))));
}

#[test]
fn an_image_that_is_missing_or_does_not_fit_is_told() {
    let check = |data: &str| {
        let collected = read_with_image(&building(&format!("{}{}", two_faces(), appearance("appearance", data))));
        assert_eq!(collected.kinds_of_problems(), [Problem::BadTexture], "{data}");
        assert_eq!(paints(&collected), [Paint::Look], "{data}");
    };
    check(&texture("images/missing.png"));
    check(&texture("http://example.com/a.png"));
    check(&texture("images"));
    check(&texture("images/a.png").replace("0 0 1 0 1 1 0 1 0 0", "0 0 1 0"));
    check(&texture("images/a.png").replace("0 0 1 0 1 1 0 1 0 0", "0 0 1 x"));
}

#[test]
fn plants_are_green_and_attributes_may_decide() {
    let surfaces = multi_surface(&[polygon("p", &level(4.0))]);
    let tree = |more: &str| {
        object(&format!(
            "<veg:SolitaryVegetationObject>{more}<veg:species>oak</veg:species><veg:lod1Geometry>{surfaces}</veg:lod1Geometry>\
             </veg:SolitaryVegetationObject>"
        ))
    };
    let Paint::Colour([red, green, blue]) = paints(&read_gml(&tree("")))[0] else { panic!() };
    assert!(green > red && green > blue);
    let dyed = tree(&appearance("appearance", &material("1 0 0", "p")));
    assert_eq!(paints(&read_gml(&dyed)), [Paint::Colour([255, 0, 0])]);
    let colours = BTreeMap::from([("oak".to_owned(), [1, 2, 3]), ("*".to_owned(), [4, 5, 6])]);
    let options = ReadOptions { colour_by: Some(("species".to_owned(), colours)), ..ReadOptions::default() };
    assert_eq!(paints(&read_gml_with(&dyed, options.clone())), [Paint::Colour([1, 2, 3])]);
    let other = dyed.replace("oak", "elm");
    assert_eq!(paints(&read_gml_with(&other, options)), [Paint::Colour([4, 5, 6])]);
}

#[test]
fn surfaces_of_one_look_are_one() {
    let collected = read_gml(&building(&bounded_box("f", 2)));
    let kinds: Vec<SurfaceKind> = collected.model().surfaces.iter().map(|surface| surface.kind).collect();
    assert_eq!(kinds, [SurfaceKind::Ground, SurfaceKind::Roof, SurfaceKind::Wall]);
}
