//! How long the GPU took for a pass, where it can tell.
//!
//! Owns a pair of timestamps and the buffers that bring them home. An answer arrives a few frames late; a frame for
//! which no buffer is free is not timed. Never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use super::device::Gpu;

/// Frames that may be under way.
const N_READBACKS: usize = 3;

const PAIR_BYTES: u64 = 2 * size_of::<u64>() as u64;

/// Two timestamps around a pass.
#[derive(Debug)]
pub(super) struct PassTimer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readbacks: Vec<Readback>,
    nanos_per_tick: f32,
    last: Option<Duration>,
}

#[derive(Debug)]
struct Readback {
    buffer: wgpu::Buffer,
    state: State,
}

#[derive(Debug)]
enum State {
    Free,
    /// Written by an encoder that is submitted before the next frame.
    Encoded,
    /// Being mapped; the callback says how it went.
    Mapping(Arc<AtomicU8>),
}

const PENDING: u8 = 0;
const MAPPED: u8 = 1;
const FAILED: u8 = 2;

impl PassTimer {
    /// A timer, where the device has timestamps.
    pub(super) fn new(gpu: &Gpu) -> Option<Self> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let buffer = |label, usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: PAIR_BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        let readback = || Readback {
            buffer: buffer("pass time", wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
            state: State::Free,
        };
        Some(Self {
            queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("pass time"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer("pass ticks", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            readbacks: (0..N_READBACKS).map(|_| readback()).collect(),
            nanos_per_tick: gpu.queue.get_timestamp_period(),
            last: None,
        })
    }

    /// Collects what has arrived; called at the start of a frame, when the encoder of the one before is submitted.
    pub(super) fn begin_frame(&mut self, gpu: &Gpu) {
        for readback in &mut self.readbacks {
            if let State::Encoded = readback.state {
                let outcome = Arc::new(AtomicU8::new(PENDING));
                let answer = Arc::clone(&outcome);
                readback.buffer.map_async(wgpu::MapMode::Read, .., move |result| {
                    answer.store(if result.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
                });
                readback.state = State::Mapping(outcome);
            }
        }
        // Runs the callbacks of what is done. Does not wait; an error would be a lost device, which says so itself.
        let _ = gpu.device.poll(wgpu::PollType::Poll);
        for readback in &mut self.readbacks {
            let State::Mapping(outcome) = &readback.state else { continue };
            match outcome.load(Ordering::Acquire) {
                PENDING => continue,
                MAPPED => {
                    if let Ok(bytes) = readback.buffer.get_mapped_range(..) {
                        let ticks: [u64; 2] = bytemuck::pod_read_unaligned(&bytes);
                        let nanos = ticks[1].saturating_sub(ticks[0]) as f64 * f64::from(self.nanos_per_tick);
                        self.last = Some(Duration::from_nanos(nanos as u64));
                    }
                    readback.buffer.unmap();
                }
                _ => {}
            }
            readback.state = State::Free;
        }
    }

    /// What the pass has to be given.
    pub(super) fn timestamp_writes(&self) -> wgpu::RenderPassTimestampWrites<'_> {
        wgpu::RenderPassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    /// Sends the pass's timestamps home; called after the pass.
    pub(super) fn end_pass(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let Some(readback) = self.readbacks.iter_mut().find(|it| matches!(it.state, State::Free)) else {
            return;
        };
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &readback.buffer, 0, PAIR_BYTES);
        readback.state = State::Encoded;
    }

    /// The newest answer.
    pub(super) fn last(&self) -> Option<Duration> {
        self.last
    }
}
