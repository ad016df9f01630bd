//! Models of voxels to the voxels of a tile.
//!
//! A voxel of the world takes the colour of the model's voxel in which its centre lies: where both are equally large and
//! stand on each other, one gives one, and nothing is smeared or lost.

use rustc_hash::FxHashMap;
use voxatlas::geo::TileCoord;
use voxatlas::limits::REGION_VOXELS;
use voxatlas::voxel::Colour;

use crate::gather::{beside, box_of};
use crate::input::VoxelModel;
use crate::look::Tint;
use crate::scatter::Dot;

/// The voxels of a model in a tile and the one column round it.
pub(crate) fn dots_of(model: &VoxelModel, tile: TileCoord, feature: u32, rank: u8, dots: &mut Vec<Dot>) {
    let by_place: FxHashMap<[i32; 3], Colour> = model.voxels.iter().copied().collect();
    let corner = [model.corner.x, model.corner.z];
    let [west, north, ..] = beside(box_of(tile), [corner[0], corner[1], corner[0], corner[1]]);
    let last = REGION_VOXELS as i16;
    for z in -1..=last {
        let row = if z < 0 { -1 } else { i64::from(z == last) };
        let Some(row_tile) = tile.offset_wrapped(0, row) else { continue };
        let floor = model.corner.height_m / row_tile.metres_per_voxel();
        let at_z = in_model(north + f64::from(z) + 0.5 - corner[1], model.edge);
        for x in -1..=last {
            let at_x = in_model(west + f64::from(x) + 0.5 - corner[0], model.edge);
            column(model, &by_place, [at_x, at_z], floor, |y, colour| {
                dots.push(Dot { x, y, z, tint: Tint::Colour(colour), feature, rank, rise: 0 });
            });
        }
    }
}

/// The model's voxel at a distance from its corner, in voxels of the world.
fn in_model(distance: f64, edge: f64) -> i32 {
    // The cast saturates.
    (distance / edge).floor() as i32
}

/// Calls `voxel(y, colour)` for the voxels of a column, y above the datum; `floor` is where the model stands.
fn column(
    model: &VoxelModel,
    by_place: &FxHashMap<[i32; 3], Colour>,
    [x, z]: [i32; 2],
    floor: f64,
    mut voxel: impl FnMut(i32, Colour),
) {
    let [low, high] = model.height_range();
    let from = (floor + f64::from(low) * model.edge).floor() as i32;
    let to = (floor + f64::from(high) * model.edge).ceil() as i32;
    for y in from..to {
        let at_y = in_model(f64::from(y) + 0.5 - floor, model.edge);
        if let Some(&colour) = by_place.get(&[x, at_y, z]) {
            voxel(y, colour);
        }
    }
}
