//! The interest: which regions a view wants, in what order, and how far its picture reaches.
//!
//! Owns the ordering. Receives a view and what the tileset says of itself, yields region keys; it does not know what
//! is loaded, so it is the same whatever the network does, and it is cheap enough to be asked again every frame.
//!
//! ```text
//!   +---+---+---+---+---+---+---+      candidates: the tiles within the draw distance along the ground, at most
//!   |   |   | . | v | v | . |   |      INTEREST_TILES away, in every layer that the tileset has
//!   +---+---+---+---+---+---+---+
//!   |   | f | b | v | v | b | f |      v  visible: in the frustum, the nearest SLOTS_PER_ZOOM
//!   +---+---+---+-\-+-/-+---+---+      b  prebuild: the nearest others, in the frustum or not
//!   |   |   | b | v\|/v | b |   |      f  prefetch: the nearest after those
//!   +---+---+---+---*---+---+---+      *  the eye
//! ```
//!
//! Distance is measured along the ground, from the eye to the nearest point of a region's square; regions at one
//! distance, such as the layers of a tile, follow by their height above or below the eye, then by key. A tower is
//! therefore whole before its neighbours are begun, and the order agrees with the fog's, which is measured alike.

use super::View;
use super::frustum::{Frustum, ground_distance, height_distance};
use crate::geo::{RegionKey, mercator, tile_of_voxel};
use crate::limits::{INTEREST_TILES, PREBUILD, PREFETCH, REGION_VOXELS, SLOTS_PER_ZOOM, ZOOM_FULL};

/// Layers that are looked at, nearest to the eye: 4 km of height in Tokyo, more than stands within the reach. It
/// bounds the work of a frame whatever a tileset claims.
const LAYERS_MAX: usize = 16;

/// How long before its nearest point a region begins to claim its share of the slots, in voxels: over this distance
/// the reach gives way smoothly. Measured over Tokyo's grid with a 50 degree lens, at 60 and at 300 m: the reach keeps
/// nine tenths of what the slots allow (770 of 860 voxels, 725 of 810) and moves by 2 voxels a milliradian that the
/// camera turns, by 4 to 20 a voxel that it flies. Twice as long is smoother still, and costs another tenth.
const CLAIM_VOXELS: f64 = 128.0;

/// What the interest has to know of a tileset.
///
/// `exists` says whether a region may hold anything: false only where the tileset's availability or an earlier answer
/// says that it is empty, true where it must be asked. Empty regions take no slot, so the more it knows, the farther
/// the picture reaches.
#[derive(Debug, Clone, Copy)]
pub struct TilesetGrid<'a, F> {
    /// World y of the floor of layer 0, in z17 voxels.
    pub base: i32,
    /// The layers that hold anything.
    pub layers: &'a [i32],
    /// Whether a region may hold anything.
    pub exists: F,
}

/// The regions that a view wants, nearest first within each list. No region stands in two lists, or twice in one.
///
/// The lists are the reference system's priorities: visible 3 (full), prebuild 2 (full), prefetch 1 (image).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interest {
    /// In the picture: at most [`SLOTS_PER_ZOOM`].
    pub visible: Vec<RegionKey>,
    /// The nearest others, in the frustum or not, built ahead of need: at most [`PREBUILD`].
    pub prebuild: Vec<RegionKey>,
    /// The nearest after those, whose files are fetched ahead of need: at most
    /// [`PREFETCH`].
    pub prefetch: Vec<RegionKey>,
    /// How far the picture is whole, in z17 voxels along the ground: nothing nearer lacks a slot. The fog has to close
    /// here. At most the view's draw distance.
    pub reach_voxels: f64,
}

/// A region near the eye.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    key: RegionKey,
    /// Distance along the ground, in voxels.
    distance: f64,
    /// Height above or below the eye, in voxels.
    height: f64,
    /// Whether it is in the frustum and within the draw distance.
    is_visible: bool,
    /// How nearly it is in the frustum, 0..=1.
    nearness: f64,
}

impl Interest {
    /// What the view wants of the tileset.
    ///
    /// `view.draw_distance_voxels` is how far the person would like to see. Draw with the least of it and the
    /// [reach](Interest::reach_voxels) (see [`eased_reach`]), and do not hand the drawn distance back in: it could
    /// never grow again.
    ///
    /// A view that stands nowhere (a coordinate that is no number) wants nothing.
    ///
    /// ```
    /// use voxatlas::view::{Interest, TilesetGrid, View, ViewSpec};
    ///
    /// let spec: ViewSpec = "139.745433,35.658581,300,0,-30".parse()?;
    /// let view = View {
    ///     pose: spec.pose(),
    ///     fov_y_rad: 0.9,
    ///     width_px: 1280,
    ///     height_px: 720,
    ///     draw_distance_voxels: 2000.0,
    /// };
    /// // Layer 1 exists over the tower alone.
    /// let exists = |key: voxatlas::geo::RegionKey| key.layer == 0 || key.tile.to_string() == "17/116415/51623";
    /// let interest = Interest::compute(&view, &TilesetGrid { base: -32, layers: &[0, 1], exists });
    /// assert_eq!(interest.visible[0].to_string(), "17/116415/51623 layer 1");
    /// assert_eq!(interest.visible.len(), 16);
    /// assert!(interest.reach_voxels > 500.0 && interest.reach_voxels < 2000.0);
    /// # Ok::<(), voxatlas::view::ViewSpecError>(())
    /// ```
    pub fn compute(view: &View, grid: &TilesetGrid<'_, impl Fn(RegionKey) -> bool>) -> Self {
        if !view.pose.eye_in_world.is_finite() {
            return Self::default();
        }
        let cap = INTEREST_TILES as f64 * f64::from(REGION_VOXELS);
        // `min` and `max` drop what is not a number.
        let draw_distance = view.draw_distance_voxels.min(cap).max(0.0);
        let candidates = candidates(view, grid, draw_distance);

        let (mut visible, mut others): (Vec<_>, Vec<_>) = (Vec::with_capacity(SLOTS_PER_ZOOM), Vec::new());
        for candidate in &candidates {
            if candidate.is_visible && visible.len() < SLOTS_PER_ZOOM {
                visible.push(candidate.key);
            } else if others.len() < PREBUILD + PREFETCH {
                others.push(candidate.key);
            }
        }
        let prefetch = others.split_off(others.len().min(PREBUILD));
        Self { visible, prebuild: others, prefetch, reach_voxels: reach(&candidates, draw_distance) }
    }
}

