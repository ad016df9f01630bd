//! Colours and images of surfaces: `X3DMaterial` and `ParameterizedTexture`.
//!
//! Owns what an appearance says of which geometry, in little more room than the numbers take: a file may hold its
//! appearances after all its objects, and then they are all kept. Ids are kept as hashes of 64 bits. Of several themes
//! the first that names a geometry counts. It opens no image.

use std::hash::Hasher as _;
use std::io::BufRead;

use rustc_hash::{FxHashMap, FxHasher};
use voxatlas::voxel::Colour;

use super::xml::{Token, Xml};
use crate::input::InputError;

/// A `gml:id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GmlId(u64);

impl GmlId {
    /// From the value of `gml:id`.
    pub(super) fn of(id: &str) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(id.trim().as_bytes());
        Self(hasher.finish())
    }

    /// From a reference: what stands behind its number sign.
    pub(super) fn of_reference(href: &str) -> Self {
        Self::of(href.rsplit_once('#').map_or(href, |(_, id)| id))
    }
}

/// What is known of the looks of geometries.
#[derive(Debug, Default)]
pub(super) struct Appearances {
    /// The references to images, as the file writes them.
    images: Vec<String>,
    colours: FxHashMap<GmlId, Colour>,
    rings: FxHashMap<GmlId, RingImage>,
    uvs: Vec<[f32; 2]>,
}

/// The image of a ring.
#[derive(Debug, Clone, Copy)]
struct RingImage {
    image: u32,
    uvs_start: u32,
    n_uvs: u32,
}

impl Appearances {
    /// The colour of a geometry.
    pub(super) fn colour(&self, id: GmlId) -> Option<Colour> {
        self.colours.get(&id).copied()
    }

    /// The image of a ring, and the place in it of each of the ring's points: u to the right, v downwards.
    pub(super) fn image(&self, ring: GmlId) -> Option<(&str, &[[f32; 2]])> {
        let found = self.rings.get(&ring)?;
        let image = self.images.get(found.image as usize)?;
        let uvs = self.uvs.get(found.uvs_start as usize..)?.get(..found.n_uvs as usize)?;
        (!image.is_empty()).then_some((image, uvs))
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.images.clear();
        self.colours.clear();
        self.rings.clear();
        self.uvs.clear();
    }

    /// Reads the rest of an element that holds appearances.
    ///
    /// # Errors
    ///
    /// The document is malformed.
    pub(super) fn read<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), InputError> {
        loop {
            match xml.next()? {
                Token::Start => match xml.name() {
                    "X3DMaterial" => self.read_material(xml)?,
                    "ParameterizedTexture" => self.read_texture(xml)?,
                    // An image that is laid over the terrain has no place here: see `--ortho`.
                    "GeoreferencedTexture" => xml.skip()?,
                    _ => self.read(xml)?,
                },
                Token::Text => xml.clear_text(),
                Token::End | Token::Eof => return Ok(()),
            }
        }
    }

    fn read_material<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), InputError> {
        let (mut colour, mut is_front, mut targets) = (None, true, Vec::new());
        loop {
            match xml.next()? {
                Token::Start => match xml.name() {
                    "diffuseColor" => colour = colour_of(xml.text()?),
                    "isFront" => is_front = !matches!(xml.text()?, "false" | "0"),
                    "target" => {
                        let of_attribute = xml.attribute("uri").or(xml.attribute("href")).map(GmlId::of_reference);
                        let text = xml.text()?;
                        targets.push(of_attribute.unwrap_or_else(|| GmlId::of_reference(text)));
                    }
                    _ => xml.skip()?,
                },
                Token::Text => xml.clear_text(),
                Token::End | Token::Eof => break,
            }
        }
        if let (Some(colour), true) = (colour, is_front) {
            for target in targets {
                self.colours.entry(target).or_insert(colour);
            }
        }
        Ok(())
    }

    fn read_texture<R: BufRead>(&mut self, xml: &mut Xml<R>) -> Result<(), InputError> {
        let image = self.images.len();
        self.images.push(String::new());
        let mut is_front = true;
        let mut pairs = Pairs::default();
        let mut depth = 1usize;
        while depth > 0 {
            match xml.next()? {
                Token::Start => match xml.name() {
                    "imageURI" => xml.text()?.clone_into(&mut self.images[image]),
                    "isFront" => is_front = !matches!(xml.text()?, "false" | "0"),
                    "textureCoordinates" => {
                        pairs.rings.extend(xml.attribute("ring").map(GmlId::of_reference));
                        pairs.lists.push(self.read_uvs(xml.text()?));
                    }
                    "ring" => pairs.rings.push(GmlId::of_reference(xml.text()?)),
                    _ => depth += 1,
                },
                Token::Text => xml.clear_text(),
                Token::End => depth -= 1,
                Token::Eof => break,
            }
        }
        // A back side is never seen in a voxel.
        if is_front {
            for (ring, (uvs_start, n_uvs)) in pairs.rings.into_iter().zip(pairs.lists) {
                self.rings.entry(ring).or_insert(RingImage { image: image as u32, uvs_start, n_uvs });
            }
        }
        Ok(())
    }

    /// Keeps a list of coordinates; its start and length. One that is no list of pairs of numbers is empty.
    fn read_uvs(&mut self, text: &str) -> (u32, u32) {
        let start = self.uvs.len();
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<f32>);
        loop {
            match (numbers.next(), numbers.next()) {
                (Some(Ok(s)), Some(Ok(t))) => self.uvs.push([s, 1.0 - t]),
                (None, None) => break,
                _ => {
                    self.uvs.truncate(start);
                    break;
                }
            }
        }
        (start as u32, (self.uvs.len() - start) as u32)
    }
}

/// Rings and their coordinates: CityGML 2 writes them together, CityGML 3 as two lists of one order.
#[derive(Default)]
struct Pairs {
    rings: Vec<GmlId>,
    lists: Vec<(u32, u32)>,
}

/// Three numbers from 0 to 1.
fn colour_of(text: &str) -> Option<Colour> {
    let mut parts = text.split_ascii_whitespace().map(|part| part.parse::<f64>().ok().filter(|part| part.is_finite()));
    let mut part = || Some((parts.next()??.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
    Some([part()?, part()?, part()?])
}
