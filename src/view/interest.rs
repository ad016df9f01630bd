//! The interest: which regions a view wants, in what order, and how far its picture reaches.
//!
//! Owns the ordering. Receives a view, how the camera moves and what the tileset says of itself, yields region keys; it
//! does not know what is loaded, so it is the same whatever the network does, and it is cheap enough to be asked again
//! every frame.
//!
//! ```text
//! The coarsest zoom, from above: the roots             A finer zoom: the children of what is visible
//!
//!   +---+---+---+---+---+---+---+                        +-------+-------+
//!   |   |   | . | v | v | . |   |                        |   v   | v | v |   v  the SLOTS_PER_ZOOM nearest
//!   +---+---+---+---+---+---+---+                        |       +---+---+      in the picture, where the
//!   |   | f | b | v | v | b | f |                        |       | v | v |      parent's voxels are larger
//!   +---+---+---+-\-+-/-+---+---+                        +---+---+-\-+-/-+      than a pixel
//!   |   |   | b | v\|/v | b |   |                        |   v   | v\|/v |
//!   +---+---+---+---*---+---+---+  * the eye             +-------+---*---+
//!
//!   v  visible: in the frustum, the nearest SLOTS_PER_ZOOM of each zoom; a region's parent is visible, too
//!   b  prebuild, f  prefetch: of the others, those that would be missed most
//! ```
//!
//! At the coarsest zoom distance is measured along the ground, from the eye to the nearest point of a region's square;
//! regions at one distance, such as the layers of a tile, follow by their height above or below the eye, then by key. A
//! tower is therefore whole before its neighbours are begun, and the order agrees with the fog's, which is measured
//! alike. At finer zooms it is measured through the air: what counts there is how large a voxel looks.
//!
//! Visible regions come in the order of the error that is seen without them, in pixels: the roots first, then a region
//! whose parent's voxels look largest. So the whole view has a coarse picture at once, which sharpens from the eye
//! outwards. What lies ahead of a moving camera counts as nearer than what it leaves behind.
//!
//! **Hysteresis.** What was visible stays until something else is nearer by an eighth of its edge, until it is well
//! outside of the frustum, or until its parent's voxels are well below a pixel: a camera that trembles changes nothing.

use std::ops::RangeInclusive;

use glam::DVec3;

use super::frustum::{Frustum, ground_distance, height_distance};
use super::{Motion, View};
use crate::geo::{RegionKey, WorldBox, mercator, tile_of_voxel};
use crate::limits::{
    INTEREST_TILES, N_ZOOMS, PREBUILD, PREFETCH, REFINE_PIXELS, REGION_VOXELS, SLOTS_MAX, SLOTS_PER_ZOOM, ZOOM_FULL,
};

/// Layers that are looked at, nearest to the eye: 4 km of height in Tokyo, more than stands within the reach. It
/// bounds the work of a frame whatever a tileset claims.
const LAYERS_MAX: usize = 16;

/// Layers of a finer zoom that are looked at for what lies round the eye: its own, and one each way.
const LAYERS_AROUND_MAX: usize = 3;

/// How far round the eye finer regions are looked for outside the picture, in tiles of their zoom.
const TILES_AROUND: i64 = 2;

/// How long before its nearest point a region begins to claim its share of the slots, as a part of its edge: over this
/// distance the reach gives way smoothly. Measured over Tokyo's grid at zoom 17 with a 50 degree lens, at 60 and at
/// 300 m: the reach keeps nine tenths of what the slots allow (770 of 860 voxels, 725 of 810) and moves by 2 voxels a
/// milliradian that the camera turns, by 4 to 20 a voxel that it flies. Twice as long is smoother still, and costs
/// another tenth.
const CLAIM_EDGES: f64 = 0.5;

/// By what part of its edge a region that was visible counts as nearer.
const LOYALTY_EDGES: f64 = 0.125;

/// How nearly in the frustum a region that was visible has to be to stay: about a degree and a half outside.
const LOYALTY_NEARNESS: f64 = 0.5;

