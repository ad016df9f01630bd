//! What a renderer of boxes is made to hold: the flat arrays, and no image until it asks for one.

#[path = "common/counting.rs"]
mod counting;

use std::sync::Arc;

use counting::{n_allocations_of, peak_of};
use voxatlas::atlas::ATLAS_ROW_BYTES;
use voxatlas::geo::RegionKey;
use voxatlas::mesh::{BorderPolicy, Scratch, mesh_boxes, mesh_region};
use voxatlas::stream::{AtlasHandle, BoxSlots, BuiltRegion, Frame, SlotUpdate};
use voxatlas::voxel::{ColourDepth, Occupancy, Region, Solids};

const MIB: usize = 1 << 20;

/// Blocks of 8^3 on a grid: 4,096 boxes.
fn city() -> BuiltRegion {
    let mut occupancy = Occupancy::empty();
    for (x, (y, z)) in (0..256).flat_map(|x| (0..256 * 256).map(move |yz| (x, (yz % 256, yz / 256)))) {
        occupancy.set(x, y, z, [x, y, z].iter().all(|c| c % 16 < 8));
    }
    let voxels = Region::paint(occupancy, ColourDepth::Indexed(vec![[9, 8, 7]]), |_, _, _| 0);
    let mesh = mesh_region(&voxels, BorderPolicy::Closed, &mut Scratch::new());
    let solids = Solids::of(&voxels.occupancy);
    let boxes = Some(Arc::new(mesh_boxes(&voxels.occupancy)));
    BuiltRegion {
        key: RegionKey::new("17/116415/51623".parse().expect("a tile"), 0),
        voxels: Some(voxels),
        mesh,
        solids,
        boxes,
    }
}

#[test]
fn sixteen_slots_take_their_boxes_and_images_a_row() {
    let city = Arc::new(city());
    let show = |at| SlotUpdate { at, region: Some(Arc::clone(&city)), offset: [0; 3], octants: 0xFF };
    let filling = Frame { updates: (0..16).map(show).collect(), ..Frame::default() };

    let (peak_bytes, slots) = peak_of(|| {
        let mut slots = BoxSlots::new(16);
        slots.apply(&filling).unwrap();
        assert!(slots.commit());
        slots
    });
    let arrays_bytes = 16 * 4_096 * 28;
    assert_eq!(slots.buffers().count(), 16 * 4_096);
    assert!((arrays_bytes..arrays_bytes + MIB / 64).contains(&peak_bytes), "{peak_bytes} bytes for {arrays_bytes}");

    let atlas = slots.updates()[0].atlas.clone().unwrap();
    let mut row = Box::new([0; ATLAS_ROW_BYTES]);
    let (n_allocations, n_opaque) = n_allocations_of(|| {
        let mut opaque = |v| {
            atlas.write_row(v, &mut row);
            row.chunks_exact(4).filter(|texel| texel[3] == 255).count()
        };
        (0..AtlasHandle::N_ROWS).map(&mut opaque).sum::<usize>()
    });
    assert_eq!((n_allocations, n_opaque), (0, 16 * 16 * 16 * 512), "an image that is asked for by the row");

    // Frames in which nothing changes cost nothing.
    let mut slots = slots;
    slots.commit();
    let (n_allocations, has_changed) = n_allocations_of(|| {
        slots.apply(&Frame::default()).unwrap();
        slots.commit()
    });
    assert_eq!((n_allocations, has_changed), (0, false));

    let (peak_bytes, image) = peak_of(|| atlas.to_rgba());
    assert_eq!((image.len(), peak_bytes / MIB), (64 * MIB, 64));
}
