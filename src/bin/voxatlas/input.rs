//! Keys and mouse, gathered between two frames.

use std::time::Duration;

use glam::DVec2;
use voxatlas::view::Input;
use winit::event::{ElementState, KeyEvent, MouseButton, MouseScrollDelta};
use winit::keyboard::{KeyCode, PhysicalKey};

/// The mouse button that turns the view.
pub(crate) const LOOK_BUTTON: MouseButton = MouseButton::Left;

/// Pixels of a touchpad that count as one notch of a wheel.
const PIXELS_PER_NOTCH: f64 = 50.0;

/// What is held down, and what the mouse has done since the last frame.
#[derive(Debug, Default)]
pub(crate) struct InputState(Input);

impl InputState {
    /// Notes a key; physical places, so that WASD lies under the same fingers on every layout.
    pub(crate) fn key(&mut self, event: &KeyEvent) {
        let down = event.state == ElementState::Pressed;
        let PhysicalKey::Code(code) = event.physical_key else { return };
        match code {
            KeyCode::KeyW | KeyCode::ArrowUp => self.0.forward = down,
            KeyCode::KeyS | KeyCode::ArrowDown => self.0.back = down,
            KeyCode::KeyA | KeyCode::ArrowLeft => self.0.left = down,
            KeyCode::KeyD | KeyCode::ArrowRight => self.0.right = down,
            KeyCode::Space => self.0.up = down,
            KeyCode::ShiftLeft | KeyCode::ShiftRight => self.0.down = down,
            _ => {}
        }
    }

    /// Notes a movement of the mouse while it steers the view, in pixels.
    pub(crate) fn mouse(&mut self, (right, down): (f64, f64)) {
        self.0.mouse_px += DVec2::new(right, down);
    }

    /// Notes a turn of the wheel.
    pub(crate) fn wheel(&mut self, delta: MouseScrollDelta) {
        self.0.wheel_notches += match delta {
            MouseScrollDelta::LineDelta(_, lines) => f64::from(lines),
            MouseScrollDelta::PixelDelta(pixels) => pixels.y / PIXELS_PER_NOTCH,
        };
    }

    /// Lets go of everything: the window has lost the focus, and key-up events with it.
    pub(crate) fn release_all(&mut self) {
        self.0 = Input::default();
    }

    /// Whether the next frame would move the camera.
    pub(crate) fn is_active(&self) -> bool {
        self.0 != Input::default()
    }

    /// What the controls take for one frame; mouse and wheel start from zero again.
    pub(crate) fn take(&mut self, elapsed: Duration) -> Input {
        let input = Input { elapsed_secs: elapsed.as_secs_f64(), ..self.0 };
        self.0 = Input { mouse_px: DVec2::ZERO, wheel_notches: 0.0, ..self.0 };
        input
    }
}