/// How much of [`REFINE_PIXELS`] is enough for a region that was visible.
const LOYALTY_REFINE: f64 = 0.75;

/// What the interest has to know of a tileset.
///
/// `exists` says whether a region may hold anything: false only where the tileset's availability or an earlier answer
/// says that it is empty, true where it must be asked. Empty regions take no slot, so the more it knows, the farther
/// the picture reaches.
#[derive(Debug, Clone)]
pub struct TilesetGrid<'a, F> {
    /// World y of the floor of layer 0, in z17 voxels.
    pub base: i32,
    /// The zooms that there are: 17..=17 without a pyramid. Of more than six the finest count, and none beyond 17.
    pub zooms: RangeInclusive<u8>,
    /// The layers that hold anything at the finest zoom.
    pub layers: &'a [i32],
    /// Whether a region may hold anything.
    pub exists: F,
}

/// The regions that a view wants, most useful first within each list. No region stands in two lists, or twice in one.
///
/// The lists are the reference system's priorities: visible 3 (full), prebuild 2 (full), prefetch 1 (image).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interest {
    /// In the picture: at most [`SLOTS_PER_ZOOM`] a zoom. The parent of each is visible too, up to the coarsest zoom.
    pub visible: Vec<RegionKey>,
    /// Those of the visible of which every part in the picture that may hold anything is visible at the next zoom, too:
    /// once those are there, these can be done without. In the order of the keys.
    pub refined: Vec<RegionKey>,
    /// What would be missed most of the others, in the frustum or not, built ahead of need: at most [`PREBUILD`].
    pub prebuild: Vec<RegionKey>,
    /// What would be missed most after those, and whose files are fetched ahead of need: at most
    /// [`PREFETCH`].
    pub prefetch: Vec<RegionKey>,
    /// How far the picture is whole, in z17 voxels along the ground: nothing nearer lacks a slot. The fog has to close
    /// here. At most the view's draw distance.
    pub reach_voxels: f64,
    /// Where the view stands and will soon stand: what else may become useful.
    pub outlook: Outlook,
}

/// How useful a region is that nobody wants at present.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Outlook {
    base: i32,
    /// Now and soon: eye and line of sight. Nothing for a view that stands nowhere.
    looks: Option<[(DVec3, DVec3); 2]>,
}

impl Outlook {
    fn new(view: &View, motion: &Motion, base: i32) -> Self {
        let looks = [view.pose, motion.foresee(&view.pose)].map(|pose| (pose.eye_in_world, pose.forward()));
        Self { base, looks: Some(looks) }
    }

    /// A number that is larger for a region that would be missed more if the view moved or turned a little: one that is
    /// near, large in the picture, and ahead or where the camera is turning to. 0 where nothing is known of the view.
    pub fn usefulness(&self, key: RegionKey) -> f64 {
        let Some(looks) = self.looks else { return 0.0 };
        let world_box = key.world_box(self.base);
        let edge = key.edge_voxels() as f64;
        let of = |(eye, forward): (DVec3, DVec3)| {
            let corners = world_box.relative_to(eye);
            let centre = corners[0].midpoint(corners[1]);
            // Half of it for what lies behind the back: the camera may turn at once, but rarely does.
            let ahead = 0.75 + 0.25 * centre.normalize_or_zero().dot(forward);
            ahead * edge / (distance_to(corners) + edge)
        };
        of(looks[0]).max(of(looks[1]))
    }
}

/// A region that may be wanted.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    key: RegionKey,
    /// Along the ground, in voxels: what the fog measures.
    ground: f64,
    /// What the choice goes by, in voxels: along the ground at the coarsest zoom, else through the air.
    distance: f64,
    /// The same, with what lies ahead nearer: what the order goes by.
    led_distance: f64,
    /// The error that is seen while it is missing: a parent's voxel, in parts of the distance.
    missed: f64,
    /// Height above or below the eye, in voxels.
    height: f64,
    /// Whether it is in the frustum and within the draw distance.
    is_visible: bool,
    /// Whether it was visible before, and still nearly is.
    is_kept: bool,
    /// How nearly it is in the frustum, 0..=1.
    nearness: f64,
}

