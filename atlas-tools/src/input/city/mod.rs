//! What CityGML and CityJSON have in common: the same objects in two notations.
//!
//! Owns what the names of classes, surfaces and codes mean ([`class`], [`land`]), which level of detail is read
//! ([`lod`]), and how faces become items ([`thing`]). Receives text of any encoding ([`text`]) and faces whose points are
//! places already; knows nothing of XML or JSON.

pub(super) mod class;
pub(super) mod land;
pub(super) mod lod;
pub(super) mod misplaced;
pub(super) mod text;
pub(super) mod thing;
