//! What has to hold after every frame, as far as a picture tells.
//!
//! A *place* is a region's room. It is drawn by the region itself, by the octant of one above, or by those below.

use std::collections::BTreeMap;

use voxatlas::geo::RegionKey;
use voxatlas::stream::{Level, Scene};
use voxatlas::view::Interest;

/// A picture: who is in the slots, and which octants are drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawn(BTreeMap<RegionKey, u8>);

impl FromIterator<(RegionKey, u8)> for Drawn {
    fn from_iter<I: IntoIterator<Item = (RegionKey, u8)>>(drawn: I) -> Self {
        Self(drawn.into_iter().collect())
    }
}

impl Drawn {
    pub(crate) fn len(&self) -> usize {
        self.0.values().filter(|&&octants| octants != 0).count()
    }

    /// No place is drawn twice.
    pub(crate) fn check_single(&self) {
        for (&key, _) in self.0.iter().filter(|&(_, &octants)| octants != 0) {
            let mut below = key;
            while let Some(above) = below.parent() {
                let twice = self.0.get(&above).is_some_and(|octants| octants >> below.octant() & 1 == 1);
                assert!(!twice, "{key} is drawn within an octant that {above} draws");
                below = above;
            }
        }
    }

    /// Nothing that was drawn has become a hole, as long as the view still wants to see something there.
    pub(crate) fn check_holes(&self, before: &Self, scene: &Scene, interest: &Interest) {
        let picture = Picture { drawn: self, scene, interest };
        for (&key, &octants) in &before.0 {
            let places: Vec<RegionKey> = match key.children() {
                Some(children) if key.tile.zoom() < 17 => {
                    let drawn = children.into_iter().enumerate().filter(|(octant, _)| octants >> octant & 1 == 1);
                    drawn.map(|(_, child)| child).collect()
                }
                _ if octants != 0 => vec![key],
                _ => Vec::new(),
            };
            for place in places {
                let is_wanted = std::iter::successors(Some(place), |it| it.parent()).any(|it| picture.is_visible(it));
                assert!(!is_wanted || picture.is_covered(place), "{place} was drawn (by {key}), and is a hole now");
            }
        }
    }

    /// Everything that the interest shows and the city holds is drawn.
    pub(crate) fn check_whole(&self, scene: &Scene, interest: &Interest) {
        let picture = Picture { drawn: self, scene, interest };
        for &key in &interest.visible {
            let is_drawn = self.0.contains_key(&key) || scene.region(&key).is_some_and(|it| it.level() == Level::Empty);
            assert!(is_drawn && picture.is_covered(key), "{key} is not drawn although all is well");
        }
        // And by the finest that is there: no coarse octant hides what has arrived.
        for (&key, &octants) in &self.0 {
            let is_own = |child: RegionKey| !self.0.contains_key(&child) && scene.may_hold(&child);
            let expected = match key.children() {
                Some(children) if key.tile.zoom() < 17 => {
                    let own = |(octant, child): (usize, RegionKey)| u8::from(is_own(child)) << octant;
                    children.into_iter().enumerate().map(own).sum()
                }
                _ => u8::MAX,
            };
            assert_eq!(octants, expected, "{key} draws the octants that nobody else does");
        }
    }
}

struct Picture<'a> {
    drawn: &'a Drawn,
    scene: &'a Scene,
    interest: &'a Interest,
}

impl Picture<'_> {
    fn is_visible(&self, key: RegionKey) -> bool {
        self.interest.visible.contains(&key)
    }

    /// Whether the place is drawn by somebody, or known to be empty.
    fn is_covered(&self, place: RegionKey) -> bool {
        self.is_drawn_from_above(place) || self.is_drawn_from_within(place)
    }

    fn is_drawn_from_above(&self, place: RegionKey) -> bool {
        let chain = std::iter::successors(Some(place), |it| it.parent());
        chain.into_iter().any(|child| {
            let octants = child.parent().and_then(|parent| self.drawn.0.get(&parent));
            octants.is_some_and(|octants| octants >> child.octant() & 1 == 1)
        })
    }

    fn is_drawn_from_within(&self, place: RegionKey) -> bool {
        if !self.scene.may_hold(&place) {
            return true;
        }
        match (self.drawn.0.get(&place), place.children()) {
            (Some(&octants), Some(children)) if place.tile.zoom() < 17 => {
                let mut others = children.into_iter().enumerate().filter(|(octant, _)| octants >> octant & 1 == 0);
                others.all(|(_, child)| self.is_drawn_from_within(child))
            }
            (Some(&octants), _) => octants != 0,
            // It hangs or has failed: those below stand in for it.
            (None, Some(children)) if self.interest.refined.contains(&place) => {
                children.into_iter().all(|child| !self.is_visible(child) || self.is_drawn_from_within(child))
            }
            (None, _) => false,
        }
    }
}
