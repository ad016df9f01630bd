//! The instanced quad: 12 bytes, shared with the shaders (`shaders/shared/quad.wgsl`).
//!
//! ```text
//!            31      24 23      16 15       8 7        0
//! place     | - | face |    z     |    y     |    x     |   the quad's lowest voxel; face in bits 24..27
//! extent    |U|            -      |   h - 1  |   w - 1  |   in voxels, 1..=256 each; U (bit 31): one colour
//! colour    |       U: the colour's entry, else the index of its first face colour     |
//!
//! face  0 -x  1 +x  2 -y  3 +y  4 -z  5 +z
//! axes  w along the first, h along the second of the two axes that are not the normal:
//!       x faces (y, z), y faces (x, z), z faces (x, y)
//! cell  (i, j), 0 <= i < w, 0 <= j < h, has face colour index `colour + j * w + i`
//! ```

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::limits::REGION_VOXELS;
use crate::voxel::Colour;

/// One of a voxel's six faces, by its outward normal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Face {
    /// West.
    NegX = 0,
    /// East.
    PosX = 1,
    /// Down.
    NegY = 2,
    /// Up.
    PosY = 3,
    /// North.
    NegZ = 4,
    /// South.
    PosZ = 5,
}

impl Face {
    /// All six, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::NegX, Self::PosX, Self::NegY, Self::PosY, Self::NegZ, Self::PosZ];

    /// The axis of the normal: 0 x, 1 y, 2 z.
    pub fn axis(self) -> usize {
        self as usize / 2
    }

    /// Whether the normal points along the positive axis.
    pub fn is_positive(self) -> bool {
        self as u8 % 2 == 1
    }

    /// The axes along which a quad's width and height run.
    pub fn extent_axes(self) -> (usize, usize) {
        [(1, 2), (0, 2), (0, 1)][self.axis()]
    }
}

/// A rectangle of exposed voxel faces in one plane: what the vertex shader expands to two triangles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Quad {
    place: u32,
    extent: u32,
    colour: u32,
}

impl Quad {
    /// Bit 31 of `extent`: every face of the quad has the same colour.
    const UNIFORM: u32 = 1 << 31;

    /// A quad from its lowest voxel, its face and its size in voxels (1..=256), with no colour yet.
    pub fn new([x, y, z]: [u32; 3], face: Face, w: u32, h: u32) -> Self {
        debug_assert!(x < 256 && y < 256 && z < 256);
        debug_assert!((1..=256).contains(&w) && (1..=256).contains(&h));
        Self { place: x | y << 8 | z << 16 | (face as u32) << 24, extent: (w - 1) | (h - 1) << 8, colour: 0 }
    }

    /// The voxel with the lowest coordinates.
    pub fn min(self) -> [u32; 3] {
        [self.place & 0xFF, self.place >> 8 & 0xFF, self.place >> 16 & 0xFF]
    }

    /// The face.
    pub fn face(self) -> Face {
        Face::ALL[(self.place >> 24 & 7) as usize]
    }

    /// Width along the face's first extent axis, in voxels.
    pub fn width(self) -> u32 {
        (self.extent & 0xFF) + 1
    }

    /// Height along the face's second extent axis, in voxels.
    pub fn height(self) -> u32 {
        (self.extent >> 8 & 0xFF) + 1
    }

    /// The voxel of cell (i, j).
    pub fn voxel(self, i: u32, j: u32) -> [u32; 3] {
        let mut voxel = self.min();
        let (along_w, along_h) = self.face().extent_axes();
        voxel[along_w] += i;
        voxel[along_h] += j;
        voxel
    }

    /// The one entry of all its faces, where they share it.
    pub fn uniform_entry(self) -> Option<u32> {
        (self.extent & Self::UNIFORM != 0).then_some(self.colour)
    }

    /// The index of its first face colour, where they differ.
    pub fn first_face_colour(self) -> Option<u32> {
        (self.extent & Self::UNIFORM == 0).then_some(self.colour)
    }

    /// Gives all its faces one entry.
    pub fn set_uniform(&mut self, entry: u32) {
        self.extent |= Self::UNIFORM;
        self.colour = entry;
    }

    /// Points it at its run of face colours.
    pub fn set_first_face_colour(&mut self, idx: u32) {
        self.extent &= !Self::UNIFORM;
        self.colour = idx;
    }
}

/// The colours of the faces of the quads that are not of one colour, in the order of the quads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaceColours {
    /// One byte a face, an index into the palette.
    Indexed {
        /// At most 256 colours.
        palette: Vec<Colour>,
        /// An index a face.
        entries: Vec<u8>,
    },
    /// Four bytes a face: 0x00BBGGRR.
    Direct {
        /// A colour a face.
        entries: Vec<u32>,
    },
}

impl FaceColours {
    /// Faces that have a colour of their own.
    pub fn len(&self) -> usize {
        match self {
            Self::Indexed { entries, .. } => entries.len(),
            Self::Direct { entries } => entries.len(),
        }
    }

    /// Whether no face has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the entries.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Indexed { entries, .. } => entries.len(),
            Self::Direct { entries } => entries.len() * size_of::<u32>(),
        }
    }

    /// The colour that an entry stands for.
    pub fn colour(&self, entry: u32) -> Colour {
        match self {
            Self::Indexed { palette, .. } => palette.get(entry as usize).copied().unwrap_or_default(),
            Self::Direct { .. } => {
                let [r, g, b, _] = entry.to_le_bytes();
                [r, g, b]
            }
        }
    }

    /// The colour of cell (i, j) of a quad.
    ///
    /// # Panics
    ///
    /// The quad does not belong to these colours.
    pub fn of_cell(&self, quad: Quad, i: u32, j: u32) -> Colour {
        let Some(first) = quad.first_face_colour() else {
            return self.colour(quad.colour);
        };
        let idx = (first + j * quad.width() + i) as usize;
        self.colour(match self {
            Self::Indexed { entries, .. } => u32::from(entries[idx]),
            Self::Direct { entries } => entries[idx],
        })
    }
}

