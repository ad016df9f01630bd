//! What a run has made so far: a file of lines that grows with it.
//!
//! The first line says what was to be made, by a hash of the plan; each further one is the record of a tile whose files
//! are whole. A tile is done when it is listed. A run that was ended leaves whole lines and perhaps the beginning of
//! one, which does not count.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Write as _};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use voxatlas::geo::TileCoord;

use super::record::TileRecord;
use crate::output::Output;
use crate::shards::manifest_name;

/// The first line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The SHA-256 of the plan, in hexadecimal.
    pub plan: String,
    /// The shard, from 0.
    pub shard: usize,
    /// How many shards there are.
    pub shards: usize,
    /// The program that made it.
    pub tool: String,
}

impl Header {
    /// The header of a shard of a plan.
    pub fn new(plan: String, shard: usize, shards: usize) -> Self {
        Self { plan, shard, shards, tool: format!("atlas-tools {}", env!("CARGO_PKG_VERSION")) }
    }
}

/// The last line of a manifest whose shard is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Footer {
    /// How many tiles the shard has, those that failed apart.
    done: usize,
}

/// A manifest that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// What it belongs to.
    pub header: Header,
    /// By tile.
    pub records: BTreeMap<TileCoord, TileRecord>,
    /// Whether its shard ran to its end.
    pub is_done: bool,
}

impl Manifest {
    /// Reads a manifest; `None` where there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is no manifest.
    pub fn read(out: &Output, name: &str) -> anyhow::Result<Option<Self>> {
        let Some(bytes) = out.read(name)? else { return Ok(None) };
        Self::parse(bytes.as_slice(), &out.path(name).display().to_string()).map(Some)
    }

    /// Reads the lines of a manifest; `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// They cannot be read, or are no manifest.
    pub fn parse(mut lines: impl BufRead, name: &str) -> anyhow::Result<Self> {
        let mut line = String::new();
        let mut next = |line: &mut String| -> anyhow::Result<bool> {
            line.clear();
            lines.read_line(line).with_context(|| format!("{name}: cannot be read"))?;
            // What has no line's end was being written when its program was ended.
            Ok(line.ends_with('\n'))
        };
        if !next(&mut line)? {
            bail!("{name}: empty: expected the manifest of a shard");
        }
        let header = serde_json::from_str(&line).with_context(|| format!("{name}: no manifest of a shard"))?;
        let mut manifest = Self { header, records: BTreeMap::new(), is_done: false };
        let mut n_line = 1;
        while next(&mut line)? {
            n_line += 1;
            if let Ok(Footer { done }) = serde_json::from_str(&line) {
                manifest.is_done = done == manifest.records.len();
                continue;
            }
            let record: TileRecord =
                serde_json::from_str(&line).with_context(|| format!("{name}, line {n_line}: no record of a tile"))?;
            if manifest.records.insert(record.tile, record).is_some() {
                bail!("{name}, line {n_line}: found a tile that was listed before; expected each once");
            }
        }
        Ok(manifest)
    }
}

/// A manifest that is written. In a folder it grows a line at a time; an object store knows no growing files and gets it
/// when the writer is done, or dropped since its run was ended.
#[derive(Debug)]
pub struct ManifestWriter {
    out: Output,
    name: String,
    /// What grows, in a folder.
    file: Option<File>,
    lines: Vec<u8>,
    n_records: usize,
    is_put: bool,
}

impl ManifestWriter {
    /// Begins the manifest of a shard, with the records that are done already.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn begin(out: &Output, header: &Header, done: &BTreeMap<TileCoord, TileRecord>) -> anyhow::Result<Self> {
        Self::named(out, &manifest_name(header.shard), header, done)
    }

    /// Begins a manifest under a name.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn named(
        out: &Output,
        name: &str,
        header: &Header,
        done: &BTreeMap<TileCoord, TileRecord>,
    ) -> anyhow::Result<Self> {
        let mut writer =
            Self { out: out.clone(), name: name.to_owned(), file: None, lines: Vec::new(), n_records: 0, is_put: true };
        writer.line(header)?;
        for record in done.values() {
            writer.add(record)?;
        }
        if let Some(folder) = out.folder() {
            // Whole at once, so that an earlier list is not lost before this one is there; then it grows.
            out.write(name, &writer.lines)?;
            let path = folder.path(name);
            let file = File::options().append(true).open(&path);
            writer.file = Some(file.with_context(|| format!("{}: cannot be written", path.display()))?);
            writer.lines = Vec::new();
        } else {
            writer.is_put = false;
        }
        Ok(writer)
    }

    /// Adds a tile whose files are whole.
    ///
    /// # Errors
    ///
    /// The disk is full, for one.
    pub fn add(&mut self, record: &TileRecord) -> anyhow::Result<()> {
        self.n_records += 1;
        self.line(record)
    }

    /// Says that the shard is done.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.line(&Footer { done: self.n_records })?;
        if let Some(file) = &self.file {
            return file.sync_all().with_context(|| self.fail());
        }
        self.is_put = true;
        Ok(self.out.write(&self.name, &self.lines)?)
    }

    /// Writes a line at once: a program that is ended then leaves all of it or a part that does not count.
    fn line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let Some(file) = &mut self.file else {
            self.lines.extend(line);
            return Ok(());
        };
        let written = file.write_all(&line);
        written.with_context(|| self.fail())
    }

    fn fail(&self) -> String {
        format!("{}: cannot be written", self.out.path(&self.name).display())
    }
}

impl Drop for ManifestWriter {
    fn drop(&mut self) {
        if !self.is_put {
            // The run failed for another reason, which is told; without the list its tiles are made anew.
            let _ = self.out.write(&self.name, &self.lines);
        }
    }
}
