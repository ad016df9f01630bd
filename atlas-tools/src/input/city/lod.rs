//! Which level of detail of an object is read.
//!
//! Owns the choice among the levels that a feature and its parts have; never two of one, since the coarser would stand
//! around the finer. It does not know what the levels hold.

use super::class::Piece;

/// A level of detail in tenths: CityGML's 2 is 20, CityJSON's "2.2" is 22.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::input) struct Lod(pub u8);

impl Lod {
    /// The finest that `ReadOptions::lod` lets pass: "2" means all of 2.0 to 2.9.
    pub(in crate::input) fn cap(lod: Option<u8>) -> Self {
        Self(lod.map_or(u8::MAX, |lod| lod.saturating_mul(10).saturating_add(9)))
    }

    /// As CityJSON writes it, "2" or "2.2"; as numbers in version 1.0.
    pub(in crate::input) fn parse(text: &str) -> Option<Self> {
        let (whole, tenth) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        let whole: u8 = whole.parse().ok().filter(|&whole| whole < 10)?;
        let tenth: u8 = tenth.get(..1)?.parse().ok()?;
        Some(Self(whole * 10 + tenth))
    }

    /// Whether it is a footprint or a roof's outline without height.
    pub(in crate::input) fn is_flat(self) -> bool {
        self.0 < 10
    }
}

/// The finest of the levels that is no finer than `cap`.
fn finest(levels: impl Iterator<Item = Lod>, cap: Lod) -> Option<Lod> {
    levels.filter(|&lod| lod <= cap).max()
}

/// A unit of an object and the levels of detail that it has.
#[derive(Debug, Clone, Default)]
pub(in crate::input) struct UnitLevels {
    /// What it is to the object; `None` for the object itself, which stands first.
    pub piece: Option<Piece>,
    /// The unit that it is a part of, which stands before it.
    pub parent: u32,
    /// Each once.
    pub levels: Vec<Lod>,
}

/// The level of each unit; `None` for those that are left out: they have none, or their parts show them more finely, or
/// they are outlines and `keeps_flat` is not asked for while something of the object has a height.
pub(in crate::input) fn choose_levels(units: &[UnitLevels], cap: Lod, keeps_flat: bool) -> Vec<Option<Lod>> {
    let mut chosen: Vec<Option<Lod>> = Vec::with_capacity(units.len());
    for unit in units {
        let of_parent = chosen.get(unit.parent as usize).copied().flatten();
        let cap = match (unit.piece, of_parent) {
            (Some(Piece::Addition), Some(of_parent)) => cap.min(Lod::cap(Some(of_parent.0 / 10))),
            _ => cap,
        };
        chosen.push(finest(unit.levels.iter().copied(), cap));
    }
    let mut finest_below = vec![None; units.len()];
    for (idx, unit) in units.iter().enumerate().skip(1).rev() {
        if unit.piece != Some(Piece::Addition) {
            let parent = unit.parent as usize;
            finest_below[parent] = finest_below[parent].max(chosen[idx]).max(finest_below[idx]);
        }
    }
    let has_height = chosen.iter().flatten().any(|lod| !lod.is_flat());
    let is_kept = |(lod, below): (Option<Lod>, Option<Lod>)| {
        lod.filter(|lod| below.is_none_or(|below| below <= *lod))
            .filter(|lod| keeps_flat || !(has_height && lod.is_flat()))
    };
    chosen.into_iter().zip(finest_below).map(is_kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_written() {
        let check =
            |text: &str, expected: Option<u8>| assert_eq!(Lod::parse(text).map(|lod| lod.0), expected, "{text}");
        check("2", Some(20));
        check("2.2", Some(22));
        check("1.0", Some(10));
        check("0", Some(0));
        check(" 3.31 ", Some(33));
        check("", None);
        check("x", None);
        check("10", None);
        check("2.", None);
        check("-1", None);
    }

    #[test]
    fn the_finest_below_the_cap_is_chosen() {
        let levels = [Lod(10), Lod(22), Lod(13), Lod(0)];
        let check = |lod: Option<u8>, expected: Option<u8>| {
            let found = finest(levels.into_iter(), Lod::cap(lod));
            assert_eq!(found.map(|lod| lod.0), expected, "{lod:?}");
        };
        check(None, Some(22));
        check(Some(2), Some(22));
        check(Some(1), Some(13));
        check(Some(0), Some(0));
        check(Some(u8::MAX), Some(22));
        assert_eq!(finest([Lod(20)].into_iter(), Lod::cap(Some(1))), None);
    }

    #[test]
    fn parts_hide_the_coarser_hull_round_them() {
        let unit = |piece, levels: &[u8]| UnitLevels {
            piece,
            parent: 0,
            levels: levels.iter().map(|&lod| Lod(lod)).collect(),
        };
        let check = |units: &[UnitLevels], keeps_flat: bool, expected: &[Option<u8>]| {
            let found = choose_levels(units, Lod::cap(None), keeps_flat);
            assert_eq!(found.into_iter().map(|lod| lod.map(|lod| lod.0)).collect::<Vec<_>>(), expected);
        };
        let (part, addition) = (Some(Piece::Part), Some(Piece::Addition));
        check(&[unit(None, &[0, 10]), unit(part, &[10, 22])], false, &[None, Some(22)]);
        check(&[unit(None, &[20]), unit(part, &[20])], false, &[Some(20), Some(20)]);
        check(&[unit(None, &[0]), unit(part, &[])], false, &[Some(0), None]);
        check(&[unit(None, &[20]), unit(part, &[0])], false, &[Some(20), None]);
        check(&[unit(None, &[20]), unit(part, &[0])], true, &[Some(20), Some(0)]);
        check(&[unit(None, &[22]), unit(addition, &[23, 30])], false, &[Some(22), Some(23)]);
        check(&[unit(None, &[10]), unit(addition, &[20, 30])], false, &[Some(10), None]);
        check(&[], false, &[]);
    }
}
