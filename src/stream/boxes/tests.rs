use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::atlas::{EncodedAtlas, occupancy_from_rgba, texel_from_voxel};
use crate::geo::TileCoord;
use crate::mesh::{Face, FaceColours, Quad, RegionMesh, mesh_boxes};
use crate::stream::{Command, Event, OctantUpdate, Outcome, Scene, SceneConfig, Ticket};
use crate::view::Interest;
use crate::voxel::{ColourDepth, Occupancy, Solids};

const BASE: i32 = -32;

fn key(zoom: u8, x: u32) -> RegionKey {
    RegionKey::new(TileCoord::new(zoom, x, 5).unwrap(), 0)
}

/// A region whose voxels, boxes and colour tell which it is: a row of `x` + 1 voxels at height `x`.
fn built(key: RegionKey) -> BuiltRegion {
    let n = key.tile.x() + 1;
    let mut occupancy = Occupancy::empty();
    // Gaps, so that each voxel is a box.
    (0..n).for_each(|idx| occupancy.set(2 * idx, n, 7, true));
    let boxes = Some(Arc::new(mesh_boxes(&occupancy)));
    let voxels = Region::paint(occupancy, ColourDepth::Indexed(vec![[n as u8, 2, 3]]), |_, _, _| 0);
    let quads = vec![Quad::new([0; 3], Face::PosY, 1, 1); n as usize];
    let mesh = RegionMesh::new(quads, FaceColours::Direct { entries: Vec::new() }, false);
    BuiltRegion { key, voxels: Some(voxels), mesh, solids: Solids::default(), boxes }
}

fn update(at: usize, built: Option<BuiltRegion>) -> SlotUpdate {
    SlotUpdate { at, region: built.map(Arc::new), offset: [at as i64, 2, 3], octants: SlotUpdate::ALL_OCTANTS }
}

fn frame(updates: Vec<SlotUpdate>) -> Frame {
    Frame { updates, ..Frame::default() }
}

/// A renderer of the reference system's kind: a texture and an offset a slot, and one draw call of boxes.
#[derive(Default)]
struct Viewer {
    slots: BTreeMap<usize, (AtlasHandle, [i64; 3])>,
}

impl Viewer {
    fn follow(&mut self, boxes: &BoxSlots) {
        for BoxUpdate { at, atlas, offset } in boxes.updates() {
            match atlas {
                Some(atlas) => self.slots.insert(*at, (atlas.clone(), *offset)),
                None => self.slots.remove(at),
            };
        }
    }

    /// Every box stands in a slot that has the texture of just its region, and every region has all its boxes.
    fn check(&self, boxes: &BoxSlots) -> Result<(), TestCaseError> {
        let buffers = boxes.buffers();
        let mut n_expected = 0;
        for (&at, (atlas, offset)) in &self.slots {
            prop_assert_eq!(*offset, atlas.key().origin(BASE), "slot {} stands where its texture does", at);
            let range = buffers.of_slot(at);
            prop_assert_eq!(range.len(), atlas.key().tile.x() as usize + 1, "slot {} has its region's boxes", at);
            for idx in range {
                let [x, y, z] = [0, 1, 2].map(|axis| buffers.pos()[3 * idx + axis] as u32);
                prop_assert!(atlas.voxels().occupancy.get(x, y, z), "slot {} has another's box", at);
                n_expected += 1;
            }
        }
        prop_assert_eq!(buffers.count(), n_expected, "no box without a texture");
        Ok(())
    }
}

/// What the network does in one step, and whether the renderer commits after it.
#[derive(Debug, Clone)]
struct Step {
    wanted: Vec<u32>,
    n_answers: usize,
    commits: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let wanted = prop::sample::subsequence((0..9u32).collect::<Vec<_>>(), 0..6).prop_shuffle();
    (wanted, 0usize..5, any::<bool>()).prop_map(|(wanted, n_answers, commits)| Step { wanted, n_answers, commits })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn geometry_atlas_and_offset_of_a_slot_change_together(steps in prop::collection::vec(step(), 1..40)) {
        // Little room for uploads, so that a region takes a frame or two.
        let config = SceneConfig { base: BASE, slots: 3, upload_bytes_per_frame: 60, ..SceneConfig::default() };
        let mut scene = Scene::new(config);
        let (mut boxes, mut viewer) = (BoxSlots::new(3), Viewer::default());
        let regions: Vec<Arc<BuiltRegion>> = (0..9).map(|x| Arc::new(built(key(17, x)))).collect();
        let mut running: Vec<(Ticket, RegionKey, bool)> = Vec::new();
        let mut now = Duration::ZERO;
        for Step { wanted, n_answers, commits } in steps {
            now += Duration::from_millis(16);
            let visible = wanted.iter().map(|&x| key(17, x)).collect();
            let frame = scene.frame(&Interest { visible, ..Interest::default() }, now);
            for command in &frame.commands {
                match command {
                    Command::Fetch { ticket, key } => running.push((*ticket, *key, false)),
                    Command::Build { ticket, key, .. } => running.push((*ticket, *key, true)),
                    Command::Abort { ticket } => running.retain(|(running, ..)| running != ticket),
                }
            }
            boxes.apply(&frame).unwrap();
            if commits {
                boxes.commit();
            }
            // Whoever looks between two commits finds the updates of the first again, and nothing of the second.
            viewer.follow(&boxes);
            viewer.check(&boxes)?;
            for (ticket, key, is_build) in running.drain(..n_answers.min(running.len())) {
                let outcome = if is_build {
                    Outcome::Built(Arc::clone(&regions[key.tile.x() as usize]))
                } else {
                    Outcome::Fetched(EncodedAtlas::new(vec![1]))
                };
                scene.handle(Event { ticket, key, outcome }, now);
            }
        }
        boxes.commit();
        viewer.follow(&boxes);
        viewer.check(&boxes)?;
        let shown: Vec<_> = scene.slots().enumerate().filter_map(|(at, slot)| Some((at, slot?.0))).collect();
        let drawn: Vec<_> = viewer.slots.iter().map(|(&at, (atlas, _))| (at, atlas.key())).collect();
        prop_assert_eq!(drawn, shown, "the last commit shows what the scene says");
    }
}

