//! What a figure is worth nothing without: on what it was measured, of what, and for how long.

use serde::Serialize;

/// The record that goes with every published figure.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Record {
    /// The version, and how it was built.
    pub(crate) build: String,
    pub(crate) os: String,
    pub(crate) cpu: String,
    pub(crate) gpu: String,
    pub(crate) driver: String,
    /// Width and height in pixels.
    pub(crate) viewport: String,
    /// Which regions, and how much of light.
    pub(crate) detail: String,
    /// What the camera does.
    pub(crate) path: String,
    /// Frames before the first that counts.
    pub(crate) warm_up: String,
    /// Frames that count, or their time.
    pub(crate) duration: String,
}

impl Record {
    /// The record as JSON.
    ///
    /// # Errors
    ///
    /// A field says nothing: then the figures are not to be published, and the error names it.
    pub(crate) fn to_json(&self) -> Result<String, String> {
        let value = serde_json::to_value(self).map_err(|error| error.to_string())?;
        let fields = value.as_object().into_iter().flatten();
        let missing: Vec<_> = fields
            .filter(|(_, text)| text.as_str().is_none_or(|it| it.trim().is_empty()))
            .map(|(name, _)| name.as_str())
            .collect();
        if missing.is_empty() { Ok(value.to_string()) } else { Err(format!("the record lacks {}", missing.join(", "))) }
    }

    /// What this program and its machine can say of themselves.
    pub(crate) fn of_this_machine() -> Self {
        let profile = if cfg!(debug_assertions) { "with debug assertions" } else { "optimised" };
        Self {
            build: format!("voxatlas {}, {profile}", env!("CARGO_PKG_VERSION")),
            os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cpu: cpu(),
            ..Self::default()
        }
    }
}

/// The processor's name and the number of its cores.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name.trim());
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {n_cores} cores", name.unwrap_or(std::env::consts::ARCH))
}
