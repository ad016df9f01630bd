//! The parts of a CityJSON document, as they are written.
//!
//! Owns the shape of the notation, versions 1.0 to 2.0. Receives JSON, yields structures; what is of another type than
//! the standard says is left out. It places and chooses nothing.

use serde::Deserialize;
use serde_json::Value;
use voxatlas::voxel::Colour;

use super::loose::{Entries, Lenient, List, Nested, Numbers};
use crate::input::SurfaceKind;
use crate::input::city::class::surface_kind;
use crate::input::city::lod::Lod;

/// A city object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    #[serde(rename = "type")]
    class: Value,
    /// In the order of the file.
    pub attributes: Entries<Value>,
    pub geometry: List<Lenient<Geometry>>,
    parents: Value,
    children: Value,
}

impl Object {
    /// Its class, empty where it has none.
    pub(super) fn class(&self) -> &str {
        self.class.as_str().unwrap_or_default()
    }

    /// The first object that it is a part of.
    pub(super) fn parent(&self) -> Option<&str> {
        self.parents.as_array()?.first()?.as_str()
    }

    /// Whether it has parts.
    pub(super) fn has_children(&self) -> bool {
        self.children.as_array().is_some_and(|children| !children.is_empty())
    }
}

/// A geometry of an object, or a template.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Geometry {
    #[serde(rename = "type")]
    kind: Value,
    lod: Value,
    pub boundaries: Nested,
    semantics: Lenient<Semantics>,
    pub material: Entries<Lenient<Theme>>,
    pub texture: Entries<Lenient<Theme>>,
    template: Value,
    #[serde(rename = "transformationMatrix")]
    matrix: Value,
}

/// What the surfaces of a geometry are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Semantics {
    surfaces: List<Value>,
    pub values: Nested,
}

/// A theme of materials or textures.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Theme {
    pub values: Nested,
    value: Value,
}

/// How the faces of a geometry are nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Faces at so many arrays within the outermost.
    Surfaces { depth: u32 },
    /// A template.
    Instance,
    /// No surfaces.
    Other,
}

impl Geometry {
    /// What kind it is of.
    pub(super) fn kind(&self) -> Kind {
        match self.kind.as_str() {
            Some("MultiSurface" | "CompositeSurface") => Kind::Surfaces { depth: 0 },
            Some("Solid") => Kind::Surfaces { depth: 1 },
            Some("MultiSolid" | "CompositeSolid") => Kind::Surfaces { depth: 2 },
            Some("GeometryInstance") => Kind::Instance,
            _ => Kind::Other,
        }
    }

    /// What its surfaces are.
    pub(super) fn semantics(&self) -> &Semantics {
        &self.semantics.0
    }

    /// Its level of detail: text, or a number in version 1.0.
    pub(super) fn lod(&self) -> Option<Lod> {
        match &self.lod {
            Value::String(text) => Lod::parse(text),
            Value::Number(number) => Lod::parse(&number.to_string()),
            _ => None,
        }
    }

    /// The template that it is a copy of.
    pub(super) fn template(&self) -> Option<usize> {
        self.template.as_u64().and_then(|template| usize::try_from(template).ok())
    }

    /// Where its copy stands, row by row; `None` where there is no matrix of sixteen numbers.
    pub(super) fn matrix(&self) -> Option<[f64; 16]> {
        let numbers: Vec<f64> = self.matrix.as_array()?.iter().filter_map(Value::as_f64).collect();
        numbers.try_into().ok()
    }
}

impl Semantics {
    /// The class of a surface and its attributes.
    pub(super) fn surface(&self, idx: u32) -> Option<(&str, &Value)> {
        let surface = self.surfaces.0.get(idx as usize)?;
        Some((surface.get("type")?.as_str()?, surface))
    }

    /// The kind of a surface.
    pub(super) fn kind(&self, idx: u32) -> Option<SurfaceKind> {
        self.surface(idx).and_then(|(class, _)| surface_kind(class))
    }
}