impl Candidate {
    /// The distance that it is chosen by.
    fn chosen_by(&self) -> f64 {
        let loyalty = if self.is_kept { LOYALTY_EDGES * self.key.edge_voxels() as f64 } else { 0.0 };
        self.distance - loyalty
    }
}

/// Finds the interest, frame by frame: keeps what was visible, and the working memory.
///
/// ```
/// use voxatlas::view::{InterestFinder, Motion, TilesetGrid, View, ViewSpec};
///
/// let spec: ViewSpec = "139.745433,35.658581,800,0,-30".parse()?;
/// let view = View {
///     pose: spec.pose(),
///     fov_y_rad: 0.9,
///     width_px: 1280,
///     height_px: 720,
///     draw_distance_voxels: 30_000.0,
/// };
/// let grid = TilesetGrid { base: -32, zooms: 12..=17, layers: &[0], exists: |_| true };
/// let mut finder = InterestFinder::default();
/// let interest = finder.find(&view, &Motion::default(), &grid);
/// // From the roots to the horizon at two-metre voxels and finer, in the order in which they sharpen the picture.
/// assert_eq!(interest.visible[0].tile.zoom(), 12);
/// assert!(interest.visible.len() > 60 && interest.visible.len() <= 96);
/// assert!(interest.reach_voxels > 20_000.0);
/// # Ok::<(), voxatlas::view::ViewSpecError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct InterestFinder {
    interest: Interest,
    /// What was visible last time, in the order of the keys.
    kept: Vec<RegionKey>,
    candidates: Vec<Candidate>,
    /// What is visible at the zoom that is being looked at, and at the one before.
    level: Vec<Candidate>,
    parents: Vec<Candidate>,
    visible: Vec<Candidate>,
    others: Vec<Candidate>,
    /// What is visible, in the order of the keys.
    chosen: Vec<RegionKey>,
    layers: Vec<i32>,
}

impl Interest {
    /// What the view wants of the tileset, without a memory of what it wanted before: see [`InterestFinder`].
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
    /// let interest = Interest::compute(&view, &TilesetGrid { base: -32, zooms: 17..=17, layers: &[0, 1], exists });
    /// assert_eq!(interest.visible[0].to_string(), "17/116415/51623 layer 1");
    /// assert_eq!(interest.visible.len(), 16);
    /// assert!(interest.reach_voxels > 500.0 && interest.reach_voxels < 2000.0);
    /// # Ok::<(), voxatlas::view::ViewSpecError>(())
    /// ```
    pub fn compute(view: &View, grid: &TilesetGrid<'_, impl Fn(RegionKey) -> bool>) -> Self {
        let mut finder = InterestFinder::default();
        finder.find(view, &Motion::default(), grid);
        finder.interest
    }
}

impl InterestFinder {
    /// What the view wants of the tileset, a moment after the last call. See [`Interest::compute`].
    pub fn find(
        &mut self,
        view: &View,
        motion: &Motion,
        grid: &TilesetGrid<'_, impl Fn(RegionKey) -> bool>,
    ) -> &Interest {
        self.begin();
        if view.pose.eye_in_world.is_finite() {
            let look = Look::new(view, motion, grid);
            self.interest.outlook = Outlook::new(view, motion, grid.base);
            self.find_roots(&look, grid);
            for zoom in look.coarsest + 1..=look.finest {
                self.find_children(zoom, &look, grid);
            }
            self.find_others(&look, grid);
            self.hand_out(look.coarsest);
        }
        &self.interest
    }

    /// What the last call found.
    pub fn interest(&self) -> &Interest {
        &self.interest
    }

