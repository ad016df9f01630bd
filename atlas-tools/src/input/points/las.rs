//! A file of points as a stream.

use std::path::{Path, PathBuf};

use ::las::{Header, PointData, PointDataBuilder, Reader};
use voxatlas::voxel::Colour;

use super::colouring::{Colouring, Layout, SURVEY_POINTS, Survey, is_noise};
use super::copc::{self, Chunks, Node};
use super::file::{guarded, open};
use crate::crs::{AxisRule, CrsError, CrsOptions, Placer};
use crate::geokeys::{self, GeoKeys};
use crate::input::boxes::may_meet;
use crate::input::{ByteRanges, CloudPoint, InputError, Item, Place, Problem, Sink, Stream, Wanted};

/// Points that are handed on at once.
const BATCH_POINTS: u64 = 16_384;

/// A LAS, LAZ or COPC file.
pub struct Las {
    path: PathBuf,
    header: Header,
    placer: Placer,
    colouring: Colouring,
    /// World x and z; `None` where it holds no points.
    extent: Option<[f64; 4]>,
    file_bytes: u64,
}

impl Las {
    /// Opens a file and looks at its first points.
    ///
    /// # Errors
    ///
    /// It cannot be read or is no point cloud; it names no CRS and `--crs` does not; or it lies nowhere in it.
    pub fn open(path: &Path, crs: &CrsOptions) -> Result<Self, InputError> {
        let io = |error| InputError::Io { path: path.to_owned(), error };
        let file_bytes = std::fs::metadata(path).map_err(io)?.len();
        let file = open(path)?;
        let mut reader = guarded(path, || Reader::new(file))?;
        let header = reader.header().clone();
        let placer = placer(&header, crs, path)?;
        let extent = extent(&header, &placer).map_err(|error| error.in_file(path))?;
        let survey = match copc::root(path, &header) {
            Some(root) => survey_of_node(path, &header, &root)?,
            None => survey(&mut reader, path)?,
        };
        let colouring = survey.colouring();
        Ok(Self { path: path.to_owned(), header, placer, colouring, extent, file_bytes })
    }

    /// How many points it holds, those among them that are left out.
    pub fn n_points(&self) -> u64 {
        self.header.number_of_points()
    }

    /// What messages call its CRS.
    pub fn crs(&self) -> String {
        self.placer.describe()
    }

    /// Reads the nodes of an octree that are wanted.
    fn read_nodes(&self, nodes: &[Node], wanted: &Wanted, pour: &mut Pour<'_>) -> Result<(), InputError> {
        let mut chunks = Chunks::open(&self.path, &self.header)?;
        for node in nodes {
            if !may_meet(&self.placer, wanted, node.bounds) {
                pour.pass(u64::from(node.n_points));
                continue;
            }
            let records = chunks.read(node)?;
            for batch in records.chunks(pour.layout.record_bytes * BATCH_POINTS as usize) {
                pour.batch(batch)?;
            }
        }
        Ok(())
    }

    /// Reads the whole file where everything is wanted, or it has no octree that can be followed.
    fn read_wanted(&self, wanted: &Wanted, pour: &mut Pour<'_>) -> Result<(), InputError> {
        if let Some(nodes) = self.nodes(wanted) {
            return self.read_nodes(&nodes, wanted, pour);
        }
        if !wanted.boxes.is_empty() && self.header.copc_info_vlr().is_some() {
            pour.sink.problem("the octree", Problem::BadRecord);
        }
        self.read_all(pour)
    }

    /// The nodes of the octree; `None` where there is none that is sound, or all of it is wanted.
    fn nodes(&self, wanted: &Wanted) -> Option<Vec<Node>> {
        if wanted.boxes.is_empty() { None } else { copc::nodes(&self.path, &self.header) }
    }

    /// Reads all points from the first to the last.
    fn read_all(&self, pour: &mut Pour<'_>) -> Result<(), InputError> {
        let file = open(&self.path)?;
        let mut reader = guarded(&self.path, || Reader::new(file))?;
        let mut points = batch_of(&self.header);
        while guarded(&self.path, || reader.fill_points(BATCH_POINTS, &mut points))? > 0 {
            pour.batch(points.raw_bytes())?;
        }
        Ok(())
    }
}

