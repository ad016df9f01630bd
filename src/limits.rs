//! Every constant and budget of the crate, with its unit and its reason.
//!
//! Raw values stand first, derived ones after them; their relations are checked at compile time at the end.

/// Edge of a region, in voxels (the reference system's REGION).
pub const REGION_VOXELS: u32 = 256;

/// Edge of a brick, in voxels: 16^3 voxels are one 64 x 64 block of pixels, the unit of sparse storage.
pub const BRICK_VOXELS: u32 = 16;

/// Edge of the atlas image, in pixels: 4096^2 = 256^3.
pub const ATLAS_PIXELS: u32 = 4096;

/// Edge of a brick's block in the atlas image, in pixels: 64^2 = 16^3.
pub const BRICK_PIXELS: u32 = 64;

/// Rows of a strip: one row of bricks, which inflates without knowing the others.
pub const STRIP_ROWS: u32 = 64;

/// The zoom whose tiles are regions at full resolution.
pub const ZOOM_FULL: u8 = 17;

/// The coarsest zoom of a pyramid: a region is 8 km wide in Tokyo, and sixteen of them reach the horizon.
pub const ZOOM_COARSEST: u8 = 12;

/// Size of a coarse voxel in the picture, in pixels, above which the next finer zoom is wanted.
pub const REFINE_PIXELS: f64 = 1.0;

/// Regions on screen a zoom (the reference system's SLOT).
pub const SLOTS_PER_ZOOM: usize = 16;

/// Regions outside the view that are built ahead of need (the reference system's PREBUILD).
pub const PREBUILD: usize = 4;

/// Regions outside the view whose files are fetched ahead of need (the reference system's PREFETCH).
pub const PREFETCH: usize = 4;

/// How far from the eye regions of the coarsest zoom are looked for, in its tiles: twice what 16 slots reach over a whole
/// city, so that a narrow view or a sparse tileset can use them.
pub const INTEREST_TILES: usize = 10;

/// Regions kept outside the interest before the least useful go (the reference system's PREPURGE).
pub const PREPURGE: usize = 32;

/// Failures after which a region is in error (the reference system's MAX_RETRY).
pub const RETRIES_MAX: u32 = 3;

/// Time allowed to the first byte of an answer, and to a body that does not move, in milliseconds (the reference
/// system's time-out).
pub const TIMEOUT_MILLIS: u64 = 8_000;

/// Network tasks of priority above zero that run at once.
pub const TASKS_HIGH: usize = 4;

/// Network tasks of priority zero and below that run at once.
pub const TASKS_LOW: usize = 1;

/// Decode-and-mesh jobs that run at once where the shell does not know better (its number of cores).
pub const BUILDS: usize = 2;

/// Regions that one interest may name; what lies beyond is not loaded. It bounds the task queues too: every task is one
/// of a wanted region, and a region has one task at a time.
pub const INTEREST_MAX: usize = 256;

/// Shortest wait after a first failure, in milliseconds; each further one doubles it.
pub const BACKOFF_MIN_MILLIS: u64 = 180;

/// Longest wait that we choose ourselves, in milliseconds; a server may ask for more.
pub const BACKOFF_MAX_MILLIS: u64 = 5_000;

/// A region in error is tried anew after this time, in milliseconds, while it is wanted: by then the cause may have
/// gone. Long enough that a server which is down is not asked for ever at the rate of a loading city.
pub const ERROR_REST_MILLIS: u64 = 60_000;

/// A region that was found to be empty is asked for again after this time, in milliseconds, when it is wanted: cities
/// are uploaded while people look at them.
pub const EMPTY_REST_MILLIS: u64 = 600_000;

/// Jobs that panic in a row before somebody is told: one is a bad file, three are a bug or a broken machine.
pub const PANICS_IN_A_ROW: u32 = 3;

/// Hosts of a tileset that are told apart; those beyond share the last one's limits.
pub const HOSTS_MAX: usize = 16;

/// Network tasks that run at once at one host: as many as run at all, which is below what browsers allow themselves.
pub const TASKS_PER_HOST: usize = TASKS_HIGH + TASKS_LOW;

/// Bytes that loaded regions may take on the CPU. A region of central Tokyo takes about 8 MiB at zoom 17 (2 MiB
/// occupancy, the rest colours and quads), and less than 1 MiB at coarser zooms, whose voxels are not kept: the interest
/// and [`PREPURGE`] more fit.
pub const STORE_BYTES_MAX: usize = 512 << 20;

