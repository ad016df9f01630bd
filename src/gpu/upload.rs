//! What the slots hold: regions in pages, changed whole.
//!
//! Owns the pages of quads and of words, and what each slot stands for. Receives [`UploadStep`]s, [`SlotUpdate`]s and
//! [`OctantUpdate`]s, yields residents to draw. It keeps no CPU copy of what is drawn: a lost device is refilled by whoever
//! has the regions.
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
//! quads   | .. | q0 q1 ... qn | .. |                   a vertex buffer a page; each quad also tells its slot
//! words   | .. | face colours | palette | solids | .. |      one address space, all pages of which are bound at once
//! ```
//!
//! So a draw call knows from a quad alone which region it is of, and what that region's voxels and colours are, and one
//! call draws many regions.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::device::Gpu;
use super::error::GpuError;
use super::resident::{Cell, Resident, bounds, overlap};
use super::space::Space;
use crate::limits::{GPU_PAGE_BYTES, GPU_REGIONS_BYTES_MAX, GPU_WORD_PAGES, REGION_VOXELS, SLOTS_MAX};
use crate::mesh::{FaceColours, Quad};
use crate::stream::{BuiltRegion, OctantUpdate, SlotUpdate, UploadStep};
use crate::voxel::Colour;

/// Bytes of a quad, the unit of the quads' pages.
pub(super) const QUAD_BYTES: u64 = size_of::<Quad>() as u64;

/// Words of a quad.
const QUAD_WORDS: usize = size_of::<Quad>() / size_of::<u32>();

/// The word of a quad that tells its slot, and where in it: unused bits of `extent` in `mesh::Quad`.
const QUAD_SLOT_WORD: usize = 1;
const QUAD_SLOT_SHIFT: u32 = 16;

const _: () = assert!(SLOTS_MAX <= 1 << 8, "a slot's number fits the bits that the shader reads");

/// Bytes of a word, the unit of the words' pages.
pub(super) const WORD_BYTES: u64 = size_of::<u32>() as u64;

/// Words of a palette.
const PALETTE_WORDS: usize = 256;

/// How much the slots may take on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Size of a page, in bytes: a power of two, at least 4 KiB and at most 64 MiB. What is not quads fits into
    /// [`GPU_WORD_PAGES`] of them.
    pub page_bytes: u64,
    /// What all regions may take, in bytes.
    pub regions_bytes_max: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { page_bytes: GPU_PAGE_BYTES, regions_bytes_max: GPU_REGIONS_BYTES_MAX }
    }
}

/// A region that is on its way.
#[derive(Debug)]
struct Staged {
    region: Arc<BuiltRegion>,
    /// Its room, taken whole.
    resident: Resident,
    /// How much of the region's bytes was sent.
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
    quads: Space<wgpu::Buffer>,
    words: Space<wgpu::Buffer>,
    /// By slot.
    held: Vec<Slot>,
    uploaded_bytes: u64,
    /// Counts what was shown and cleared.
    n_changes: u64,
    /// The time of the frame, where changes fade.
    now: Option<Duration>,
}