    fn begin(&mut self) {
        self.kept.clear();
        self.kept.extend_from_slice(&self.interest.visible);
        self.kept.sort_unstable();
        for keys in [
            &mut self.interest.visible,
            &mut self.interest.refined,
            &mut self.interest.prebuild,
            &mut self.interest.prefetch,
        ] {
            keys.clear();
        }
        self.interest.reach_voxels = 0.0;
        self.interest.outlook = Outlook::default();
        for candidates in [&mut self.visible, &mut self.others, &mut self.level] {
            candidates.clear();
        }
    }

    /// Chooses the roots, and finds how far they reach.
    fn find_roots<F: Fn(RegionKey) -> bool>(&mut self, look: &Look, grid: &TilesetGrid<'_, F>) {
        let edge = look.root_edge;
        let ahead = (CLAIM_EDGES + LOYALTY_EDGES) * edge;
        // Beyond the draw distance by what a region claims ahead of itself: a region must not begin to count suddenly.
        let radius = ((look.draw_distance + ahead) / edge).ceil() as i64;
        nearest_layers(look.coarsest, look, grid, LAYERS_MAX, &mut self.layers);
        self.candidates.clear();
        let kept = &self.kept;
        let candidates = &mut self.candidates;
        for_each_around(look.coarsest, radius, &self.layers, look, |key| {
            candidates.extend(look.see(key, kept).filter(|_| (grid.exists)(key)));
        });
        self.candidates.sort_unstable_by(|a, b| a.ground.total_cmp(&b.ground).then(a.key.cmp(&b.key)));
        self.interest.reach_voxels = reach(&self.candidates, look.draw_distance, edge);

        self.candidates.sort_unstable_by(|a, b| by(a, b, Candidate::chosen_by));
        for candidate in &self.candidates {
            if (candidate.is_visible || candidate.is_kept) && self.level.len() < SLOTS_PER_ZOOM {
                self.level.push(*candidate);
            } else {
                self.others.push(*candidate);
            }
        }
        self.visible.extend_from_slice(&self.level);
    }

    /// Chooses the visible regions of a zoom among the children of those of the zoom before.
    fn find_children<F: Fn(RegionKey) -> bool>(&mut self, zoom: u8, look: &Look, grid: &TilesetGrid<'_, F>) {
        std::mem::swap(&mut self.parents, &mut self.level);
        self.level.clear();
        self.candidates.clear();
        // Of each parent, the children in the picture, and those of them that are chosen.
        let (mut n_needed, mut n_chosen) = ([0; SLOTS_PER_ZOOM], [0; SLOTS_PER_ZOOM]);
        for (parent, n_needed) in self.parents.iter().zip(&mut n_needed) {
            debug_assert_eq!(parent.key.tile.zoom() + 1, zoom);
            let children = parent.key.children().into_iter().flatten().filter(|&child| look.may_stand_in(child));
            for child in children.filter_map(|child| look.see(child, &self.kept)) {
                if (child.is_visible || child.is_kept) && (grid.exists)(child.key) {
                    *n_needed += usize::from(child.is_visible);
                    if look.is_worth_refining(&child) {
                        self.candidates.push(child);
                    }
                }
            }
        }
        self.candidates.sort_unstable_by(|a, b| by(a, b, Candidate::chosen_by));
        self.level.extend(self.candidates.iter().take(SLOTS_PER_ZOOM));
        self.visible.extend_from_slice(&self.level);

        // A parent is refined where none of its children in the picture was left out.
        for child in self.level.iter().filter(|child| child.is_visible) {
            let parent = self.parents.iter().position(|parent| child.key.parent() == Some(parent.key));
            if let Some(idx) = parent {
                n_chosen[idx] += 1;
            }
        }
        let refined = self.parents.iter().zip(n_needed.iter().zip(&n_chosen));
        let refined = refined.filter(|(_, (needed, chosen))| needed == chosen && **chosen > 0);
        self.interest.refined.extend(refined.map(|(parent, _)| parent.key));
    }

