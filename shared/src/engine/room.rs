//! How many objects may be kept whole at once, over all stores of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room for objects that wait for something to be done. Where there is none left an object is still known by its
/// digest, and read from its server when its turn comes: a flood costs reads and not memory.
#[derive(Clone, Debug)]
pub struct Room(Option<Arc<AtomicUsize>>);

impl Room {
    /// Room for that many objects.
    pub fn of(places: usize) -> Self {
        Self(Some(Arc::new(AtomicUsize::new(places))))
    }

    /// Room for all there are.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// A place for one object, if one is left.
    pub fn place(&self) -> Option<Place> {
        let Some(left) = &self.0 else { return Some(Place::default()) };
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.is_ok().then(|| Place(Some(left.clone())))
    }
}

/// One object's place; given back when it is dropped.
#[derive(Debug, Default)]
pub struct Place(Option<Arc<AtomicUsize>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(left) = &self.0 {
            left.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_a_place_is_given_once_and_back() {
        let room = Room::of(2);
        let (a, b) = (room.place(), room.clone().place());
        assert!(a.is_some() && b.is_some() && room.place().is_none());
        drop(b);
        assert!(room.place().is_some());
        assert!(Room::unlimited().place().is_some() && Room::of(0).place().is_none());
    }
}
