//! The ways from a file's bytes to occupancy and mesh that the pipeline bench compares.
//!
//! Each has a worker that keeps its buffers from file to file, as a loader's thread would, and every peer is given its
//! best: palette indices stay indices, the Morton table is made beforehand, and chunks of air are skipped.

use std::io::Cursor;

use binary_greedy_meshing as bgm;
use block_mesh::ndshape::{ConstShape, ConstShape3u32};
use block_mesh::{GreedyQuadsBuffer, MergeVoxel, RIGHT_HANDED_Y_UP_CONFIG, UnorientedQuad, Voxel, VoxelVisibility};
use voxatlas::atlas::{self, Decoder, texel_from_voxel};
use voxatlas::mesh::{self, BorderPolicy, Quad, mesh_occupancy};
use voxatlas::voxel::Region;

/// Edge of a region, in voxels.
const SIDE: usize = 256;

/// A way from bytes to a mesh.
pub(crate) trait Pipeline {
    /// Decodes and meshes a file.
    fn run(&mut self, file: &[u8]) -> Made;
}

/// What a pipeline makes of a file.
pub(crate) enum Made {
    Ours { region: Region, quads: Vec<Quad> },
    BinaryGreedy { occupancy: Vec<u64>, quads: Vec<bgm::Quad> },
    BlockMesh { voxels: Vec<Occupied>, quads: Vec<UnorientedQuad> },
}

impl Made {
    /// Occupied voxels and exposed faces: by these all pipelines must agree.
    pub(crate) fn count(&self) -> (u64, u64) {
        match self {
            Self::Ours { region, quads } => {
                (region.occupancy.count(), quads.iter().map(|&quad| u64::from(quad.width() * quad.height())).sum())
            }
            Self::BinaryGreedy { occupancy, quads } => (
                occupancy.iter().map(|word| u64::from(word.count_ones())).sum(),
                quads.iter().map(|quad| quad.width() * quad.height()).sum(),
            ),
            Self::BlockMesh { voxels, quads } => (
                voxels.iter().filter(|voxel| voxel.0).count() as u64,
                quads.iter().map(|quad| u64::from(quad.width) * u64::from(quad.height)).sum(),
            ),
        }
    }

    /// The number of rectangles.
    pub(crate) fn n_quads(&self) -> usize {
        match self {
            Self::Ours { quads, .. } => quads.len(),
            Self::BinaryGreedy { quads, .. } => quads.len(),
            Self::BlockMesh { quads, .. } => quads.len(),
        }
    }
}

/// voxatlas: strips, bit rows, quads.
#[derive(Default)]
pub(crate) struct Ours {
    atlas: atlas::Scratch,
    mesh: mesh::Scratch,
}

impl Pipeline for Ours {
    fn run(&mut self, file: &[u8]) -> Made {
        let region = self.decode(file);
        let mut quads = Vec::new();
        mesh_occupancy(&region.occupancy, BorderPolicy::Closed, &mut self.mesh, &mut quads);
        Made::Ours { region, quads }
    }
}

impl Ours {
    /// The first half.
    pub(crate) fn decode(&mut self, file: &[u8]) -> Region {
        let decoder = Decoder::new(file).expect("an atlas");
        let strips =
            (0..decoder.n_steps()).map(|step| decoder.decode_strip(step, &mut self.atlas).expect("a sound strip"));
        decoder.assemble(strips).expect("a sound atlas")
    }
}

/// The whole image, decoded by the `png` crate into a buffer of its own, as a program that knows only images does.
fn decode_png(file: &[u8]) -> (Vec<u8>, Pixels) {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_limits(png::Limits { bytes: 256 << 20 });
    let mut reader = decoder.read_info().expect("a PNG");
    let mut image = vec![0; reader.output_buffer_size().expect("a size that fits")];
    reader.next_frame(&mut image).expect("a sound PNG");
    let info = reader.info();
    let pixels = match info.color_type {
        png::ColorType::Rgba => Pixels::Rgba,
        png::ColorType::Indexed => {
            let alpha = info.trns.as_deref().unwrap_or_default();
            Pixels::Indexed(std::array::from_fn(|index| alpha.get(index) != Some(&0)))
        }
        other => panic!("the bench writes no {other:?}"),
    };
    (image, pixels)
}

/// How the pixels of a decoded image tell which voxels are occupied.
enum Pixels {
    /// By alpha.
    Rgba,
    /// By index.
    Indexed([bool; 256]),
}

/// What each column and row of the atlas adds to the place of its texel's voxel, in an array with the given strides.
struct MortonTable {
    of_column: Vec<u32>,
    of_row: Vec<u32>,
}

impl MortonTable {
    fn new([stride_x, stride_y, stride_z]: [u32; 3]) -> Self {
        let mut table = Self { of_column: vec![0; 4096], of_row: vec![0; 4096] };
        let place = |u, v| {
            let [x, y, z] = atlas::voxel_from_texel(u, v);
            x * stride_x + y * stride_y + z * stride_z
        };
        for i in 0..4096 {
            table.of_column[i as usize] = place(i, 0);
            table.of_row[i as usize] = place(0, i);
        }
        assert_eq!(texel_from_voxel(255, 255, 255), [4095, 4095], "columns and rows add up");
        table
    }

