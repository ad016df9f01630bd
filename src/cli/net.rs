//! What was typed about web servers and the cache, and what it means.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use etcetera::BaseStrategy as _;

use crate::limits::CACHE_BYTES_MAX;
use crate::source::{DiskCache, HttpOptions, SourceConfig};

/// How web servers are asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Web servers")]
pub struct NetArgs {
    /// Seconds that a request may take to its first byte, or without progress
    #[arg(long, value_name = "SECONDS", default_value = "8", value_parser = parse_timeout)]
    timeout: Duration,
    /// A header for the server that SOURCE names, and for no other; may be repeated
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<Hidden>,
    /// A token for that server, sent as "Authorization: Bearer"; others on this machine may see it here, and not in the
    /// environment
    #[arg(long, value_name = "TOKEN", env = "VOXATLAS_TOKEN", hide_env_values = true)]
    token: Option<Hidden>,
    /// Whom a server's owner can turn to, a URL or a mail address: named in the User-Agent
    #[arg(long, value_name = "CONTACT")]
    contact: Option<String>,
    /// The proxy that every request goes through; without it the environment's HTTPS_PROXY and HTTP_PROXY, and with
    /// either not for hosts in NO_PROXY
    #[arg(long, value_name = "URL")]
    proxy: Option<Hidden>,
    /// Certificates that are trusted beside the system's
    #[arg(long, value_name = "FILE.pem")]
    ca: Option<PathBuf>,
    /// Take status 403 for an empty region, as object stores answer for files that they do not have
    #[arg(long)]
    missing_403: bool,
    #[command(flatten)]
    cache: CacheArgs,
    /// Keep nothing of what web servers answer, and use nothing that is kept
    #[arg(long, conflicts_with = "offline")]
    no_cache: bool,
    /// Ask no web server: show what is in the cache, however old it is
    #[arg(long)]
    offline: bool,
}

/// Where the cache is.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// The cache's folder; without it the one that this system has for caches
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// What the cache may take on disk; the least recently used goes first
    #[arg(long, value_name = "SIZE", default_value_t = Size(CACHE_BYTES_MAX), value_parser = parse_size_bytes)]
    cache_size: Size,
}

impl NetArgs {
    /// What a source is opened with.
    ///
    /// # Errors
    ///
    /// A header, token, contact or proxy is none.
    pub fn config(&self) -> Result<SourceConfig> {
        let mut http = HttpOptions::default();
        for header in &self.headers {
            http.add_header(&header.0).context("--header")?;
        }
        if let Some(token) = &self.token {
            http.set_token(&token.0).context("--token")?;
        }
        if let Some(contact) = &self.contact {
            http.set_contact(contact).context("--contact")?;
        }
        if let Some(proxy) = &self.proxy {
            // It may hold a password, so that it is not shown.
            let url = proxy.0.parse().context("--proxy: expected a URL, such as http://proxy.example:3128")?;
            http.proxy = Some(url);
        }
        http.ca_file.clone_from(&self.ca);
        http.is_forbidden_missing = self.missing_403;
        let cache = if self.no_cache { None } else { self.cache.open_or_warn() };
        Ok(SourceConfig { http, cache, is_offline: self.offline, ..SourceConfig::with_timeout(self.timeout) })
    }
}

impl CacheArgs {
    /// The cache.
    ///
    /// # Errors
    ///
    /// No folder was named, and the system has none.
    pub fn open(&self) -> Result<DiskCache> {
        let dir = match &self.cache_dir {
            Some(dir) => dir.clone(),
            None => etcetera::choose_base_strategy()
                .context("this system has no folder for caches (is HOME set?): name one with --cache-dir DIR")?
                .cache_dir()
                .join("voxatlas"),
        };
        Ok(DiskCache::new(dir, self.cache_size.0))
    }

