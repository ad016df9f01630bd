use proptest::prelude::*;

use super::*;

const LIMITS: QueueLimits = QueueLimits { high: 4, low: 1, count: 64 };

fn queue(tasks: &[(u32, i8)]) -> Queue<u32> {
    let mut queue = Queue::new(LIMITS);
    for &(key, priority) in tasks {
        queue.push(key, Priority(priority)).unwrap();
    }
    queue
}

fn start_all(queue: &mut Queue<u32>) -> Vec<u32> {
    std::iter::from_fn(|| queue.start()).collect()
}

#[test]
fn starts_by_priority_then_by_arrival() {
    let mut queue = queue(&[(1, 1), (2, 3), (3, 2), (4, 3), (5, 1), (6, 2)]);
    assert_eq!(start_all(&mut queue), [2, 4, 3, 6]);
    queue.finish(&3);
    queue.finish(&2);
    assert_eq!(start_all(&mut queue), [1, 5]);
}

#[test]
fn the_buckets_have_their_own_limits() {
    let mut queue = queue(&[(1, 0), (2, -1), (3, 3), (4, 3), (5, 3), (6, 3), (7, 3)]);
    assert_eq!(start_all(&mut queue), [3, 4, 5, 6, 1], "four high, one low");
    queue.finish(&1);
    assert_eq!(start_all(&mut queue), [2]);
}

#[test]
fn a_waiting_task_is_retuned_up_and_down_and_keeps_its_arrival() {
    let mut queue = queue(&[(1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2)]);
    assert!(queue.tune(&6, Priority(3)));
    assert!(queue.tune(&1, Priority(1)));
    assert!(queue.tune(&1, Priority(2)));
    assert!(queue.tune(&2, Priority(1)));
    assert_eq!(start_all(&mut queue), [6, 1, 3, 4]);
    assert!(!queue.tune(&99, Priority(3)));
}

