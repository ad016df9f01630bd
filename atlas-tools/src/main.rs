//! `atlas-tools`: makes, inspects, checks and serves voxatlas tilesets.

fn main() {}
