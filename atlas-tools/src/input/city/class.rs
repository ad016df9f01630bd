//! What the names of city objects and of their surfaces mean. They are the same in CityGML 2, CityGML 3 and CityJSON.
//!
//! Names are compared without their namespace: the prefixes differ between files, the names do not.

use voxatlas::voxel::Colour;

use crate::input::{CoverKind, SurfaceKind};

/// The colour of plants that have none of their own.
pub(in crate::input) const PLANT: Colour = [104, 132, 84];

/// What a city object becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Role {
    /// Surfaces in space, or a footprint where it has no more.
    Building,
    /// Surfaces in space.
    Structure,
    /// Surfaces in space, green.
    Plant,
    /// What the ground looks like.
    Cover(CoverKind),
    /// The ground's own surface.
    Relief,
    /// A grouping of others: nothing of its own.
    Group,
}

/// What an object of this class becomes; `None` for a class that is not known, such as a zone of urban planning.
pub(in crate::input) fn role_of(class: &str) -> Option<Role> {
    Some(match class {
        "Building" => Role::Building,
        "Bridge" | "Tunnel" | "CityFurniture" | "GenericCityObject" | "GenericOccupiedSpace" | "OtherConstruction" => {
            Role::Structure
        }
        "SolitaryVegetationObject" => Role::Plant,
        "Road" | "TransportationComplex" => Role::Cover(CoverKind::Road),
        "Railway" => Role::Cover(CoverKind::Rail),
        "Track" => Role::Cover(CoverKind::Path),
        "Square" | "TransportSquare" => Role::Cover(CoverKind::Paved),
        "WaterBody" | "Waterway" => Role::Cover(CoverKind::Water),
        "LandUse" => Role::Cover(CoverKind::Other),
        "PlantCover" => Role::Cover(CoverKind::Green),
        "ReliefFeature" | "TINRelief" => Role::Relief,
        "CityObjectGroup" => Role::Group,
        _ => return None,
    })
}

/// How a piece of an object stands to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::input) enum Piece {
    /// A part, with a level of detail of its own: together they are the object.
    Part,
    /// Something added, such as a balcony; shown no finer than the object.
    Addition,
    /// A piece of a street or a railway.
    Traffic,
    /// Inside, where nobody sees it: passed over.
    Inside,
}

/// What a class within an object is; `None` where it is none of these.
pub(in crate::input) fn piece_of(class: &str) -> Option<Piece> {
    Some(match class {
        "BuildingPart" | "BridgePart" | "TunnelPart" => Piece::Part,
        "BuildingInstallation"
        | "BuildingConstructiveElement"
        | "BridgeInstallation"
        | "BridgeConstructionElement"
        | "BridgeConstructiveElement"
        | "TunnelInstallation"
        | "TunnelConstructiveElement"
        | "OtherConstruction" => Piece::Addition,
        "TrafficArea" | "AuxiliaryTrafficArea" | "TrafficSpace" | "AuxiliaryTrafficSpace" => Piece::Traffic,
        "Room"
        | "BuildingRoom"
        | "BuildingUnit"
        | "Storey"
        | "BuildingStorey"
        | "IntBuildingInstallation"
        | "BuildingFurniture"
        | "BridgeRoom"
        | "BridgeFurniture"
        | "IntBridgeInstallation"
        | "HollowSpace"
        | "TunnelHollowSpace"
        | "TunnelFurniture"
        | "IntTunnelInstallation"
        | "WaterGroundSurface"
        | "WaterClosureSurface"
        | "ClearanceSpace"
        | "Hole" => Piece::Inside,
        _ => return None,
    })
}

/// The kind of a surface that has a class of its own; `None` where it is no such class.
pub(in crate::input) fn surface_kind(class: &str) -> Option<SurfaceKind> {
    Some(match class {
        // The floor of a terrace is seen from above as a roof is.
        "RoofSurface" | "OuterFloorSurface" => SurfaceKind::Roof,
        "WallSurface" => SurfaceKind::Wall,
        "GroundSurface" => SurfaceKind::Ground,
        "ClosureSurface" => SurfaceKind::Closure,
        "OuterCeilingSurface" | "FloorSurface" | "CeilingSurface" => SurfaceKind::Floor,
        "InteriorWallSurface" | "WaterSurface" => SurfaceKind::Other,
        "Window" | "Door" | "WindowSurface" | "DoorSurface" => SurfaceKind::Opening,
        _ => return None,
    })
}
