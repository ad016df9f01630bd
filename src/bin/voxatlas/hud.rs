//! The words over the picture: one status line, the credit, what failed, and the keys under F1.
//!
//! Small, legible on any ground, never in the way: dark translucent plates in the corners, no panel.

use voxatlas::gpu::FrameStats;

use egui::{Align2, Color32, Context, CornerRadius, Frame, Id, Margin, RichText, Vec2};

/// What the HUD shows of one frame.
pub(crate) struct Hud<'a> {
    /// Frames a second, averaged; `None` while nothing moves and no frame is needed.
    pub(crate) frames_per_second: Option<f32>,
    /// "overhead" or "flight".
    pub(crate) mode: &'static str,
    /// Regions by state.
    pub(crate) regions: RegionCounts,
    /// What the picture cost.
    pub(crate) frame: FrameStats,
    /// Longitude and latitude in degrees, height above the datum in metres.
    pub(crate) place: (f64, f64, f64),
    /// Who is to be credited.
    pub(crate) attribution: &'a str,
    /// What failed, a line each.
    pub(crate) failures: &'a [String],
    /// Whether the keys are shown.
    pub(crate) help: bool,
    /// The hour of the day, 0..24, where it is shown: the user may have moved it.
    pub(crate) hour: Option<f64>,
}

/// Wanted regions by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RegionCounts {
    /// On screen.
    pub(crate) drawn: usize,
    /// Nothing is there.
    pub(crate) empty: usize,
    /// On their way.
    pub(crate) loading: usize,
    /// Given up.
    pub(crate) failed: usize,
}

/// Failures that are listed; the rest is counted.
const FAILURES_SHOWN: usize = 4;

/// Distance from the window's edge, in points.
const EDGE: f32 = 10.0;

/// The keys, as F1 lists them.
const KEYS: [(&str, &str); 10] = [
    ("W A S D", "move"),
    ("Space / Shift", "up / down"),
    ("Click", "look round with the mouse; Esc frees the pointer"),
    ("Wheel", "faster / slower; in overhead higher / lower"),
    ("Tab", "overhead / flight"),
    ("P", "scroll in overhead on / off"),
    ("Home", "back to the first view"),
    ("L", "the hour of the day"),
    ("R", "try failed regions again"),
    ("F1", "these keys"),
];

impl Hud<'_> {
    /// Lays the words out.
    pub(crate) fn show(&mut self, context: &Context) {
        if let Some(hour) = &mut self.hour {
            show_hour(context, hour);
        }
        plate(context, "status", Align2::LEFT_TOP, Vec2::new(EDGE, EDGE), |ui| {
            ui.add(egui::Label::new(text(self.status_line())).extend());
        });
        if !self.attribution.is_empty() {
            plate(context, "credit", Align2::RIGHT_BOTTOM, Vec2::new(-EDGE, -EDGE), |ui| {
                ui.add(egui::Label::new(text(self.attribution).size(11.5)).extend());
            });
        }
        if !self.failures.is_empty() {
            plate(context, "failures", Align2::LEFT_BOTTOM, Vec2::new(EDGE, -EDGE), |ui| self.list_failures(ui));
        }
        if self.help {
            plate(context, "keys", Align2::RIGHT_TOP, Vec2::new(-EDGE, EDGE), list_keys);
        }
    }

    fn status_line(&self) -> String {
        let (lon, lat, height_m) = self.place;
        let RegionCounts { drawn, empty, loading, failed } = self.regions;
        let pace = self.frames_per_second.map_or_else(|| "at rest".to_owned(), |fps| format!("{fps:.0} fps"));
        let mut regions = vec![format!("{drawn} drawn")];
        let others = [(empty, "empty"), (loading, "loading"), (failed, "failed")];
        regions.extend(others.into_iter().filter(|&(n, _)| n > 0).map(|(n, state)| format!("{n} {state}")));
        let regions = regions.join(", ");
        let FrameStats { n_draws, n_quads, gpu_time, .. } = self.frame;
        let gpu_time = gpu_time.map_or_else(String::new, |it| format!(", {:.1} ms GPU", it.as_secs_f64() * 1e3));
        let cost = format!("{n_draws} draws, {}k quads{gpu_time}", n_quads.div_ceil(1_000));
        format!("{pace}   {}   {regions}   {cost}   {lon:.5}, {lat:.5}   {height_m:.0} m   F1 keys", self.mode)
    }

    fn list_failures(&self, ui: &mut egui::Ui) {
        ui.set_max_width(620.0);
        let n = self.failures.len();
        let noun = if n == 1 { "region" } else { "regions" };
        ui.label(text(format!("{n} {noun} failed, R tries again")).color(Color32::from_rgb(255, 196, 120)));
        for failure in self.failures.iter().take(FAILURES_SHOWN) {
            ui.label(text(failure).size(11.5));
        }
        if n > FAILURES_SHOWN {
            ui.label(text(format!("and {} more, see the log", n - FAILURES_SHOWN)).size(11.5));
        }
    }
}

/// The hour by the sun: at 12 it stands highest.
fn show_hour(context: &Context, hour: &mut f64) {
    let area = egui::Area::new(Id::unique("hour")).anchor(Align2::CENTER_BOTTOM, Vec2::new(0.0, -EDGE)).fade_in(false);
    area.show(context, |ui| {
        plate_frame().show(ui, |ui| {
            ui.spacing_mut().slider_width = 280.0;
            let clock = |hour: f64| format!("{:02}:{:02}", hour as u32 % 24, (hour * 60.0) as u32 % 60);
            ui.horizontal(|ui| {
                ui.add(egui::Label::new(text(format!("{} solar time", clock(*hour)))).extend());
                ui.add(egui::Slider::new(hour, 0.0..=24.0).show_value(false));
            });
        });
    });
}

fn list_keys(ui: &mut egui::Ui) {
    egui::Grid::new("keys").spacing([18.0, 3.0]).show(ui, |ui| {
        for (key, what) in KEYS {
            ui.label(text(key).strong());
            ui.label(text(what));
            ui.end_row();
        }
    });
}

fn plate(context: &Context, id: &str, anchor: Align2, offset: Vec2, add: impl FnOnce(&mut egui::Ui)) {
    egui::Area::new(Id::unique(id)).anchor(anchor, offset).interactable(false).fade_in(false).show(context, |ui| {
        plate_frame().show(ui, add);
    });
}

fn plate_frame() -> Frame {
    Frame::new()
        .fill(Color32::from_rgba_unmultiplied(22, 26, 32, 170))
        .corner_radius(CornerRadius::same(4))
        .inner_margin(Margin::symmetric(8, 4))
}

fn text(words: impl Into<String>) -> RichText {
    RichText::new(words).size(13.0).color(Color32::from_rgb(236, 238, 240))
}
