//! How many requests wait for a plane: one that hangs is not to keep admission from all others (I8).

use std::collections::BTreeMap;

use fedhub_core::names::PlaneName;
use parking_lot::Mutex;

/// How many may wait for one plane at once. A plane that answers within 10 ms serves thousands a second with that.
const MOST: usize = 64;

/// The requests that wait, counted for each plane.
#[derive(Default)]
pub struct Waiting(Mutex<BTreeMap<PlaneName, usize>>);

impl Waiting {
    /// A place among those that wait for the plane; `None` where there are too many.
    pub fn enter(&self, plane: &PlaneName) -> Option<Place<'_>> {
        let mut waiting = self.0.lock();
        let count = waiting.entry(plane.clone()).or_default();
        (*count < MOST).then(|| {
            *count += 1;
            Place { waiting: self, plane: plane.clone() }
        })
    }
}

/// A place, until it is dropped.
pub struct Place<'a> {
    waiting: &'a Waiting,
    plane: PlaneName,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiting.0.lock();
        if let Some(count) = waiting.get_mut(&self.plane) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.plane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_a_plane_has_so_many_that_wait_and_takes_no_place_from_another() {
        let (waiting, a, b) =
            (Waiting::default(), PlaneName::new("a").unwrap(), PlaneName::new("b").unwrap());
        let places: Vec<_> = (0..MOST).map(|_| waiting.enter(&a).unwrap()).collect();
        assert!(waiting.enter(&a).is_none());
        let other = waiting.enter(&b).unwrap();
        drop(places);
        assert!(waiting.enter(&a).is_some());
        drop(other);
        assert!(waiting.0.lock().is_empty(), "a plane without requests is not remembered");
    }
}