#[test]
fn a_running_task_is_retuned_without_being_stopped() {
    let mut queue = queue(&[(1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (6, 3)]);
    assert_eq!(start_all(&mut queue), [1, 2, 3, 4]);
    for key in 1..=4 {
        queue.tune(&key, Priority(0));
        assert!(queue.is_running(&key));
    }
    // The high bucket is free, yet the sum of both limits holds.
    assert_eq!(start_all(&mut queue), [5]);
    queue.tune(&1, Priority(3));
    queue.finish(&2);
    assert_eq!(start_all(&mut queue), [6]);
    queue.check_invariants();
}

#[test]
fn nothing_running_is_preempted() {
    let mut queue = queue(&[(1, 1), (2, 1), (3, 1), (4, 1)]);
    start_all(&mut queue);
    queue.push(5, Priority::VISIBLE).unwrap();
    assert_eq!(queue.start(), None);
    queue.finish(&1);
    assert_eq!(queue.start(), Some(5));
}

#[test]
fn the_untried_come_first_then_the_better_ranked() {
    let mut queue = Queue::new(LIMITS);
    let urgency = |n_failures, rank| Urgency { priority: Priority::VISIBLE, n_failures, rank };
    for (key, n_failures, rank) in [(1, 1, 0), (2, 0, 7), (3, 2, 0), (4, 0, 3), (5, 0, 3)] {
        queue.push(key, urgency(n_failures, rank)).unwrap();
    }
    assert_eq!(queue.waiting().copied().collect::<Vec<u32>>(), [4, 5, 2, 1, 3]);
    assert!(queue.tune(&3, urgency(2, 9)) && queue.tune(&2, urgency(0, 1)));
    assert_eq!(start_all(&mut queue), [2, 4, 5, 1]);
}

#[test]
fn a_task_that_is_held_back_is_passed_over_and_keeps_its_place() {
    let mut queue = queue(&[(1, 3), (2, 3), (3, 1), (4, 0)]);
    assert!(!queue.can_start_where(|key| *key > 4));
    assert_eq!(queue.start_where(|key| key % 2 == 1), Some(1));
    assert_eq!(queue.start_where(|key| key % 2 == 1), Some(3));
    assert_eq!(queue.start_where(|key| *key == 4), Some(4), "the other bucket is open");
    assert_eq!(queue.start(), Some(2));
    queue.check_invariants();
}

#[test]
fn abort_says_whether_someone_must_be_told() {
    let mut queue = queue(&[(1, 3), (2, 3), (3, 3), (4, 3), (5, 3)]);
    start_all(&mut queue);
    assert_eq!(queue.abort(&5), Some(Aborted::Waiting));
    assert_eq!(queue.abort(&1), Some(Aborted::Running));
    assert_eq!(queue.abort(&1), None);
    assert_eq!((queue.n_running(), queue.n_waiting()), (3, 0));
}

#[test]
fn only_running_tasks_finish() {
    let mut queue = queue(&[(1, 3)]);
    assert!(!queue.finish(&1), "it has not started");
    assert!(queue.contains(&1));
    queue.start();
    assert!(queue.finish(&1));
    assert!(!queue.finish(&1));
}

#[test]
fn it_holds_a_bounded_number_of_tasks_each_once() {
    let mut queue = Queue::new(QueueLimits { count: 2, ..LIMITS });
    assert_eq!(queue.push(1, Priority(3)), Ok(()));
    assert_eq!(queue.push(1, Priority(3)), Err(QueueError::Duplicate));
    queue.start();
    assert_eq!(queue.push(2, Priority(3)), Ok(()));
    assert_eq!(queue.push(3, Priority(3)), Err(QueueError::Full { count: 2 }));
    queue.finish(&1);
    assert_eq!(queue.push(3, Priority(3)), Ok(()));
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Push(u8, i8),
    Tune(u8, i8),
    Start,
    Finish(u8),
    Abort(u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    let (key, priority) = (0..12u8, -1..=3i8);
    prop_oneof![
        3 => (key.clone(), priority.clone()).prop_map(|(key, priority)| Operation::Push(key, priority)),
        2 => (key.clone(), priority).prop_map(|(key, priority)| Operation::Tune(key, priority)),
        3 => Just(Operation::Start),
        1 => key.clone().prop_map(Operation::Finish),
        1 => key.prop_map(Operation::Abort),
    ]
}

/// The plainest queue: a list in the order of arrival.
#[derive(Default)]
struct Model(Vec<(u8, i8, bool)>);

impl Model {
    fn n_running(&self, high: bool) -> usize {
        self.0.iter().filter(|&&(_, priority, running)| running && (priority > 0) == high).count()
    }

    fn start(&mut self, limits: QueueLimits) -> Option<u8> {
        let (n_high, n_low) = (self.n_running(true), self.n_running(false));
        let has_room = |priority: i8| if priority > 0 { n_high < limits.high } else { n_low < limits.low };
        let next = self
            .0
            .iter_mut()
            .filter(|(_, priority, running)| !running && has_room(*priority))
            .reduce(|best, task| if task.1 > best.1 { task } else { best })?;
        if n_high + n_low >= limits.high + limits.low {
            return None;
        }
        next.2 = true;
        Some(next.0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_is_a_sorted_list(operations in prop::collection::vec(operation(), 0..120)) {
        let limits = QueueLimits { high: 2, low: 1, count: 8 };
        let mut queue = Queue::new(limits);
        let mut model = Model::default();
        for operation in operations {
            match operation {
                Operation::Push(key, priority) => {
                    let fits = model.0.len() < limits.count && model.0.iter().all(|task| task.0 != key);
                    prop_assert_eq!(queue.push(key, Priority(priority)).is_ok(), fits);
                    if fits {
                        model.0.push((key, priority, false));
                    }
                }
                Operation::Tune(key, priority) => {
                    let known = model.0.iter_mut().find(|task| task.0 == key).map(|task| task.1 = priority);
                    prop_assert_eq!(queue.tune(&key, Priority(priority)), known.is_some());
                }
                Operation::Start => {
                    let can_start = queue.can_start();
                    let started = queue.start();
                    prop_assert_eq!(can_start, started.is_some());
                    prop_assert_eq!(started, model.start(limits));
                }
                Operation::Finish(key) => {
                    let at = model.0.iter().position(|&(k, _, running)| k == key && running);
                    prop_assert_eq!(queue.finish(&key), at.map(|at| model.0.remove(at)).is_some());
                }
                Operation::Abort(key) => {
                    let at = model.0.iter().position(|task| task.0 == key);
                    let expected = at.map(|at| if model.0.remove(at).2 { Aborted::Running } else { Aborted::Waiting });
                    prop_assert_eq!(queue.abort(&key), expected);
                }
            }
            queue.check_invariants();
        }
    }
}
