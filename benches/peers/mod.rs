//! The ways from a file's bytes to occupancy and mesh that the pipeline bench compares.
//!
//! Each keeps its buffers and its results from file to file, as a loader's thread would; only the decoded image is a
//! new buffer each time, as the `png` crate's own example has it. Every peer is given its best: palette indices stay
//! indices, the Morton table is made beforehand, and chunks are filled from bit rows.

use std::io::Cursor;

use binary_greedy_meshing as bgm;
use block_mesh::ndshape::{ConstShape, ConstShape3u32};
use block_mesh::{GreedyQuadsBuffer, MergeVoxel, RIGHT_HANDED_Y_UP_CONFIG, Voxel, VoxelVisibility};
use voxatlas::atlas::{self, Decoder, texel_from_voxel};
use voxatlas::mesh::{self, BorderPolicy, Quad, mesh_occupancy};
use voxatlas::voxel::Region;

/// Edge of a region, in voxels.
const SIDE: usize = 256;

/// A way from bytes to occupancy and mesh.
pub(crate) trait Pipeline {
    /// Decodes and meshes a file, and keeps the results until the next one.
    fn run(&mut self, file: &[u8]);

    /// Occupied voxels and exposed faces of the last file: by these all pipelines must agree.
    fn count(&self) -> (u64, u64);
}

/// voxatlas: strips, bit rows, quads.
pub(crate) struct Ours {
    atlas: atlas::Scratch,
    mesh: mesh::Scratch,
    region: Region,
    quads: Vec<Quad>,
}

impl Ours {
    pub(crate) fn new() -> Self {
        Self { atlas: atlas::Scratch::new(), mesh: mesh::Scratch::new(), region: Region::empty(), quads: Vec::new() }
    }

    /// The first half.
    pub(crate) fn decode(&mut self, file: &[u8]) -> Region {
        let decoder = Decoder::new(file).expect("an atlas");
        let strips =
            (0..decoder.n_steps()).map(|step| decoder.decode_strip(step, &mut self.atlas).expect("a sound strip"));
        decoder.assemble(strips).expect("a sound atlas")
    }
}

impl Pipeline for Ours {
    fn run(&mut self, file: &[u8]) {
        self.region = self.decode(file);
        self.quads.clear();
        mesh_occupancy(&self.region.occupancy, BorderPolicy::Closed, &mut self.mesh, &mut self.quads);
    }

    fn count(&self) -> (u64, u64) {
        let n_faces = self.quads.iter().map(|&quad| u64::from(quad.width() * quad.height())).sum();
        (self.region.occupancy.count(), n_faces)
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
            Pixels::Indexed((0..256).map(|index| alpha.get(index) != Some(&0)).collect())
        }
        other => panic!("the bench writes no {other:?}"),
    };
    (image, pixels)
}

/// How the pixels of a decoded image tell which voxels are occupied.
enum Pixels {
    /// By alpha.
    Rgba,
    /// By index: whether it is one of an occupied voxel.
    Indexed(Vec<bool>),
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
                let is_occupied: &[bool; 256] = is_occupied.as_slice().try_into().expect("an entry an index");
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
    occupancy: Vec<u64>,
    quads: Vec<bgm::Quad>,
}

impl BinaryGreedy {
    pub(crate) fn new() -> Self {
        Self {
            table: MortonTable::new([1, 256, 65536]),
            mesher: bgm::Mesher::new(),
            voxels: vec![0; PADDED.pow(3)],
            opaque: vec![0; PADDED.pow(2)],
            transparent: vec![0; PADDED.pow(2)],
            occupancy: vec![0; SIDE.pow(3) / 64],
            quads: Vec::new(),
        }
    }

    /// Fills the chunk whose lowest voxel is `min`, its border included.
    ///
    /// The crate's fastest axis is our x: a column of its opacity is 64 bits of one of our rows, and taken from there at
    /// once. Its own `compute_opaque_mask`, which looks at every voxel, would take several times as long.
    fn fill_chunk(&mut self, [x, y, z]: [usize; 3]) {
        for pad_z in 0..PADDED {
            for pad_y in 0..PADDED {
                let column = match ((y + pad_y).checked_sub(1), (z + pad_z).checked_sub(1)) {
                    (Some(y), Some(z)) if y < SIDE && z < SIDE => {
                        bits_from(&self.occupancy[4 * (y + SIDE * z)..][..4], x)
                    }
                    _ => 0,
                };
                self.opaque[pad_y + PADDED * pad_z] = column;
            }
        }
        for (voxels, &column) in self.voxels.chunks_exact_mut(PADDED).zip(&self.opaque) {
            for (bit, voxel) in voxels.iter_mut().enumerate() {
                *voxel = (column >> bit & 1) as u16;
            }
        }
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
    fn run(&mut self, file: &[u8]) {
        let (image, pixels) = decode_png(file);
        self.occupancy.fill(0);
        self.table.for_each_occupied(&image, &pixels, |place| self.occupancy[place / 64] |= 1 << (place % 64));
        drop(image);

        self.quads.clear();
        let n_chunks = SIDE.div_ceil(CHUNK);
        for chunk in 0..n_chunks.pow(3) {
            let min = [chunk % n_chunks, chunk / n_chunks % n_chunks, chunk / n_chunks.pow(2)].map(|c| c * CHUNK);
            self.fill_chunk(min);
            self.mesher.clear();
            self.mesher.fast_mesh(&self.voxels, &self.opaque, &self.transparent);
            self.quads.extend(self.mesher.quads.iter().flatten());
        }
    }

    fn count(&self) -> (u64, u64) {
        let n_voxels = self.occupancy.iter().map(|word| u64::from(word.count_ones())).sum();
        (n_voxels, self.quads.iter().map(|quad| quad.width() * quad.height()).sum())
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
    voxels: Vec<Occupied>,
    buffer: GreedyQuadsBuffer,
}

impl BlockMesh {
    pub(crate) fn new() -> Self {
        Self {
            table: MortonTable::new([1, 258, 258 * 258]),
            voxels: vec![Occupied(false); PaddedRegion::SIZE as usize],
            buffer: GreedyQuadsBuffer::new(PaddedRegion::SIZE as usize),
        }
    }
}

impl Pipeline for BlockMesh {
    fn run(&mut self, file: &[u8]) {
        let (image, pixels) = decode_png(file);
        self.voxels.fill(Occupied(false));
        let first = PaddedRegion::linearize([1; 3]) as usize;
        self.table.for_each_occupied(&image, &pixels, |place| self.voxels[first + place] = Occupied(true));
        drop(image);

        let faces = &RIGHT_HANDED_Y_UP_CONFIG.faces;
        block_mesh::greedy_quads(&self.voxels, &PaddedRegion {}, [0; 3], [257; 3], faces, &mut self.buffer);
    }

    fn count(&self) -> (u64, u64) {
        let n_voxels = self.voxels.iter().filter(|voxel| voxel.0).count() as u64;
        let quads = self.buffer.quads.groups.iter().flatten();
        (n_voxels, quads.map(|quad| u64::from(quad.width) * u64::from(quad.height)).sum())
    }
}
