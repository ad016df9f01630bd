//! Where the pixels of a raster lie in its CRS.

/// The affine way from pixels to coordinates:
///
/// ```text
///   x = a u + b v + c        u, v: 0, 0 is the outer corner of the first pixel
///   y = d u + e v + f
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ModelTransform {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
}

impl ModelTransform {
    /// From the tags of a GeoTIFF: a scale and a tie point, or a matrix. The error says what is missing.
    pub(super) fn new(
        scale: Option<&[f64]>,
        tie_points: Option<&[f64]>,
        matrix: Option<&[f64]>,
        is_pixel_point: bool,
    ) -> Result<Self, String> {
        let mut transform = match (matrix, scale, tie_points) {
            (Some(&[a, b, _, c, d, e, _, f, ..]), ..) => Self { a, b, c, d, e, f },
            (_, Some(&[scale_x, scale_y, ..]), Some(&[u, v, _, x, y, _, ..])) => {
                Self { a: scale_x, b: 0.0, c: x - u * scale_x, d: 0.0, e: -scale_y, f: y + v * scale_y }
            }
            _ => {
                let expected = "ModelPixelScale with ModelTiepoint, or ModelTransformation";
                return Err(format!("nothing says where its pixels lie: expected {expected}"));
            }
        };
        if is_pixel_point {
            // The tags speak of centres.
            transform.c -= f64::midpoint(transform.a, transform.b);
            transform.f -= f64::midpoint(transform.d, transform.e);
        }
        let Self { a, b, c, d, e, f } = transform;
        let is_usable = [a, b, c, d, e, f].into_iter().all(f64::is_finite) && (a * e - b * d).abs() > 0.0;
        is_usable.then_some(transform).ok_or_else(|| "pixels without a size: expected a scale above zero".to_owned())
    }

    /// The same raster at another size: pixels this many times as large.
    pub(super) fn scaled(self, times_x: f64, times_y: f64) -> Self {
        Self { a: self.a * times_x, b: self.b * times_y, d: self.d * times_x, e: self.e * times_y, ..self }
    }

    /// The coordinates of a place in pixels.
    pub(super) fn to_model(self, [u, v]: [f64; 2]) -> [f64; 2] {
        [self.a * u + self.b * v + self.c, self.d * u + self.e * v + self.f]
    }

    /// The place of coordinates in pixels.
    pub(super) fn to_pixels(self, [x, y]: [f64; 2]) -> [f64; 2] {
        let (x, y) = (x - self.c, y - self.f);
        let determinant = self.a * self.e - self.b * self.d;
        [(self.e * x - self.b * y) / determinant, (self.a * y - self.d * x) / determinant]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_where_pixels_lie() {
        let scale = [2.0, 3.0, 0.0];
        let tie = [1.0, 2.0, 0.0, 100.0, 200.0, 0.0];
        let area = ModelTransform::new(Some(&scale), Some(&tie), None, false).unwrap();
        assert_eq!((area.to_model([1.0, 2.0]), area.to_model([0.0, 0.0])), ([100.0, 200.0], [98.0, 206.0]));
        let point = ModelTransform::new(Some(&scale), Some(&tie), None, true).unwrap();
        assert_eq!(point.to_model([1.5, 2.5]), [100.0, 200.0], "the centre of pixel 1, 2");
        let matrix = [0.0, -2.0, 0.0, 10.0, 2.0, 0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let turned = ModelTransform::new(None, None, Some(&matrix), false).unwrap();
        assert_eq!(turned.to_model([1.0, 3.0]), [4.0, 22.0]);
        for transform in [area, point, turned] {
            let [u, v] = transform.to_pixels(transform.to_model([7.25, -3.5]));
            assert!((u - 7.25).abs() < 1e-9 && (v + 3.5).abs() < 1e-9);
            assert_eq!(transform.scaled(2.0, 4.0).to_model([0.5, 0.25]), transform.to_model([1.0, 1.0]));
        }
    }

    #[test]
    fn what_says_nothing_is_refused() {
        let tie = [0.0, 0.0, 0.0, 1.0, 2.0, 0.0];
        for (scale, tie, expected) in [
            (None, None, "nothing says where its pixels lie"),
            (Some([0.0, 1.0, 0.0]), Some(tie), "pixels without a size"),
            (Some([f64::NAN, 1.0, 0.0]), Some(tie), "pixels without a size"),
        ] {
            let scale = scale.as_ref().map(<[f64; 3]>::as_slice);
            let tie = tie.as_ref().map(<[f64; 6]>::as_slice);
            let error = ModelTransform::new(scale, tie, None, false).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
