//! Why a source cannot be opened.

use thiserror::Error;

use crate::atlas::{TemplateError, TilesetError};

/// A source that cannot be opened. Failures of single regions are [`LoadError`](crate::stream::LoadError)s.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The text names no source.
    #[error("\"{text}\" is no source: {what}")]
    Syntax {
        /// What was given.
        text: String,
        /// What is wrong, and what was expected.
        what: String,
    },
    /// Nothing is there.
    #[error("{name} was not found: expected {expected}")]
    NotFound {
        /// The file or URL that was looked for.
        name: String,
        /// What should have been there.
        expected: String,
    },
    /// The document is there and cannot be read, or the server does not hand it out.
    #[error("{what}")]
    Unreadable {
        /// The file or URL, what was found and what was expected.
        what: String,
    },
    /// The document describes no tileset.
    #[error(transparent)]
    Tileset(#[from] TilesetError),
    /// The template names no files.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The document's files lie where it may not send a reader.
    #[error("{name}: the tiles lie at \"{path}\": {what}")]
    Place {
        /// The source.
        name: String,
        /// Where a tile would lie.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// An option that no request can be made with.
    #[error("{option}: {what}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is wrong with it, and what was expected.
        what: String,
    },
    /// The system gives no HTTP client.
    #[error("no HTTP client: {reason} (on Linux, are the ca-certificates installed?)")]
    Client {
        /// What the system says.
        reason: String,
    },
}
