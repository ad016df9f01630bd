//! The `repr(C)` twins of the structs in `shaders/shared/frame.wgsl`. A test compares them with naga's layout.

use bytemuck::{Pod, Zeroable};

/// Twin of `Frame` in `shaders/shared/frame.wgsl`, which says what the fields are.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Frame {
    pub(super) clip_from_eye: [[f32; 4]; 4],
    pub(super) eye_from_clip: [[f32; 4]; 4],
    pub(super) ambient: [[f32; 4]; 6],
    pub(super) direct: [[f32; 4]; 6],
    pub(super) horizon: [f32; 4],
    pub(super) zenith: [f32; 4],
    pub(super) glow: [f32; 4],
    pub(super) window_light: [f32; 4],
    pub(super) to_sun: [f32; 3],
    pub(super) windows_lit: f32,
    pub(super) eye_fract: [f32; 3],
    pub(super) fog_start: f32,
    pub(super) half_viewport_px: [f32; 2],
    pub(super) fog_end: f32,
    pub(super) top_in_eye: f32,
    pub(super) page_shift: u32,
    pub(super) flags: u32,
    pub(super) coarsest_zoom: u32,
    pub(super) unused: u32,
}

/// Bits of [`Frame::flags`].
pub(super) const IS_FLAT: u32 = 1;
pub(super) const HAS_SHADOWS: u32 = 2;
pub(super) const HAS_OCCLUSION: u32 = 4;

/// Twin of `Region` in `shaders/shared/frame.wgsl`, which says what the fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Region {
    pub(super) origin_in_eye: [i32; 3],
    pub(super) voxel_edge: i32,
    pub(super) cell: [i32; 3],
    pub(super) zoom: u32,
    pub(super) colour_base: u32,
    pub(super) palette_base: u32,
    pub(super) solids_base: u32,
    pub(super) octants_and_depth: u32,
    pub(super) fades: u32,
    pub(super) unused_0: u32,
    pub(super) unused_1: u32,
    pub(super) unused_2: u32,
}

/// [`Region::solids_base`] of a region without solids.
pub(super) const NO_SOLIDS: u32 = u32::MAX;

/// The bit of [`Region::octants_and_depth`] above the octants'.
pub(super) const IS_DIRECT: u32 = 1 << 8;

/// Where in it the octants stand that fade in, and those that fade out.
pub(super) const FADING_IN_SHIFT: u32 = 16;
pub(super) const FADING_OUT_SHIFT: u32 = 24;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::super::cells::N_CELLS;
    use super::super::shader;
    use super::*;
    use crate::limits::SLOTS_MAX;

    fn module() -> naga::Module {
        naga::front::wgsl::parse_str(&shader::compose("region.wgsl")).unwrap()
    }

    /// The size of a WGSL struct and the offset of its members, by name.
    fn naga_layout(name: &str) -> (usize, Vec<(String, usize)>) {
        let module = module();
        let (_, ty) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).unwrap();
        let naga::TypeInner::Struct { members, span } = &ty.inner else {
            panic!("{name} is no struct");
        };
        let members = members.iter().map(|it| (it.name.clone().unwrap(), it.offset as usize)).collect();
        (*span as usize, members)
    }

    macro_rules! check {
        ($twin:ident { $($field:ident),* $(,)? }) => {{
            let (size, members) = naga_layout(stringify!($twin));
            let twins = vec![$((stringify!($field).to_owned(), offset_of!($twin, $field))),*];
            assert_eq!((size, members), (size_of::<$twin>(), twins), "{}", stringify!($twin));
        }};
    }

    #[test]
    fn twins_have_the_layout_of_the_shaders_structs() {
        check!(Frame {
            clip_from_eye,
            eye_from_clip,
            ambient,
            direct,
            horizon,
            zenith,
            glow,
            window_light,
            to_sun,
            windows_lit,
            eye_fract,
            fog_start,
            half_viewport_px,
            fog_end,
            top_in_eye,
            page_shift,
            flags,
            coarsest_zoom,
            unused,
        });
        check!(Region {
            origin_in_eye,
            voxel_edge,
            cell,
            zoom,
            colour_base,
            palette_base,
            solids_base,
            octants_and_depth,
            fades,
            unused_0,
            unused_1,
            unused_2,
        });
    }

    #[test]
    fn constants_are_the_shaders() {
        let source = shader::compose("region.wgsl");
        for (name, value) in [
            ("IS_FLAT", IS_FLAT),
            ("HAS_SHADOWS", HAS_SHADOWS),
            ("HAS_OCCLUSION", HAS_OCCLUSION),
            ("N_SLOTS", SLOTS_MAX as u32),
            ("N_CELLS", N_CELLS as u32),
        ] {
            let line = format!("const {name}: u32 = {value}u;");
            assert!(source.contains(&line), "shaders say otherwise than `{line}`");
        }
        assert!(source.contains(&format!("const NO_SOLIDS: u32 = {NO_SOLIDS:#x}u;")));
    }

    #[test]
    fn arrays_of_regions_have_no_gaps() {
        let module = module();
        let strides: Vec<_> = module
            .types
            .iter()
            .filter_map(|(_, ty)| match ty.inner {
                naga::TypeInner::Array { base, stride, .. } => Some((module.types[base].name.clone()?, stride)),
                _ => None,
            })
            .collect();
        assert!(strides.contains(&("Region".to_owned(), size_of::<Region>() as u32)), "{strides:?}");
    }
}
