//! The state of the region, and how it changes by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_provider::{Phase, Place, Power, Server, ServerId};
use jiff::Timestamp;
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use super::Fuse;

/// Longer than any order is late and any read lags.
pub const SETTLE: Duration = Duration::from_mins(1);

/// What a server is made of.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Spec {
    pub image: String,
    pub flavor: String,
}

/// How likely faults are, in percent of calls, and how long what is slow takes at most, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub refused: u32,
    pub lost: u32,
    pub late: u32,
    pub vanished: u32,
    pub unknown: u32,
    pub lag: u64,
    pub deletion: u64,
    /// Whether changes of a server are accepted, and nothing comes of them.
    pub idle: bool,
    /// How long every answer takes.
    pub hangs: u64,
}

/// A server as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Stands {
    pub id: ServerId,
    pub name: Box<str>,
    pub place: Place,
    pub tag: Option<Box<str>>,
    pub spec: Spec,
    pub phase: Phase,
    /// When what is under way is done, and in which phase it is then.
    pub until: Option<(Instant, Phase)>,
    pub deleting: Option<(Timestamp, Instant)>,
    /// The Instance that it was made for by the controller; none for a stranger's.
    pub made_for: Option<Box<str>>,
}

/// An order that is carried out later.
#[derive(Clone, Debug)]
pub enum Order {
    Create { place: Place, name: Box<str>, instance: Box<str>, spec: Spec },
    Delete(ServerId),
    Update { id: ServerId, instance: Box<str>, spec: Spec },
    Power(ServerId, Power),
    Reserve(Box<str>),
    Release(String),
}

/// Everything that reads show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub servers: BTreeMap<ServerId, Stands>,
    /// The Instance of each allocation, by its ID.
    pub allocations: BTreeMap<String, Box<str>>,
}

pub struct Inner {
    pub now: State,
    past: Vec<(Instant, State)>,
    late: Vec<(Instant, Order)>,
    pub faults: Faults,
    pub random: SmallRng,
    made: u64,
    /// What must never happen, and did.
    pub violations: Vec<String>,
    /// What was carried out, and when.
    pub log: Vec<String>,
    pub calls: BTreeMap<&'static str, u32>,
}

/// The region.
pub struct Region {
    pub inner: Mutex<Inner>,
    pub fuse: Fuse,
    /// Whether the ID of a server follows from its network and name, so that absence can be proven.
    pub by_rule: bool,
    pub clock: fedhub_core::clock::Clock,
}

impl Region {
    pub fn new(seed: u64, faults: Faults, by_rule: bool, clock: fedhub_core::clock::Clock) -> Self {
        let inner = Inner {
            now: State::default(),
            past: Vec::new(),
            late: Vec::new(),
            faults,
            random: SmallRng::seed_from_u64(seed),
            made: 0,
            violations: Vec::new(),
            log: Vec::new(),
            calls: BTreeMap::new(),
        };
        Self { inner: Mutex::new(inner), fuse: Fuse::default(), by_rule, clock }
    }

    /// Carries out what is due, every second, for as long as it is asked to.
    pub async fn run(&self) {
        loop {
            self.with(|_| ());
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Does something with the region as it is by now.
    pub fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner.lock();
        inner.advance(self);
        inner.remember();
        let answer = act(&mut inner);
        inner.remember();
        answer
    }
}

impl Inner {
    /// A throw of the dice.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.random.random_range(0..100) < percent
    }