impl Slots {
    pub(super) fn new(gpu: &Gpu, budget: Budget) -> Self {
        assert!(budget.page_bytes.is_power_of_two() && (1 << 12..=1 << 26).contains(&budget.page_bytes));
        let quads_a_page = budget.page_bytes / QUAD_BYTES;
        // Addresses of quads are 32 bits wide, too.
        let n_quad_pages = budget.regions_bytes_max.div_ceil(quads_a_page * QUAD_BYTES).max(1) as usize + 1;
        Self {
            budget,
            quads: Space::new(quads_a_page as u32, n_quad_pages),
            words: Space::new((budget.page_bytes / WORD_BYTES) as u32, GPU_WORD_PAGES),
            held: (0..SLOTS_MAX).map(|_| Slot::Empty).collect(),
            uploaded_bytes: 0,
            n_changes: 0,
            now: None,
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
        self.send(update.at, &mut staged, region.gpu_bytes());
        let mut resident = staged.resident;
        resident.offset = update.offset;
        resident.show(update.octants, self.now);
        self.held[update.at] = Slot::Shown(resident);
        self.n_changes += 1;
        Ok(())
    }

    /// Draws other octants of what the slot shows.
    pub(super) fn set_octants(&mut self, update: &OctantUpdate) {
        if let Slot::Shown(resident) = &mut self.held[update.at] {
            resident.show(update.octants, self.now);
        }
    }

    /// Sets the time, or ends all fades at once.
    pub(super) fn set_time(&mut self, now: Option<Duration>) {
        self.now = now;
        for slot in &mut self.held {
            if let Slot::Shown(resident) = slot {
                resident.settle(now);
            }
        }
    }

    /// The time, where changes fade.
    pub(super) fn time(&self) -> Option<Duration> {
        self.now
    }

    /// Whether any octant fades.
    pub(super) fn is_fading(&self) -> bool {
        self.residents().any(|(_, resident)| resident.fading_since.iter().any(Option::is_some))
    }

    /// What the slots show, by slot.
    pub(super) fn residents(&self) -> impl Iterator<Item = (usize, &Resident)> {
        self.held.iter().enumerate().filter_map(|(at, slot)| match slot {
            Slot::Shown(resident) => Some((at, resident)),
            Slot::Empty | Slot::Staged(_) => None,
        })
    }

    /// The pages of quads, for vertex buffers.
    pub(super) fn quads(&self) -> &Space<wgpu::Buffer> {
        &self.quads
    }

    /// The pages of words, for the shaders.
    pub(super) fn words(&self) -> &Space<wgpu::Buffer> {
        &self.words
    }

    /// A number that changes whenever another region is shown, or one is cleared.
    pub(super) fn n_changes(&self) -> u64 {
        self.n_changes
    }

    /// Bytes that the regions take, exactly, those on their way included.
    pub(super) fn used_bytes(&self) -> u64 {
        self.held.iter().filter_map(Slot::resident).map(size_bytes).sum()
    }

    /// Bytes of all pages, room that is free included.
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.quads.n_pages() as u64 * u64::from(self.quads.page_units()) * QUAD_BYTES
            + self.words.n_pages() as u64 * u64::from(self.words.page_units()) * WORD_BYTES
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
        let resident = match slot {
            Slot::Empty => return,
            Slot::Staged(staged) => staged.resident,
            Slot::Shown(resident) => {
                self.n_changes += 1;
                resident
            }
        };
        self.quads.give_back(resident.quads);
        self.words.give_back(resident.words);
    }

    /// Takes the room of a region, all of it or none. The mesh has quads.
    fn stage(&mut self, region: &Arc<BuiltRegion>) -> Result<Staged, GpuError> {
        let (mesh, key) = (&region.mesh, region.key);
        let size_bytes = region.gpu_bytes() as u64;
        let used_bytes = self.used_bytes();
        let no_room = |budget_bytes| GpuError::NoRoom { size_bytes, used_bytes, budget_bytes };
        if used_bytes + size_bytes > self.budget.regions_bytes_max {
            return Err(no_room(self.budget.regions_bytes_max));
        }
        let gpu = &self.gpu;
        let page = |label, page_bytes, usage| {
            let usage = usage | wgpu::BufferUsages::COPY_DST;
            let desc =
                wgpu::BufferDescriptor { label: Some(label), size: page_bytes, usage, mapped_at_creation: false };
            gpu.try_create_buffer(&desc)
        };
        let quad_page_bytes = u64::from(self.quads.page_units()) * QUAD_BYTES;
        let quads = self
            .quads
            .take(mesh.quads.len() as u32, || page("quad page", quad_page_bytes, wgpu::BufferUsages::VERTEX))?
            .ok_or_else(|| no_room(self.budget.regions_bytes_max))?;
        let n_colour_words = mesh.face_colours.size_bytes().div_ceil(WORD_BYTES as usize) as u32;
        let n_solid_words = region.solids.words().len() as u32;
        let is_direct = matches!(mesh.face_colours, FaceColours::Direct { .. });
        let n_words = n_colour_words + n_solid_words + if is_direct { 0 } else { PALETTE_WORDS as u32 };
        let word_page_bytes = self.budget.page_bytes;
        let words = self
            .words
            .take(n_words, || page("word page", word_page_bytes, wgpu::BufferUsages::STORAGE))
            .and_then(|it| it.ok_or_else(|| no_room(GPU_WORD_PAGES as u64 * word_page_bytes)));
        let words = match words {
            Ok(words) => words,
            Err(err) => {
                self.quads.give_back(quads);
                return Err(err);
            }
        };
        let resident = Resident {
            cell: Cell { zoom: key.tile.zoom(), at: [key.tile.x() as i32, key.layer, key.tile.y() as i32] },
            offset: [0; 3],
            voxel_edge: (key.edge_voxels() / i64::from(REGION_VOXELS)).max(1) as i32,
            octants: 0,
            fading_since: [None; 8],
            ends: mesh.ends,
            bounds: bounds(mesh),
            is_direct,
            quads,
            words,
            n_colour_words,
            n_solid_words,
        };
        Ok(Staged { region: Arc::clone(region), resident, sent_bytes: 0 })
    }

