//! The `repr(C)` twins of the structs in `shaders/shared/frame.wgsl`. A test compares them with naga's layout.

use bytemuck::{Pod, Zeroable};

/// Twin of `Frame` in `shaders/shared/frame.wgsl`, which says what the fields are.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Frame {
    pub(super) clip_from_eye: [[f32; 4]; 4],
    pub(super) eye_from_clip: [[f32; 4]; 4],
    pub(super) face_light: [[f32; 4]; 6],
    pub(super) horizon: [f32; 4],
    pub(super) zenith: [f32; 4],
    pub(super) eye_fract: [f32; 3],
    pub(super) fog_start: f32,
    pub(super) half_viewport_px: [f32; 2],
    pub(super) fog_end: f32,
    pub(super) is_flat: u32,
}

/// Twin of `Piece` in `shaders/shared/frame.wgsl`, which says what the fields are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Piece {
    pub(super) origin_in_eye: [i32; 3],
    pub(super) voxel_edge: i32,
    pub(super) colour_base: u32,
    pub(super) palette_base: u32,
    pub(super) is_direct: u32,
    /// The struct's size is a multiple of its alignment, 16.
    pub(super) _padding: u32,
}

/// Bytes between two pieces: the alignment of dynamic offsets that every device accepts.
pub(super) const PIECE_STRIDE_BYTES: u64 = 256;

const _: () = assert!(size_of::<Piece>() as u64 <= PIECE_STRIDE_BYTES, "a piece fits its stride");

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::super::shader;
    use super::*;

    /// The size of a WGSL struct and the offset of its members, by name.
    fn naga_layout(name: &str) -> (usize, Vec<(String, usize)>) {
        let module = naga::front::wgsl::parse_str(&shader::compose("region.wgsl")).unwrap();
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
            face_light,
            horizon,
            zenith,
            eye_fract,
            fog_start,
            half_viewport_px,
            fog_end,
            is_flat,
        });
        check!(Piece { origin_in_eye, voxel_edge, colour_base, palette_base, is_direct });
    }
}
