//! An allocator that counts, for tests of memory: one test a file of this kind, since the count is the process's.

#![allow(dead_code, reason = "each test binary counts one of the two")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which keeps count of what it has handed out.
struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);
static N_ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

fn grow(n_bytes: usize) {
    N_ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    let live = LIVE_BYTES.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
    PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
}

#[expect(unsafe_code, reason = "an allocator that counts has to be an allocator")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks may exist while the bytes are moved.
        grow(new_size);
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs something and says how many bytes it had at once, above what was there before.
pub(crate) fn peak_of<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let result = run();
    (PEAK_BYTES.load(Ordering::Relaxed) - before, result)
}

/// Runs something and says how often it asked for memory.
pub(crate) fn n_allocations_of<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = N_ALLOCATIONS.load(Ordering::Relaxed);
    let result = run();
    (N_ALLOCATIONS.load(Ordering::Relaxed) - before, result)
}