    /// Sends what is missing of the region's bytes up to `end_bytes`: quads, face colours, palette, solids. A word is sent
    /// with its last byte.
    fn send(&mut self, at: usize, staged: &mut Staged, end_bytes: usize) {
        let Staged { region, resident, sent_bytes } = staged;
        let end_bytes = end_bytes.min(region.gpu_bytes());
        let to_send = *sent_bytes / WORD_BYTES as usize..end_bytes / WORD_BYTES as usize;
        *sent_bytes = end_bytes;

        let n_quad_words = region.mesh.quads.len() * QUAD_WORDS;
        let part = overlap(&to_send, &(0..n_quad_words));
        if !part.is_empty() {
            let at_word = resident.quads.start as usize * QUAD_WORDS + part.start;
            let page_words = self.quads.page_units() as usize * QUAD_WORDS;
            self.write(&self.quads, page_words, at_word, &quad_words(&region.mesh.quads, part.clone(), at));
        }
        let from_words = to_send.start.saturating_sub(n_quad_words)..to_send.end.saturating_sub(n_quad_words);
        let mut first = 0;
        for section in word_sections(region) {
            let n_words = section.len().div_ceil(WORD_BYTES as usize);
            let part = overlap(&from_words, &(first..first + n_words));
            if !part.is_empty() {
                let bytes = &section[(part.start - first) * 4..section.len().min((part.end - first) * 4)];
                let at_word = resident.words.start as usize + part.start;
                self.write(&self.words, self.words.page_units() as usize, at_word, &in_whole_words(bytes));
            }
            first += n_words;
        }
        self.uploaded_bytes += to_send.len() as u64 * WORD_BYTES;
    }

    /// Writes whole words to an address, page by page.
    fn write(&self, space: &Space<wgpu::Buffer>, page_words: usize, at_word: usize, mut bytes: &[u8]) {
        let mut at_word = at_word;
        while !bytes.is_empty() {
            let (page, word) = (at_word / page_words, at_word % page_words);
            let (part, rest) = bytes.split_at(bytes.len().min((page_words - word) * WORD_BYTES as usize));
            self.gpu.queue.write_buffer(space.page(page), word as u64 * WORD_BYTES, part);
            at_word += part.len() / WORD_BYTES as usize;
            bytes = rest;
        }
    }
}

/// Bytes that a region takes.
fn size_bytes(resident: &Resident) -> u64 {
    resident.quads.len() as u64 * QUAD_BYTES + resident.words.len() as u64 * WORD_BYTES
}

/// Some words of a mesh's quads, each of which tells its slot.
fn quad_words(quads: &[Quad], part: Range<usize>, slot: usize) -> Vec<u8> {
    let words: &[u32] = bytemuck::cast_slice(quads);
    let with_slot = |idx: usize| match idx % QUAD_WORDS {
        QUAD_SLOT_WORD => words[idx] | (slot as u32) << QUAD_SLOT_SHIFT,
        _ => words[idx],
    };
    part.flat_map(|idx| with_slot(idx).to_le_bytes()).collect()
}

/// What stands in a region's words, in this order; each begins with a word of its own.
fn word_sections(region: &BuiltRegion) -> [Cow<'_, [u8]>; 3] {
    let (colours, palette): (&[u8], Cow<'_, [u8]>) = match &region.mesh.face_colours {
        FaceColours::Indexed { entries, palette } => (entries, Cow::Owned(palette_bytes(palette))),
        FaceColours::Direct { entries } => (bytemuck::cast_slice(entries), Cow::Borrowed(&[])),
    };
    [Cow::Borrowed(colours), palette, Cow::Borrowed(bytemuck::cast_slice(region.solids.words()))]
}

/// A palette as the GPU has it, 0x00BBGGRR.
fn palette_bytes(palette: &[Colour]) -> Vec<u8> {
    let mut bytes = vec![0; PALETTE_WORDS * WORD_BYTES as usize];
    for (word, colour) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(palette) {
        word[..3].copy_from_slice(colour);
    }
    bytes
}

/// The bytes, and zeros up to a whole word.
fn in_whole_words(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.len().is_multiple_of(WORD_BYTES as usize) {
        return Cow::Borrowed(bytes);
    }
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(WORD_BYTES as usize), 0);
    Cow::Owned(padded)
}
