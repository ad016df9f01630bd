//! Well-known binary: the geometries of `GeoParquet`.
//!
//! Owns the reading of bytes. Receives the value of a cell, ISO's or the extended form, yields a [`Flat`]; no count is
//! believed that the bytes cannot hold.

use super::footprint::Flat;

/// Collections lie at most so deep in each other.
const DEPTH_MAX: usize = 8;

/// Appends the polygons and lines of a geometry; none where its bytes do not fit.
pub(super) fn flatten(bytes: &[u8], flat: &mut Flat) -> Option<()> {
    Reader { bytes, is_little: true }.geometry(flat, 0)
}

struct Reader<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl Reader<'_> {
    fn geometry(&mut self, flat: &mut Flat, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        let [order] = self.take::<1>()?;
        self.is_little = order == 1;
        let kind = self.count()?;
        // The extended form marks dimensions by bits, ISO's by thousands.
        let n_extra = u32::from(kind & 0x8000_0000 != 0) + u32::from(kind & 0x4000_0000 != 0);
        if kind & 0x2000_0000 != 0 {
            self.count()?;
        }
        let kind = kind & 0x0FFF_FFFF;
        let n_dimensions = match kind / 1000 {
            0 => 2 + n_extra,
            1 | 2 => 3,
            3 => 4,
            _ => return None,
        } as usize;
        match kind % 1000 {
            1 => {
                self.point(n_dimensions)?;
                flat.has_others = true;
            }
            2 => {
                let line = self.points(n_dimensions)?;
                flat.lines.push(line);
            }
            3 | 17 => {
                let rings = self.rings(n_dimensions)?;
                if !rings.is_empty() {
                    flat.polygons.push(rings);
                }
            }
            4..=7 | 15 | 16 => {
                for _ in 0..self.count()? {
                    self.geometry(flat, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn rings(&mut self, n_dimensions: usize) -> Option<Vec<Vec<[f64; 3]>>> {
        let n_rings = self.count()?;
        // A ring takes at least the four bytes of its count.
        if n_rings as usize > self.bytes.len() / 4 {
            return None;
        }
        (0..n_rings).map(|_| self.points(n_dimensions)).collect()
    }

    fn points(&mut self, n_dimensions: usize) -> Option<Vec<[f64; 3]>> {
        let n_points = self.count()? as usize;
        if n_points > self.bytes.len() / (8 * n_dimensions) {
            return None;
        }
        (0..n_points).map(|_| self.point(n_dimensions)).collect()
    }

    fn point(&mut self, n_dimensions: usize) -> Option<[f64; 3]> {
        let [x, y] = [self.float()?, self.float()?];
        for _ in 2..n_dimensions {
            self.float()?;
        }
        Some([x, y, 0.0])
    }

    fn count(&mut self) -> Option<u32> {
        let bytes = self.take()?;
        Some(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn float(&mut self) -> Option<f64> {
        let bytes = self.take()?;
        Some(if self.is_little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A polygon of one ring, with the bytes of its numbers in an order.
    fn polygon(is_little: bool, kind: u32, extra: &[f64], points: &[[f64; 2]]) -> Vec<u8> {
        let count = |number: u32| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        let float = |number: f64| if is_little { number.to_le_bytes() } else { number.to_be_bytes() };
        let mut bytes = vec![u8::from(is_little)];
        bytes.extend(count(kind));
        if kind & 0x2000_0000 != 0 {
            bytes.extend(count(4326));
        }
        bytes.extend(count(1));
        bytes.extend(count(points.len() as u32));
        for point in points {
            bytes.extend(point.iter().chain(extra).flat_map(|&number| float(number)));
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Flat> {
        let mut flat = Flat::default();
        flatten(bytes, &mut flat).map(|()| flat)
    }

    const TRIANGLE: [[f64; 2]; 4] = [[1.0, 2.0], [3.0, 2.0], [3.0, 4.0], [1.0, 2.0]];

    #[test]
    fn polygons_are_read_in_every_form() {
        let expected = Flat { polygons: vec![vec![TRIANGLE.map(|[x, y]| [x, y, 0.0]).to_vec()]], ..Flat::default() };
        for (is_little, kind, extra) in [
            (true, 3, &[][..]),
            (false, 3, &[]),
            (true, 1003, &[9.0]),
            (true, 2003, &[9.0]),
            (false, 3003, &[9.0, 9.0]),
            (true, 0x8000_0003, &[9.0]),
            (true, 0xC000_0003, &[9.0, 9.0]),
            (true, 0x2000_0003, &[]),
        ] {
            assert_eq!(read(&polygon(is_little, kind, extra, &TRIANGLE)).as_ref(), Some(&expected), "{kind:x}");
        }
        let one = polygon(true, 3, &[], &TRIANGLE);
        let multi = [&[1, 6, 0, 0, 0, 2, 0, 0, 0][..], &one, &one].concat();
        assert_eq!(read(&multi).unwrap().polygons.len(), 2);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let good = polygon(true, 3, &[], &TRIANGLE);
        for end in 0..good.len() {
            assert_eq!(read(&good[..end]), None, "{end}");
        }
        let deep = [1, 7, 0, 0, 0, 1, 0, 0, 0].repeat(100);
        assert_eq!(read(&deep), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&bytes);
        }
    }
}
