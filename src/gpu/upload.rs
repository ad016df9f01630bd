//! What the slots hold: regions in pools, changed whole.
//!
//! Owns the quad and colour pages, the palettes and what each slot stands for. Receives [`SlotUpdate`]s, yields
//! residents to draw. It keeps no CPU copy: a lost device is refilled by whoever has the regions.
//!
//! ```text
//! region  quads   | q0 q1 q2 ... | ... qn |      split only where a page is too small for all of it
//!         colours | c0 ......... | ... cm |      each piece's colours follow its quads
//!                   piece 0        piece 1       one draw each; real regions are one piece
//! ```

use std::ops::Range;

use super::device::Gpu;
use super::error::GpuError;
use super::pool::{Allocation, Pool};
use crate::geo::WorldBox;
use crate::limits::{GPU_PAGE_BYTES, GPU_REGIONS_BYTES_MAX, SLOTS_MAX};
use crate::mesh::{FaceColours, Quad, RegionMesh};
use crate::stream::SlotUpdate;

/// Bytes of a quad, the unit of the quad pool.
pub(super) const QUAD_BYTES: u64 = size_of::<Quad>() as u64;

/// Bytes of a word, the unit of the colour pool.
const WORD_BYTES: u64 = 4;

/// Words of a palette.
const PALETTE_WORDS: usize = 256;

/// Bytes of a palette.
const PALETTE_BYTES: u64 = PALETTE_WORDS as u64 * WORD_BYTES;

/// How much the slots may take on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Size of a page of quads or face colours, in bytes: at least the face colours of the largest quad (256 KiB and a
    /// little) and at most 64 MiB. A region that needs more is drawn in pieces.
    pub page_bytes: u64,
    /// What all regions may take, in bytes.
    pub regions_bytes_max: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { page_bytes: GPU_PAGE_BYTES, regions_bytes_max: GPU_REGIONS_BYTES_MAX }
    }
}

/// A page of face colours and how passes bind it.
#[derive(Debug)]
struct ColourPage {
    buffer: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
}

/// A region on the GPU.
#[derive(Debug)]
pub(super) struct Resident {
    /// World position of its lowest corner, in voxels.
    pub(super) offset: [i64; 3],
    /// The box of its quads within the region, in voxels.
    bounds: [[u32; 3]; 2],
    /// Whether colours are words.
    pub(super) is_direct: bool,
    /// What is drawn at once.
    pub(super) pieces: Vec<ResidentPiece>,
    size_bytes: u64,
}

impl Resident {
    /// The box of its quads in the world.
    pub(super) fn world_box(&self) -> WorldBox {
        let [min, max] = self
            .bounds
            .map(|corner| std::array::from_fn(|axis| self.offset[axis].saturating_add(i64::from(corner[axis]))));
        WorldBox { min, max }
    }
}

/// What one draw call draws.
#[derive(Debug)]
pub(super) struct ResidentPiece {
    /// Where its quads stand, in quads.
    pub(super) quads: Allocation,
    colours: Option<Allocation>,
    /// What the quads' colour indices count from, in entries of the page. Wraps round.
    pub(super) colour_base: u32,
}

/// All slots and the pages that they live in.
#[derive(Debug)]
pub(super) struct Slots {
    gpu: Gpu,
    budget: Budget,
    quads: Pool<wgpu::Buffer>,
    colours: Pool<ColourPage>,
    palettes: wgpu::Buffer,
    /// Bound where a piece has no face colours of its own.
    no_colours: ColourPage,
    colours_layout: wgpu::BindGroupLayout,
    /// By slot.
    residents: Vec<Option<Resident>>,
    uploaded_bytes: u64,
}

impl Slots {
    pub(super) fn new(gpu: &Gpu, colours_layout: &wgpu::BindGroupLayout, budget: Budget) -> Self {
        let palettes = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("palettes"),
            size: SLOTS_MAX as u64 * PALETTE_BYTES,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let no_colours = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("no face colours"),
            size: WORD_BYTES,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        Self {
            budget,
            quads: Pool::new((budget.page_bytes / QUAD_BYTES) as u32),
            colours: Pool::new((budget.page_bytes / WORD_BYTES) as u32),
            no_colours: ColourPage::new(gpu, colours_layout, no_colours, &palettes),
            palettes,
            colours_layout: colours_layout.clone(),
            residents: (0..SLOTS_MAX).map(|_| None).collect(),
            uploaded_bytes: 0,
            gpu: gpu.clone(),
        }
    }

