//! Threads that work through directories until none is left.

use std::{
    num::NonZero,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use super::{explore::Task, stopped::Stopped};

/// The most threads, so that what they hold open stays far below the limit of open files.
const MAX_WORKERS: usize = 16;

/// The number of waiting tasks that are worth further threads.
const MANY: usize = 4;

/// Does a task: what came of it, and the tasks it leads to.
pub(super) type Job<'a, T> = dyn Fn(Task) -> Result<(T, Vec<Task>), Stopped> + Sync + 'a;

/// Works through tasks and the tasks they lead to, and takes what comes of each, one at a time.
///
/// This thread works too, and others join it once there is enough to do. The last tasks are done
/// first, so that few directories are open at a time. Whoever finishes a task hands over what came
/// of it before the next one, so that nothing piles up.
pub(super) fn work<T>(
    tasks: Vec<Task>,
    workers: usize,
    job: &Job<'_, T>,
    take: impl FnMut(T) + Send,
) -> Result<(), Stopped> {
    let state = State { tasks, busy: 0, waiting: 0, stopped: None };
    let queue = Queue { state: Mutex::new(state), news: Condvar::new() };
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
    match queue.lock().stopped.take() {
        Some(stopped) => Err(stopped),
        None => Ok(()),
    }
}

/// As many threads as there are cores, within reason.
pub(super) fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_WORKERS)
}

struct Queue {
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    tasks: Vec<Task>,
    /// How many tasks are being worked on.
    busy: usize,
    /// How many threads wait for one.
    waiting: usize,
    stopped: Option<Stopped>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task, or nothing when all are done.
    fn next(&self) -> Option<(Task, Turn<'_>)> {
        let mut state = self.lock();
        loop {
            if state.stopped.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.busy += 1;
                return Some((task, Turn(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state.waiting += 1;
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }
}

/// A task that is being worked on; the others stop waiting for it even if the work panics.
struct Turn<'a>(&'a Queue);

impl Turn<'_> {
    /// Does the task; tells whether many are waiting.
    fn run<T>(self, task: Task, job: &Job<'_, T>, take: &Mutex<impl FnMut(T)>) -> bool {
        match job(task) {
            Ok((result, mut tasks)) => {
                let many = self.add(&mut tasks);
                (take.lock().unwrap_or_else(PoisonError::into_inner))(result);
                many
            }
            Err(stopped) => {
                self.0.lock().stopped.get_or_insert(stopped);
                false
            }
        }
    }

    fn add(&self, tasks: &mut Vec<Task>) -> bool {
        let mut state = self.0.lock();
        tasks.reverse();
        let wake = !tasks.is_empty() && state.waiting > 0;
        state.tasks.append(tasks);
        let many = state.tasks.len() >= MANY;
        drop(state);
        if wake {
            self.0.news.notify_all();
        }
        many
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        // Whoever waits for the last task to lead to more must know that it did not.
        let wake = state.waiting > 0 && (state.busy == 0 || state.stopped.is_some());
        drop(state);
        if wake || std::thread::panicking() {
            self.0.news.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, io};

    use super::*;

    fn task(path: &str) -> Task {
        Task { above: None, path: path.to_owned() }
    }

    /// A job that leads to nine further ones, twice.
    fn grow(task: Task) -> (String, Vec<Task>) {
        let more = if task.path.len() < 3 { 1..10 } else { 1..1 };
        let tasks = more.map(|n| self::task(&format!("{}{n}", task.path))).collect();
        (task.path, tasks)
    }

    #[test]
    fn every_task_is_done_once_by_any_number_of_threads() {
        for workers in [1, 2, 7] {
            let mut done = Vec::new();
            let job = |task| Ok(grow(task));
            work(vec![task("0")], workers, &job, |path| done.push(path)).unwrap();
            let unique: BTreeSet<_> = done.iter().cloned().collect();
            assert_eq!((done.len(), unique.len()), (91, 91));
        }
    }

    #[test]
    fn a_stop_ends_the_work_and_keeps_what_was_done_v_64() {
        for workers in [1, 4] {
            let mut done = Vec::new();
            let job = |task: Task| {
                if task.path == "05" {
                    return Err(Stopped::Exhausted(io::ErrorKind::OutOfMemory.into()));
                }
                Ok(grow(task))
            };
            let stopped = work(vec![task("0")], workers, &job, |path| done.push(path));
            assert!(stopped.is_err());
            assert!(done.contains(&"0".to_owned()) && !done.contains(&"05".to_owned()));
        }
    }
}
