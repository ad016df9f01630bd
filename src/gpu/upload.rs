//! What the slots hold: regions in pools, changed whole.
//!
//! Owns the quad and colour pages, the palettes and what each slot stands for. Receives [`UploadStep`]s, [`SlotUpdate`]s
//! and [`OctantUpdate`]s, yields residents to draw. It keeps no CPU copy of what is drawn: a lost device is refilled by
//! whoever has the regions.
//!
//! ```text
//!          UploadStep from 0        SlotUpdate of that region
//! empty ---------------------> staged ----------------------> shown       a slot is one of the three: what is staged
//!   |     all room is taken     |  ^                           ^          cannot be drawn
//!   |                           +--+ further steps             |
//!   +----------------------------------------------------------+
//!           SlotUpdate without steps: all of it is sent at once
//! ```
//!
//! ```text
//! region  quads   | q0 q1 q2 ... | ... qn |      split only where a page is too small for all of it
//!         colours | c0 ......... | ... cm |      each piece's colours follow its quads
//!                   piece 0        piece 1       one draw each; real regions are one piece
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::device::Gpu;
use super::error::GpuError;
use super::pieces::{WORD_BYTES, bounds, entry_bytes, entry_words, split};
use super::pool::Pool;
use super::resident::{Resident, ResidentPiece, overlap};
use crate::limits::{GPU_PAGE_BYTES, GPU_REGIONS_BYTES_MAX, REGION_VOXELS, SLOTS_MAX};
use crate::mesh::{FaceColours, Quad};
use crate::stream::{BuiltRegion, OctantUpdate, SlotUpdate, UploadStep};
use crate::voxel::Colour;

/// Bytes of a quad, the unit of the quad pool.
pub(super) const QUAD_BYTES: u64 = size_of::<Quad>() as u64;

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

/// A region that is on its way.
#[derive(Debug)]
struct Staged {
    region: Arc<BuiltRegion>,
    /// Its room, taken whole.
    resident: Resident,
    /// How much of the mesh's bytes was sent.
    sent_bytes: usize,
}

/// What a slot stands for.
#[derive(Debug, Default)]
enum Slot {
    #[default]
    Empty,
    Staged(Staged),
    Shown(Resident),
}