#[test]
fn updates_are_told_once_and_with_their_commit() {
    let mut boxes = BoxSlots::new(2);
    assert!(!boxes.commit());
    boxes.apply(&frame(vec![update(1, Some(built(key(17, 4))))])).unwrap();
    assert_eq!((boxes.updates(), boxes.buffers().count()), (&[][..], 0));
    assert_eq!(boxes.staged().map(|update| update.at).collect::<Vec<_>>(), [1]);

    assert!(boxes.commit());
    let [BoxUpdate { at: 1, atlas: Some(atlas), offset: [1, 2, 3] }] = boxes.updates() else {
        panic!("{:?}", boxes.updates())
    };
    assert_eq!((atlas.key(), boxes.buffers().aid(), boxes.staged().count()), (key(17, 4), &[1.0; 5][..], 0));

    // A slot that is cleared and filled anew before one commit is told as what it holds in the end.
    boxes.apply(&frame(vec![update(1, None), update(1, Some(built(key(17, 6))))])).unwrap();
    assert!(boxes.commit());
    assert_eq!((boxes.updates().len(), boxes.buffers().count()), (1, 7));
    boxes.apply(&frame(vec![update(1, None)])).unwrap();
    assert!(boxes.commit());
    assert_eq!((boxes.updates()[0].atlas.is_none(), boxes.buffers().count()), (true, 0));
    assert!(!boxes.commit());
    assert_eq!(boxes.updates(), []);
}

#[test]
fn a_region_whose_place_others_draw_has_no_boxes() {
    let mut boxes = BoxSlots::new(1);
    boxes.apply(&frame(vec![update(0, Some(built(key(17, 4))))])).unwrap();
    boxes.commit();
    let octants = |octants| Frame { octants: vec![OctantUpdate { at: 0, octants }], ..Frame::default() };
    for (mask, n_boxes) in [(0, 0), (1, 5)] {
        boxes.apply(&octants(mask)).unwrap();
        assert!(boxes.commit());
        assert_eq!((boxes.buffers().count(), boxes.updates()), (n_boxes, &[][..]));
    }
}

#[test]
fn regions_that_cannot_be_boxes_are_named_and_change_nothing() {
    let coarse = built(key(16, 4));
    let bare = BuiltRegion { boxes: None, ..built(key(17, 4)) };
    let hollow = BuiltRegion { voxels: None, ..built(key(17, 4)) };
    for (region, expected) in [(coarse, "zooms: 17..=17"), (bare, "build_boxes"), (hollow, "build_boxes")] {
        let mut boxes = BoxSlots::new(2);
        let updates = vec![update(0, Some(built(key(17, 1)))), update(1, Some(region))];
        let error = boxes.apply(&frame(updates)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("/4/5"), "{error}");
        assert!(!boxes.commit());
    }
}

#[test]
fn an_atlas_has_a_texel_for_each_voxel() {
    let region = built(key(17, 9));
    let voxels = region.voxels.clone().unwrap();
    let atlas = AtlasHandle::new(Arc::new(region)).unwrap();
    let image = atlas.to_rgba();
    assert_eq!(occupancy_from_rgba(&image), voxels.occupancy);
    let [u, v] = texel_from_voxel(6, 10, 7);
    let mut row = [0; ATLAS_ROW_BYTES];
    atlas.write_row(v, &mut row);
    assert_eq!(row[u as usize * 4..][..4], [10, 2, 3, 255]);
    assert_eq!(row, image[v as usize * ATLAS_ROW_BYTES..][..ATLAS_ROW_BYTES]);

    assert!(AtlasHandle::new(Arc::new(BuiltRegion { voxels: None, ..built(key(17, 9)) })).is_none());
}