/// What is drawn of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionMesh {
    /// The exposed faces, each covered once.
    pub quads: Vec<Quad>,
    /// Their colours.
    pub face_colours: FaceColours,
    /// Which of the quads look where, and belong to which octant.
    pub ends: QuadEnds,
}

impl RegionMesh {
    /// A mesh of quads that stand in their order: face by face, and octant by octant within each face where the octants
    /// are surfaces of their own. A quad belongs to the octant of its lowest voxel.
    ///
    /// # Panics
    ///
    /// They do not.
    pub fn new(quads: Vec<Quad>, face_colours: FaceColours, has_octants: bool) -> Self {
        let group = |quad: &Quad| {
            let [x, y, z] = Quad::min(*quad).map(|c| usize::from(c >= REGION_VOXELS / 2));
            (quad.face() as usize, if has_octants { x | y << 1 | z << 2 } else { 0 })
        };
        assert!(quads.is_sorted_by_key(group), "quads stand face by face, and octant by octant");
        let mut ends = QuadEnds { ends: [[0; 8]; 6], has_octants };
        for face in 0..6 {
            for octant in 0..8 {
                ends.ends[face][octant] = quads.partition_point(|quad| group(quad) <= (face, octant)) as u32;
            }
        }
        Self { quads, face_colours, ends }
    }

    /// Bytes that the mesh takes on the GPU, a palette's 1 KiB included.
    pub fn gpu_bytes(&self) -> usize {
        let palette_bytes = match self.face_colours {
            FaceColours::Indexed { .. } => 1024,
            FaceColours::Direct { .. } => 0,
        };
        size_of_val(self.quads.as_slice()) + self.face_colours.size_bytes().next_multiple_of(4) + palette_bytes
    }
}

/// Where the quads of a mesh end that look one way and belong to one octant: the faces one after the other, in each the
/// octants in the order of [`RegionKey::octant`](crate::geo::RegionKey::octant).
///
/// So what looks away from the eye is left out in few runs, and so is what finer regions stand in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuadEnds {
    /// By face and octant.
    ends: [[u32; 8]; 6],
    has_octants: bool,
}

impl QuadEnds {
    /// Every octant.
    pub const ALL_OCTANTS: u8 = 0xFF;
    /// Every face: bit n is the face of that number.
    pub const ALL_FACES: u8 = 0x3F;

    /// One surface, which is drawn whole or not at all: where the quads of each face end.
    pub(super) fn of_surface(ends: [u32; 6]) -> Self {
        Self { ends: ends.map(|end| [end; 8]), has_octants: false }
    }

    /// Octants that are surfaces of their own.
    pub(super) fn of_octants(ends: [[u32; 8]; 6]) -> Self {
        Self { ends, has_octants: true }
    }

    /// Whether the octants are surfaces of their own. Otherwise all quads are octant 0's.
    pub fn has_octants(&self) -> bool {
        self.has_octants
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.ends[5][7] == 0
    }

    /// All quads of a face.
    pub fn of_face(&self, face: Face) -> Range<u32> {
        self.run(face as usize, 0).start..self.ends[face as usize][7]
    }

    /// The quads of the faces and octants whose bits are set, in as few runs as there can be, ascending; of one surface
    /// all octants, where any bit is.
    ///
    /// ```
    /// use voxatlas::mesh::{Face, FaceColours, Quad, QuadEnds, RegionMesh};
    ///
    /// let quad = |x, face| Quad::new([x, 0, 0], face, 1, 1);
    /// let quads = vec![quad(0, Face::NegX), quad(200, Face::NegX), quad(0, Face::PosY), quad(200, Face::PosY)];
    /// let mesh = RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, true);
    /// let runs = |faces, octants| mesh.ends.runs(faces, octants).collect::<Vec<_>>();
    /// assert_eq!(runs(QuadEnds::ALL_FACES, QuadEnds::ALL_OCTANTS), [0..4]);
    /// assert_eq!(runs(QuadEnds::ALL_FACES, 0b10), [1..2, 3..4]);
    /// assert_eq!(runs(1 << Face::PosY as u8, 0b11), [2..4]);
    /// ```
    pub fn runs(self, faces: u8, octants: u8) -> impl Iterator<Item = Range<u32>> {
        let octants = if self.has_octants { octants } else { u8::from(octants != 0) };
        let groups = (0..6).filter(move |face| faces >> face & 1 == 1);
        let groups = groups.flat_map(|face| (0..8).map(move |octant| (face, octant)));
        let wanted = groups.filter(move |(_, octant)| octants >> octant & 1 == 1);
        let mut runs =
            wanted.map(move |(face, octant)| self.run(face, octant)).filter(|run| !run.is_empty()).peekable();
        std::iter::from_fn(move || {
            let mut run = runs.next()?;
            while let Some(next) = runs.next_if(|next| next.start == run.end) {
                run.end = next.end;
            }
            Some(run)
        })
    }

    /// The quads of one face in one octant.
    fn run(&self, face: usize, octant: usize) -> Range<u32> {
        let start = match (face, octant) {
            (0, 0) => 0,
            (_, 0) => self.ends[face - 1][7],
            _ => self.ends[face][octant - 1],
        };
        start..self.ends[face][octant]
    }
}