    /// Calls `each` with the place of every occupied voxel.
    #[inline]
    fn for_each_occupied(&self, image: &[u8], pixels: &Pixels, mut each: impl FnMut(usize)) {
        match pixels {
            Pixels::Rgba => {
                for (row, of_row) in image.chunks_exact(4096 * 4).zip(&self.of_row) {
                    for (pixel, of_column) in row.chunks_exact(4).zip(&self.of_column) {
                        if pixel[3] != 0 {
                            each((of_row + of_column) as usize);
                        }
                    }
                }
            }
            Pixels::Indexed(is_occupied) => {
                for (row, of_row) in image.chunks_exact(4096).zip(&self.of_row) {
                    for (&index, of_column) in row.iter().zip(&self.of_column) {
                        if is_occupied[usize::from(index)] {
                            each((of_row + of_column) as usize);
                        }
                    }
                }
            }
        }
    }
}

/// Voxels of a chunk of `binary-greedy-meshing` along an edge, without its border.
const CHUNK: usize = 62;

/// The same with its border.
const PADDED: usize = CHUNK + 2;

/// `png` + table + `binary-greedy-meshing`: 125 chunks of 62 voxels, each filled with its border.
pub(crate) struct BinaryGreedy {
    table: MortonTable,
    mesher: bgm::Mesher<CHUNK>,
    voxels: Vec<u16>,
    opaque: Vec<u64>,
    transparent: Vec<u64>,
}

impl BinaryGreedy {
    pub(crate) fn new() -> Self {
        Self {
            table: MortonTable::new([1, 256, 65536]),
            mesher: bgm::Mesher::new(),
            voxels: vec![0; PADDED.pow(3)],
            opaque: vec![0; PADDED.pow(2)],
            transparent: vec![0; PADDED.pow(2)],
        }
    }

    /// Fills the chunk whose lowest voxel is `min`, its border included, and tells whether it holds a voxel.
    ///
    /// The crate's fastest axis is our x: a column of its opacity is 64 bits of one of our rows.
    fn fill_chunk(&mut self, occupancy: &[u64], [x, y, z]: [usize; 3]) -> bool {
        let mut union = 0;
        for pad_z in 0..PADDED {
            for pad_y in 0..PADDED {
                let column = match ((y + pad_y).checked_sub(1), (z + pad_z).checked_sub(1)) {
                    (Some(y), Some(z)) if y < SIDE && z < SIDE => bits_from(&occupancy[4 * (y + SIDE * z)..][..4], x),
                    _ => 0,
                };
                self.opaque[pad_y + PADDED * pad_z] = column;
                union |= column;
            }
        }
        if union == 0 {
            return false;
        }
        for (voxels, &column) in self.voxels.chunks_exact_mut(PADDED).zip(&self.opaque) {
            for (bit, voxel) in voxels.iter_mut().enumerate() {
                *voxel = (column >> bit & 1) as u16;
            }
        }
        true
    }
}

/// 64 bits of a row, from the one before bit x; air outside.
fn bits_from(row: &[u64], x: usize) -> u64 {
    let Some(first) = x.checked_sub(1) else { return row[0] << 1 };
    let (word, bit) = (first / 64, first % 64);
    let high = row.get(word + 1).map_or(0, |&next| if bit == 0 { 0 } else { next << (64 - bit) });
    row[word] >> bit | high
}

impl Pipeline for BinaryGreedy {
    fn run(&mut self, file: &[u8]) -> Made {
        let (image, pixels) = decode_png(file);
        let mut occupancy = vec![0u64; SIDE.pow(3) / 64];
        self.table.for_each_occupied(&image, &pixels, |place| occupancy[place / 64] |= 1 << (place % 64));
        drop(image);

        let mut quads = Vec::new();
        let n_chunks = SIDE.div_ceil(CHUNK);
        for chunk in 0..n_chunks.pow(3) {
            let min = [chunk % n_chunks, chunk / n_chunks % n_chunks, chunk / n_chunks.pow(2)].map(|c| c * CHUNK);
            if self.fill_chunk(&occupancy, min) {
                self.mesher.clear();
                self.mesher.fast_mesh(&self.voxels, &self.opaque, &self.transparent);
                quads.extend(self.mesher.quads.iter().flatten());
            }
        }
        Made::BinaryGreedy { occupancy, quads }
    }
}

/// A voxel of `block-mesh`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occupied(bool);

impl Voxel for Occupied {
    fn get_visibility(&self) -> VoxelVisibility {
        if self.0 { VoxelVisibility::Opaque } else { VoxelVisibility::Empty }
    }
}

impl MergeVoxel for Occupied {
    type MergeValue = bool;

    fn merge_value(&self) -> bool {
        self.0
    }
}

/// A region with a border of air.
type PaddedRegion = ConstShape3u32<258, 258, 258>;

/// `png` + table + `block-mesh` on the region with its border.
pub(crate) struct BlockMesh {
    table: MortonTable,
    buffer: GreedyQuadsBuffer,
}

impl BlockMesh {
    pub(crate) fn new() -> Self {
        Self {
            table: MortonTable::new([1, 258, 258 * 258]),
            buffer: GreedyQuadsBuffer::new(PaddedRegion::SIZE as usize),
        }
    }
}

impl Pipeline for BlockMesh {
    fn run(&mut self, file: &[u8]) -> Made {
        let (image, pixels) = decode_png(file);
        let mut voxels = vec![Occupied(false); PaddedRegion::SIZE as usize];
        let first = PaddedRegion::linearize([1; 3]) as usize;
        self.table.for_each_occupied(&image, &pixels, |place| voxels[first + place] = Occupied(true));
        drop(image);

        let faces = &RIGHT_HANDED_Y_UP_CONFIG.faces;
        block_mesh::greedy_quads(&voxels, &PaddedRegion {}, [0; 3], [257; 3], faces, &mut self.buffer);
        let quads = self.buffer.quads.groups.iter().flatten().copied().collect();
        Made::BlockMesh { voxels, quads }
    }
}
