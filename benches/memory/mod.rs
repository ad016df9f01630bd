//! How much memory a process has held.

/// A figure that Linux keeps of this process, such as `VmHWM:`, the most that was resident.
pub(crate) fn resident_kib(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix(field))?.trim().strip_suffix(" kB")?.parse().ok()
}
