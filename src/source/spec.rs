//! What a SOURCE text means. Pure: no file or server is touched.

use std::path::{Path, PathBuf};

use url::Url;

use super::error::SourceError;

/// A SOURCE, understood. See the table of the [module](super).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceSpec {
    /// The built-in demo city.
    Demo,
    /// A tileset's document on this machine; its directory is the tileset.
    Document(PathBuf),
    /// A tileset's document on a server.
    DocumentUrl(Url),
    /// A PMTiles archive on this machine.
    Archive(PathBuf),
    /// A PMTiles archive on a server.
    ArchiveUrl(Url),
    /// A template, of URLs or of paths on this machine.
    Template(String),
}

/// What stands at the end of messages about a text that is none of these.
const EXPECTED: &str = "expected a directory, a tiles.json, a .pmtiles archive, an http(s) URL of these, or a template such as \
                        https://host/{z}/{x}/{y}.png";

impl SourceSpec {
    /// Tells the kinds of source apart.
    ///
    /// ```
    /// use voxatlas::source::SourceSpec;
    ///
    /// assert_eq!(SourceSpec::parse("tokyo")?, SourceSpec::Document("tokyo/tiles.json".into()));
    /// assert!(SourceSpec::parse("ftp://host/tokyo").is_err());
    /// # Ok::<(), voxatlas::source::SourceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is empty, a URL of another scheme than `http`, `https` or `file`, or no URL although it looks like one.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let syntax = |what: String| SourceError::Syntax { text: text.to_owned(), what };
        if text.is_empty() {
            return Err(syntax(EXPECTED.to_owned()));
        }
        if text == "demo" {
            return Ok(Self::Demo);
        }
        let path = match text.split_once("://") {
            None => PathBuf::from(text),
            Some(("http" | "https", _)) => {
                let url = Url::parse(text).map_err(|error| syntax(format!("{error}; {EXPECTED}")))?;
                return Ok(of_url(text, url));
            }
            Some(("file", _)) => Url::parse(text)
                .ok()
                .and_then(|url| url.to_file_path().ok())
                .ok_or_else(|| syntax(format!("no path of this machine; {EXPECTED}")))?,
            Some((scheme, _)) => return Err(syntax(format!("the scheme {scheme}: is not known; {EXPECTED}"))),
        };
        let shown = path.to_string_lossy();
        Ok(if is_template(&shown) {
            Self::Template(shown.into_owned())
        } else if has_extension(&shown, "pmtiles") {
            Self::Archive(path)
        } else if has_extension(&shown, "json") {
            Self::Document(path)
        } else {
            Self::Document(path.join("tiles.json"))
        })
    }
}

fn of_url(text: &str, mut url: Url) -> SourceSpec {
    // Browsers hand out templates with their braces encoded.
    let decoded = text.replace("%7B", "{").replace("%7b", "{").replace("%7D", "}").replace("%7d", "}");
    if is_template(&decoded) {
        return SourceSpec::Template(decoded);
    }
    if has_extension(url.path(), "pmtiles") {
        return SourceSpec::ArchiveUrl(url);
    }
    if !has_extension(url.path(), "json") && url.query().is_none() {
        let directory = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{directory}/tiles.json"));
    }
    SourceSpec::DocumentUrl(url)
}

fn is_template(text: &str) -> bool {
    text.contains("{x}") || text.contains("{y}") || text.contains("{-y}")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_apart() {
        let check = |text: &str, expected: SourceSpec| assert_eq!(SourceSpec::parse(text), Ok(expected), "{text}");
        let url = |text: &str| SourceSpec::DocumentUrl(Url::parse(text).unwrap());
        let template = |text: &str| SourceSpec::Template(text.to_owned());
        check("demo", SourceSpec::Demo);
        check("./demo", SourceSpec::Document("./demo/tiles.json".into()));
        check("tokyo/", SourceSpec::Document("tokyo/tiles.json".into()));
        check("tokyo/index.json", SourceSpec::Document("tokyo/index.json".into()));
        check("maps/tokyo.pmtiles", SourceSpec::Archive("maps/tokyo.pmtiles".into()));
        let archive = "https://host/tokyo.PMTiles?key=1";
        check(archive, SourceSpec::ArchiveUrl(Url::parse(archive).unwrap()));
        check("tokyo/{z}/{x}/{y}.png", template("tokyo/{z}/{x}/{y}.png"));
        check("https://host", url("https://host/tiles.json"));
        check("https://host/a/", url("https://host/a/tiles.json"));
        check("https://host/a", url("https://host/a/tiles.json"));
        check("https://host/a/index.json?k=1", url("https://host/a/index.json?k=1"));
        check("https://host/api?k=1", url("https://host/api?k=1"));
        check("https://host/17_{x}_{y}.webp", template("https://host/17_{x}_{y}.webp"));
        check("https://host/%7Bz%7D/%7bx%7d/{-y}.png", template("https://host/{z}/{x}/{-y}.png"));
    }

    #[cfg(unix)]
    #[test]
    fn file_urls_are_paths() {
        let check = |text: &str, expected: SourceSpec| assert_eq!(SourceSpec::parse(text), Ok(expected), "{text}");
        check("file:///maps/my%20city", SourceSpec::Document("/maps/my city/tiles.json".into()));
        check("file:///maps/{z}/{x}/{y}.png", SourceSpec::Template("/maps/{z}/{x}/{y}.png".to_owned()));
    }

    #[test]
    fn what_is_no_source_is_named() {
        let check = |text: &str, expected: &str| {
            let error = SourceSpec::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" is no source")) && error.contains(expected), "{error}");
        };
        check("", "expected a directory");
        check("s3://bucket/tokyo", "the scheme s3: is not known");
        check("http://", "empty host");
        check("http://[::1/", "expected a directory");
        check("file://host/share", "no path of this machine");
    }
}
