//! The mesher against brute force: every cell of every quad is an exposed face, no face is covered twice, and there
//! are as many cells as exposed faces. Scenes are small and stand anywhere in the region, often on a border or across
//! a machine word.

use std::cell::RefCell;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::limits::{REGION_BRICKS, REGION_VOXELS};
use crate::voxel::{ColourDepth, Colours, Occupancy, Region, texel_in_brick};

thread_local! {
    /// One for all cases of a thread, so that what one region leaves behind would be seen in the next.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

fn quads_of(occupancy: &Occupancy, border: BorderPolicy<'_>) -> Vec<Quad> {
    let mut quads = Vec::new();
    SCRATCH.with_borrow_mut(|scratch| mesh_occupancy(occupancy, border, scratch, &mut quads));
    quads
}

/// The definition: the voxel is occupied and what lies before its face is not.
fn is_exposed(occupancy: &Occupancy, border: BorderPolicy<'_>, voxel: [u32; 3], face: Face) -> bool {
    let [x, y, z] = voxel;
    if !occupancy.get(x, y, z) {
        return false;
    }
    let mut next = voxel.map(i64::from);
    next[face.axis()] += if face.is_positive() { 1 } else { -1 };
    if (0..i64::from(REGION_VOXELS)).contains(&next[face.axis()]) {
        let [x, y, z] = next.map(|c| c as u32);
        return !occupancy.get(x, y, z);
    }
    match border {
        BorderPolicy::Closed => true,
        BorderPolicy::Floored => face != Face::NegY,
        BorderPolicy::Neighbour(planes) => {
            let (along_w, along_h) = face.extent_axes();
            !planes.get(face, voxel[along_w], voxel[along_h])
        }
    }
}

/// The octant of a voxel.
fn octant_of([x, y, z]: [u32; 3]) -> usize {
    (x / 128 + 2 * (y / 128) + 4 * (z / 128)) as usize
}

/// The voxels of one octant.
fn alone(occupancy: &Occupancy, octant: usize) -> Occupancy {
    let mut alone = Occupancy::empty();
    for [x, y, z] in occupied_voxels(occupancy).filter(|&voxel| octant_of(voxel) == octant) {
        alone.set(x, y, z, true);
    }
    alone
}

fn occupied_voxels(occupancy: &Occupancy) -> impl Iterator<Item = [u32; 3]> {
    let side = 0..REGION_VOXELS;
    side.clone().flat_map(move |z| side.clone().map(move |y| (y, z))).flat_map(move |(y, z)| {
        let is_row_empty = occupancy.row(y, z).iter().all(|&word| word == 0);
        let xs = if is_row_empty { 0..0 } else { 0..REGION_VOXELS };
        xs.filter(move |&x| occupancy.get(x, y, z)).map(move |x| [x, y, z])
    })
}

/// Paints the quads over the faces.
fn assert_exact_cover(occupancy: &Occupancy, border: BorderPolicy<'_>, quads: &[Quad]) {
    let mut painted = vec![0u8; crate::limits::REGION_VOLUME];
    let mut n_cells = 0u64;
    for &quad in quads {
        let (along_w, along_h) = quad.face().extent_axes();
        assert!(quad.min()[along_w] + quad.width() <= REGION_VOXELS, "{quad:?} leaves the region");
        assert!(quad.min()[along_h] + quad.height() <= REGION_VOXELS, "{quad:?} leaves the region");
        for (i, j) in cells(quad) {
            let [x, y, z] = quad.voxel(i, j);
            let painted = &mut painted[(x + 256 * (y + 256 * z)) as usize];
            let bit = 1 << quad.face() as u8;
            assert!(*painted & bit == 0, "{:?} of {:?} is covered twice", quad.face(), [x, y, z]);
            *painted |= bit;
            assert!(is_exposed(occupancy, border, [x, y, z], quad.face()), "{quad:?} covers a hidden face");
            n_cells += 1;
        }
    }
    let n_exposed: u64 = occupied_voxels(occupancy)
        .map(|voxel| Face::ALL.iter().filter(|&&face| is_exposed(occupancy, border, voxel, face)).count() as u64)
        .sum();
    assert_eq!(n_cells, n_exposed, "cells of the quads against exposed faces");
}

fn cells(quad: Quad) -> impl Iterator<Item = (u32, u32)> {
    (0..quad.height()).flat_map(move |j| (0..quad.width()).map(move |i| (i, j)))
}

/// Faces in the order of their numbers, planes ascending within a face.
fn assert_ordered(quads: &[Quad]) {
    let place = |&quad: &Quad| (quad.face(), quad.min()[quad.face().axis()]);
    assert!(quads.is_sorted_by_key(place), "quads lie by face and plane");
}

/// A small generator of its own, so that a case is its seed (Steele, Lea and Flood, SplitMix64).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

#[derive(Debug, Clone)]
enum Fill {
    /// Every voxel with this probability, in percent.
    Noise { percent: u64 },
    /// Boxes that may overlap.
    Boxes { n: u64 },
    /// `thick` voxels in every `period` along an axis.
    Stripes { axis: usize, period: u32, thick: u32 },
    /// Every other voxel.
    Checkerboard,
}

#[derive(Debug, Clone)]
struct Scene {
    min: [u32; 3],
    size: [u32; 3],
    fill: Fill,
    seed: u64,
}

impl Scene {
    fn occupancy(&self) -> Occupancy {
        let mut occupancy = Occupancy::empty();
        let mut random = Random(self.seed);
        let boxes: Vec<_> = match self.fill {
            Fill::Boxes { n } => (0..n).map(|_| self.random_box(&mut random)).collect(),
            _ => Vec::new(),
        };
        let [sx, sy, sz] = self.size;
        for z in 0..sz {
            for y in 0..sy {
                for x in 0..sx {
                    let at = [x, y, z];
                    let occupied = match self.fill {
                        Fill::Noise { percent } => random.below(100) < percent,
                        Fill::Boxes { .. } => boxes.iter().any(|(min, max): &([u32; 3], [u32; 3])| {
                            (0..3).all(|a| (min[a]..=max[a]).contains(&at[a]))
                        }),
                        Fill::Stripes { axis, period, thick } => at[axis] % period < thick,
                        Fill::Checkerboard => (x + y + z) % 2 == 0,
                    };
                    occupancy.set(self.min[0] + x, self.min[1] + y, self.min[2] + z, occupied);
                }
            }
        }
        occupancy
    }

    fn random_box(&self, random: &mut Random) -> ([u32; 3], [u32; 3]) {
        let corner = |random: &mut Random| self.size.map(|size| random.below(u64::from(size)) as u32);
        let (a, b) = (corner(random), corner(random));
        ([0, 1, 2].map(|axis| a[axis].min(b[axis])), [0, 1, 2].map(|axis| a[axis].max(b[axis])))
    }
}

/// Mostly small cubes; sometimes long beams, whose runs pass through several words.
fn size() -> impl Strategy<Value = [u32; 3]> {
    prop_oneof![
        4 => prop::array::uniform3(1u32..=20),
        1 => (65u32..=256, 1u32..=6, 1u32..=6, 0usize..3).prop_map(|(long, b, c, turn)| {
            let mut size = [long, b, c];
            size.rotate_right(turn);
            size
        }),
    ]
}

/// Where it stands: at either border, across a word, or anywhere.
fn scene() -> impl Strategy<Value = Scene> {
    let place = prop_oneof![Just(0u32), Just(256), Just(60), Just(125), Just(190), 0u32..256];
    let fill = prop_oneof![
        prop::sample::select(vec![1u64, 10, 50, 90, 100]).prop_map(|percent| Fill::Noise { percent }),
        (1u64..6).prop_map(|n| Fill::Boxes { n }),
        (0usize..3, 1u32..8, 1u32..5).prop_map(|(axis, period, thick)| Fill::Stripes { axis, period, thick }),
        Just(Fill::Checkerboard),
    ];
    (size(), prop::array::uniform3(place), fill, any::<u64>()).prop_map(|(size, place, fill, seed)| {
        let min = [0, 1, 2].map(|axis| place[axis].min(REGION_VOXELS - size[axis]));
        Scene { min, size, fill, seed }
    })
}

/// Random neighbours, from hardly any to all.
fn border_planes() -> impl Strategy<Value = BorderPlanes> {
    (any::<u64>(), prop::sample::select(vec![0u64, 20, 50, 80, 100])).prop_map(|(seed, percent)| {
        let mut random = Random(seed);
        let mut planes = BorderPlanes::air();
        for face in Face::ALL {
            for j in 0..REGION_VOXELS {
                for i in 0..REGION_VOXELS {
                    planes.set(face, i, j, random.below(100) < percent);
                }
            }
        }
        planes
    })
}

/// A colour for every occupied voxel: bricks of one colour, bricks of few and bricks of many.
fn coloured(occupancy: Occupancy, depth: &ColourDepth, seed: u64) -> Region {
    let mut random = Random(seed);
    let mut colours = Colours::new(depth.clone());
    let n_entries = match depth {
        ColourDepth::Indexed(palette) => palette.len() as u64,
        ColourDepth::Direct => 1 << 24,
    };
    let mask = occupancy.brick_mask();
    for bz in 0..REGION_BRICKS {
        for by in 0..REGION_BRICKS {
            for bx in (0..REGION_BRICKS).filter(|&bx| mask.contains(bx, by, bz)) {
                let few: Vec<u32> = (0..=random.below(3)).map(|_| random.below(n_entries) as u32).collect();
                if random.below(3) == 0 {
                    colours.set_uniform(bx, by, bz, few[0]);
                    continue;
                }
                let is_banded = random.below(2) == 0;
                let page = colours.add_page(bx, by, bz);
                for (z, y, x) in (0..16).flat_map(|z| (0..16).flat_map(move |y| (0..16).map(move |x| (z, y, x)))) {
                    let pick = if is_banded { u64::from(y / 4) } else { random.below(few.len() as u64) };
                    let entry = few[pick as usize % few.len()];
                    let texel = texel_in_brick(x, y, z);
                    match depth {
                        ColourDepth::Indexed(_) => page[texel] = entry as u8,
                        ColourDepth::Direct => page[texel * 3..][..3].copy_from_slice(&entry.to_le_bytes()[..3]),
                    }
                }
            }
        }
    }
    Region { occupancy, colours }
}

fn depth() -> impl Strategy<Value = ColourDepth> {
    prop_oneof![
        Just(ColourDepth::Direct),
        (1usize..=256, any::<u64>()).prop_map(|(n, seed)| {
            let mut random = Random(seed);
            ColourDepth::Indexed((0..n).map(|_| [0; 3].map(|_| random.below(256) as u8)).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn closed_mesh_covers_each_exposed_face_once(scene in scene()) {
        let occupancy = scene.occupancy();
        let quads = quads_of(&occupancy, BorderPolicy::Closed);
        assert_exact_cover(&occupancy, BorderPolicy::Closed, &quads);
        assert_ordered(&quads);
        prop_assert_eq!(quads, quads_of(&occupancy, BorderPolicy::Closed));
    }

    #[test]
    fn floored_mesh_covers_each_exposed_face_once(scene in scene()) {
        let occupancy = scene.occupancy();
        let quads = quads_of(&occupancy, BorderPolicy::Floored);
        assert_exact_cover(&occupancy, BorderPolicy::Floored, &quads);
        assert_ordered(&quads);
    }

    #[test]
    fn mesh_between_neighbours_covers_each_exposed_face_once(scene in scene(), planes in border_planes()) {
        let occupancy = scene.occupancy();
        let border = BorderPolicy::Neighbour(&planes);
        let quads = quads_of(&occupancy, border);
        assert_exact_cover(&occupancy, border, &quads);
        assert_ordered(&quads);
    }

    #[test]
    fn each_octant_is_the_surface_of_its_voxels_alone(
        scene in scene(), depth in depth(), seed in any::<u64>(), planes in border_planes(), policy in 0..3,
    ) {
        let region = coloured(scene.occupancy(), &depth, seed);
        let border = [BorderPolicy::Closed, BorderPolicy::Floored, BorderPolicy::Neighbour(&planes)][policy as usize];
        let mesh = SCRATCH.with_borrow_mut(|scratch| mesh_octants(&region, border, scratch));
        prop_assert_eq!(mesh.ends, RegionMesh::new(mesh.quads.clone(), mesh.face_colours.clone(), true).ends);
        for octant in 0..8 {
            let quads = octant_quads(&mesh, octant);
            assert_exact_cover(&alone(&region.occupancy, octant), border, &quads);
            assert_ordered(&quads);
            for quad in &quads {
                let last = quad.voxel(quad.width() - 1, quad.height() - 1);
                prop_assert_eq!([octant_of(Quad::min(*quad)), octant_of(last)], [octant; 2], "{:?}", quad);
            }
        }
        let mut n_face_colours = 0;
        for &quad in &mesh.quads {
            for (i, j) in cells(quad) {
                let [x, y, z] = quad.voxel(i, j);
                prop_assert_eq!(mesh.face_colours.of_cell(quad, i, j), region.colours.get(x, y, z));
            }
            if let Some(first) = quad.first_face_colour() {
                prop_assert_eq!(first, n_face_colours, "face colours stand in the order of the quads");
                n_face_colours += quad.width() * quad.height();
            }
        }
        prop_assert_eq!(mesh.face_colours.len(), n_face_colours as usize);
        let again = SCRATCH.with_borrow_mut(|scratch| mesh_octants(&region, border, scratch));
        prop_assert!(again == mesh);
    }

    #[test]
    fn every_cell_has_the_colour_of_its_voxel(scene in scene(), depth in depth(), seed in any::<u64>()) {
        let region = coloured(scene.occupancy(), &depth, seed);
        let mesh = SCRATCH.with_borrow_mut(|scratch| mesh_region(&region, BorderPolicy::Closed, scratch));
        let mut n_face_colours = 0;
        for &quad in &mesh.quads {
            let entries: Vec<u32> = cells(quad)
                .map(|(i, j)| {
                    let [x, y, z] = quad.voxel(i, j);
                    prop_assert_eq!(mesh.face_colours.of_cell(quad, i, j), region.colours.get(x, y, z));
                    Ok(region.colours.entry(x, y, z))
                })
                .collect::<Result<_, _>>()?;
            let is_uniform = entries.iter().all(|&entry| entry == entries[0]);
            prop_assert_eq!(quad.uniform_entry(), is_uniform.then_some(entries[0]));
            if !is_uniform {
                prop_assert_eq!(quad.first_face_colour(), Some(n_face_colours));
                n_face_colours += quad.width() * quad.height();
            }
        }
        prop_assert_eq!(mesh.face_colours.len(), n_face_colours as usize);

        let mut plain = quads_of(&region.occupancy, BorderPolicy::Closed);
        for (plain, quad) in plain.iter_mut().zip(&mesh.quads) {
            plain.set_uniform(0);
            let mut quad = *quad;
            quad.set_uniform(0);
            prop_assert_eq!(*plain, quad, "colours do not change the geometry");
        }
        prop_assert_eq!(plain.len(), mesh.quads.len());
    }
}

fn filled(min: [u32; 3], max: [u32; 3]) -> Occupancy {
    let mut occupancy = Occupancy::empty();
    for z in min[2]..=max[2] {
        for y in min[1]..=max[1] {
            for x in min[0]..=max[0] {
                occupancy.set(x, y, z, true);
            }
        }
    }
    occupancy
}

#[test]
fn simple_shapes_have_the_fewest_quads() {
    let solid = filled([0; 3], [255; 3]);
    let stone = BorderPlanes::solid();
    let check = |occupancy: &Occupancy, border: BorderPolicy<'_>, n_expected: usize| {
        assert_eq!(quads_of(occupancy, border).len(), n_expected);
    };
    check(&Occupancy::empty(), BorderPolicy::Closed, 0);
    check(&solid, BorderPolicy::Closed, 6);
    check(&solid, BorderPolicy::Floored, 5);
    check(&solid, BorderPolicy::Neighbour(&stone), 0);
    check(&solid, BorderPolicy::Neighbour(&BorderPlanes::air()), 6);
    check(&filled([7, 100, 255], [7, 100, 255]), BorderPolicy::Closed, 6);
    check(&filled([3, 4, 5], [200, 130, 77]), BorderPolicy::Closed, 6);
    check(&filled([3, 0, 5], [200, 130, 77]), BorderPolicy::Floored, 5);
    check(&filled([63, 0, 64], [64, 0, 64]), BorderPolicy::Closed, 6);
}

#[test]
fn largest_quad_is_256_by_256() {
    for quad in quads_of(&filled([0; 3], [255; 3]), BorderPolicy::Closed) {
        assert_eq!((quad.width(), quad.height()), (256, 256));
        let expected = if quad.face().is_positive() { 255 } else { 0 };
        assert_eq!(quad.min()[quad.face().axis()], expected);
    }
}

#[test]
fn touching_regions_hide_the_faces_between_them() {
    let (mut west, mut east) = (Occupancy::empty(), Occupancy::empty());
    west.set(255, 3, 4, true);
    west.set(255, 9, 4, true);
    east.set(0, 3, 4, true);
    for (face, occupancy, neighbour, n_expected) in
        [(Face::PosX, &west, &east, 11), (Face::NegX, &east, &west, 5), (Face::PosZ, &west, &east, 12)]
    {
        let mut planes = BorderPlanes::air();
        planes.set_from(face, neighbour);
        assert_eq!(quads_of(occupancy, BorderPolicy::Neighbour(&planes)).len(), n_expected, "{face:?}");
    }
}

#[test]
fn border_plane_is_the_side_of_the_neighbour_that_touches() {
    let scene = Scene { min: [0; 3], size: [256, 40, 256], fill: Fill::Noise { percent: 30 }, seed: 5 };
    let neighbour = scene.occupancy();
    for face in Face::ALL {
        let mut planes = BorderPlanes::air();
        planes.set_from(face, &neighbour);
        let (along_w, along_h) = face.extent_axes();
        for (i, j) in (0..256).flat_map(|j| (0..256).map(move |i| (i, j))) {
            let mut voxel = [0; 3];
            voxel[along_w] = i;
            voxel[along_h] = j;
            voxel[face.axis()] = if face.is_positive() { 0 } else { 255 };
            let [x, y, z] = voxel;
            assert_eq!(planes.get(face, i, j), neighbour.get(x, y, z), "{face:?} ({i}, {j})");
        }
        let others = Face::ALL.into_iter().filter(|&other| other != face);
        assert!(others.into_iter().all(|other| planes.plane(other).as_flattened().iter().all(|&word| word == 0)));
    }
}

#[test]
fn meshing_stops_when_told_to_and_leaves_the_scratch_fit_for_use() {
    let scene = Scene { min: [20, 20, 20], size: [20, 20, 20], fill: Fill::Noise { percent: 50 }, seed: 1 };
    let region = coloured(scene.occupancy(), &ColourDepth::Direct, 2);
    let expected = mesh_region(&region, BorderPolicy::Closed, &mut Scratch::new());

    let mut scratch = Scratch::new();
    let mut n_steps = 0;
    let whole = try_mesh_region(&region, BorderPolicy::Closed, &mut scratch, || {
        n_steps += 1;
        Ok::<_, Infallible>(())
    });
    assert_eq!(whole, Ok(expected.clone()));
    let mut n_octant_steps = 0;
    let whole = try_mesh_octants(&region, BorderPolicy::Closed, &mut scratch, || {
        n_octant_steps += 1;
        Ok::<_, Infallible>(())
    });
    assert!(whole.is_ok() && n_octant_steps > 6);
    for n_allowed in 0..n_octant_steps {
        let mut n_left = n_allowed;
        let stopped = try_mesh_octants(&region, BorderPolicy::Closed, &mut scratch, || {
            n_left = u32::checked_sub(n_left, 1).ok_or("aborted")?;
            Ok(())
        });
        assert_eq!(stopped, Err("aborted"), "{n_allowed} steps");
        let octants = mesh_octants(&region, BorderPolicy::Closed, &mut scratch);
        assert_eq!(octants, mesh_octants(&region, BorderPolicy::Closed, &mut Scratch::new()));
    }
    for n_allowed in 0..n_steps {
        let mut n_left = n_allowed;
        let stopped = try_mesh_region(&region, BorderPolicy::Closed, &mut scratch, || {
            n_left = u32::checked_sub(n_left, 1).ok_or("aborted")?;
            Ok(())
        });
        assert_eq!(stopped, Err("aborted"), "{n_allowed} of {n_steps} steps");
        assert_eq!(mesh_region(&region, BorderPolicy::Closed, &mut scratch), expected);
    }
}

#[test]
fn octants_of_simple_shapes_have_the_fewest_quads() {
    let counts = |occupancy: Occupancy, border| {
        let region = Region { occupancy, colours: Colours::new(ColourDepth::Direct) };
        let mesh = mesh_octants(&region, border, &mut Scratch::new());
        std::array::from_fn::<_, 8, _>(|octant| octant_quads(&mesh, octant).len())
    };
    assert_eq!(counts(Occupancy::empty(), BorderPolicy::Closed), [0; 8]);
    assert_eq!(counts(filled([0; 3], [255; 3]), BorderPolicy::Closed), [6; 8]);
    // The floor takes the undersides at y = 0, none at y = 128.
    assert_eq!(counts(filled([0; 3], [255; 3]), BorderPolicy::Floored), [5, 5, 6, 6, 5, 5, 6, 6]);
    assert_eq!(counts(filled([9, 127, 9], [9, 128, 9]), BorderPolicy::Closed), [6, 0, 6, 0, 0, 0, 0, 0]);
    assert_eq!(counts(filled([0, 5, 130], [255, 5, 200]), BorderPolicy::Closed), [0, 0, 0, 0, 6, 6, 0, 0]);
}

/// The quads of one octant, face by face.
fn octant_quads(mesh: &RegionMesh, octant: usize) -> Vec<Quad> {
    let runs = mesh.ends.runs(QuadEnds::ALL_FACES, 1 << octant);
    runs.flat_map(|run| mesh.quads[run.start as usize..run.end as usize].to_vec()).collect()
}

#[test]
fn runs_of_faces_and_octants_are_merged_and_whole() {
    let counts = [(Face::NegX, [10, 0, 10, 10, 0, 15, 15, 0]), (Face::PosZ, [5, 5, 0, 0, 0, 0, 0, 7])];
    let quads = counts.iter().flat_map(|&(face, counts)| {
        let corner = |octant: u32| [octant & 1, octant >> 1 & 1, octant >> 2].map(|half| half * 128);
        let of_octant = move |(octant, n)| vec![Quad::new(corner(octant), face, 1, 1); n];
        (0..8).zip(counts).flat_map(of_octant)
    });
    let quads: Vec<_> = quads.collect();
    let mesh = |has_octants| RegionMesh::new(quads.clone(), FaceColours::Direct { entries: Vec::new() }, has_octants);
    let runs =
        |octants, faces| mesh(true).ends.runs(faces, octants).map(|run| (run.start, run.end)).collect::<Vec<_>>();
    let [west, south] = [Face::NegX, Face::PosZ].map(|face| 1 << face as u8);
    assert_eq!(runs(0xFF, QuadEnds::ALL_FACES), [(0, 77)]);
    assert_eq!(runs(0b1000_0001, west), [(0, 10)]);
    // Nothing lies between octants 0 and 2, nor between 3 and 5.
    assert_eq!(runs(0b0000_0101, west), [(0, 20)]);
    assert_eq!(runs(0b0110_1001, west), [(0, 10), (20, 60)]);
    assert_eq!(runs(0b0100_0001, west | south), [(0, 10), (45, 65)]);
    assert_eq!(runs(0b1001_0010, west), []);
    assert_eq!(
        (runs(0, QuadEnds::ALL_FACES), runs(0xFF, 0), runs(0xFF, 1 << Face::PosY as u8)),
        (vec![], vec![], vec![])
    );
    assert_eq!((mesh(true).ends.of_face(Face::NegX), mesh(true).ends.of_face(Face::PosZ)), (0..60, 60..77));
    assert_eq!(mesh(true).ends.of_face(Face::PosY), 60..60);
    let whole = mesh(false).ends;
    assert!(whole.runs(south, 0x40).eq(std::iter::once(60..77)));
    assert_eq!(whole.runs(QuadEnds::ALL_FACES, 0).count(), 0);
}

#[test]
fn huge_buffer_is_not_kept() {
    let scene = Scene { min: [0; 3], size: [128, 128, 128], fill: Fill::Noise { percent: 50 }, seed: 3 };
    let region = coloured(scene.occupancy(), &ColourDepth::Direct, 4);
    let mut scratch = Scratch::new();
    let first = mesh_region(&region, BorderPolicy::Closed, &mut scratch);
    assert!(size_of_val(first.quads.as_slice()) > 8 << 20, "the scene is meant to be larger than what is kept");
    assert_eq!(mesh_region(&region, BorderPolicy::Closed, &mut scratch), first);
    let octants = mesh_octants(&region, BorderPolicy::Closed, &mut scratch);
    assert_eq!(mesh_octants(&region, BorderPolicy::Closed, &mut scratch), octants);
}