impl Slot {
    /// What takes room.
    fn resident(&self) -> Option<&Resident> {
        match self {
            Self::Empty => None,
            Self::Staged(staged) => Some(&staged.resident),
            Self::Shown(resident) => Some(resident),
        }
    }
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
    held: Vec<Slot>,
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
            held: (0..SLOTS_MAX).map(|_| Slot::Empty).collect(),
            uploaded_bytes: 0,
            gpu: gpu.clone(),
        }
    }

    /// Sends a part of a mesh. The first one clears the slot and takes all the room; one that does not go on where the
    /// last one ended does nothing.
    pub(super) fn upload(&mut self, step: &UploadStep) -> Result<(), GpuError> {
        if step.bytes.start == 0 {
            self.clear(step.at);
            if step.region.mesh.quads.is_empty() {
                return Ok(());
            }
            self.held[step.at] = Slot::Staged(self.stage(&step.region)?);
        }
        let mut slot = std::mem::take(&mut self.held[step.at]);
        if let Slot::Staged(staged) = &mut slot
            && Arc::ptr_eq(&staged.region, &step.region)
            && staged.sent_bytes == step.bytes.start
        {
            self.send(step.at, staged, step.bytes.end);
        }
        self.held[step.at] = slot;
        Ok(())
    }

    /// Makes the slot hold what the update says, all at once. After an error it holds nothing.
    pub(super) fn apply(&mut self, update: &SlotUpdate) -> Result<(), GpuError> {
        let staged = match (std::mem::take(&mut self.held[update.at]), &update.region) {
            (Slot::Staged(staged), Some(region)) if Arc::ptr_eq(&staged.region, region) => Some(staged),
            (other, _) => {
                self.give_back(other);
                None
            }
        };
        let Some(region) = update.region.as_ref().filter(|region| !region.mesh.quads.is_empty()) else {
            return Ok(());
        };
        let mut staged = match staged {
            Some(staged) => staged,
            None => self.stage(region)?,
        };
        self.send(update.at, &mut staged, region.mesh.gpu_bytes());
        let mut resident = staged.resident;
        resident.offset = update.offset;
        resident.show(update.octants);
        self.held[update.at] = Slot::Shown(resident);
        Ok(())
    }

    /// Draws other octants of what the slot shows.
    pub(super) fn set_octants(&mut self, update: &OctantUpdate) {
        if let Slot::Shown(resident) = &mut self.held[update.at] {
            resident.show(update.octants);
        }
    }

    /// What the slots show, by slot.
    pub(super) fn residents(&self) -> impl Iterator<Item = (usize, &Resident)> {
        self.held.iter().enumerate().filter_map(|(at, slot)| match slot {
            Slot::Shown(resident) => Some((at, resident)),
            Slot::Empty | Slot::Staged(_) => None,
        })
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

    /// Bytes that the regions take, exactly, those on their way included.
    pub(super) fn used_bytes(&self) -> u64 {
        self.held.iter().filter_map(Slot::resident).map(|resident| resident.size_bytes).sum()
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
        let slot = std::mem::take(&mut self.held[at]);
        self.give_back(slot);
    }

    fn give_back(&mut self, slot: Slot) {
        match slot {
            Slot::Empty => {}
            Slot::Staged(staged) => self.give_back_pieces(staged.resident.pieces),
            Slot::Shown(resident) => self.give_back_pieces(resident.pieces),
        }
    }

    fn give_back_pieces(&mut self, pieces: Vec<ResidentPiece>) {
        for piece in pieces {
            self.quads.give_back(piece.quads);
            if let Some(colours) = piece.colours {
                self.colours.give_back(colours);
            }
        }
    }

    /// Takes the room of a region, all of it or none. The mesh has quads.
    fn stage(&mut self, region: &Arc<BuiltRegion>) -> Result<Staged, GpuError> {
        let mesh = &region.mesh;
        let size_bytes = mesh.gpu_bytes() as u64;
        let used_bytes = self.used_bytes();
        if used_bytes + size_bytes > self.budget.regions_bytes_max {
            return Err(GpuError::NoRoom { size_bytes, used_bytes, budget_bytes: self.budget.regions_bytes_max });
        }
        let mut pieces = Vec::new();
        for (quads, entries) in split(mesh, self.quads.page_units(), self.colours.page_units()) {
            match self.take_piece(&quads, &entry_words(&mesh.face_colours, &entries), &mesh.face_colours) {
                Ok(piece) => pieces.push(piece),
                Err(err) => {
                    self.give_back_pieces(pieces);
                    return Err(err);
                }
            }
        }
        let resident = Resident {
            offset: [0; 3],
            voxel_edge: (region.key.edge_voxels() / i64::from(REGION_VOXELS)).max(1) as i32,
            octants: 0,
            octant_ends: mesh.ends(),
            bounds: bounds(mesh),
            has_octants: mesh.octant_ends.is_some(),
            is_direct: matches!(mesh.face_colours, FaceColours::Direct { .. }),
            size_bytes: taken_bytes(&pieces, &mesh.face_colours),
            pieces,
        };
        Ok(Staged { region: Arc::clone(region), resident, sent_bytes: 0 })
    }

    /// Takes the room of a piece: of these quads of a mesh, and of these words of its face colours.
    fn take_piece(
        &mut self,
        quads: &Range<usize>,
        words: &Range<usize>,
        face_colours: &FaceColours,
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
        let mut piece = ResidentPiece {
            quads: allocation,
            first_quad: quads.start as u32,
            colours: None,
            first_word: words.start as u32,
            colour_base: 0,
        };
        if words.is_empty() {
            return Ok(piece);
        }
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
                let entries_per_word = WORD_BYTES as u32 / entry_bytes(face_colours) as u32;
                let shift_words = colours.range.start.wrapping_sub(piece.first_word);
                piece.colour_base = shift_words.wrapping_mul(entries_per_word);
                piece.colours = Some(colours);
                Ok(piece)
            }
            Err(err) => {
                self.quads.give_back(piece.quads);
                Err(err)
            }
        }
    }

    /// Sends what is missing of the mesh's bytes up to `end_bytes`: first the quads, then the words of the face colours,
    /// then the palette. A word is sent with its last byte.
    fn send(&mut self, at: usize, staged: &mut Staged, end_bytes: usize) {
        let mesh = &staged.region.mesh;
        let end_bytes = end_bytes.min(mesh.gpu_bytes());
        let to_send = whole_words(staged.sent_bytes)..whole_words(end_bytes);
        let quads: &[u8] = bytemuck::cast_slice(&mesh.quads);
        let colours_at = quads.len();
        for piece in &staged.resident.pieces {
            let first = piece.first_quad as usize * QUAD_BYTES as usize;
            let part = overlap(&to_send, &(first..first + piece.quads.len() as usize * QUAD_BYTES as usize));
            if !part.is_empty() {
                let at_bytes = u64::from(piece.quads.range.start) * QUAD_BYTES + (part.start - first) as u64;
                self.gpu.queue.write_buffer(self.quads.page(piece.quads.page), at_bytes, &quads[part.clone()]);
                self.uploaded_bytes += part.len() as u64;
            }
            let Some(colours) = &piece.colours else { continue };
            let (first, len) = (piece.first_word as usize, colours.len() as usize);
            let from_colours = |bytes: usize| bytes.saturating_sub(colours_at) / WORD_BYTES as usize;
            let words = from_colours(to_send.start)..from_colours(to_send.end);
            let words = overlap(&words, &(first..first + len));
            if !words.is_empty() {
                let page = &self.colours.page(colours.page).buffer;
                let at_bytes = (u64::from(colours.range.start) + (words.start - first) as u64) * WORD_BYTES;
                self.uploaded_bytes += write_words(&self.gpu, page, at_bytes, &mesh.face_colours, words);
            }
        }
        if let FaceColours::Indexed { palette, .. } = &mesh.face_colours {
            let palette_at = mesh.gpu_bytes() - PALETTE_BYTES as usize;
            let part = overlap(&to_send, &(palette_at..mesh.gpu_bytes()));
            if !part.is_empty() {
                let part = part.start - palette_at..part.end - palette_at;
                let at_bytes = u64::from(Self::palette_base(at)) * WORD_BYTES + part.start as u64;
                let words = palette_words(palette);
                self.gpu.queue.write_buffer(&self.palettes, at_bytes, &bytemuck::cast_slice(&words)[part.clone()]);
                self.uploaded_bytes += part.len() as u64;
            }
        }
        staged.sent_bytes = end_bytes;
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

/// Bytes of the whole words among the first so many bytes.
fn whole_words(bytes: usize) -> usize {
    bytes / WORD_BYTES as usize * WORD_BYTES as usize
}

/// A palette as the GPU has it, 0x00BBGGRR.
fn palette_words(palette: &[Colour]) -> [u32; PALETTE_WORDS] {
    let mut words = [0; PALETTE_WORDS];
    for (word, &[r, g, b]) in words.iter_mut().zip(palette) {
        *word = u32::from_le_bytes([r, g, b, 0]);
    }
    words
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
