//! Places of which each holder may have so many at once: one that takes long is not to keep others waiting
//! (I8).

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The places that are taken, counted for each holder.
pub struct Places<K: Ord + Clone> {
    most: usize,
    taken: Mutex<BTreeMap<K, usize>>,
}

impl<K: Ord + Clone> Places<K> {
    /// `most` for each holder.
    pub fn new(most: usize) -> Self {
        Self { most, taken: Mutex::default() }
    }

    /// A place of that holder's; `None` where all of them are taken.
    pub fn enter(&self, holder: &K) -> Option<Place<'_, K>> {
        let mut taken = self.taken.lock();
        let count = taken.entry(holder.clone()).or_default();
        (*count < self.most).then(|| {
            *count += 1;
            Place { places: self, holder: holder.clone() }
        })
    }
}

/// A place, until it is dropped.
pub struct Place<'a, K: Ord + Clone> {
    places: &'a Places<K>,
    holder: K,
}

impl<K: Ord + Clone> Drop for Place<'_, K> {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock();
        if let Some(count) = taken.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_a_holder_has_so_many_places_and_takes_none_from_another() {
        let places = Places::new(4);
        let taken: Vec<_> = (0..4).map(|_| places.enter(&"a").unwrap()).collect();
        assert!(places.enter(&"a").is_none());
        let other = places.enter(&"b").unwrap();
        drop(taken);
        assert!(places.enter(&"a").is_some());
        drop(other);
        assert!(places.taken.lock().is_empty(), "a holder without places is not remembered");
    }
}
