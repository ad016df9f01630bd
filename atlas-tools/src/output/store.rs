//! An object store that files are written into: Amazon S3 and what speaks like it, Google Cloud Storage, Azure.
//!
//! A put is whole or not at all by the stores' own promise, so that nothing is written beside and renamed. Keys, regions
//! and endpoints come from the environment: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`,
//! `AZURE_STORAGE_ACCOUNT_NAME` and their kin. Objects get the type of what they hold, so that a bucket can be read by a
//! browser as it is.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{
    Attribute, Attributes, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, Result as StoreResult,
    RetryConfig,
};
use tokio::runtime::Runtime;

use super::OutputError;

/// How long a store that does not answer is asked again.
const RETRY_SECS: u64 = 60;

/// What lies below a prefix of a bucket. Cheap to clone; any thread that may block may write.
#[derive(Clone)]
pub struct ObjectOutput {
    /// As it was typed, without a slash at its end.
    name: String,
    prefix: ObjectPath,
    store: Arc<dyn ObjectStore>,
    runtime: Arc<Runtime>,
}

impl ObjectOutput {
    /// Opens `s3://bucket/prefix` and its kin, and tries that it can be written to.
    ///
    /// # Errors
    ///
    /// The text names no bucket, a key is missing or wrong, or the store cannot be reached.
    pub fn create(place: &str) -> Result<Self, OutputError> {
        let name = place.trim_end_matches('/').to_owned();
        let fail = |error| OutputError { path: place.into(), error };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(fail)?;
        let (bucket_url, prefix) = split(place).map_err(fail)?;
        let store = open(bucket_url).map_err(|error| fail(with_advice(&store_error(error), &name)))?;
        let prefix = ObjectPath::parse(prefix).map_err(|error| fail(io::Error::other(error)))?;
        let out = Self { name, prefix, store, runtime: Arc::new(runtime) };
        let trial = format!(".trial.{}.part", std::process::id());
        // The trial's own name would only puzzle.
        let tried = out.write(&trial, b"").and_then(|()| out.remove(&trial));
        tried.map_err(|OutputError { error, .. }| fail(with_advice(&error, &out.name)))?;
        Ok(out)
    }

    /// What was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where a file stands, for messages.
    pub fn path(&self, name: &str) -> PathBuf {
        format!("{}/{name}", self.name).into()
    }

    /// Writes a file; one that is there is replaced.
    ///
    /// # Errors
    ///
    /// The store does not take it; then its place is as it was before.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), OutputError> {
        self.put(name, bytes, PutMode::Overwrite).map_err(|error| self.fail(name, error))
    }

    /// Writes a file where there is none; where there is one it stays as it is. Yields whether the file now holds these
    /// bytes, whoever wrote them: a put whose answer was lost and that was sent again finds its own.
    ///
    /// # Errors
    ///
    /// The store neither takes nor shows it.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<bool, OutputError> {
        match self.put(name, bytes, PutMode::Create) {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(self.read(name)?.is_some_and(|there| there == bytes)),
            Err(error) => Err(self.fail(name, error)),
        }
    }

    /// The bytes of a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The store does not show it.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, OutputError> {
        self.read_start(name, u64::MAX)
    }

    /// As much of a file as its first `bytes_max` bytes; `None` where there is none.
    ///
    /// # Errors
    ///
    /// The store does not show it.
    pub fn read_start(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, OutputError> {
        let read = self.runtime.block_on(async {
            let object = self.object(name)?;
            let found = self.store.get(&object).await?;
            // Of an object without bytes no range can be asked for.
            if found.meta.size <= bytes_max {
                found.bytes().await
            } else {
                self.store.get_range(&object, 0..bytes_max).await
            }
        });
        match read {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.fail(name, error)),
        }
    }

    /// The names of all files, sorted.
    ///
    /// # Errors
    ///
    /// The store does not list them.
    pub fn list(&self) -> Result<Vec<String>, OutputError> {
        let listed: StoreResult<Vec<_>> = self.runtime.block_on(self.store.list(Some(&self.prefix)).try_collect());
        let listed = listed.map_err(|error| self.fail("", error))?;
        let below = |path: &ObjectPath| -> Option<String> {
            let parts: Vec<_> = path.prefix_match(&self.prefix)?.map(|part| part.as_ref().to_owned()).collect();
            Some(parts.join("/"))
        };
        let mut names: Vec<String> = listed.iter().filter_map(|object| below(&object.location)).collect();
        names.sort();
        Ok(names)
    }

    /// Removes a file; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// The store does not remove it.
    pub fn remove(&self, name: &str) -> Result<(), OutputError> {
        match self.runtime.block_on(async { self.store.delete(&self.object(name)?).await }) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.fail(name, error)),
        }
    }

    fn put(&self, name: &str, bytes: &[u8], mode: PutMode) -> StoreResult<()> {
        let mut attributes = Attributes::new();
        if let Some(content_type) = content_type(name) {
            attributes.insert(Attribute::ContentType, content_type.into());
        }
        let options = PutOptions { mode, attributes, ..PutOptions::default() };
        self.runtime.block_on(async {
            self.store.put_opts(&self.object(name)?, bytes.to_vec().into(), options).await.map(|_| ())
        })
    }

    /// The object of a file.
    fn object(&self, name: &str) -> StoreResult<ObjectPath> {
        Ok(ObjectPath::parse(format!("{}/{name}", self.prefix).trim_start_matches('/'))?)
    }

    fn fail(&self, name: &str, error: Error) -> OutputError {
        OutputError { path: self.path(name), error: store_error(error) }
    }
}

