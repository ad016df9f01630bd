//! How a grid of values becomes values at voxel centres.
//!
//! Owns the two rules: heights are taken bilinearly, colours as the mean of what lies under a voxel. Receives the place of
//! a voxel in the grid's own pixels and a way to look one up; it does not know where the grid comes from.
//!
//! ```text
//!   pixel i covers [i, i + 1), its centre is i + 0.5
//!
//!   |   0   |   1   |   2   |        u = 1.2 lies 0.7 of the way from centre 0 to centre 1
//!       o       o . u   o
//! ```

/// Samples along one edge of a voxel at most, where a picture is finer than the voxels: 64 a voxel tell its mean well.
pub(crate) const COLOUR_SAMPLES_MAX: u32 = 8;

/// The value at (u, v) pixels between the four pixels whose centres are nearest.
///
/// There is a value where the pixel that holds (u, v) has one, so that what has data is the same as in the source: no
/// coast moves. Pixels without data, and those outside, do not count, and the others take their weight.
pub(crate) fn bilinear<E>(
    u: f64,
    v: f64,
    mut pixel: impl FnMut(i64, i64) -> Result<Option<f64>, E>,
) -> Result<Option<f64>, E> {
    // Far outside every grid, where whole numbers would no longer tell neighbours apart.
    if !(u.abs() < 1e15 && v.abs() < 1e15) || pixel(u.floor() as i64, v.floor() as i64)?.is_none() {
        return Ok(None);
    }
    let (left, top) = ((u - 0.5).floor(), (v - 0.5).floor());
    let (right_weight, bottom_weight) = (u - 0.5 - left, v - 0.5 - top);
    let (mut sum, mut weights) = (0.0, 0.0);
    for (dy, row_weight) in [(0, 1.0 - bottom_weight), (1, bottom_weight)] {
        for (dx, column_weight) in [(0, 1.0 - right_weight), (1, right_weight)] {
            let weight = row_weight * column_weight;
            // A pixel of no weight is not looked up: it may be in a tile that nothing else needs.
            if weight > 0.0
                && let Some(value) = pixel(left as i64 + dx, top as i64 + dy)?
            {
                sum += weight * value;
                weights += weight;
            }
        }
    }
    Ok(Some(sum / weights))
}

/// How many samples a voxel's edge is given where it is so many pixels long.
///
/// One sample of a picture that is finer than the voxels is the colour of one roof tile or one car, noise; the mean of
/// what lies under the voxel is what it looks like from afar. A coarser picture keeps its own colours: the nearest.
pub(crate) fn samples_along(pixels_a_voxel: f64) -> u32 {
    if pixels_a_voxel.is_finite() {
        // The cast saturates; a little more than one pixel is still one.
        ((pixels_a_voxel - 0.25).ceil() as u32).clamp(1, COLOUR_SAMPLES_MAX)
    } else {
        1
    }
}

/// The mean of colours, weighted by their alpha; alpha 0 where most of them are nothing.
#[derive(Debug, Default)]
pub(crate) struct ColourMean {
    sums: [u32; 3],
    alpha: u32,
    n: u32,
}

impl ColourMean {
    /// Counts one sample.
    pub(crate) fn add(&mut self, [r, g, b, alpha]: [u8; 4]) {
        let alpha = u32::from(alpha);
        for (sum, channel) in self.sums.iter_mut().zip([r, g, b]) {
            *sum += u32::from(channel) * alpha;
        }
        self.alpha += alpha;
        self.n += 1;
    }

    /// The mean, rounded; opaque, or nothing at all.
    pub(crate) fn colour(&self) -> [u8; 4] {
        if self.n == 0 || self.alpha * 2 < self.n * 255 {
            return [0; 4];
        }
        let [r, g, b] = self.sums.map(|sum| ((sum + self.alpha / 2) / self.alpha) as u8);
        [r, g, b, 255]
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// Samples a grid of rows; `None` is no data.
    fn sampled(rows: &[&[Option<f64>]], u: f64, v: f64) -> Option<f64> {
        let pixel = |x: i64, y: i64| {
            let row = usize::try_from(y).ok().and_then(|y| rows.get(y));
            Ok::<_, Infallible>(row.and_then(|row| row.get(usize::try_from(x).ok()?).copied().flatten()))
        };
        bilinear(u, v, pixel).unwrap()
    }

    #[test]
    fn between_centres_values_blend() {
        let rows: &[&[_]] = &[&[Some(0.0), Some(10.0)], &[Some(20.0), Some(30.0)]];
        for (u, v, expected) in [
            (0.5, 0.5, Some(0.0)),
            (1.5, 0.5, Some(10.0)),
            (1.0, 0.5, Some(5.0)),
            (1.0, 1.0, Some(15.0)),
            // The outer half of an edge pixel has its value.
            (0.1, 0.5, Some(0.0)),
            (1.9, 1.9, Some(30.0)),
            (-0.01, 0.5, None),
            (2.0, 0.5, None),
            (f64::NAN, 0.5, None),
            (1e300, 0.5, None),
        ] {
            assert_eq!(sampled(rows, u, v), expected, "{u} {v}");
        }
    }

    #[test]
    fn what_has_no_data_neither_spreads_nor_shrinks() {
        let rows: &[&[_]] = &[&[Some(8.0), None, Some(4.0)]];
        assert_eq!(sampled(rows, 0.9, 0.5), Some(8.0));
        assert_eq!(sampled(rows, 1.1, 0.5), None);
        assert_eq!(sampled(rows, 2.0, 0.5), Some(4.0));
    }

    #[test]
    fn colours_are_means_of_what_is_there() {
        let mean = |samples: &[[u8; 4]]| {
            let mut mean = ColourMean::default();
            for &sample in samples {
                mean.add(sample);
            }
            mean.colour()
        };
        assert_eq!(mean(&[[10, 20, 30, 255], [20, 20, 31, 255]]), [15, 20, 31, 255]);
        assert_eq!(mean(&[[10, 20, 30, 255], [200, 0, 0, 0]]), [10, 20, 30, 255]);
        assert_eq!(mean(&[[10, 20, 30, 255], [0; 4], [0; 4]]), [0; 4]);
        assert_eq!(mean(&[]), [0; 4]);
        for (pixels, expected) in [(0.1, 1), (1.2, 1), (1.5, 2), (4.0, 4), (900.0, 8), (f64::NAN, 1), (-3.0, 1)] {
            assert_eq!(samples_along(pixels), expected, "{pixels}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_plane_is_met_between_the_centres(u in 0.5..6.5, v in 0.5..4.5, slope in prop::array::uniform2(-9.0..9.0)) {
            let plane = |x: f64, y: f64| slope[0] * x + slope[1] * y;
            let rows: Vec<Vec<_>> =
                (0..5).map(|y| (0..7).map(|x| Some(plane(f64::from(x) + 0.5, f64::from(y) + 0.5))).collect()).collect();
            let rows: Vec<&[_]> = rows.iter().map(Vec::as_slice).collect();
            let found = sampled(&rows, u, v).unwrap();
            prop_assert!((found - plane(u, v)).abs() < 1e-9);
        }
    }
}
