// Where voxels stop light: the bits of all regions that are shown. Twin: `Solids` in src/voxel/solids.rs, which has the
// figure of the words, and `Cells` in src/gpu/cells.rs.
//
// A place is asked for in the voxels of one zoom. Where no region of that zoom is shown, the next coarser one answers: each of
// its voxels covers whole voxels of the finer zoom, and what is empty there is empty here.

#import shared/frame.wgsl
#import shared/words.wgsl

const N_CELLS: u32 = 256u;

// A hash table with linear probing: x, layer, z, and zoom << 8 | slot; negative in w where nothing is.
@group(0) @binding(2) var<uniform> cells: array<vec4<i32>, N_CELLS>;

fn cell_hash(cell: vec3<i32>, zoom: u32) -> u32 {
    var h = u32(cell.x) * 0x9e3779b1u ^ u32(cell.y) * 0x85ebca77u ^ u32(cell.z) * 0xc2b2ae3du ^ zoom * 0x27d4eb2fu;
    h = (h ^ (h >> 15u)) * 0x2c1b3c6du;
    return (h ^ (h >> 12u)) % N_CELLS;
}

// Where the answers for one cell of a zoom come from.
struct Answering {
    // Its solids; NO_SOLIDS where nothing stands there.
    solids_base: u32,
    // By how many zooms it is coarser.
    coarser: u32,
}

fn find_answering(cell: vec3<i32>, zoom: u32) -> Answering {
    let wrapped = vec3<i32>(cell.x & ((1 << zoom) - 1), cell.y, cell.z);
    for (var coarser = 0u; coarser + frame.coarsest_zoom <= zoom; coarser++) {
        let above = wrapped >> vec3<u32>(coarser);
        var at = cell_hash(above, zoom - coarser);
        // The table is never full.
        for (var n = 0u; n < N_CELLS; n++) {
            let entry = cells[at];
            if entry.w < 0 {
                break;
            }
            if all(entry.xyz == above) && u32(entry.w) >> 8u == zoom - coarser {
                return Answering(regions[u32(entry.w) & 0xffu].solids_base, coarser);
            }
            at = (at + 1u) % N_CELLS;
        }
    }
    return Answering(NO_SOLIDS, 0u);
}

// How large the empty cube round a voxel is, as a power of two of its own voxels; negative where the voxel is solid. `place` is
// the voxel in the grid of the asking zoom.
fn empty_log2(answering: Answering, place: vec3<i32>) -> i32 {
    let coarser = i32(answering.coarser);
    if answering.solids_base == NO_SOLIDS {
        return 8;
    }
    let voxel = vec3<u32>((place >> vec3<u32>(answering.coarser)) & vec3<i32>(255));
    let bricks = voxel >> vec3<u32>(4u);
    let brick = bricks.x | (bricks.y << 4u) | (bricks.z << 8u);
    let entry = (fetch_word(answering.solids_base + brick / 2u) >> (brick % 2u * 16u)) & 0xffffu;
    if entry < 2u {
        return select(4 + coarser, -1, entry == 1u);
    }
    let blocks = (voxel >> vec3<u32>(2u)) & vec3<u32>(3u);
    let block_at = answering.solids_base + 2048u + (entry - 2u) * 128u + (blocks.x | (blocks.y << 2u) | (blocks.z << 4u)) * 2u;
    let within = voxel & vec3<u32>(3u);
    let bit = within.x | (within.y << 2u) | (within.z << 4u);
    let low = fetch_word(block_at);
    let high = fetch_word(block_at + 1u);
    if (low | high) == 0u {
        return 2 + coarser;
    }
    return select(coarser, -1, ((select(low, high, bit >= 32u) >> (bit % 32u)) & 1u) == 1u);
}

// Whether a voxel is solid; `voxel` counts from the region's lowest corner and may lie outside of it.
fn is_solid(region: Region, voxel: vec3<i32>) -> bool {
    var answering = Answering(region.solids_base, 0u);
    let aside = voxel >> vec3<u32>(8u);
    if any(aside != vec3<i32>(0)) {
        answering = find_answering(region.cell + aside, region.zoom);
    }
    return empty_log2(answering, region.cell * 256 + voxel) < 0;
}

// Steps after which a ray has met nothing: some hundred metres along a street, kilometres above the roofs.
const RAY_STEPS_MAX: u32 = 112u;

// Whether a ray meets nothing solid. It begins at `origin` in the air of `first`, both counted in the region's own voxels from
// its lowest corner, and ends above `top`, where nothing stands. From empty cube to empty cube, in integers but for the place
// where it leaves each.
fn is_open(region: Region, origin: vec3<f32>, first: vec3<i32>, direction: vec3<f32>, top: f32) -> bool {
    let corner = region.cell * 256;
    let forwards = direction > vec3<f32>(0.0);
    let moves = abs(direction) > vec3<f32>(1e-6);
    let per_voxel = 1.0 / select(vec3<f32>(1.0), direction, moves);
    var voxel = first;
    var aside = vec3<i32>(0x7fffffff);
    var answering: Answering;
    for (var n = 0u; n < RAY_STEPS_MAX; n++) {
        if f32(voxel.y) > top {
            return true;
        }
        let place = corner + voxel;
        if any(voxel >> vec3<u32>(8u) != aside) {
            aside = voxel >> vec3<u32>(8u);
            answering = find_answering(region.cell + aside, region.zoom);
        }
        let log2_edge = empty_log2(answering, place);
        if log2_edge < 0 {
            return false;
        }
        let low = ((place >> vec3<u32>(u32(log2_edge))) << vec3<u32>(u32(log2_edge))) - corner;
        let high = low + (1 << u32(log2_edge));
        let leaves_at = (vec3<f32>(select(low, high, forwards)) - origin) * per_voxel;
        let time = select(vec3<f32>(1e30), leaves_at, moves);
        let soonest = min(time.x, min(time.y, time.z));
        let crosses = time == vec3<f32>(soonest);
        let inside = clamp(vec3<i32>(floor(origin + direction * soonest)), low, high - 1);
        voxel = select(inside, select(low - 1, high, forwards), crosses);
    }
    return true;
}