    /// Makes the slot hold what the update says, all at once. After an error it holds nothing.
    pub(super) fn apply(&mut self, update: &SlotUpdate) -> Result<(), GpuError> {
        self.clear(update.at);
        let Some(built) = update.region.as_deref().filter(|built| !built.mesh.quads.is_empty()) else {
            return Ok(());
        };
        let size_bytes = built.mesh.gpu_bytes() as u64;
        let used_bytes = self.used_bytes();
        if used_bytes + size_bytes > self.budget.regions_bytes_max {
            return Err(GpuError::NoRoom { size_bytes, used_bytes, budget_bytes: self.budget.regions_bytes_max });
        }
        let mut pieces = Vec::new();
        for (quads, entries) in split(&built.mesh, self.quads.page_units(), self.colours.page_units()) {
            match self.upload_piece(&built.mesh, quads, entries) {
                Ok(piece) => pieces.push(piece),
                Err(err) => {
                    self.give_back(pieces);
                    return Err(err);
                }
            }
        }
        if let FaceColours::Indexed { palette, .. } = &built.mesh.face_colours {
            self.upload_palette(update.at, palette);
        }
        self.residents[update.at] = Some(Resident {
            offset: update.offset,
            bounds: bounds(&built.mesh.quads),
            is_direct: matches!(built.mesh.face_colours, FaceColours::Direct { .. }),
            size_bytes: taken_bytes(&pieces, &built.mesh.face_colours),
            pieces,
        });
        Ok(())
    }

    /// What the slots hold, by slot.
    pub(super) fn residents(&self) -> impl Iterator<Item = (usize, &Resident)> {
        self.residents.iter().enumerate().filter_map(|(at, resident)| Some((at, resident.as_ref()?)))
    }

    /// The page of a piece's quads.
    pub(super) fn quad_page(&self, piece: &ResidentPiece) -> &wgpu::Buffer {
        self.quads.page(piece.quads.page)
    }

    /// How a pass binds a piece's face colours.
    pub(super) fn colours_bind_group(&self, piece: &ResidentPiece) -> &wgpu::BindGroup {
        &piece.colours.as_ref().map_or(&self.no_colours, |it| self.colours.page(it.page)).bind_group
    }

    /// Where a slot's palette stands, in words.
    pub(super) fn palette_base(at: usize) -> u32 {
        (at * PALETTE_WORDS) as u32
    }

    /// Bytes that the regions take, exactly.
    pub(super) fn used_bytes(&self) -> u64 {
        self.residents().map(|(_, resident)| resident.size_bytes).sum()
    }

