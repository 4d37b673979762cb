//! A bounded cache of answers by question, each of which expires.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// Identifies a question whose answer is remembered.
pub type Digest = [u8; 32];

/// SHA-256, so that no token and nothing of a user stays in memory.
pub fn digest(question: &[u8]) -> anyhow::Result<Digest> {
    Ok(ring::digest::digest(&ring::digest::SHA256, question).as_ref().try_into()?)
}

/// Values by key, each with its end.
pub struct Cache<K, V> {
    entries: HashMap<K, (V, Instant)>,
    most: usize,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    /// An empty one, for at most `most` values.
    pub fn with_capacity(most: usize) -> Self {
        Self { entries: HashMap::new(), most }
    }

    /// The value, while it stands.
    pub fn get(&self, key: &K) -> Option<V> {
        let (value, end) = self.entries.get(key)?;
        (Instant::now() < *end).then(|| value.clone())
    }

    /// Stores `value` for `time`. If there is no room, the entry that expires first is evicted: refusals
    /// expire earlier than what is allowed, so that a flood of refused requests evicts nobody else's answer.
    pub fn put(&mut self, key: K, value: V, time: Duration) {
        let now = Instant::now();
        if self.entries.len() >= self.most && !self.entries.contains_key(&key) {
            self.entries.retain(|_, (_, end)| now < *end);
        }
        if self.entries.len() >= self.most && !self.entries.contains_key(&key) {
            let first = self.entries.iter().min_by_key(|(_, (_, end))| *end).map(|(key, _)| key.clone());
            first.and_then(|first| self.entries.remove(&first));
        }
        self.entries.insert(key, (value, now + time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_stands_for_its_time_and_a_flood_of_short_ones_pushes_no_long_one_out() {
        let minute = Duration::from_mins(1);
        let moment = Duration::from_secs(10);
        let mut cache = Cache::with_capacity(4);
        cache.put(0, "good", minute);
        for key in 1..100 {
            tokio::time::advance(Duration::from_millis(1)).await;
            cache.put(key, "bad", moment);
            assert!(cache.entries.len() <= 4);
        }
        assert_eq!((cache.get(&0), cache.get(&99), cache.get(&1)), (Some("good"), Some("bad"), None));
        tokio::time::advance(moment).await;
        assert_eq!((cache.get(&0), cache.get(&99)), (Some("good"), None));
        cache.put(0, "better", moment);
        tokio::time::advance(moment).await;
        assert_eq!(cache.get(&0), None);
        cache.put(1, "bad", moment);
        assert_eq!(cache.entries.len(), 1, "what has ended makes room");
    }
}