/// Regions remembered without bytes outside the interest: empty ones, errors and waits. A few hundred bytes each.
pub const REMEMBERED_MAX: usize = 16_384;

/// Regions that a scene remembers without bytes at least, whatever it is told: more than one view can find empty, in all
/// of its tiles and layers. With fewer, a view over the sea would forget what it has just asked, and ask in circles.
pub const REMEMBERED_MIN: usize = 10_240;

/// Bytes uploaded to the GPU in one frame: several regions of central Tokyo. A larger one takes several frames.
pub const UPLOAD_BYTES_PER_FRAME: usize = 4 << 20;

/// Time that uploads may take in one frame, in milliseconds: an eighth of a frame at 60 Hz.
pub const UPLOAD_MILLIS_PER_FRAME: f64 = 2.0;

/// Debug events that wait to be written to a file: a second of a busy stream. What comes while as many wait is left out.
pub const EVENTS_QUEUED_MAX: usize = 256;

/// Bytes that these may take: events of 16,384 remembered regions are 1 MiB each.
pub const EVENTS_QUEUED_BYTES_MAX: usize = 16 << 20;

/// Time after which written events are flushed, in milliseconds: whoever follows the file is half a second behind.
pub const EVENTS_FLUSH_MILLIS: u64 = 500;

/// Largest atlas file that is read, in bytes. The worst case (random voxels in random colours) is the raw image and
/// its deflate framing, a little above 64 MiB.
pub const ATLAS_FILE_BYTES_MAX: usize = 80 << 20;

/// Colours that the palette of a file holds beside air.
pub const PALETTE_COLOURS_MAX: usize = 255;

/// The version of the atlas format that is read and written.
pub const ATLAS_FORMAT: u32 = 1;

/// What a tileset's base is a multiple of, in z17 voxels: one voxel of the coarsest zoom (z12), so that all zooms share
/// its height.
pub const BASE_STEP_VOXELS: i32 = 32;

/// Largest tileset document that is read, in bytes: availability included, every tile of a country fits.
pub const TILESET_BYTES_MAX: usize = 16 << 20;

/// Largest availability bitmap that is written for a zoom, in bytes: a rectangle of 2,896 tiles squared, 700 km across.
pub const AVAILABILITY_BITMAP_BYTES_MAX: usize = 1 << 20;

/// Time allowed to one request in all, in milliseconds: a tile on a slow line must still arrive.
pub const TIMEOUT_TOTAL_MILLIS: u64 = 60_000;

/// Rate below which a body counts as not moving, in bytes a second.
pub const PROGRESS_BYTES_PER_SEC: u64 = 1_024;

/// Longest wait that a server's Retry-After is granted, in milliseconds.
pub const RETRY_AFTER_MILLIS_MAX: u64 = 60_000;

/// Zooms of a pyramid.
pub const N_ZOOMS: usize = (ZOOM_FULL - ZOOM_COARSEST) as usize + 1;

/// Regions on screen at most.
pub const SLOTS_MAX: usize = SLOTS_PER_ZOOM * N_ZOOMS;

/// First bytes of a PMTiles archive, which hold its header and its root directory: the format promises that they fit.
pub const ARCHIVE_HEAD_BYTES: usize = 16 << 10;

/// Largest directory of a PMTiles archive that is read, in bytes once inflated. Writers aim at 4,096 entries, some
/// 30 KiB; this one could list a million tiles.
pub const ARCHIVE_DIRECTORY_BYTES_MAX: usize = 4 << 20;

/// What the directories of one PMTiles archive may take in memory, in bytes: 300 of the usual size.
pub const ARCHIVE_DIRECTORIES_BYTES_MAX: usize = 32 << 20;

/// Directories between the root of a PMTiles archive and a tile, so that one that points at itself ends. Writers use
/// one, the format discourages more.
pub const ARCHIVE_DEPTH_MAX: usize = 4;

/// How often one fetch starts anew because the archive was replaced under it.
pub const ARCHIVE_RESTARTS_MAX: usize = 2;

/// Bytes that the disk cache may take unless told otherwise: two thousand regions of central Tokyo, so that a city that
/// was seen is there the next time.
pub const CACHE_BYTES_MAX: u64 = 2 << 30;

/// How full an eviction leaves the disk cache, in percent: evictions then come in turns, and not with every file.
pub const CACHE_KEPT_PERCENT: u64 = 90;

/// Bytes that a file of the disk cache is counted in: what most file systems allot at least. A cache of empty regions
/// is bounded by it.
pub const CACHE_BLOCK_BYTES: u64 = 4_096;

