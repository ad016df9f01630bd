//! The device: none, lost, or misused.

use voxatlas::gpu::{Gpu, GpuError, Offscreen, Renderer};

use crate::picture::assert_same;
use crate::scene::{FLAT, city, fill, gpu, view};

/// Set for a copy of this program that has no driver.
#[cfg(target_os = "linux")]
const WITHOUT_DRIVER: &str = "VOXATLAS_TEST_WITHOUT_DRIVER";

#[cfg(target_os = "linux")]
#[test]
fn without_a_driver_the_error_says_what_to_install() {
    if std::env::var_os(WITHOUT_DRIVER).is_some() {
        let err = Gpu::headless_blocking().map(|gpu| gpu.adapter_name()).unwrap_err();
        assert!(matches!(err, GpuError::NoAdapter { .. }), "{err:?}");
        let text = err.to_string();
        assert!(text.contains("mesa-vulkan-drivers") && text.contains("libvulkan1"), "{text}");
        return;
    }
    // The loader reads the environment once a process, hence another process.
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new(program)
        .args(["--exact", "device::without_a_driver_the_error_says_what_to_install"])
        .env(WITHOUT_DRIVER, "1")
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_lost_device_says_so_and_a_new_one_draws_the_same() {
    let update = fill(0, city(1).indexed(), [0; 3]);
    let view = view([256.0, 200.0, 330.0], 20.0, -35.0, 160, 120);
    let draw = |gpu: &Gpu| {
        let mut renderer = Renderer::new(gpu, Offscreen::FORMAT);
        renderer.apply(&update)?;
        Offscreen::new(gpu, 160, 120)?.take(&mut renderer, &view, FLAT)
    };
    let doomed = Gpu::headless_blocking().unwrap();
    let (before, _) = draw(&doomed).unwrap();
    assert_eq!(doomed.lost(), None);
    doomed.device.destroy();
    // A picture that was never drawn is no picture.
    assert!(draw(&doomed).is_err());
    assert!(doomed.lost().is_some());
    let (after, _) = draw(&Gpu::headless_blocking().unwrap()).unwrap();
    assert_same("device_lost", &after, &before);
}

#[test]
fn misuse_is_counted_and_does_not_panic() {
    let gpu = Gpu::headless_blocking().unwrap();
    let nonsense = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::VERTEX;
    for _ in 0..2 {
        let _ = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("nonsense"),
            size: 16,
            usage: nonsense,
            mapped_at_creation: false,
        });
    }
    assert_eq!(gpu.n_errors(), 2);
    assert_eq!(gpu.lost(), None);
}

#[test]
fn an_adapter_is_chosen_by_words_of_its_name() {
    let name = gpu().adapter_name();
    let chosen = pollster::block_on(Gpu::headless_on(Some(&name.to_uppercase()))).unwrap();
    assert_eq!(chosen.adapter_name(), name);
    let err = pollster::block_on(Gpu::headless_on(Some("no such card"))).map(|gpu| gpu.adapter_name()).unwrap_err();
    let text = err.to_string();
    assert!(text.contains("no such card") && text.contains(&name), "{text}");
}

#[test]
fn pictures_without_pixels_or_too_many_are_refused() {
    for (width_px, height_px) in [(0, 10), (10, 0), (8193, 10)] {
        let err = Offscreen::new(gpu(), width_px, height_px).map(|_| ()).unwrap_err();
        assert_eq!(err, GpuError::PictureSize { width_px, height_px, side_px_max: 8192 });
    }
}

#[test]
fn only_default_limits_are_asked_for() {
    let limits = gpu().device.limits();
    assert_eq!(limits.max_texture_dimension_2d, wgpu::Limits::default().max_texture_dimension_2d);
    assert_eq!(limits.max_storage_buffer_binding_size, wgpu::Limits::default().max_storage_buffer_binding_size);
}