    /// Bytes of all buffers, room that is free included.
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.quads.n_pages() as u64 * u64::from(self.quads.page_units()) * QUAD_BYTES
            + self.colours.n_pages() as u64 * u64::from(self.colours.page_units()) * WORD_BYTES
            + self.palettes.size()
            + self.no_colours.buffer.size()
    }

    /// Bytes sent since the last call.
    pub(super) fn take_uploaded_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.uploaded_bytes)
    }

    fn clear(&mut self, at: usize) {
        if let Some(resident) = self.residents[at].take() {
            self.give_back(resident.pieces);
        }
    }

    fn give_back(&mut self, pieces: Vec<ResidentPiece>) {
        for piece in pieces {
            self.quads.give_back(piece.quads);
            if let Some(colours) = piece.colours {
                self.colours.give_back(colours);
            }
        }
    }

    fn upload_piece(
        &mut self,
        mesh: &RegionMesh,
        quads: Range<usize>,
        entries: Range<usize>,
    ) -> Result<ResidentPiece, GpuError> {
        let (gpu, page_bytes) = (&self.gpu, self.budget.page_bytes);
        let allocation = self.quads.take(quads.len() as u32, || {
            gpu.try_create_buffer(&wgpu::BufferDescriptor {
                label: Some("quad page"),
                size: page_bytes / QUAD_BYTES * QUAD_BYTES,
                usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        })?;
        let words = entry_words(&mesh.face_colours, &entries);
        let mut piece = ResidentPiece { quads: allocation, colours: None, colour_base: 0 };
        if !words.is_empty() {
            let (layout, palettes) = (&self.colours_layout, &self.palettes);
            let colours = self.colours.take(words.len() as u32, || {
                let buffer = gpu.try_create_buffer(&wgpu::BufferDescriptor {
                    label: Some("face colour page"),
                    size: page_bytes / WORD_BYTES * WORD_BYTES,
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                })?;
                Ok(ColourPage::new(gpu, layout, buffer, palettes))
            });
            match colours {
                Ok(colours) => {
                    let entries_per_word = WORD_BYTES as u32 / entry_bytes(&mesh.face_colours) as u32;
                    let shift_words = colours.range.start.wrapping_sub(words.start as u32);
                    piece.colour_base = shift_words.wrapping_mul(entries_per_word);
                    let page = &self.colours.page(colours.page).buffer;
                    let at_bytes = u64::from(colours.range.start) * WORD_BYTES;
                    self.uploaded_bytes += write_words(gpu, page, at_bytes, &mesh.face_colours, words);
                    piece.colours = Some(colours);
                }
                Err(err) => {
                    self.quads.give_back(piece.quads);
                    return Err(err);
                }
            }
        }
        let bytes = bytemuck::cast_slice(&mesh.quads[quads]);
        let at_bytes = u64::from(piece.quads.range.start) * QUAD_BYTES;
        gpu.queue.write_buffer(self.quads.page(piece.quads.page), at_bytes, bytes);
        self.uploaded_bytes += bytes.len() as u64;
        Ok(piece)
    }

    fn upload_palette(&mut self, at: usize, palette: &[[u8; 3]]) {
        let mut words = [0_u32; PALETTE_WORDS];
        for (word, &[r, g, b]) in words.iter_mut().zip(palette) {
            *word = u32::from_le_bytes([r, g, b, 0]);
        }
        let at_bytes = u64::from(Self::palette_base(at)) * WORD_BYTES;
        self.gpu.queue.write_buffer(&self.palettes, at_bytes, bytemuck::cast_slice(&words));
        self.uploaded_bytes += PALETTE_BYTES;
    }
}

impl ColourPage {
    fn new(gpu: &Gpu, layout: &wgpu::BindGroupLayout, buffer: wgpu::Buffer, palettes: &wgpu::Buffer) -> Self {
        let bind_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("face colours"),
            layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: palettes.as_entire_binding() },
            ],
        });
        Self { buffer, bind_group }
    }
}

/// Cuts a mesh into runs of quads that fit a page each, with the run of face colours that each has. One run where all
/// of it fits.
fn split(mesh: &RegionMesh, quads_max: u32, words_max: u32) -> Vec<(Range<usize>, Range<usize>)> {
    // A run may begin and end within a word.
    let entries_max = (words_max as usize - 1) * WORD_BYTES as usize / entry_bytes(&mesh.face_colours);
    let mut runs = Vec::new();
    let (mut first_quad, mut first_entry, mut entry) = (0, 0, 0);
    for (idx, quad) in mesh.quads.iter().enumerate() {
        let n_entries = match quad.first_face_colour() {
            Some(first) => {
                assert_eq!(first as usize, entry, "face colours stand in the order of the quads");
                (quad.width() * quad.height()) as usize
            }
            None => 0,
        };
        if idx - first_quad == quads_max as usize || entry + n_entries - first_entry > entries_max {
            runs.push((first_quad..idx, first_entry..entry));
            (first_quad, first_entry) = (idx, entry);
        }
        entry += n_entries;
    }
    assert_eq!(entry, mesh.face_colours.len(), "every face colour belongs to a quad");
    runs.push((first_quad..mesh.quads.len(), first_entry..entry));
    runs
}

fn entry_bytes(face_colours: &FaceColours) -> usize {
    match face_colours {
        FaceColours::Indexed { .. } => 1,
        FaceColours::Direct { .. } => 4,
    }
}