    /// Chooses what else is brought, of what lies round the eye.
    fn find_others<F: Fn(RegionKey) -> bool>(&mut self, look: &Look, grid: &TilesetGrid<'_, F>) {
        self.chosen.clear();
        self.chosen.extend(self.visible.iter().map(|it| it.key));
        self.chosen.sort_unstable();
        for zoom in look.coarsest + 1..=look.finest {
            nearest_layers(zoom, look, grid, LAYERS_AROUND_MAX, &mut self.layers);
            let (chosen, others) = (&self.chosen, &mut self.others);
            for_each_around(zoom, TILES_AROUND, &self.layers, look, |key| {
                let is_new = |it: &Candidate| chosen.binary_search(&it.key).is_err() && (grid.exists)(key);
                others.extend(look.measure(key).filter(|it| look.is_worth_refining(it) && is_new(it)));
            });
        }
        if look.coarsest == look.finest {
            // One zoom: along the ground, as the visible ones.
            self.others.sort_unstable_by(|a, b| by(a, b, |it| it.led_distance));
        } else {
            self.others
                .sort_unstable_by(|a, b| b.missed.total_cmp(&a.missed).then_with(|| by(a, b, |it| it.led_distance)));
        }
        let Interest { prebuild, prefetch, .. } = &mut self.interest;
        for other in &self.others {
            if prefetch.len() == PREFETCH {
                break;
            }
            // Without its parent it would not be drawn.
            let has_parent = other.key.tile.zoom() == look.coarsest
                || other
                    .key
                    .parent()
                    .is_some_and(|parent| self.chosen.binary_search(&parent).is_ok() || prebuild.contains(&parent));
            if has_parent {
                let list = if prebuild.len() < PREBUILD { &mut *prebuild } else { &mut *prefetch };
                list.push(other.key);
            }
        }
    }

    /// Puts the visible regions in order.
    fn hand_out(&mut self, coarsest: u8) {
        self.visible.sort_unstable_by(|a, b| {
            let is_finer = |it: &Candidate| it.key.tile.zoom() != coarsest;
            let by_error = || {
                if is_finer(a) { b.missed.total_cmp(&a.missed) } else { std::cmp::Ordering::Equal }
            };
            is_finer(a).cmp(&is_finer(b)).then_with(by_error).then_with(|| by(a, b, |it| it.led_distance))
        });
        debug_assert!(self.visible.len() <= SLOTS_MAX);
        self.interest.visible.extend(self.visible.iter().map(|it| it.key));
        self.interest.refined.sort_unstable();
    }
}

/// What the steps of one search have in common.
struct Look {
    view: View,
    base: i32,
    coarsest: u8,
    finest: u8,
    /// Edge of a region of the coarsest zoom, in voxels.
    root_edge: f64,
    draw_distance: f64,
    frustum: Frustum,
    /// From the eye to where it will soon be.
    lead: DVec3,
    /// World y that anything can stand in: the span of the layers. A coarse region's box is far higher than what stands
    /// in it, and would count as near when it is not.
    span_y: [i64; 2],
    /// Pixels a radian, near the middle of the picture.
    pixels_per_rad: f64,
}

impl Look {
    fn new<F>(view: &View, motion: &Motion, grid: &TilesetGrid<'_, F>) -> Self {
        let finest = (*grid.zooms.end()).min(ZOOM_FULL);
        let coarsest = (*grid.zooms.start()).clamp((finest + 1).saturating_sub(N_ZOOMS as u8), finest);
        let root_edge = f64::from(REGION_VOXELS) * f64::from(1u32 << (ZOOM_FULL - coarsest).min(20));
        // `min` and `max` drop what is not a number.
        let draw_distance = view.draw_distance_voxels.min(INTEREST_TILES as f64 * root_edge).max(0.0);
        let lead = motion.foresee(&view.pose).eye_in_world - view.pose.eye_in_world;
        let edge = i64::from(REGION_VOXELS) << (ZOOM_FULL - finest);
        let floor = |layer: i64| i64::from(grid.base) + layer * edge;
        let lowest = grid.layers.iter().min().map_or(0, |&layer| i64::from(layer));
        let highest = grid.layers.iter().max().map_or(0, |&layer| i64::from(layer));
        Self {
            view: *view,
            base: grid.base,
            coarsest,
            finest,
            root_edge,
            draw_distance,
            frustum: Frustum::new(&View { draw_distance_voxels: draw_distance, ..*view }),
            lead: if lead.is_finite() { lead } else { DVec3::ZERO },
            span_y: [floor(lowest), floor(highest + 1)],
            pixels_per_rad: f64::from(view.height_px.max(1)) / (2.0 * view.half_extents().y),
        }
    }

