//! The memory budget of objects, over all planes of a registry.

mod share;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use fedhub_core::object::{Object, PlaneId};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use self::share::{SHARE, Share, Shares};
use crate::packed::Packed;

/// The size of objects that are read and reconciled without a permit. Most objects are a few kilobytes; those
/// above this are large.
pub const FREE: usize = 64 << 10;
/// How many times the object a reconcile holds: both sides, what is to be written, and the answer.
const COPIES: usize = 8;
/// The memory that objects of all planes share: half of it for those that wait to be reconciled, a quarter
/// each for large ones that are being read and reconciled.
///
/// Objects wait as their JSON text, a fifth of what they take as trees. The oldest makes room for the newest,
/// but large ones only for large ones. It is still known by its digest then, and read from its server when
/// its turn comes: a flood costs its own plane reads, and no plane memory. Very large objects of one plane
/// are reconciled one after the other, so that they take neither memory nor processors from others.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Option<Arc<Budget>>);

#[derive(Debug)]
struct Budget {
    /// The shelves of small and of large objects.
    shelves: [Mutex<Shelf>; 2],
    reads: Share,
    reconciles: Share,
    /// The share of each plane whose large answers are being read.
    readers: Shares,
    /// The share of each plane with reconciles of large objects.
    workers: Shares,
}

#[derive(Debug, Default)]
struct Shelf {
    most: usize,
    held: usize,
    /// The oldest first; those that were dropped meanwhile are skipped.
    line: VecDeque<Weak<Slot>>,
}

#[derive(Debug)]
struct Slot {
    object: Mutex<Option<Packed>>,
    weight: usize,
    budget: Weak<Budget>,
}

/// Keeps an object for as long as it lives, or until newer ones need the memory.
#[derive(Debug)]
pub struct Permit(Arc<Slot>);

/// The plane whose answers are read.
#[derive(Clone, Copy, Debug)]
pub enum BudgetShare<'a> {
    /// One plane among many that are independent of each other. It takes from a share of its own before it
    /// takes from the one for all, so that a plane that sends slowly holds up its own reads alone.
    OneOfMany(&'a PlaneId),
    /// A plane that all work depends on. It takes at most a quarter, so that it need not wait for each of the
    /// many.
    Single,
}