impl std::fmt::Debug for ObjectOutput {
    /// Without the store, which may hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectOutput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The bucket's URL and what follows it: `s3://bucket` and `a/b`.
fn split(name: &str) -> io::Result<(&str, &str)> {
    let bucket_at = name.find("://").map_or(0, |at| at + "://".len());
    let bucket_end = name[bucket_at..].find('/').map_or(name.len(), |at| bucket_at + at);
    if bucket_end == bucket_at {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "names no bucket: expected such as s3://bucket/city"));
    }
    Ok((&name[..bucket_end], name[bucket_end..].trim_start_matches('/')))
}

/// The store of a bucket, with what the environment says of it.
fn open(bucket_url: &str) -> StoreResult<Arc<dyn ObjectStore>> {
    let retry = RetryConfig { retry_timeout: Duration::from_secs(RETRY_SECS), ..RetryConfig::default() };
    Ok(match bucket_url.split_once("://").map(|(scheme, _)| scheme) {
        Some("gs") => Arc::new(GoogleCloudStorageBuilder::from_env().with_url(bucket_url).with_retry(retry).build()?),
        Some("az") => Arc::new(MicrosoftAzureBuilder::from_env().with_url(bucket_url).with_retry(retry).build()?),
        _ => Arc::new(AmazonS3Builder::from_env().with_url(bucket_url).with_retry(retry).build()?),
    })
}

/// What a browser is to take a file for.
fn content_type(name: &str) -> Option<&'static str> {
    match Path::new(name).extension()?.to_str()? {
        "png" => Some("image/png"),
        "webp" => Some("image/webp"),
        "json" => Some("application/json"),
        _ => None,
    }
}

/// An error of the first request, with what it most often comes from.
fn with_advice(error: &io::Error, name: &str) -> io::Error {
    let advice = match name.split_once("://").map(|(scheme, _)| scheme) {
        Some("gs") => "a key in GOOGLE_APPLICATION_CREDENTIALS",
        Some("az") => "an account and its key in AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        _ => {
            "keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the bucket's region in AWS_REGION, and for a store that \
             is not Amazon's its address in AWS_ENDPOINT"
        }
    };
    io::Error::new(error.kind(), format!("{error}; expected a bucket that can be reached, and {advice}"))
}

fn store_error(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_and_a_prefix_are_told_apart() {
        assert_eq!(split("s3://bucket/a/b").unwrap(), ("s3://bucket", "a/b"));
        assert_eq!(split("az://box").unwrap(), ("az://box", ""));
        assert!(split("s3://").unwrap_err().to_string().contains("names no bucket"));
        assert!(split("s3:///a").is_err());
    }
}