    /// Whether the region lies in the span of the layers.
    fn may_stand_in(&self, key: RegionKey) -> bool {
        let span = key.span_y(self.base);
        span.start < self.span_y[1] && span.end > self.span_y[0]
    }

    /// The region's room, less what is above and below all layers.
    fn clip(&self, key: RegionKey) -> WorldBox {
        let mut world_box = key.world_box(self.base);
        world_box.min[1] = world_box.min[1].max(self.span_y[0]).min(world_box.max[1]);
        world_box.max[1] = world_box.max[1].min(self.span_y[1]).max(world_box.min[1]);
        world_box
    }

    /// Measures how far a region is; `None` beyond the draw distance and what a region claims ahead of itself. The
    /// distance that counts is that along the ground for roots, for others that through the air.
    fn measure(&self, key: RegionKey) -> Option<Candidate> {
        let (world_box, edge) = (self.clip(key), key.edge_voxels() as f64);
        let corners = world_box.relative_to(self.view.pose.eye_in_world);
        let ground = ground_distance(corners);
        if ground >= self.draw_distance + (CLAIM_EDGES + LOYALTY_EDGES) * edge {
            return None;
        }
        let is_root = key.tile.zoom() == self.coarsest;
        let distance = |corners| if is_root { ground_distance(corners) } else { distance_to(corners) };
        let now = distance(corners);
        let led_distance = f64::midpoint(now, distance(corners.map(|corner| corner - self.lead)));
        Some(Candidate {
            key,
            ground,
            distance: now,
            led_distance,
            missed: 2.0 * voxel_of(key) / led_distance.max(1.0),
            height: height_distance(corners),
            is_visible: false,
            is_kept: false,
            nearness: 0.0,
        })
    }

    /// As [`measure`](Self::measure), and sees whether it is in the picture.
    fn see(&self, key: RegionKey, kept: &[RegionKey]) -> Option<Candidate> {
        let mut it = self.measure(key)?;
        it.nearness = self.frustum.nearness(self.clip(key));
        // 1 is just what the frustum's own test lets pass.
        it.is_visible = it.ground <= self.draw_distance && it.nearness >= 1.0;
        let loyalty = LOYALTY_EDGES * key.edge_voxels() as f64;
        it.is_kept = it.nearness > LOYALTY_NEARNESS
            && it.ground <= self.draw_distance + loyalty
            && kept.binary_search(&key).is_ok();
        if it.is_kept {
            it.nearness = 1.0;
        }
        Some(it)
    }

    /// Whether a voxel of the region's parent would look too large.
    fn is_worth_refining(&self, candidate: &Candidate) -> bool {
        let enough = if candidate.is_kept { LOYALTY_REFINE * REFINE_PIXELS } else { REFINE_PIXELS };
        2.0 * voxel_of(candidate.key) * self.pixels_per_rad > enough * candidate.distance
    }
}

/// By a distance, then by height and key: no two regions are equal.
fn by(a: &Candidate, b: &Candidate, distance: impl Fn(&Candidate) -> f64) -> std::cmp::Ordering {
    let by_distance = distance(a).total_cmp(&distance(b)).then(a.height.total_cmp(&b.height));
    by_distance.then_with(|| a.key.cmp(&b.key))
}