impl Theme {
    /// One number for all faces.
    pub(super) fn value(&self) -> Option<u32> {
        self.value.as_u64().and_then(|value| u32::try_from(value).ok())
    }
}

/// The theme that counts: the default, or else the first.
pub(super) fn theme<'a>(themes: &'a Entries<Lenient<Theme>>, default: Option<&str>) -> Option<&'a Theme> {
    let of_default = themes.0.iter().find(|(name, _)| Some(name.as_str()) == default);
    of_default.or(themes.0.first()).map(|(_, Lenient(theme))| theme)
}

/// From whole numbers to coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Transform {
    scale: Numbers<3>,
    translate: Numbers<3>,
}

impl Default for Transform {
    fn default() -> Self {
        Self { scale: Numbers([1.0; 3]), translate: Numbers([0.0; 3]) }
    }
}

impl Transform {
    /// The coordinates of a vertex.
    pub(super) fn apply(&self, Numbers(vertex): Numbers<3>) -> [f64; 3] {
        std::array::from_fn(|axis| vertex[axis] * self.scale.0[axis] + self.translate.0[axis])
    }
}

/// What is said of the whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    #[serde(rename = "referenceSystem")]
    reference_system: Value,
    #[serde(rename = "geographicalExtent")]
    extent: Value,
}

impl Metadata {
    /// The CRS.
    pub(super) fn crs(&self) -> Option<&str> {
        self.reference_system.as_str()
    }

    /// The box round it in its CRS, least and greatest x, then y; `None` where it is a point, as in files whose writer did
    /// not know it.
    pub(super) fn extent(&self) -> Option<[f64; 4]> {
        let numbers: Vec<f64> = self.extent.as_array()?.iter().filter_map(Value::as_f64).collect();
        let [x_min, y_min, _, x_max, y_max, _]: [f64; 6] = numbers.try_into().ok()?;
        ([x_min, y_min] != [x_max, y_max]).then_some([x_min, y_min, x_max, y_max])
    }
}

/// Materials and textures.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Appearance {
    materials: List<Value>,
    textures: List<Value>,
    #[serde(rename = "vertices-texture")]
    uvs: List<Numbers<2>>,
    #[serde(rename = "default-theme-texture")]
    default_texture: Value,
    #[serde(rename = "default-theme-material")]
    default_material: Value,
}

impl Appearance {
    /// The colour of a material.
    pub(super) fn colour(&self, material: u32) -> Option<Colour> {
        let parts = self.materials.0.get(material as usize)?.get("diffuseColor")?.as_array()?;
        let part = |idx: usize| Some((parts.get(idx)?.as_f64()?.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
        Some([part(0)?, part(1)?, part(2)?])
    }

    /// The name of an image.
    pub(super) fn image(&self, texture: u32) -> Option<&str> {
        self.textures.0.get(texture as usize)?.get("image")?.as_str()
    }

    /// A place in an image: u to the right, v downwards.
    pub(super) fn uv(&self, idx: u32) -> Option<[f32; 2]> {
        let Numbers([u, v]) = *self.uvs.0.get(idx as usize)?;
        (u.is_finite() && v.is_finite()).then_some([u as f32, (1.0 - v) as f32])
    }

    /// The theme of textures that counts where there are several.
    pub(super) fn default_texture(&self) -> Option<&str> {
        self.default_texture.as_str()
    }

    /// The theme of materials that counts where there are several.
    pub(super) fn default_material(&self) -> Option<&str> {
        self.default_material.as_str()
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.materials.0.is_empty() && self.textures.0.is_empty()
    }
}

/// Geometries that are copied to where they stand.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Templates {
    pub templates: List<Lenient<Geometry>>,
    #[serde(rename = "vertices-templates")]
    pub vertices: List<Numbers<3>>,
}