impl Stream for Las {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn extent(&self) -> Result<Option<[f64; 4]>, InputError> {
        Ok(self.extent)
    }

    fn bytes(&self, wanted: &Wanted) -> Result<Option<ByteRanges>, InputError> {
        let Some(nodes) = self.nodes(wanted) else { return Ok(None) };
        // Before the points lie the header and its records, behind them the hierarchy.
        let begin = nodes.iter().map(|node| node.range().start).min().unwrap_or(self.file_bytes);
        let end = nodes.iter().map(|node| node.range().end).max().unwrap_or(0).min(self.file_bytes);
        let wanted_nodes = nodes.iter().filter(|node| may_meet(&self.placer, wanted, node.bounds)).map(Node::range);
        Ok(Some(wanted_nodes.chain([0..begin, end..self.file_bytes]).collect()))
    }

    fn placers(&self) -> Vec<Placer> {
        vec![self.placer.clone()]
    }

    fn read(&self, wanted: &Wanted, sink: &mut dyn Sink) -> Result<(), InputError> {
        if self.extent.is_none_or(|extent| !wanted.meets(extent)) {
            return Ok(());
        }
        let layout = Layout::new(*self.header.point_format());
        let mut pour = Pour { las: self, layout, sink, n_done: 0, usable: Usable::default() };
        self.read_wanted(wanted, &mut pour)
    }
}

/// Turns records into points and hands them on.
struct Pour<'a> {
    las: &'a Las,
    layout: Layout,
    sink: &'a mut dyn Sink,
    n_done: u64,
    usable: Usable,
}

/// The points of a batch that are neither noise nor withheld, each list in their order; kept for their room.
#[derive(Default)]
struct Usable {
    coordinates: Vec<[f64; 3]>,
    colours: Vec<Colour>,
    is_ground: Vec<bool>,
    /// Their numbers in the file.
    nths: Vec<u64>,
    places: Vec<Place>,
}

impl Pour<'_> {
    fn batch(&mut self, records: &[u8]) -> Result<(), InputError> {
        let mut usable = std::mem::take(&mut self.usable);
        usable.clear();
        self.gather(records, &mut usable);
        let mut points = Vec::with_capacity(usable.nths.len());
        let mut idx = 0;
        while idx < usable.nths.len() {
            usable.places.clear();
            let placed = self.las.placer.place_all(&usable.coordinates[idx..], &mut usable.places);
            for (&place, idx) in usable.places.iter().zip(idx..) {
                points.push(CloudPoint { place, colour: usable.colours[idx], is_ground: usable.is_ground[idx] });
            }
            idx += usable.places.len();
            if placed.is_err() {
                // The point that lies nowhere is left out; the others go on.
                self.problem(usable.nths[idx], Problem::BadCoordinate);
                idx += 1;
            }
        }
        self.usable = usable;
        if !points.is_empty() {
            self.sink.item(Item::Points(points))?;
        }
        self.progress();
        Ok(())
    }

    fn gather(&mut self, records: &[u8], usable: &mut Usable) {
        let transforms = *self.las.header.transforms();
        for record in records.chunks_exact(self.layout.record_bytes) {
            let class = self.layout.class(record);
            if is_noise(class) || self.layout.is_withheld(record) {
                self.problem(self.n_done, Problem::NoisePoint);
            } else {
                let [x, y, up] = Layout::coordinates(record);
                usable.coordinates.push([transforms.x.direct(x), transforms.y.direct(y), transforms.z.direct(up)]);
                usable.colours.push(self.las.colouring.colour(self.layout, record));
                usable.is_ground.push(class == 2);
                usable.nths.push(self.n_done);
            }
            self.n_done += 1;
        }
    }

    /// Counts points that are not wanted as done.
    fn pass(&mut self, n_points: u64) {
        self.n_done += n_points;
        self.progress();
    }

    fn problem(&mut self, nth: u64, problem: Problem) {
        self.sink.problem(&format!("point {nth}"), problem);
    }

    fn progress(&mut self) {
        let share = self.n_done as f64 / self.las.n_points().max(1) as f64;
        self.sink.progress((share * self.las.file_bytes as f64) as u64);
    }
}