    pub fn seconds(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.random.random_range(0..=most * 1_000))
    }

    /// The state that a read shows.
    pub fn read(&mut self) -> State {
        let most = self.faults.lag;
        let seen = Instant::now().checked_sub(self.seconds(most)).unwrap_or_else(Instant::now);
        self.past.iter().rev().find(|(at, _)| *at <= seen).map(|(_, state)| state.clone()).unwrap_or_default()
    }

    fn remember(&mut self) {
        if self.past.last().is_some_and(|(_, state)| *state == self.now) {
            return;
        }
        let oldest = Instant::now().checked_sub(SETTLE * 2);
        let kept = self.past.iter().rposition(|(at, _)| oldest.is_some_and(|oldest| *at < oldest));
        self.past.drain(..kept.unwrap_or_default());
        self.past.push((Instant::now(), self.now.clone()));
    }

    /// Carries out what is due.
    fn advance(&mut self, region: &Region) {
        let now = Instant::now();
        let late = std::mem::take(&mut self.late);
        let (due, later): (Vec<_>, Vec<_>) = late.into_iter().partition(|(at, _)| *at <= now);
        self.late = later;
        for server in self.now.servers.values_mut() {
            if let Some((_, phase)) = server.until.take_if(|(at, _)| *at <= now) {
                server.phase = phase;
            }
        }
        self.now.servers.retain(|_, server| server.deleting.is_none_or(|(_, gone)| gone > now));
        for (_, order) in due {
            // What is refused by then is refused.
            let _ = self.carry_out(region, order);
        }
    }

    /// Keeps an order, to carry it out later.
    pub fn postpone(&mut self, order: Order) {
        let at = Instant::now() + self.seconds(25);
        self.late.push((at, order));
    }

    /// Carries an order out, or says why not.
    pub fn carry_out(&mut self, region: &Region, order: Order) -> Result<Option<String>, &'static str> {
        let what = format!("{order:?}");
        let answer = self.try_to(region, order);
        self.log.push(format!("{} {what}: {answer:?}", region.clock.now()));
        answer
    }

    fn try_to(&mut self, region: &Region, order: Order) -> Result<Option<String>, &'static str> {
        match order {
            Order::Create { place, name, instance, spec } => self.create(region, place, name, instance, spec),
            Order::Delete(id) => self.delete(region, &id),
            Order::Update { id, instance, spec } => self.update(&id, instance, spec),
            Order::Power(id, power) => self.power(&id, power),
            order => self.quota(order),
        }
    }

    fn create(
        &mut self,
        region: &Region,
        place: Place,
        name: Box<str>,
        instance: Box<str>,
        spec: Spec,
    ) -> Result<Option<String>, &'static str> {
        let taken = self
            .now
            .servers
            .values()
            .any(|server| server.place.network == place.network && server.name == name);
        if taken {
            return Err("conflict");
        }
        self.made += 1;
        let id = if region.by_rule { rule(&place, &name) } else { format!("s{}", self.made) };
        let until = Some((Instant::now() + self.seconds(20), Phase::Running));
        let id = ServerId(id.into());
        self.now.servers.insert(
            id.clone(),
            Stands {
                id: id.clone(),
                name,
                place,
                tag: Some(instance.clone()),
                spec,
                phase: Phase::Building,
                until,
                deleting: None,
                made_for: Some(instance.clone()),
            },
        );
        let ours = self.now.servers.values().filter(|server| server.made_for == Some(instance.clone()));
        if ours.count() > 1 {
            self.violations.push(format!("V1: two servers for {instance}"));
        }
        Ok(Some(id.0.into()))
    }

    fn delete(&mut self, region: &Region, id: &ServerId) -> Result<Option<String>, &'static str> {
        let takes = self.faults.deletion;
        let takes = self.seconds(takes);
        let Some(server) = self.now.servers.get_mut(id) else { return Err("gone") };
        if server.made_for.is_none() {
            self.violations.push(format!("V2: {id} is a stranger's, and was deleted"));
        }
        let since = region.clock.now();
        server.deleting.get_or_insert((since, Instant::now() + takes));
        Ok(None)
    }

    fn update(
        &mut self,
        id: &ServerId,
        instance: Box<str>,
        spec: Spec,
    ) -> Result<Option<String>, &'static str> {
        let takes = self.seconds(20);
        let Some(server) = self.now.servers.get_mut(id) else { return Err("invalid") };
        if server.made_for.is_none() {
            self.violations.push(format!("V2: {id} is a stranger's, and was changed"));
        }
        if self.faults.idle {
            return Ok(None);
        }
        if server.deleting.is_some() || server.spec.flavor != spec.flavor {
            return Err("invalid");
        }
        if server.spec.image != spec.image {
            server.phase = Phase::Rebuilding;
            server.until = Some((Instant::now() + takes, Phase::Running));
        }
        server.tag = Some(instance);
        server.spec = spec;
        Ok(None)
    }

    fn power(&mut self, id: &ServerId, power: Power) -> Result<Option<String>, &'static str> {
        let takes = self.seconds(5);
        let Some(server) = self.now.servers.get_mut(id) else { return Err("invalid") };
        let (during, after) = match (server.phase, power) {
            (Phase::Running, Power::Stop) => (Phase::Stopping, Phase::Stopped),
            (Phase::Stopped, Power::Start) => (Phase::Pending, Phase::Running),
            (Phase::Running, Power::Restart) => (Phase::Running, Phase::Running),
            _ => return Err("conflict"),
        };
        server.phase = during;
        server.until = Some((Instant::now() + takes, after));
        Ok(None)
    }

    fn quota(&mut self, order: Order) -> Result<Option<String>, &'static str> {
        match order {
            Order::Reserve(instance) => {
                if self.now.allocations.values().any(|owner| *owner == instance) {
                    self.violations.push(format!("V4: quota was taken twice for {instance}"));
                }
                self.made += 1;
                let id = format!("a{}", self.made);
                self.now.allocations.insert(id.clone(), instance);
                Ok(Some(id))
            }
            Order::Release(id) => {
                let Some(instance) = self.now.allocations.get(&id) else { return Err("gone") };
                let stands =
                    self.now.servers.values().any(|server| server.made_for.as_ref() == Some(instance));
                if stands {
                    self.violations
                        .push(format!("V4: quota of {instance} was released while its server stood"));
                }
                self.now.allocations.remove(&id);
                Ok(None)
            }
            _ => Err("invalid"),
        }
    }
}

/// The ID that follows from a network and a name.
pub fn rule(place: &Place, name: &str) -> String {
    format!("{}/{name}", place.network)
}

impl Stands {
    /// The server as a read shows it.
    pub fn shown(&self, unknown: bool) -> Server<Spec> {
        Server {
            id: self.id.clone(),
            instance: self.tag.clone(),
            name: self.name.clone(),
            place: self.place.clone(),
            spec: self.spec.clone(),
            phase: if unknown { Phase::Unknown } else { self.phase },
            settled: self.until.is_none(),
            detail: None,
            health: fedhub_provider::Health::Healthy,
            deleting: self.deleting.map(|(since, _)| since),
            addresses: Vec::new(),
        }
    }
}