/// Largest head of a file of the disk cache, in bytes: what describes an answer, beside its body.
pub const CACHE_HEAD_BYTES_MAX: usize = 64 << 10;

/// How long the absence of a file is believed where the server does not say, in seconds: regions of a tileset that is
/// still being made appear after it.
pub const ABSENCE_SECS: u64 = 600;

/// How long the absence of a file is believed at most, whatever the server says, in seconds: a day. CDNs have been seen
/// to promise that a 404 holds for a year.
pub const ABSENCE_SECS_MAX: u64 = 86_400;

/// Age after which the unfinished file of a program that died is removed from the disk cache, in seconds: no request
/// takes as long.
pub const CACHE_UNFINISHED_SECS: u64 = 3_600;

/// Redirects that one request follows; browsers follow twenty, tile servers need one.
pub const REDIRECTS_MAX: usize = 5;

/// How long a region fades into the place of another zoom's, in milliseconds: long enough not to be seen as a leap.
pub const FADE_MILLIS: u64 = 250;

/// Size of a page of quads, or of words (face colours, palettes and what stops light), on the GPU, in bytes. The regions
/// of 96 slots in Tokyo fill a few: few pages are few draw calls, and the last one of a kind, half empty, costs little.
pub const GPU_PAGE_BYTES: u64 = 32 << 20;

/// Pages of words, all of which are bound at once: one less than the storage buffers that WebGPU grants a shader.
pub const GPU_WORD_PAGES: usize = 7;

/// What all regions may take on the GPU, in bytes.
pub const GPU_REGIONS_BYTES_MAX: u64 = 1 << 30;

/// Pixels in each direction that are drawn for one pixel of a picture at most: beyond it nobody sees a difference.
pub const SUPERSAMPLE_MAX: i64 = 8;

/// Voxels of a region.
pub const REGION_VOLUME: usize = (REGION_VOXELS as usize).pow(3);

/// Bricks along a region's edge.
pub const REGION_BRICKS: u32 = REGION_VOXELS / BRICK_VOXELS;

/// Bricks of a region.
pub const N_BRICKS: usize = (REGION_BRICKS as usize).pow(3);

/// Voxels of a brick.
pub const BRICK_VOLUME: usize = (BRICK_VOXELS as usize).pow(3);

/// Strips of an atlas.
pub const N_STRIPS: usize = (ATLAS_PIXELS / STRIP_ROWS) as usize;

const _: () = {
    assert!(REGION_VOLUME == (ATLAS_PIXELS as usize).pow(2), "an atlas has one texel a voxel");
    assert!(BRICK_VOLUME == (BRICK_PIXELS as usize).pow(2), "a brick is one square block of pixels");
    assert!(REGION_VOXELS.is_multiple_of(BRICK_VOXELS), "bricks tile a region");
    assert!(ATLAS_PIXELS.is_multiple_of(STRIP_ROWS), "strips tile an atlas");
    assert!(STRIP_ROWS == BRICK_PIXELS, "a strip is one row of bricks");
    assert!(2 * SLOTS_MAX + PREBUILD + PREFETCH <= INTEREST_MAX, "the interest of a view is taken whole");
    assert!(BASE_STEP_VOXELS == 1 << (ZOOM_FULL - ZOOM_COARSEST), "all zooms share the base's height");
    assert!(REMEMBERED_MIN <= REMEMBERED_MAX, "the default is above the least");
    assert!(BACKOFF_MIN_MILLIS < BACKOFF_MAX_MILLIS, "waits grow");
    assert!(GPU_PAGE_BYTES.is_power_of_two() && GPU_PAGE_BYTES <= 64 << 20, "a page is within WebGPU's default limits");
    assert!(CACHE_KEPT_PERCENT < 100, "an eviction makes room");
    assert!(ABSENCE_SECS <= ABSENCE_SECS_MAX, "what we believe by ourselves is within what we believe at most");
    assert!(CACHE_UNFINISHED_SECS * 1_000 > TIMEOUT_TOTAL_MILLIS, "a file that is being written is not taken away");
    assert!(TIMEOUT_TOTAL_MILLIS >= TIMEOUT_MILLIS, "a request may use its first wait to the end");
    // An entry takes four bytes in a file and 24 in memory.
    assert!(ARCHIVE_DIRECTORIES_BYTES_MAX > 6 * ARCHIVE_DIRECTORY_BYTES_MAX, "the largest directory can be kept");
    assert!(ATLAS_FILE_BYTES_MAX > REGION_VOLUME * 4 + ATLAS_PIXELS as usize, "the worst atlas can be read");
};
