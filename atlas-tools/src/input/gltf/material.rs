//! What the materials of a glTF file look like as voxels: a base colour, an image, or both.
//!
//! Owns [`Materials`], which hands the file's images to the sink when a surface first needs them. Colours in the file are
//! shares of light, ours are sRGB. Metal, roughness, glow and glass are not looked at. The holes of an image are holes even
//! where a material calls itself opaque: exporters that know no alpha modes leave leaves and rotors so.

use std::collections::BTreeMap;
use std::path::Path;

use ::gltf::Material;
use ::gltf::material::AlphaMode;
use ::gltf::texture::{Info, TextureTransform, WrappingMode};
use voxatlas::voxel::Colour;

use super::container::{Loaded, Uri};
use super::values::Values;
use crate::input::{Paint, Problem, Sink, Texture};

/// The last place before an image is repeated.
const LAST: f32 = 1.0 - f32::EPSILON;

/// What the points of a mesh say of their colours.
pub(super) struct MeshColours<'a> {
    /// A colour for each point.
    pub(super) colours: Option<Values<'a>>,
    /// By the number of a set: a place in an image for each point.
    pub(super) uvs: &'a dyn Fn(u32) -> Option<Values<'a>>,
}

/// The materials of a file, as one reading of it meets them.
pub(super) struct Materials<'a> {
    loaded: &'a Loaded<'a>,
    folder: &'a Path,
    /// By the number of an image in the file: its number in the sink, `None` where it cannot be used.
    textures: BTreeMap<usize, Option<u32>>,
}

impl<'a> Materials<'a> {
    pub(super) fn new(loaded: &'a Loaded<'a>, folder: &'a Path) -> Self {
        Self { loaded, folder, textures: BTreeMap::new() }
    }

    /// The paint of a surface whose triangles have these points; `None` where nothing is said of it.
    pub(super) fn paint(
        &mut self,
        material: &Material<'_>,
        mesh: &MeshColours<'_>,
        triangles: &[[u32; 3]],
        name: &str,
        sink: &mut dyn Sink,
    ) -> Option<Paint> {
        let (factor, image) = base(material);
        let colours = mesh.colours.as_ref().filter(|values| values.n_components() >= 3);
        if let Some(image) = image
            && let Some(texture) = self.texture(&image, name, sink)
        {
            let placing = Placing::of(&image);
            if let Some(uvs) = (mesh.uvs)(placing.set) {
                let uv = |point: u32| placing.place(uvs.get(point as usize).unwrap_or_default());
                let uvs = triangles.iter().map(|triangle| triangle.map(uv)).collect();
                // The colours of the points tint the image by their mean: an image has detail enough.
                let tint = srgb(product(factor, mean(colours, triangles)));
                return Some(Paint::Texture { texture, uvs, tint });
            }
            sink.problem(name, Problem::BadTexture);
        }
        if let Some(colours) = colours {
            let colour = |point: u32| srgb(product(factor, rgb(colours.get(point as usize).unwrap_or([1.0; 4]))));
            return Some(Paint::Corners(triangles.iter().map(|triangle| triangle.map(colour)).collect()));
        }
        material.index().map(|_| Paint::Colour(srgb(factor)))
    }

    /// The number of an image in the sink.
    fn texture(&mut self, info: &Info<'_>, name: &str, sink: &mut dyn Sink) -> Option<u32> {
        let image = info.texture().source().index();
        if let Some(&known) = self.textures.get(&image) {
            return known;
        }
        let found = self.image(image);
        let number = found.map(|texture| sink.texture(texture));
        if number.is_none() {
            sink.problem(name, Problem::BadTexture);
        }
        self.textures.insert(image, number);
        number
    }

    fn image(&self, image: usize) -> Option<Texture> {
        let root = self.loaded.document.as_json();
        let image = root.images.get(image)?;
        if let Some(uri) = &image.uri {
            return Some(match Uri::parse(uri, self.folder).ok()? {
                Uri::Data(bytes) => Texture::Bytes(bytes),
                Uri::File(path) => Texture::File(path),
            });
        }
        let view = root.buffer_views.get(image.buffer_view?.value())?;
        let buffer = self.loaded.buffers.get(view.buffer.value())?;
        let from = view.byte_offset.map_or(0, |offset| offset.0) as usize;
        let to = from.checked_add(view.byte_length.0 as usize)?;
        Some(Texture::Bytes(buffer.get(from..to)?.into()))
    }
}

