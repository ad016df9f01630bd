//! Your own renderer on our stream: boxes, textures and offsets, as in the reference system.
//!
//! ```text
//! cargo run --example bring_your_own_renderer [SOURCE [LON,LAT,HEIGHT_M,BEARING_DEG,PITCH_DEG]]
//! ```
//!
//! Flies a second over the demo city, or a SOURCE, waits until the picture is whole, and prints what a renderer would be
//! told to draw. Its loop is that of the reference system:
//!
//! ```text
//! cam.update()                                        controls.step
//! scene.render()                                      scene.frame, boxes.apply, boxes.commit
//! scene.updates(({ at, atlas, offset }) => ...)       boxes.updates
//! scene.updated: scene.pos, scl, aid, count           boxes.buffers
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use glam::Vec3;
use voxatlas::atlas::{ATLAS_ROW_BYTES, Presence, texel_from_voxel};
use voxatlas::geo::EyeOrigin;
use voxatlas::limits::SLOTS_PER_ZOOM;
use voxatlas::loader::{Loader, LoaderConfig};
use voxatlas::mesh::BoxBuffers;
use voxatlas::source::{Source, SourceConfig};
use voxatlas::stream::{AtlasHandle, BoxSlots, BoxUpdate, Scene, SceneConfig};
use voxatlas::view::{Controls, Input, Interest, Mode, TilesetGrid, View, ViewSpec};

/// Over the south-east of the demo city, towards the north-west.
const DEMO_VIEW: &str = "0.0052,-0.0067,330,334,-22";

/// Frames of flight, and the time from one to the next.
const FLIGHT_FRAMES: u32 = 60;
const FRAME: Duration = Duration::from_millis(16);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let source = Source::open_blocking(args.next().as_deref().unwrap_or("demo"), &SourceConfig::default())?;
    let spec: ViewSpec = args.next().as_deref().unwrap_or(DEMO_VIEW).parse()?;
    let base = source.tileset().base();
    let availability = source.availability().clone();
    let layers: Vec<i32> = availability.layers().collect();
    let exists = |key| availability.presence(key) != Presence::Absent;
    // Zoom 17 alone: the voxels of coarser ones are larger than 1, and the reference system has none.
    let grid = TilesetGrid { base, zooms: 17..=17, layers: &layers, exists };

    // createCamera
    let mut view =
        View { pose: spec.pose(), fov_y_rad: 0.9, width_px: 1280, height_px: 720, draw_distance_voxels: 2_000.0 };
    let mut controls = Controls::new(Mode::Flight, &view.pose);
    // createScene
    let mut scene = Scene::new(SceneConfig { base, slots: SLOTS_PER_ZOOM, ..SceneConfig::default() });
    let loader = Loader::new(source, &LoaderConfig { build_boxes: true, ..LoaderConfig::default() })?;
    let mut boxes = BoxSlots::new(scene.config().slots);

    let mut renderer = Renderer::default();
    let started = Instant::now();
    for n in 0.. {
        let is_flying = n < FLIGHT_FRAMES;
        let input = Input { forward: is_flying, elapsed_secs: FRAME.as_secs_f64(), ..Input::default() };
        view.pose = controls.step(&view, &input);

        let frame = scene.frame(&Interest::compute(&view, &grid), started.elapsed());
        boxes.apply(&frame)?;
        for command in frame.commands {
            loader.run(command);
        }
        if boxes.commit() {
            // All of this belongs to one picture: between two commits nothing of it changes.
            for update in boxes.updates() {
                renderer.set_slot(update);
            }
            renderer.set_boxes(boxes.buffers());
        }
        renderer.draw(&view);

        if !is_flying && scene.is_complete() {
            break;
        }
        // Instead of the display's next refresh: what arrives until then.
        if let Some(event) = loader.wait_event(FRAME) {
            scene.handle(event, started.elapsed());
        }
    }
    renderer.report(boxes.buffers());
    Ok(())
}

/// What a renderer has of the stream, and as much of its work as needs no graphics card.
#[derive(Default)]
struct Renderer {
    /// By slot: the texture, and where in the world its region stands.
    slots: [Option<(AtlasHandle, [i64; 3])>; SLOTS_PER_ZOOM],
    /// By slot, in voxels: what the shader adds to a box's place.
    offsets_from_eye: [Vec3; SLOTS_PER_ZOOM],
    n_boxes: usize,
    n_draws: usize,
}

impl Renderer {
    /// `iAtlas[at]` and `iOffset[at]`.
    fn set_slot(&mut self, BoxUpdate { at, atlas, offset }: &BoxUpdate) {
        match atlas {
            // Here `write_row` would fill a texture of 4096 x 4096, this frame or, with `BoxSlots::staged`, before.
            Some(atlas) => println!("slot {at:>2}: texture of {}, at {offset:?}", atlas.key()),
            None => println!("slot {at:>2}: nothing"),
        }
        self.slots[*at] = atlas.clone().map(|atlas| (atlas, *offset));
    }

    /// The instance buffers.
    fn set_boxes(&mut self, buffers: &BoxBuffers) {
        let (written, bytes) = (buffers.written(), 28 * buffers.written().len());
        let how = if buffers.overflow() { "into new buffers" } else { "in place" };
        println!("boxes {written:?} of {} {how}: {bytes} bytes", buffers.count());
        self.n_boxes = buffers.count();
    }

    /// One call draws all boxes, each a unit cube times `scl` plus `pos` plus its slot's offset from the eye.
    fn draw(&mut self, view: &View) {
        let eye = EyeOrigin::new(view.pose.eye_in_world);
        for (from_eye, slot) in self.offsets_from_eye.iter_mut().zip(&self.slots) {
            *from_eye = slot.as_ref().map_or(Vec3::ZERO, |(_, offset)| eye.relative(*offset));
        }
        self.n_draws += usize::from(self.n_boxes > 0);
    }

    /// What the last frame shows, and what its shader would find for the top of the highest box.
    fn report(&self, buffers: &BoxBuffers) {
        let n_slots = self.slots.iter().flatten().count();
        println!("{n_slots} slots, {} boxes in one call, {} frames drawn", buffers.count(), self.n_draws);

        let box_of = |idx: usize| {
            let [pos, scl] = [buffers.pos(), buffers.scl()].map(|array| [0, 1, 2].map(|axis| array[3 * idx + axis]));
            (pos, scl, buffers.aid()[idx] as usize)
        };
        let top_of = |idx: usize| box_of(idx).0[1] + box_of(idx).1[1] / 2.0;
        let height_of = |idx: usize| self.offsets_from_eye[box_of(idx).2].y + top_of(idx);
        let Some(highest) = (0..buffers.count()).max_by(|&a, &b| height_of(a).total_cmp(&height_of(b))) else { return };
        let (pos, scl, slot) = box_of(highest);
        let Some((atlas, _)) = &self.slots[slot] else { return };
        let [x, y, z] = [pos[0], top_of(highest) - 0.5, pos[2]].map(|c| c as u32);
        let [u, v] = texel_from_voxel(x, y, z);
        let mut row = [0; ATLAS_ROW_BYTES];
        atlas.write_row(v, &mut row);
        let [r, g, b, a] = [0, 1, 2, 3].map(|channel| row[u as usize * 4 + channel]);
        println!(
            "the highest box of {}: {scl:?} voxels, {} from the eye, texel ({u}, {v}) #{r:02x}{g:02x}{b:02x}, alpha {a}",
            atlas.key(),
            self.offsets_from_eye[slot] + Vec3::from_array(pos)
        );
    }
}