/// Edge of the region's voxels, in z17 voxels.
fn voxel_of(key: RegionKey) -> f64 {
    key.edge_voxels() as f64 / f64::from(REGION_VOXELS)
}

/// Distance from the origin to a box, 0 inside.
fn distance_to([min, max]: [DVec3; 2]) -> f64 {
    DVec3::ZERO.max(min).min(max).length()
}

/// Hands on the regions of a zoom whose tiles lie within `radius` tiles of the eye's.
fn for_each_around(zoom: u8, radius: i64, layers: &[i32], look: &Look, mut each: impl FnMut(RegionKey)) {
    let eye = look.view.pose.eye_in_world;
    let edge = f64::from(REGION_VOXELS) * f64::from(1u32 << (ZOOM_FULL - zoom));
    // An eye north or south of the world looks at its edge.
    let last = (1i64 << zoom) - 1;
    let row = ((eye.z / edge).floor() as i64).clamp(-radius - 1, last + radius + 1);
    let Some(column) = tile_of_voxel(zoom, mercator::wrap_x(eye.x) as i64, 0) else { return };
    // A small world is gone round once only.
    let (west, east) = if 2 * radius >= last { (0, last) } else { (-radius, radius) };
    for y in (row - radius).max(0)..=(row + radius).min(last) {
        for dx in west..=east {
            let Some(tile) = column.offset_wrapped(dx, y) else { continue };
            for &layer in layers {
                each(RegionKey::new(tile, layer));
            }
        }
    }
}

/// The tileset's layers at a zoom, each once, without those that are farther from the eye than `n_max` others.
fn nearest_layers<F>(zoom: u8, look: &Look, grid: &TilesetGrid<'_, F>, n_max: usize, layers: &mut Vec<i32>) {
    let edge = f64::from(REGION_VOXELS) * f64::from(1u32 << (ZOOM_FULL - zoom));
    let eye_layer = (look.view.pose.eye_in_world.y - f64::from(grid.base)) / edge - 0.5;
    let distance = |layer: i32| (f64::from(layer) - eye_layer).abs();
    layers.clear();
    layers.extend(grid.layers.iter().map(|layer| layer >> (look.finest - zoom)));
    layers.sort_unstable_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b)));
    layers.dedup();
    layers.truncate(n_max);
}

/// How far the picture is whole, with candidates in the order of their distance along the ground.
///
/// The plain answer, the distance of the first visible region that finds no slot, jumps whenever a region enters the
/// frustum. So each candidate claims a share of the slots that grows smoothly, over the last half of an edge before
/// its distance and while it nears the frustum, and the reach is where the claims use up the slots. At the first
/// region without a slot all those before it and its own are claimed in full, one more than there are: the reach is
/// never beyond it. What was visible may keep a slot that a slightly nearer region then lacks: claims are made that much
/// earlier.
fn reach(candidates: &[Candidate], draw_distance: f64, edge: f64) -> f64 {
    let (claim, loyalty) = (CLAIM_EDGES * edge, LOYALTY_EDGES * edge);
    let claims = |reach: f64| -> f64 {
        let reach = reach + loyalty;
        let share = |c: &Candidate| c.nearness * ((reach - c.ground) / claim + 1.0).clamp(0.0, 1.0);
        // The slope: where no region begins for a while, a small change must still not move the reach far.
        let slope = reach / (draw_distance + loyalty).max(1.0);
        candidates.iter().take_while(|c| c.ground < reach + claim).map(share).sum::<f64>() + slope
    };
    // One more than there are slots: with the slope, it is used up before the first region without a slot, and a
    // tileset of just as many regions as slots is still seen to the draw distance.
    let capacity = (SLOTS_PER_ZOOM + 1) as f64;
    if claims(draw_distance) <= capacity {
        return draw_distance;
    }
    let (mut whole, mut lacking) = (0.0, draw_distance);
    // Claims never fall with the distance; 24 halvings leave less than a hundredth of a voxel of ten coarse tiles.
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
