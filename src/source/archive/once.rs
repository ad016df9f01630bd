//! A value that is loaded when it is first asked for, once for all who ask.
//!
//! Who asks while a load is under way waits for that one, and gets its error too: five fetches that need one directory of
//! a server that hangs wait for one time-out, not for five in turn. The load belongs to those who wait; when the last of
//! them is dropped, so is the request.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{Shared, WeakShared};

use super::place::ReadError;

/// A load.
pub(super) type Load<T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send>>;

/// A place for a value that is loaded when it is needed.
#[derive(Debug)]
pub(super) struct Once<T: Clone> {
    state: Mutex<(u64, State<T>)>,
}

/// Beside it stands the number of the load: one that ends late must not bring back what was forgotten.
#[derive(Debug)]
enum State<T: Clone> {
    Absent,
    Loading(WeakShared<Load<T>>),
    Ready(T),
}

impl<T: Clone> Once<T> {
    pub(super) fn absent() -> Self {
        Self { state: Mutex::new((0, State::Absent)) }
    }

    pub(super) fn ready(value: T) -> Self {
        Self { state: Mutex::new((0, State::Ready(value))) }
    }

    /// The value; `load` is begun where there is none and nobody is loading it.
    pub(super) async fn get(&self, load: impl FnOnce() -> Load<T>) -> Result<T, ReadError> {
        let (number, loading) = {
            let mut state = self.lock();
            match Begun::of(&state.1) {
                Begun::Ready(value) => return Ok(value),
                Begun::Loading(loading) => (state.0, loading),
                Begun::Not => {
                    let loading = load().shared();
                    // Only a load that has ended has no weak handle, and this one has not begun.
                    let weak = loading.downgrade();
                    *state = (state.0 + 1, weak.map_or(State::Absent, State::Loading));
                    (state.0, loading)
                }
            }
        };
        let loaded: Result<T, ReadError> = loading.await;
        let mut state = self.lock();
        if state.0 == number {
            state.1 = loaded.as_ref().map_or(State::Absent, |value| State::Ready(value.clone()));
        }
        loaded
    }

    /// Forgets the value where `is_stale` says so of it.
    pub(super) fn forget(&self, is_stale: impl FnOnce(&T) -> bool) {
        let mut state = self.lock();
        if matches!(&state.1, State::Ready(value) if is_stale(value)) {
            *state = (state.0 + 1, State::Absent);
        }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, State<T>)> {
        // Nothing that may panic runs while it is held, but for the value's own clone.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What there is to wait for.
enum Begun<T: Clone> {
    Ready(T),
    Loading(Shared<Load<T>>),
    Not,
}

impl<T: Clone> Begun<T> {
    fn of(state: &State<T>) -> Self {
        match state {
            State::Ready(value) => Self::Ready(value.clone()),
            State::Loading(loading) => loading.upgrade().map_or(Self::Not, Self::Loading),
            State::Absent => Self::Not,
        }
    }
}
