//! A region, and what tests ask of it and have it do.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tower::BoxError;

use crate::faults::{Chaos, Fault};
use crate::journal::{Entry, Event};
use crate::operation::Operation;
use crate::options::{Image, Lag, Options, RateLimit, Timing, Tls};
use crate::tls::Authority;
use crate::world::{Allocation, Hidden, Overlay, Plant, Server, Tag, World};

/// A region. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Region {
    world: Arc<Mutex<World>>,
    /// The certificates of its connections, from the first time that it listens.
    authority: Arc<Mutex<Option<Arc<Authority>>>>,
}

impl Region {
    /// A region that nobody is connected to yet.
    pub fn new(options: Options) -> Self {
        let world = Arc::new(Mutex::new(World::new(options)));
        Self { world, authority: Arc::default() }
    }

    /// Its certificates; none where connections are not secured.
    pub(crate) fn authority(&self) -> Result<Option<Arc<Authority>>, BoxError> {
        let tls = self.world().options.tls;
        let mut authority = self.authority.lock();
        if authority.is_none() && tls != Tls::None {
            *authority = Some(Arc::new(Authority::generate(tls == Tls::Mutual)?));
        }
        Ok(authority.clone())
    }

    /// What it holds now.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        let mut world = self.world.lock();
        world.advance(Instant::now());
        world
    }

    /// All servers that stand, whoever may see them.
    pub fn servers(&self) -> Vec<Server> {
        self.world().servers().cloned().collect()
    }

    /// The server that a request made for an Instance, where one stands.
    pub fn server_of(&self, instance: &str) -> Option<Server> {
        self.world().servers().find(|server| server.instance.as_deref() == Some(instance)).cloned()
    }

    /// All allocations that stand.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.world().allocations().cloned().collect()
    }

    /// The record from a number on.
    pub fn log(&self, since: u64) -> Vec<Entry> {
        self.world().journal.since(since)
    }

    /// How many requests of an operation the record has.
    pub fn requests(&self, of: Operation) -> usize {
        let is_one =
            |entry: &&Entry| matches!(&entry.event, Event::Request { operation, .. } if *operation == of);
        self.log(0).iter().filter(is_one).count()
    }

    /// Says whether a provider did what it must never do.
    ///
    /// # Errors
    ///
    /// All that it did: two servers of one Instance, an order about a server that is not its own, quota that
    /// was taken twice or given back while its server stood.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let violations = self.world().violations().to_vec();
        if violations.is_empty() { Ok(()) } else { Err(violations) }
    }

    /// Says what is left of Instances that are gone: of all that are not among `live`.
    ///
    /// # Errors
    ///
    /// The servers and allocations that nobody needs.
    pub fn check_leftovers(&self, live: &[&str]) -> Result<(), Vec<String>> {
        let world = self.world();
        let servers = world.servers().filter_map(|server| {
            let instance = server.instance.as_deref().filter(|it| !live.contains(it))?;
            Some(format!("server {} of Instance {instance} is left over", server.id))
        });
        let allocations = world.allocations().filter(|it| !live.contains(&it.instance())).map(|allocation| {
            format!("allocation {} of Instance {} is left over", allocation.id, allocation.instance())
        });
        let left: Vec<_> = servers.chain(allocations).collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    }

    /// Orders a fault, after those that are ordered already: the first one that matches a request befalls it.
    pub fn fault(&self, fault: Fault) {
        self.world().faults.push(fault);
    }

    /// Takes back all faults that were ordered, and those by chance.
    pub fn heal(&self) {
        let mut world = self.world();
        world.faults.clear();
        world.options.chaos = None;
    }

    /// Faults come by chance from now on, or no more.
    pub fn set_chaos(&self, chaos: Option<Chaos>) {
        self.world().options.chaos = chaos;
    }

    /// Reads lag behind from now on.
    pub fn set_lag(&self, lag: Lag) {
        self.world().options.lag = lag;
    }

    /// The service takes so long for what is asked of it from now on.
    pub fn set_timing(&self, timing: Timing) {
        self.world().options.timing = timing;
    }

    /// Limits requests, or does not.
    pub fn set_rate_limit(&self, limit: Option<RateLimit>) {
        self.world().limit(limit, Instant::now());
    }

    /// Sets how much of a kind an organization may take; without a limit, as much as it likes.
    pub fn set_quota(&self, kind: &str, limit: Option<u64>) {
        let mut world = self.world();
        match limit {
            Some(limit) => world.options.quotas.insert(kind.to_owned(), limit),
            None => world.options.quotas.remove(kind),
        };
    }

    /// Adds an image, or replaces the one of its ID.
    pub fn set_image(&self, image: Image) {
        let mut world = self.world();
        world.options.images.retain(|other| other.id != image.id);
        world.options.images.push(image);
    }

    /// Ends all tokens that were given out.
    pub fn end_tokens(&self) {
        self.world().tokens.clear();
    }

    /// Puts a server there that no request made, and returns its ID.
    pub fn plant(&self, plant: Plant) -> String {
        self.world().plant(plant, Instant::now())
    }

    /// Changes the tags of a server, as another program may; false where there is none of this ID.
    pub fn retag(&self, id: &str, tags: Vec<Tag>) -> bool {
        self.tamper(id, |server| server.tags = tags)
    }

    /// Hides a server, or shows it; false where there is none of this ID.
    pub fn hide(&self, id: &str, hidden: Hidden) -> bool {
        self.tamper(id, |server| server.hidden = hidden)
    }

    /// Keeps a server in its deletion, or lets it end; false where there is none of this ID.
    pub fn stick(&self, id: &str, stuck: bool) -> bool {
        self.tamper(id, |server| server.stuck = stuck)
    }

    /// Makes a server show other words than what is so; false where there is none of this ID.
    pub fn overlay(&self, id: &str, overlay: Overlay) -> bool {
        self.tamper(id, |server| server.overlay = overlay)
    }

    /// Makes a server vanish without an order; false where there is none of this ID.
    pub fn destroy(&self, id: &str) -> bool {
        self.world().destroy(id, Instant::now())
    }

    fn tamper(&self, id: &str, change: impl FnOnce(&mut Server)) -> bool {
        self.world().tamper(id, Instant::now(), change)
    }
}
