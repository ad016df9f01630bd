//! A palette for formats that have one: the colours themselves where they suffice, else the best that stand for them.

use std::collections::BTreeMap;

use voxatlas::voxel::Colour;

use crate::contents::ColourCounts;

/// At most so many colours, and which of them stands for each colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Palette {
    pub(super) colours: Vec<Colour>,
    index: BTreeMap<Colour, u8>,
}

impl Palette {
    /// The palette of these colours: all of them where there are at most `n_max`, else the means of the boxes that median
    /// cut finds, which splits the box with the widest channel, the first of equals, at its median.
    pub(super) fn of(counts: &ColourCounts, n_max: usize) -> Self {
        let mut boxes = vec![counts.iter().map(|(&colour, &n)| (colour, n)).collect::<Vec<_>>()];
        while boxes.len() < n_max.min(counts.len()) {
            let widest = (0..boxes.len()).max_by_key(|&idx| (widest_channel(&boxes[idx]).1, std::cmp::Reverse(idx)));
            let Some(idx) = widest.filter(|&idx| boxes[idx].len() > 1) else { break };
            let [low, high] = split(std::mem::take(&mut boxes[idx]));
            boxes[idx] = low;
            boxes.push(high);
        }
        let (mut colours, mut index) = (Vec::new(), BTreeMap::new());
        for colours_of_box in boxes.iter().filter(|colours| !colours.is_empty()) {
            index.extend(colours_of_box.iter().map(|&(colour, _)| (colour, colours.len() as u8)));
            colours.push(mean(colours_of_box));
        }
        Self { colours, index }
    }

    /// The index of the colour that stands for one that was counted.
    pub(super) fn index(&self, colour: Colour) -> u8 {
        self.index.get(&colour).copied().unwrap_or_default()
    }
}

/// The channel with the largest range, the first of equals, and the range.
fn widest_channel(colours: &[(Colour, u64)]) -> (usize, u8) {
    let range = |channel: usize| {
        let values = || colours.iter().map(|(colour, _)| colour[channel]);
        values().max().unwrap_or(0) - values().min().unwrap_or(0)
    };
    let ranges = [range(0), range(1), range(2)];
    let widest = (0..3).max_by_key(|&channel| (ranges[channel], std::cmp::Reverse(channel))).unwrap_or(0);
    (widest, ranges[widest])
}

/// Two halves of a box of several colours, of about as many voxels each and neither empty.
fn split(mut colours: Vec<(Colour, u64)>) -> [Vec<(Colour, u64)>; 2] {
    let (channel, _) = widest_channel(&colours);
    colours.sort_by_key(|&(colour, _)| (colour[channel], colour));
    let half = colours.iter().map(|&(_, n)| n).sum::<u64>() / 2;
    let mut seen = 0;
    let median = colours.iter().position(|&(_, n)| {
        seen += n;
        seen > half
    });
    let at = median.unwrap_or(0).clamp(1, colours.len() - 1);
    let high = colours.split_off(at);
    [colours, high]
}

/// The mean colour of the voxels, rounded.
fn mean(colours: &[(Colour, u64)]) -> Colour {
    let n: u128 = colours.iter().map(|&(_, n)| u128::from(n)).sum::<u128>().max(1);
    std::array::from_fn(|channel| {
        let sum: u128 = colours.iter().map(|&(colour, n)| u128::from(colour[channel]) * u128::from(n)).sum();
        ((sum + n / 2) / n) as u8
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_colours_stay_as_they_are() {
        let counts: ColourCounts = (0..255u8).map(|c| ([c, 255 - c, c / 2], u64::from(c) + 1)).collect();
        let palette = Palette::of(&counts, 255);
        assert_eq!(palette.colours.len(), 255);
        assert!(counts.keys().all(|&colour| palette.colours[usize::from(palette.index(colour))] == colour));
        assert!(Palette::of(&ColourCounts::new(), 255).colours.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn many_colours_become_few_that_are_near(
            counts in proptest::collection::btree_map(any::<[u8; 3]>(), 1u64..1_000, 1..600), n_max in 1usize..=255,
        ) {
            let palette = Palette::of(&counts, n_max);
            prop_assert_eq!(palette.colours.len(), n_max.min(counts.len()));
            prop_assert_eq!(&palette, &Palette::of(&counts, n_max));
            for &colour in counts.keys() {
                prop_assert!(usize::from(palette.index(colour)) < palette.colours.len());
            }
        }
    }
}