    /// The cache, where there can be one: a city is worth seeing without.
    fn open_or_warn(&self) -> Option<DiskCache> {
        self.open().inspect_err(|error| tracing::warn!("nothing is kept on disk: {error:#}")).ok()
    }
}

/// A text that no message shows.
#[derive(Clone)]
struct Hidden(String);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// A number of bytes, as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(
    /// The bytes.
    pub u64,
);

/// Units of bytes, by the letter that they begin with.
const UNITS: [(char, u64); 4] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match UNITS.iter().find(|(_, bytes)| self.0 >= *bytes && self.0.is_multiple_of(*bytes)) {
            Some((letter, bytes)) => write!(f, "{}{letter}iB", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

fn parse_size_bytes(text: &str) -> Result<Size, String> {
    let expected = || "expected bytes, or a number with KiB, MiB, GiB or TiB, such as 2GiB".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text[digits.len()..].trim().to_ascii_uppercase();
    let unit_bytes = match unit.as_str() {
        "" | "B" => Some(1),
        _ => UNITS.iter().find(|(letter, _)| unit == format!("{letter}IB") || unit == letter.to_string()).map(|u| u.1),
    };
    let number: u64 = digits.trim().parse().map_err(|_| expected())?;
    unit_bytes.and_then(|bytes| number.checked_mul(bytes)).map(Size).ok_or_else(expected)
}

fn parse_timeout(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|secs| (0.001..=3600.0).contains(secs))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected seconds above 0 and up to 3600, such as 8".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        net: NetArgs,
    }

    fn config(args: &[&str]) -> Result<SourceConfig> {
        Cli::try_parse_from([&["voxatlas", "--cache-dir", "cache"], args].concat())?.net.config()
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4_096)),
            ("2GiB", Some(2 << 30)),
            ("2g", Some(2 << 30)),
            ("500 MiB", Some(500 << 20)),
            ("1TiB", Some(1 << 40)),
            ("2GB", None),
            ("GiB", None),
            ("-1", None),
            ("99999999TiB", None),
            ("", None),
        ] {
            assert_eq!(parse_size_bytes(text).ok(), expected.map(Size), "{text}");
        }
        assert_eq!((Size(2 << 30).to_string(), Size(1_000).to_string()), ("2GiB".to_owned(), "1000".to_owned()));
    }

    #[test]
    fn what_was_typed_becomes_a_config() {
        let args = ["--header", "X-Key: 1", "--missing-403", "--timeout", "3", "--cache-size", "1MiB", "--offline"];
        let found = config(&args).unwrap();
        assert!(found.is_offline && found.http.is_forbidden_missing);
        assert_eq!(found.timeout, Duration::from_secs(3));
        let cache = found.cache.unwrap();
        assert_eq!((cache.dir().to_str(), cache.bytes_max()), (Some("cache"), 1 << 20));
        assert!(config(&["--no-cache"]).unwrap().cache.is_none());
        assert!(config(&["--no-cache", "--offline"]).is_err());
    }

    #[test]
    fn wrong_options_are_named_and_secrets_are_not() {
        for (args, expected) in [
            (["--header", "hidden"], "--header: the header: found no colon"),
            (["--header", "Host: hidden"], "--header: the header: host is set by the request itself"),
            (["--token", ""], "--token: the token: it is empty"),
            (["--proxy", "hidden"], "--proxy: expected a URL"),
            (["--contact", "a\tb"], "--contact: the contact: expected a URL or a mail address"),
            (["--cache-size", "2GB"], "expected bytes, or a number with KiB"),
        ] {
            let error = format!("{:#}", config(&args).unwrap_err());
            assert!(error.contains(expected) && !error.contains("hidden"), "{error}");
        }
        let parsed = Cli::try_parse_from(["voxatlas", "--token", "hidden-1", "--header", "X: hidden-2"]).unwrap();
        assert!(!format!("{parsed:?}").contains("hidden-"), "{parsed:?}");
    }
}