/// The regions near the eye that may hold anything, in the order of interest.
fn candidates(view: &View, grid: &TilesetGrid<'_, impl Fn(RegionKey) -> bool>, draw_distance: f64) -> Vec<Candidate> {
    let eye = view.pose.eye_in_world;
    let region = f64::from(REGION_VOXELS);
    // Beyond the draw distance by what a region claims ahead of itself: a region must not begin to count suddenly.
    let radius = ((draw_distance + CLAIM_VOXELS) / region).ceil() as i64;
    let frustum = Frustum::new(view);
    let layers = nearest_layers(eye.y, grid);

    // An eye north or south of the world looks at its edge.
    let last = (1i64 << ZOOM_FULL) - 1;
    let row = ((eye.z / region).floor() as i64).clamp(-radius - 1, last + radius + 1);
    let Some(column) = tile_of_voxel(ZOOM_FULL, mercator::wrap_x(eye.x) as i64, 0) else {
        return Vec::new();
    };

    let mut candidates = Vec::new();
    for y in (row - radius).max(0)..=(row + radius).min(last) {
        for dx in -radius..=radius {
            let Some(tile) = column.offset_wrapped(dx, y) else { continue };
            for &layer in &layers {
                let key = RegionKey::new(tile, layer);
                let world_box = key.world_box(grid.base);
                let corners = world_box.relative_to(eye);
                let distance = ground_distance(corners);
                if distance < draw_distance + CLAIM_VOXELS && (grid.exists)(key) {
                    candidates.push(Candidate {
                        key,
                        distance,
                        height: height_distance(corners),
                        is_visible: distance <= draw_distance && frustum.intersects(world_box),
                        nearness: frustum.nearness(world_box),
                    });
                }
            }
        }
    }
    candidates.sort_unstable_by(|a, b| {
        let by_distance = a.distance.total_cmp(&b.distance).then(a.height.total_cmp(&b.height));
        by_distance.then_with(|| a.key.cmp(&b.key))
    });
    candidates
}

/// The tileset's layers, each once, without those that are farther from the eye than [`LAYERS_MAX`] others.
fn nearest_layers<F>(eye_y: f64, grid: &TilesetGrid<'_, F>) -> Vec<i32> {
    let region = f64::from(REGION_VOXELS);
    let eye_layer = (eye_y - f64::from(grid.base)) / region - 0.5;
    let mut layers = grid.layers.to_vec();
    layers.sort_unstable_by(|a, b| {
        let distance = |layer: i32| (f64::from(layer) - eye_layer).abs();
        distance(*a).total_cmp(&distance(*b)).then(a.cmp(b))
    });
    layers.dedup();
    layers.truncate(LAYERS_MAX);
    layers
}

/// How far the picture is whole.
///
/// The plain answer, the distance of the first visible region that finds no slot, jumps whenever a region enters the
/// frustum. So each candidate claims a share of the slots that grows smoothly, over the last [`CLAIM_VOXELS`] before
/// its distance and while it nears the frustum, and the reach is where the claims use up the slots. At the first
/// region without a slot all those before it and its own are claimed in full, one more than there are: the reach is
/// never beyond it.
fn reach(candidates: &[Candidate], draw_distance: f64) -> f64 {
    let claims = |reach: f64| -> f64 {
        let share = |c: &Candidate| c.nearness * ((reach - c.distance) / CLAIM_VOXELS + 1.0).clamp(0.0, 1.0);
        // The slope: where no region begins for a while, a small change must still not move the reach far.
        let slope = reach / draw_distance.max(1.0);
        candidates.iter().take_while(|c| c.distance < reach + CLAIM_VOXELS).map(share).sum::<f64>() + slope
    };
    // One more than there are slots: with the slope, it is used up before the first region without a slot, and a
    // tileset of just as many regions as slots is still seen to the draw distance.
    let capacity = (SLOTS_PER_ZOOM + 1) as f64;
    if claims(draw_distance) <= capacity {
        return draw_distance;
    }
    let (mut whole, mut lacking) = (0.0, draw_distance);
    // Claims never fall with the distance; 24 halvings of at most 2,560 voxels leave less than a thousandth.
    for _ in 0..24 {
        let middle = f64::midpoint(whole, lacking);
        if claims(middle) <= capacity {
            whole = middle;
        } else {
            lacking = middle;
        }
    }
    whole
}

/// The reach to draw with, after the one of the frame before: it shrinks at once, since the fog must not lag behind
/// what is missing, and grows by easing (two thirds of the way in half a second), since an answer from the network
/// may free many slots at once.
pub fn eased_reach(shown_voxels: f64, reach_voxels: f64, elapsed_secs: f64) -> f64 {
    if shown_voxels >= reach_voxels || shown_voxels.is_nan() || elapsed_secs.is_nan() {
        return reach_voxels;
    }
    let part = 1.0 - libm::exp(-2.0 * elapsed_secs.max(0.0));
    shown_voxels + (reach_voxels - shown_voxels) * part
}

#[cfg(test)]
mod tests;
