//! The text tiles of the Geospatial Information Authority of Japan: 256 lines of 256 heights in metres, "e" where there is
//! no data.

/// Pixels along the edge of such a tile.
pub(super) const TEXT_SIDE: usize = 256;

/// Reads a tile, row by row from the north; the error says where it is malformed.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Option<f32>>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("no text after byte {}", error.valid_up_to()))?;
    let mut heights = Vec::with_capacity(TEXT_SIDE * TEXT_SIDE);
    let mut n_lines = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        n_lines += 1;
        let before = heights.len();
        if n_lines > TEXT_SIDE {
            return Err(format!("more than {TEXT_SIDE} lines: expected {TEXT_SIDE}"));
        }
        // A comma at the end of a line closes it, in some tiles.
        for value in line.trim_end().trim_end_matches(',').split(',') {
            if heights.len() - before == TEXT_SIDE {
                return Err(format!("line {n_lines}: more than {TEXT_SIDE} values, expected {TEXT_SIDE}"));
            }
            heights.push(height_m(value.trim()).map_err(|value| {
                format!("line {n_lines}: found \"{value}\", expected a height in metres or \"e\" for none")
            })?);
        }
        let n_values = heights.len() - before;
        if n_values != TEXT_SIDE {
            return Err(format!("line {n_lines}: {n_values} values, expected {TEXT_SIDE}"));
        }
    }
    if n_lines != TEXT_SIDE {
        return Err(format!("{n_lines} lines, expected {TEXT_SIDE}"));
    }
    Ok(heights)
}

fn height_m(value: &str) -> Result<Option<f32>, &str> {
    if value == "e" {
        return Ok(None);
    }
    let height_m: f32 = value.parse().map_err(|_| value)?;
    if height_m.is_finite() { Ok(Some(height_m)) } else { Err(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(first_line: &str, n_lines: usize) -> Vec<u8> {
        let line = vec!["1.25"; TEXT_SIDE].join(",");
        let mut lines = vec![line; n_lines];
        lines[0] = first_line.to_owned();
        lines.join("\n").into_bytes()
    }

    #[test]
    fn heights_stand_in_rows() {
        let mut first = vec!["e"; TEXT_SIDE];
        first[1] = "-3.5";
        let heights = decode(&text(&first.join(","), TEXT_SIDE)).unwrap();
        assert_eq!((heights[0], heights[1], heights[256]), (None, Some(-3.5), Some(1.25)));
        assert_eq!(heights.len(), 65_536);
    }

    #[test]
    fn what_is_malformed_is_placed() {
        let good = vec!["1"; TEXT_SIDE].join(",");
        for (bytes, expected) in [
            (text(&good, 255), "255 lines, expected 256"),
            (text(&good, 257), "more than 256 lines: expected 256"),
            (text("1,2", 256), "line 1: 2 values, expected 256"),
            (text(&format!("{good},4"), 256), "line 1: more than 256 values, expected 256"),
            (text("x", 256), "line 1: found \"x\", expected a height in metres or \"e\" for none"),
            (text("inf", 256), "line 1: found \"inf\", expected a height in metres or \"e\" for none"),
            (vec![0xFF], "no text after byte 0"),
        ] {
            assert_eq!(decode(&bytes).unwrap_err(), expected);
        }
    }
}
