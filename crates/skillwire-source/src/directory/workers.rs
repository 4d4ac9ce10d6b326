//! The threads that scan directories until none is left.

use std::num::NonZero;

use parking_lot::{Condvar, Mutex};

use super::{explore::DirTask, scan_error::ScanStopped};

/// The most threads. Each holds some files open, and all together must stay far below the limit.
const MAX_WORKERS: usize = 16;

/// The number of waiting tasks from which on more threads are started.
const MANY: usize = 4;

/// Does a task: returns its result and the tasks it leads to.
pub(super) type DirJob<'a, T> =
    dyn Fn(DirTask) -> Result<(T, Vec<DirTask>), ScanStopped> + Sync + 'a;

/// Does tasks and the tasks they lead to, and passes each result to `take`, one at a time.
///
/// The calling thread works as well, and others are started once enough tasks wait: a small folder
/// needs no thread. The last tasks are done first, so that few directories are open at a time. A
/// thread passes its result on before it takes the next task, so that results do not pile up.
///
/// There are two locks, and no thread holds both. The one of the queue is held for moments. The one
/// around `take` is held while a result is reported, so that `report` is never called concurrently.
/// A thread that finds no task waits on `task_added` as long as any task is running, since that
/// task may lead to more. `BusyTask` counts a task as finished when it is dropped, also after a
/// panic: otherwise the other threads would wait for ever.
pub(super) fn run<T>(
    tasks: Vec<DirTask>,
    workers: usize,
    job: &DirJob<'_, T>,
    take: impl FnMut(T) + Send,
) -> Result<(), ScanStopped> {
    let state = QueueState { tasks, busy: 0, waiting: 0, stopped: None };
    let queue = TaskQueue { state: Mutex::new(state), task_added: Condvar::new() };
    let take = Mutex::new(take);
    std::thread::scope(|scope| {
        let mut further = workers.saturating_sub(1);
        while let Some((task, turn)) = queue.next() {
            let many = turn.run(task, job, &take);
            if many && further > 0 {
                for _ in 0..std::mem::take(&mut further) {
                    scope.spawn(|| {
                        while let Some((task, turn)) = queue.next() {
                            turn.run(task, job, &take);
                        }
                    });
                }
            }
        }
    });
    match queue.state.lock().stopped.take() {
        Some(stopped) => Err(stopped),
        None => Ok(()),
    }
}

/// As many threads as there are cores, within the limit.
pub(super) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_WORKERS)
}

struct TaskQueue {
    state: Mutex<QueueState>,
    task_added: Condvar,
}

struct QueueState {
    tasks: Vec<DirTask>,
    /// The number of tasks that threads are doing.
    busy: usize,
    /// The number of threads that wait for a task.
    waiting: usize,
    stopped: Option<ScanStopped>,
}

impl TaskQueue {
    /// The next task; `None` when all are done.
    fn next(&self) -> Option<(DirTask, BusyTask<'_>)> {
        let mut state = self.state.lock();
        loop {
            if state.stopped.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some((task, BusyTask(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state.waiting += 1;
            self.task_added.wait(&mut state);
            state.waiting -= 1;
        }
    }
}

/// A task that a thread is doing; dropping it counts the task as finished, also after a panic.
struct BusyTask<'a>(&'a TaskQueue);

impl BusyTask<'_> {
    /// Does the task; tells whether many tasks wait.
    fn run<T>(self, task: DirTask, job: &DirJob<'_, T>, take: &Mutex<impl FnMut(T)>) -> bool {
        match job(task) {
            Ok((result, mut tasks)) => {
                let many = self.add(&mut tasks);
                (take.lock())(result);
                many
            }
            Err(stopped) => {
                self.0.state.lock().stopped.get_or_insert(stopped);
                false
            }
        }
    }

    fn add(&self, tasks: &mut Vec<DirTask>) -> bool {
        let mut state = self.0.state.lock();
        tasks.reverse();
        let wake = !tasks.is_empty() && state.waiting > 0;
        state.tasks.append(tasks);
        let many = state.tasks.len() >= MANY;
        drop(state);
        if wake {
            self.0.task_added.notify_all();
        }
        many
    }
}

impl Drop for BusyTask<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.busy -= 1;
        // Threads that wait for the last task to lead to more must learn that it did not.
        let wake = state.waiting > 0 && (state.busy == 0 || state.stopped.is_some());
        drop(state);
        if wake || std::thread::panicking() {
            self.0.task_added.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, io};

    use super::*;

    fn task(path: &str) -> DirTask {
        DirTask { above: None, path: path.to_owned(), via: None, is_link: false }
    }

    /// A job that leads to nine further ones, twice.
    fn grow(task: DirTask) -> (String, Vec<DirTask>) {
        let more = if task.path.len() < 3 { 1..10 } else { 1..1 };
        let tasks = more.map(|n| self::task(&format!("{}{n}", task.path))).collect();
        (task.path, tasks)
    }

    #[test]
    fn every_task_is_done_once_by_any_number_of_threads() {
        for workers in [1, 2, 7] {
            let mut done = Vec::new();
            let job = |task| Ok(grow(task));
            run(vec![task("0")], workers, &job, |path| done.push(path)).unwrap();
            let unique: BTreeSet<_> = done.iter().cloned().collect();
            assert_eq!((done.len(), unique.len()), (91, 91));
        }
    }

    #[test]
    fn a_stop_ends_the_work_and_keeps_what_was_done_v_64() {
        for workers in [1, 4] {
            let mut done = Vec::new();
            let job = |task: DirTask| {
                if task.path == "05" {
                    return Err(ScanStopped::Exhausted(io::ErrorKind::OutOfMemory.into()));
                }
                Ok(grow(task))
            };
            let stopped = run(vec![task("0")], workers, &job, |path| done.push(path));
            assert!(stopped.is_err());
            assert!(done.contains(&"0".to_owned()) && !done.contains(&"05".to_owned()));
        }
    }
}
