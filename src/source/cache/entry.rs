//! One file of the cache: an answer's head and body.
//!
//! ```text
//! magic "vxcache1" | head length u32 | CRC-32 of the head u32 | body length u64 | CRC-32 of the body u32     (little-endian)
//! head, JSON
//! body
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::super::http::shown;
use crate::limits::CACHE_HEAD_BYTES_MAX;

const MAGIC: &[u8; 8] = b"vxcache1";
const PREFIX_BYTES: usize = 28;

/// The headers of an answer that are kept: all that its age, its next question and its reading depend on.
const KEPT: [HeaderName; 11] = [
    header::AGE,
    header::CACHE_CONTROL,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::DATE,
    header::ETAG,
    header::EXPIRES,
    header::LAST_MODIFIED,
    header::LOCATION,
    header::PRAGMA,
    header::VARY,
];

/// Where an answer lies: a folder a host, and the hash of what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::source) struct EntryName {
    /// The host and its port, as a file may be named.
    pub(super) host: String,
    /// 64 hexadecimal digits.
    pub(super) file: String,
}

impl EntryName {
    /// The place of the answer to a question. `headers` are those that this user adds: another user's answer, or the
    /// same one's without a token, is another answer. Nothing of their values can be read from the name.
    pub(in crate::source) fn of(url: &Url, headers: &HeaderMap) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(url.as_str());
        for (name, value) in headers {
            // Neither a URL nor a header holds a line feed, so that no two questions are written alike.
            hasher.update(b"\n");
            hasher.update(name.as_str());
            hasher.update(b":");
            hasher.update(value.as_bytes());
        }
        let file = hasher.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Self { host: utf8_percent_encode(&host, ESCAPED).to_string(), file }
    }
}

/// What stands as it is in a file's name on every system.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-');

/// The host that a folder is named after.
pub(super) fn host_of(folder: &str) -> String {
    percent_decode_str(folder).decode_utf8_lossy().into_owned()
}

/// What describes an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::source) struct Head {
    /// What was asked, without name and password.
    pub(in crate::source) url: String,
    /// Who asked: servers may let the answer depend on it.
    pub(in crate::source) user_agent: String,
    /// The answer's status.
    pub(in crate::source) status: u16,
    /// Whether the answer says that there is no file.
    pub(in crate::source) is_absence: bool,
    /// When it came, in seconds since 1970.
    received_secs: u64,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Describes an answer that came now.
    pub(in crate::source) fn new(
        url: &Url,
        user_agent: &str,
        status: u16,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Self {
        let kept = KEPT.iter().flat_map(|name| headers.get_all(name).iter().map(move |value| (name, value)));
        Self {
            url: shown(url),
            user_agent: user_agent.to_owned(),
            status,
            is_absence: false,
            received_secs: now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_secs()),
            headers: kept
                .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
                .collect(),
        }
    }

    /// The kept headers.
    pub(in crate::source) fn headers(&self) -> HeaderMap {
        let parse = |(name, value): &(String, String)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
        };
        self.headers.iter().filter_map(parse).collect()
    }

    /// When it came.
    pub(in crate::source) fn received(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.received_secs)).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// An answer whose body has not been read. Held open, so that it stays whole whatever others do to the folder.
#[derive(Debug)]
pub(in crate::source) struct Stored {
    pub(in crate::source) head: Head,
    file: File,
    body_bytes: u64,
    body_crc: u32,
}

/// What stands before the body; `None` where the head is too large to be kept.
pub(super) fn prefix(head: &Head, body: &[u8]) -> Option<Vec<u8>> {
    let head = serde_json::to_vec(head).ok().filter(|head| head.len() <= CACHE_HEAD_BYTES_MAX)?;
    let mut prefix = Vec::with_capacity(PREFIX_BYTES + head.len());
    prefix.extend_from_slice(MAGIC);
    prefix.extend_from_slice(&(head.len() as u32).to_le_bytes());
    prefix.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    prefix.extend_from_slice(&(body.len() as u64).to_le_bytes());
    prefix.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    prefix.extend_from_slice(&head);
    Some(prefix)
}

impl Stored {
    /// Opens a file; `None` where there is none to be had. The error says what is wrong with it.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, String> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::debug!("{}: {error}", path.display());
                }
                return Ok(None);
            }
        };
        match Self::read_head(&mut file) {
            Ok((head, body_bytes, body_crc)) => Ok(Some(Self { head, file, body_bytes, body_crc })),
            Err(error) => Err(format!("{} is damaged: {error}", path.display())),
        }
    }

    fn read_head(file: &mut File) -> io::Result<(Head, u64, u32)> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut prefix = [0; PREFIX_BYTES];
        file.read_exact(&mut prefix)?;
        let (magic, numbers) = prefix.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(bad("it begins otherwise than such files do"));
        }
        let number = |at: usize| u32::from_le_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]]);
        let (head_bytes, head_crc) = (number(0) as usize, number(4));
        let (body_bytes, body_crc) = (u64::from(number(8)) | u64::from(number(12)) << 32, number(16));
        let file_bytes = file.metadata()?.len();
        if head_bytes > CACHE_HEAD_BYTES_MAX || (PREFIX_BYTES + head_bytes) as u64 + body_bytes != file_bytes {
            return Err(bad("its length is not what it says"));
        }
        let mut head = vec![0; head_bytes];
        file.read_exact(&mut head)?;
        if crc32fast::hash(&head) != head_crc {
            return Err(bad("the checksum of its head is wrong"));
        }
        Ok((serde_json::from_slice(&head)?, body_bytes, body_crc))
    }

    /// The body's length, in bytes.
    pub(in crate::source) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Marks the file as used now. Where that is not allowed, it is merely evicted earlier.
    pub(super) fn touch(&self) {
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// Reads the body; the error says what is wrong with it.
    pub(super) fn into_body(mut self) -> Result<Vec<u8>, String> {
        let damaged = |what: String| format!("the file of {} is damaged: {what}", self.head.url);
        let mut body = Vec::with_capacity(self.body_bytes as usize);
        (&mut self.file).take(self.body_bytes).read_to_end(&mut body).map_err(|error| damaged(error.to_string()))?;
        if body.len() as u64 != self.body_bytes || crc32fast::hash(&body) != self.body_crc {
            return Err(damaged("the checksum of its body is wrong".to_owned()));
        }
        Ok(body)
    }
}