/// The words that hold the entries.
fn entry_words(face_colours: &FaceColours, entries: &Range<usize>) -> Range<usize> {
    let per_word = WORD_BYTES as usize / entry_bytes(face_colours);
    if entries.is_empty() { 0..0 } else { entries.start / per_word..entries.end.div_ceil(per_word) }
}

/// Sends words of face colours and yields how many bytes; the last word may lack bytes.
fn write_words(gpu: &Gpu, page: &wgpu::Buffer, at_bytes: u64, face_colours: &FaceColours, words: Range<usize>) -> u64 {
    let bytes: &[u8] = match face_colours {
        FaceColours::Indexed { entries, .. } => entries,
        FaceColours::Direct { entries } => bytemuck::cast_slice(entries),
    };
    let (whole, rest) = bytes[words.start * 4..bytes.len().min(words.end * 4)].as_chunks::<4>();
    gpu.queue.write_buffer(page, at_bytes, whole.as_flattened());
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        gpu.queue.write_buffer(page, at_bytes + whole.as_flattened().len() as u64, &word);
    }
    words.len() as u64 * WORD_BYTES
}

/// Bytes that the pieces and a palette take.
fn taken_bytes(pieces: &[ResidentPiece], face_colours: &FaceColours) -> u64 {
    let in_pages = |piece: &ResidentPiece| {
        u64::from(piece.quads.len()) * QUAD_BYTES
            + piece.colours.as_ref().map_or(0, |it| u64::from(it.len()) * WORD_BYTES)
    };
    let palette_bytes = if matches!(face_colours, FaceColours::Indexed { .. }) { PALETTE_BYTES } else { 0 };
    pieces.iter().map(in_pages).sum::<u64>() + palette_bytes
}

/// The box round all quads, in region voxels.
fn bounds(quads: &[Quad]) -> [[u32; 3]; 2] {
    let (mut lowest, mut highest) = ([u32::MAX; 3], [0; 3]);
    for quad in quads {
        let (first, last) = (quad.voxel(0, 0), quad.voxel(quad.width() - 1, quad.height() - 1));
        for axis in 0..3 {
            lowest[axis] = lowest[axis].min(first[axis]);
            highest[axis] = highest[axis].max(last[axis] + 1);
        }
    }
    [lowest, highest]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Face;

    fn mesh(n_quads: u32, w: u32) -> RegionMesh {
        let mut entries = Vec::new();
        let quads = (0..n_quads)
            .map(|idx| {
                let mut quad = Quad::new([0, idx, 0], Face::PosY, w, 1);
                if idx % 3 == 2 {
                    quad.set_uniform(5);
                } else {
                    quad.set_first_face_colour(entries.len() as u32);
                    entries.extend((0..w).map(|i| (idx + i) as u8));
                }
                quad
            })
            .collect();
        let face_colours = FaceColours::Indexed { palette: vec![[0; 3]; 256], entries };
        RegionMesh { quads, face_colours, octant_ends: None }
    }

    #[test]
    fn a_mesh_that_fits_is_one_run() {
        assert_eq!(split(&mesh(9, 7), 9, 12), [(0..9, 0..42)]);
    }

    #[test]
    fn runs_cover_all_quads_and_colours_in_order_and_fit() {
        for (quads_max, words_max) in [(1, 64), (4, 64), (100, 4), (5, 3)] {
            let mesh = mesh(30, 7);
            let runs = split(&mesh, quads_max, words_max);
            assert!(runs.len() > 1);
            assert!(runs.windows(2).all(|it| it[0].0.end == it[1].0.start && it[0].1.end == it[1].1.start));
            let last = runs.last().unwrap();
            assert_eq!((runs[0].0.start, last.0.end), (0, 30));
            assert_eq!((runs[0].1.start, last.1.end), (0, mesh.face_colours.len()));
            for (quads, entries) in &runs {
                assert!(quads.len() <= quads_max as usize && !quads.is_empty());
                assert!(entry_words(&mesh.face_colours, entries).len() <= words_max as usize);
            }
        }
    }

    #[test]
    fn bounds_hold_every_quad() {
        let quads = [Quad::new([3, 9, 5], Face::NegX, 2, 4), Quad::new([7, 8, 6], Face::PosZ, 1, 1)];
        assert_eq!(bounds(&quads), [[3, 8, 5], [8, 11, 9]]);
    }
}