/// Memory that is reserved for as long as it lives.
#[derive(Debug, Default)]
pub struct Reserved(#[expect(dead_code, reason = "given back when dropped")] Vec<OwnedSemaphorePermit>);

impl MemoryBudget {
    /// Creates a budget of `bytes` bytes.
    pub fn from_bytes(bytes: usize) -> Self {
        let waiting = bytes / 2;
        let shelves = [waiting - waiting / SHARE, waiting / SHARE];
        Self(Some(Arc::new(Budget {
            shelves: shelves.map(|most| Mutex::new(Shelf { most, ..Shelf::default() })),
            reads: Share::new(bytes / 4),
            reconciles: Share::new(bytes / 4),
            readers: Mutex::default(),
            workers: Mutex::default(),
        })))
    }

    /// A budget without a limit.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Keeps an object, unless it is larger than the budget.
    pub fn keep(&self, object: &Object) -> Option<Permit> {
        let packed = Packed::from_object(object)?;
        let weight = packed.bytes() + size_of::<(Slot, Weak<Slot>)>();
        let object = Mutex::new(Some(packed));
        let budget = self.0.as_ref();
        let slot = Arc::new(Slot { object, weight, budget: budget.map(Arc::downgrade).unwrap_or_default() });
        let Some(budget) = budget else { return Some(Permit(slot)) };
        let evicted = budget.shelf(weight).put(&slot)?;
        // Dropped outside of the lock: the last reference to an object frees its memory.
        drop(evicted);
        Some(Permit(slot))
    }

    /// Reserves memory for an answer of which `bytes` bytes have arrived, and up to `most` may.
    pub async fn reading(&self, reader: BudgetShare<'_>, bytes: usize, most: usize) -> Reserved {
        let Some(budget) = &self.0 else { return Reserved::default() };
        if bytes <= FREE {
            return Reserved::default();
        }
        let reads = &budget.reads;
        match reader {
            BudgetShare::OneOfMany(plane) => {
                let share = Share::for_plane(&budget.readers, plane, reads);
                let own = share.take(most).await;
                let of_all = reads.take(most.min(share.bytes())).await;
                Reserved(own.into_iter().chain(of_all).collect())
            }
            BudgetShare::Single => {
                Reserved(reads.take(most.min(reads.bytes() / 4)).await.into_iter().collect())
            }
        }
    }

    /// Reserves `bytes` bytes for a reconcile of an object of `plane`. While a reconcile waits for others of
    /// its own plane, it holds nothing of the shared part.
    pub async fn working(&self, plane: &PlaneId, bytes: usize) -> Reserved {
        let Some(budget) = self.0.as_ref().filter(|_| bytes > FREE) else { return Reserved::default() };
        let bytes = bytes.saturating_mul(COPIES);
        let own = Share::for_plane(&budget.workers, plane, &budget.reconciles).take(bytes).await;
        let of_all = budget.reconciles.take(bytes).await;
        Reserved(own.into_iter().chain(of_all).collect())
    }

    /// The bytes that waiting objects take.
    pub fn held(&self) -> usize {
        self.0.iter().flat_map(|budget| &budget.shelves).map(|shelf| lock(shelf).held).sum()
    }
}

impl Budget {
    fn shelf(&self, weight: usize) -> MutexGuard<'_, Shelf> {
        lock(&self.shelves[usize::from(weight > FREE)])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Shelf {
    /// Returns the evicted objects; `None` for one that is larger than the shelf.
    fn put(&mut self, slot: &Arc<Slot>) -> Option<Vec<Packed>> {
        if slot.weight > self.most {
            return None;
        }
        let mut evicted = Vec::new();
        while self.held + slot.weight > self.most {
            let Some(oldest) = self.line.pop_front() else { break };
            if let Some(object) = oldest.upgrade().and_then(|oldest| self.empty(&oldest)) {
                evicted.push(object);
            }
        }
        self.held += slot.weight;
        if self.line.len() == self.line.capacity() {
            self.line.retain(|slot| slot.strong_count() > 0);
            // As many again may come before the next look.
            self.line.shrink_to(self.line.len() * 2 + 64);
            self.line.reserve(self.line.len() + 64);
        }
        self.line.push_back(Arc::downgrade(slot));
        Some(evicted)
    }

    fn empty(&mut self, slot: &Slot) -> Option<Packed> {
        let object = lock(&slot.object).take();
        if object.is_some() {
            self.held -= slot.weight;
        }
        object
    }
}

impl Permit {
    /// The object, if it has not been evicted.
    pub fn object(&self) -> Option<Packed> {
        lock(&self.0.object).clone()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(budget) = self.0.budget.upgrade() {
            let object = budget.shelf(self.0.weight).empty(&self.0);
            drop(object);
        }
    }
}

/// A number of bytes, as flags give them: `64Mi`.
pub fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong =
        || format!("{text:?} is no number of bytes: expected a number and Ki, Mi or Gi, such as 64Mi");
    let number: usize = number.parse().map_err(|_| wrong())?;
    let each: usize = match unit {
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(each).ok_or_else(wrong)
}

/// An estimate of the memory that an object takes as a tree.
pub fn weight(object: &Object) -> usize {
    const NODE: usize = 640;
    const VALUE: usize = 48;
    fn of(value: &Value) -> usize {
        VALUE
            + match value {
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
                Value::String(text) => text.len(),
                Value::Array(items) => items.iter().map(of).sum(),
                Value::Object(fields) => {
                    let content: usize =
                        fields.iter().map(|(key, value)| VALUE + key.len() + of(value)).sum();
                    content.max(NODE)
                }
            }
    }
    let metadata = &object.metadata;
    let pairs = [&metadata.labels, &metadata.annotations];
    let pairs = pairs.into_iter().flatten().flatten().map(|(key, value)| 2 * VALUE + key.len() + value.len());
    let lists = metadata.finalizers.iter().flatten().map(|text| VALUE + text.len());
    let owners = metadata
        .owner_references
        .iter()
        .flatten()
        .map(|owner| 4 * VALUE + owner.name.len() + owner.uid.len());
    size_of::<Object>() + pairs.chain(lists).chain(owners).sum::<usize>() + of(&object.data)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{Kind, ObjectRef, bare, set_field};
    use serde_json::json;

    use super::*;

    fn object(bytes: usize) -> ObjectRef {
        let mut object = bare(Kind::ConfigMap, "n", "a");
        set_field(&mut object, "spec", json!("x".repeat(bytes)));
        object.into()
    }

    #[test]
    fn i8_the_oldest_objects_make_room_for_the_newest() {
        let budget = MemoryBudget::from_bytes(64 << 10);
        let places: Vec<_> = (0..100).map(|_| budget.keep(&object(4096)).unwrap()).collect();
        let kept: Vec<_> = places.iter().map(|place| place.object().is_some()).collect();
        assert_eq!((kept[..94].contains(&true), &kept[94..]), (false, &[true; 6][..]));
        assert!(budget.held() <= 32 << 10, "{}", budget.held());
        assert!(budget.keep(&object(40 << 10)).is_none(), "no room is ever that large");
        drop(places);
        assert_eq!(budget.held(), 0);
        assert!(MemoryBudget::from_bytes(0).keep(&object(1)).is_none());
        assert!(MemoryBudget::unlimited().keep(&object(1 << 20)).unwrap().object().is_some());
    }

    #[test]
    fn i8_large_objects_make_room_for_large_ones_alone() {
        let budget = MemoryBudget::from_bytes(8 << 20);
        let small: Vec<_> = (0..100).map(|_| budget.keep(&object(4096)).unwrap()).collect();
        let large: Vec<_> = (0..100).map(|_| budget.keep(&object(100 << 10)).unwrap()).collect();
        assert!(small.iter().all(|place| place.object().is_some()), "they wait for nobody's large ones");
        assert_eq!(large.iter().filter(|place| place.object().is_some()).count(), 5);
        assert!(budget.keep(&object(600 << 10)).is_none());
        drop((small, large));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn i8_places_that_are_given_back_leave_nothing_behind() {
        let budget = MemoryBudget::from_bytes(64 << 10);
        let stays = budget.keep(&object(1)).unwrap();
        for _ in 0..10_000 {
            budget.keep(&object(1)).unwrap();
        }
        let shelf = budget.0.as_ref().unwrap().shelf(1);
        assert!(shelf.line.capacity() < 1000, "{}", shelf.line.capacity());
        drop(shelf);
        assert!(stays.object().is_some());
    }

    fn plane(name: &str) -> PlaneId {
        PlaneId::Project(PlaneName::new(name).unwrap())
    }

    /// Whether nothing has to be waited for.
    async fn works_now(budget: &MemoryBudget, on: &str, bytes: usize) -> Option<Reserved> {
        tokio::time::timeout(Duration::from_secs(1), budget.working(&plane(on), bytes)).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn i8_large_objects_are_read_and_worked_on_a_few_at_a_time_and_small_ones_do_not_wait() {
        let budget = MemoryBudget::from_bytes(4 << 20);
        let all = works_now(&budget, "a", 100 << 10).await.unwrap();
        assert!(works_now(&budget, "b", 100 << 10).await.is_none(), "the quarter is taken");
        works_now(&budget, "b", FREE).await.unwrap();
        budget.reading(BudgetShare::OneOfMany(&plane("b")), FREE + 1, 1 << 20).await;
        drop(all);
        works_now(&budget, "b", 100 << 20).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_plane_with_many_large_objects_takes_no_others_turn() {
        let budget = MemoryBudget::from_bytes(64 << 20);
        let first = works_now(&budget, "a", 200 << 10).await.unwrap();
        let mut line: Vec<_> = (0..100).map(|_| Box::pin(works_now(&budget, "a", 200 << 10))).collect();
        assert!(
            futures::future::join_all(&mut line).await.iter().all(Option::is_none),
            "one after the other"
        );
        let others: Vec<_> = ["b", "c", "d", "e"].map(|on| works_now(&budget, on, 200 << 10)).into();
        assert!(futures::future::join_all(others).await.iter().all(Option::is_some));
        drop(first);
        works_now(&budget, "a", 200 << 10).await.unwrap();
        works_now(&budget, "b", 200 << 10).await.unwrap();
        assert!(
            lock(&budget.0.as_ref().unwrap().workers).len() < 2,
            "nothing is left of planes that have none"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_plane_that_sends_large_answers_slowly_holds_up_its_own_reads_alone() {
        let budget = MemoryBudget::from_bytes(64 << 20);
        let reads_now = async |reader: BudgetShare<'_>, most: usize| {
            let reading = budget.reading(reader, FREE + 1, most);
            tokio::time::timeout(Duration::from_secs(1), reading).await.ok()
        };
        let planes = ["a", "b", "c", "d"].map(plane);
        let [slow_one, others @ ..] = planes.each_ref().map(BudgetShare::OneOfMany);
        for most in [1 << 20, 4 << 20, 64 << 20] {
            let mut slow = Vec::new();
            while let Some(read) = reads_now(slow_one, most).await {
                slow.push(read);
            }
            assert!(!slow.is_empty(), "its share is taken");
            let mut read = Vec::new();
            for other in others.into_iter().chain([BudgetShare::Single]) {
                read.push(reads_now(other, most).await.expect("others do not wait for it"));
            }
            drop(slow);
            assert!(reads_now(slow_one, most).await.is_some());
        }
    }

    #[test]
    fn bytes_are_read_with_their_unit() {
        for (text, expected) in [("64Mi", Some(64 << 20)), ("512Ki", Some(512 << 10)), ("1Gi", Some(1 << 30))]
        {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
        for text in ["", "64", "64M", "Mi", "-1Mi", "1.5Gi", "99999999999999999999Gi"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_weight_of_an_object_follows_what_is_in_it() {
        let text = weight(&object(100_000));
        assert!((100_000..102_000).contains(&text), "{text}");
        let mut maps = bare(Kind::ConfigMap, "n", "a");
        set_field(&mut maps, "spec", json!(vec![json!({"a": 1}); 1000]));
        assert!(weight(&maps) > 600_000, "{}", weight(&maps));
    }
}
