//! Writes vector tiles for tests: the other half of the protobuf that the reader knows.

/// A feature to write.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestFeature {
    /// Its id, if it has one.
    pub(crate) id: Option<u64>,
    /// Its height attribute, if it has one.
    pub(crate) height_m: Option<f64>,
    /// Its rings, not closed, in the tile's units.
    pub(crate) rings: Vec<Vec<[i32; 2]>>,
}

impl TestFeature {
    /// A square block.
    pub(crate) fn block(id: u64, height_m: f64, x: i32, y: i32, side: i32) -> Self {
        let ring = vec![[x, y], [x + side, y], [x + side, y + side], [x, y + side]];
        Self { id: Some(id), height_m: Some(height_m), rings: vec![ring] }
    }
}

/// A tile of one layer with the height attribute `z`.
pub(crate) fn tile(layer: &str, extent: u32, features: &[TestFeature]) -> Vec<u8> {
    let mut body = Vec::new();
    bytes_field(&mut body, 1, layer.as_bytes());
    for feature in features {
        bytes_field(&mut body, 2, &feature_message(feature, features));
    }
    bytes_field(&mut body, 3, b"z");
    for height_m in features.iter().filter_map(|feature| feature.height_m) {
        let mut value = vec![3 << 3 | 1];
        value.extend(height_m.to_le_bytes());
        bytes_field(&mut body, 4, &value);
    }
    varint_field(&mut body, 5, u64::from(extent));
    varint_field(&mut body, 15, 2);
    let mut tile = Vec::new();
    bytes_field(&mut tile, 3, &body);
    tile
}

fn feature_message(feature: &TestFeature, all: &[TestFeature]) -> Vec<u8> {
    let mut message = Vec::new();
    if let Some(id) = feature.id {
        varint_field(&mut message, 1, id);
    }
    if feature.height_m.is_some() {
        let heights = all.iter().filter(|other| other.height_m.is_some());
        let value_idx = heights.take_while(|other| !std::ptr::eq(*other, feature)).count();
        let mut tags = vec![0];
        varint(&mut tags, value_idx as u64);
        bytes_field(&mut message, 2, &tags);
    }
    varint_field(&mut message, 3, 3);
    bytes_field(&mut message, 4, &geometry(&feature.rings));
    message
}

/// The drawing commands of some rings.
pub(crate) fn geometry(rings: &[Vec<[i32; 2]>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut cursor = [0; 2];
    for ring in rings {
        for (idx, point) in ring.iter().enumerate() {
            match idx {
                0 => varint(&mut out, 1 << 3 | 1),
                1 => varint(&mut out, ((ring.len() - 1) as u64) << 3 | 2),
                _ => {}
            }
            for axis in 0..2 {
                let delta = i64::from(point[axis]) - i64::from(cursor[axis]);
                varint(&mut out, (delta << 1 ^ delta >> 63) as u64);
            }
            cursor = *point;
        }
        varint(&mut out, 1 << 3 | 7);
    }
    out
}

/// Appends a varint field.
pub(crate) fn varint_field(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3);
    varint(out, value);
}

/// Appends a field of bytes.
pub(crate) fn bytes_field(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a varint.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
