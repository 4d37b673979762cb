//! How something was at each moment, for reads that lag behind.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// How long what was is remembered.
const REMEMBERED: Duration = Duration::from_mins(2);

/// How something was, from each change to the next.
#[derive(Debug)]
pub struct Timeline<T> {
    moments: VecDeque<(Instant, Option<Arc<T>>)>,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Self { moments: VecDeque::new() }
    }
}

impl<T> Timeline<T> {
    /// From this moment on it is so, or is gone.
    pub fn turn(&mut self, at: Instant, state: Option<T>) {
        self.moments.push_back((at, state.map(Arc::new)));
        // Of what is not asked for any more, only the last one still holds.
        while self.moments.get(1).is_some_and(|(next, _)| at.duration_since(*next) > REMEMBERED) {
            self.moments.pop_front();
        }
    }

    /// How it was at that moment.
    pub fn at(&self, moment: Instant) -> Option<Arc<T>> {
        let held = self.moments.iter().rev().find(|(since, _)| *since <= moment)?;
        held.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_is_shown_for_a_while() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let mut line = Timeline::default();
        line.turn(start, Some(1));
        line.turn(start + second, Some(2));
        line.turn(start + 3 * second, None);
        let at = |moment| line.at(moment).map(|it| *it);
        assert_eq!(at(start), Some(1));
        assert_eq!(at(start + 2 * second), Some(2));
        assert_eq!(at(start + 3 * second), None);
        line.turn(start + Duration::from_mins(9), Some(3));
        assert_eq!(line.moments.len(), 2);
    }
}
