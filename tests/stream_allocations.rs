//! What a frame of the stream asks the allocator for: nothing, while nothing changes.

#[path = "common/counting.rs"]
mod counting;
#[path = "common/loaded.rs"]
mod loaded;

use counting::n_allocations_of;
use loaded::Loaded;
use voxatlas::view::Pose;

const VIEW: &str = "139.7454,35.6585,800,20,-20";

/// Loads the view, with `prepare` done to the scene before; how often memory was asked for meanwhile.
fn n_allocations_of_loading(prepare: impl FnOnce(&mut Loaded)) -> usize {
    let mut stream = Loaded::begun(VIEW);
    prepare(&mut stream);
    n_allocations_of(|| stream.settle()).0
}

/// Both in one test: the count is the process's.
#[test]
fn a_steady_frame_allocates_nothing_and_neither_does_a_listener_that_left() {
    let mut stream = Loaded::new(VIEW);
    assert!(stream.scene.progress().n_drawn >= 80, "{:?}", stream.scene.progress());
    let still = stream.view.pose;
    let trembling = |n: u32| Pose { yaw_rad: still.yaw_rad + 0.001 * f64::from(n % 3), ..still };
    for n in 0..300 {
        stream.step(trembling(n));
    }

    let (n_allocations, ()) = n_allocations_of(|| (0..300).for_each(|n| drop(stream.frame(trembling(n)))));
    assert_eq!(n_allocations, 0, "in 300 frames, interest included");

    // Somebody listens: an event is told, then nothing is due.
    let listener = stream.scene.listen(|_| {});
    stream.frame(still);
    assert!(stream.scene.unlisten(listener));
    let (n_allocations, ()) = n_allocations_of(|| (0..60).for_each(|n| drop(stream.frame(trembling(n)))));
    assert_eq!(n_allocations, 0, "nobody listens any more");

    let (n_allocations, _) = n_allocations_of(|| (stream.scene.progress(), stream.scene.next_wake(stream.now)));
    assert_eq!(n_allocations, 0, "looking at it costs nothing either");

    // The same while regions come: tasks that begin and end are recorded for listeners only.
    let unheard = n_allocations_of_loading(|_| {});
    let no_longer_heard = n_allocations_of_loading(|stream| {
        let listener = stream.scene.listen(|_| {});
        assert!(stream.scene.unlisten(listener));
    });
    let heard = n_allocations_of_loading(|stream| {
        stream.scene.listen(|_| {});
    });
    assert_eq!(no_longer_heard, unheard);
    assert!(heard > unheard + 100, "{heard} and {unheard}");
}