impl Usable {
    fn clear(&mut self) {
        let Self { coordinates, colours, is_ground, nths, places } = self;
        coordinates.clear();
        colours.clear();
        is_ground.clear();
        nths.clear();
        places.clear();
    }
}

fn batch_of(header: &Header) -> PointData {
    PointDataBuilder::new().for_header(header).build()
}

/// Looks at the points of a node of an octree: those of the root lie all over the file's extent.
fn survey_of_node(path: &Path, header: &Header, node: &Node) -> Result<Survey, InputError> {
    let mut survey = Survey::default();
    let layout = Layout::new(*header.point_format());
    for record in Chunks::open(path, header)?.read(node)?.chunks_exact(layout.record_bytes) {
        survey.see(layout, record);
    }
    Ok(survey)
}

/// Looks at the first points of a file.
fn survey(reader: &mut Reader, path: &Path) -> Result<Survey, InputError> {
    let mut survey = Survey::default();
    let layout = Layout::new(*reader.header().point_format());
    let mut points = batch_of(reader.header());
    let mut n_left = SURVEY_POINTS;
    while n_left > 0 {
        let n = guarded(path, || reader.fill_points(n_left.min(BATCH_POINTS), &mut points))?;
        if n == 0 {
            break;
        }
        n_left -= n;
        for record in points.raw_bytes().chunks_exact(layout.record_bytes) {
            survey.see(layout, record);
        }
    }
    Ok(survey)
}

/// The placer of a file: by its WKT where it says that this counts, by its GeoKeys, by any WKT.
fn placer(header: &Header, crs: &CrsOptions, path: &Path) -> Result<Placer, InputError> {
    let said = |what| InputError::Malformed { path: path.to_owned(), what };
    let wkt = header.get_wkt_crs_bytes().map(|bytes| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned());
    let wkt = wkt.filter(|wkt| !wkt.trim().is_empty());
    // What the command line names goes before records that cannot be read.
    let keys = if crs.crs.is_some() { GeoKeys::default() } else { geo_keys(header).map_err(said)? };
    let of_keys = match (header.has_wkt_crs(), &wkt) {
        (true, Some(_)) => None,
        _ => keys.crs().map_err(said)?,
    };
    let height_unit_m = of_keys.as_ref().and_then(|_| keys.height_unit_m());
    let of_file = of_keys.or(wkt);
    let placer = crs.placer(AxisRule::Traditional, of_file.as_deref(), None).map_err(|error| error.in_file(path))?;
    Ok(match height_unit_m {
        Some(unit_m) => placer.with_height_unit_m(unit_m),
        None => placer,
    })
}

fn geo_keys(header: &Header) -> Result<GeoKeys, String> {
    let record = |id: u16| {
        let found = header.all_vlrs().find(|vlr| vlr.user_id == "LASF_Projection" && vlr.record_id == id);
        found.map(|vlr| vlr.data.as_slice())
    };
    let Some(directory) = record(geokeys::DIRECTORY) else { return Ok(GeoKeys::default()) };
    let or_none = |id: u16| record(id).unwrap_or_default();
    GeoKeys::from_bytes(directory, or_none(geokeys::DOUBLES), or_none(geokeys::TEXT))
}

/// The box round all points, by the header.
fn extent(header: &Header, placer: &Placer) -> Result<Option<[f64; 4]>, CrsError> {
    if header.number_of_points() == 0 {
        return Ok(None);
    }
    let bounds = header.bounds();
    box_round(placer, [bounds.min.x, bounds.min.y, bounds.max.x, bounds.max.y]).map(Some)
}

/// The world's box round a box of the file, by places along its edges.
fn box_round(placer: &Placer, [x0, y0, x1, y1]: [f64; 4]) -> Result<[f64; 4], CrsError> {
    const STEPS: u32 = 32;
    let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let mut found = start;
    for step in 0..=STEPS {
        let along = f64::from(step) / f64::from(STEPS);
        let (x, y) = (x0 + (x1 - x0) * along, y0 + (y1 - y0) * along);
        for coordinates in [[x, y0], [x, y1], [x0, y], [x1, y]] {
            let place = placer.place([coordinates[0], coordinates[1], 0.0])?;
            let [west, north, east, south] = found;
            found = [west.min(place.x), north.min(place.z), east.max(place.x), south.max(place.z)];
        }
    }
    Ok(found)
}