/// The base colour of a material, and its image.
fn base<'a>(material: &Material<'a>) -> ([f32; 3], Option<Info<'a>>) {
    if let Some(older) = material.pbr_specular_glossiness() {
        return (rgb(older.diffuse_factor()), older.diffuse_texture());
    }
    let base = material.pbr_metallic_roughness();
    (rgb(base.base_color_factor()), base.base_color_texture())
}

/// Where in an image the places of a mesh lie.
struct Placing {
    set: u32,
    offset: [f32; 2],
    cos: f32,
    sin: f32,
    scale: [f32; 2],
    /// Whether the image ends at its edges instead of being repeated, to the right and downwards.
    ends: [bool; 2],
}

impl Placing {
    fn of(info: &Info<'_>) -> Self {
        let transform = info.texture_transform();
        let sampler = info.texture().sampler();
        let rotation_rad = transform.as_ref().map_or(0.0, |transform| f64::from(transform.rotation()));
        Self {
            set: transform.as_ref().and_then(TextureTransform::tex_coord).unwrap_or_else(|| info.tex_coord()),
            offset: transform.as_ref().map_or([0.0; 2], TextureTransform::offset),
            cos: libm::cos(rotation_rad) as f32,
            sin: libm::sin(rotation_rad) as f32,
            scale: transform.as_ref().map_or([1.0; 2], TextureTransform::scale),
            ends: [sampler.wrap_s(), sampler.wrap_t()].map(|wrap| wrap == WrappingMode::ClampToEdge),
        }
    }

    /// KHR_texture_transform: scaled, turned anticlockwise as the image is seen, moved.
    fn place(&self, [u, v, ..]: [f32; 4]) -> [f32; 2] {
        let [u, v] = [u * self.scale[0], v * self.scale[1]];
        let turned = [self.cos * u + self.sin * v, self.cos * v - self.sin * u];
        [0, 1].map(|axis| {
            let place = turned[axis] + self.offset[axis];
            // Corners outside are drawn to the edge: close enough, since exporters write this for images without a seam.
            if self.ends[axis] { place.clamp(0.0, LAST) } else { place }
        })
    }
}

fn rgb([r, g, b, _]: [f32; 4]) -> [f32; 3] {
    [r, g, b]
}

fn product(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|channel| a[channel] * b[channel])
}

/// The mean colour of the corners, white where there are none.
fn mean(colours: Option<&Values<'_>>, triangles: &[[u32; 3]]) -> [f32; 3] {
    let Some(colours) = colours.filter(|_| !triangles.is_empty()) else { return [1.0; 3] };
    let mut sum = [0.0f64; 3];
    for &point in triangles.as_flattened() {
        let colour = colours.get(point as usize).unwrap_or([1.0; 4]);
        for channel in 0..3 {
            sum[channel] += f64::from(colour[channel]);
        }
    }
    sum.map(|channel| (channel / (3 * triangles.len()) as f64) as f32)
}

/// Shares of light as sRGB.
fn srgb(linear: [f32; 3]) -> Colour {
    linear.map(|share| {
        let share = f64::from(share).clamp(0.0, 1.0);
        let encoded = if share <= 0.003_130_8 { share * 12.92 } else { 1.055 * libm::pow(share, 1.0 / 2.4) - 0.055 };
        libm::round(encoded * 255.0) as u8
    })
}

/// Whether a material is cut out everywhere.
pub(super) fn is_invisible(material: &Material<'_>) -> bool {
    let alpha = match material.pbr_specular_glossiness() {
        Some(older) => older.diffuse_factor()[3],
        None => material.pbr_metallic_roughness().base_color_factor()[3],
    };
    match material.alpha_mode() {
        AlphaMode::Opaque => false,
        AlphaMode::Mask => alpha < material.alpha_cutoff().unwrap_or(0.5),
        // Glass is seen, what is not there at all is not.
        AlphaMode::Blend => alpha <= 0.0,
    }
}
