//! One pass over one Instance: plan, act, and plan again with the answer, until there is nothing more to do.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::names::PROVIDER_FINALIZER;
use fedhub_core::object::{Key, Object, ObjectRef, ObjectView};
use serde_json::Value;

use crate::contract::{
    Change, Deletion, Failure, FailureKind, Found, Link, Place, Power, Provider, Refusal, ServerId, Wanted,
};
use crate::memory::Memory;
use crate::plan::{self, Announced, Ask, Call, Known, Look, PowerWish, Seen, Settings, Step, Verdict};
use crate::record::Record;
use crate::status;
use crate::watch::Watch;

/// How many steps a pass has at most. The longest way, from nothing to a server, takes half of them.
const STEPS: usize = 24;

/// What a pass writes into the cell. Each write has the version of the Instance as its precondition, and is
/// made only while this process leads.
pub trait Cell: Sync {
    /// How a write fails.
    type Error: Send;

    /// Puts the provider's finalizer on.
    fn hold(&self, instance: &Object) -> impl Future<Output = Result<ObjectRef, Self::Error>> + Send;

    /// Takes it off.
    fn let_go(&self, instance: &Object) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Stores the whole status. `None` where nothing would change by it.
    fn store(
        &self,
        instance: &Object,
        status: Value,
    ) -> impl Future<Output = Result<Option<ObjectRef>, Self::Error>> + Send;

    /// Tells the Instance's users of a change that destroys something.
    fn announce(&self, instance: &Object, words: String);

    /// Whether the provider may be given an order.
    fn leads(&self) -> bool;
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether anything was written into the cell.
    pub updated: bool,
    /// When to look again, where no event tells.
    pub again: Option<Duration>,
}

/// What passes of one controller share.
pub struct Passes<P: Provider> {
    /// The provider.
    pub provider: Arc<P>,
    /// What its servers look like.
    pub watch: Arc<Watch<P>>,
    /// What is remembered between passes.
    pub memory: Memory,
    /// The time.
    pub clock: Clock,
    /// Times to go by.
    pub settings: Settings,
}

/// An Instance in a pass.
struct Pass<'a, P: Provider, C> {
    passes: &'a Passes<P>,
    cell: &'a C,
    key: &'a Key,
    /// The project that it belongs to; none where that cannot be told.
    project: Option<&'a str>,
    power: PowerWish,
    instance: ObjectRef,
    known: Known<P::Spec>,
    updated: bool,
}

impl<P: Provider> Passes<P> {
    /// Makes one pass over an Instance.
    ///
    /// # Errors
    ///
    /// Those of writes into the cell. A call of the provider that fails is none: it is said in the status,
    /// and repeated.
    pub async fn pass<C: Cell>(
        &self,
        cell: &C,
        key: &Key,
        instance: ObjectRef,
        project: Option<&str>,
        power: PowerWish,
    ) -> Result<Ended, C::Error> {
        let known = Known {
            failed: self.memory.failed(instance.uid()),
            owes_restart: self.memory.owes_restart(instance.uid()),
            repeated: self.memory.repeated(instance.uid(), template(&instance)),
            ..Known::default()
        };
        let mut pass = Pass { passes: self, cell, key, project, power, instance, known, updated: false };
        for _ in 0..STEPS {
            if let Some(ended) = pass.step().await? {
                return Ok(ended);
            }
        }
        tracing::warn!(
            namespace = &*key.namespace,
            name = &*key.name,
            "a pass over an Instance did not come to rest"
        );
        Ok(Ended { updated: pass.updated, again: Some(Duration::from_secs(10)) })
    }

    /// Forgets an Instance that is gone.
    pub fn forget(&self, key: &Key, uid: &str) {
        self.watch.forget(key);
        self.memory.forget(uid);
    }
}

impl<P: Provider, C: Cell> Pass<'_, P, C> {
    /// Takes the next step; returns how the pass ended, once it did.
    async fn step(&mut self) -> Result<Option<Ended>, C::Error> {
        let record = Record::from_instance(&self.instance);
        self.look(&record);
        let wanted = self.wanted();
        let next = plan::plan(&self.seen(&record, &wanted));
        match next {
            Step::Hold => {
                self.instance = self.cell.hold(&self.instance).await?;
                self.updated = true;
            }
            Step::LetGo => {
                self.cell.let_go(&self.instance).await?;
                self.passes.forget(self.key, self.instance.uid());
                self.updated = true;
                return Ok(Some(self.ended(None)));
            }
            Step::Record { record: next, announces } => {
                if !self.record(&record, &wanted, next, announces).await? {
                    return self.not_kept(&record, &wanted).await.map(Some);
                }
            }
            Step::Announce(change) => self.announce(&record, &wanted, change).await?,
            Step::Await(_) => {
                let again = self.known.failed.as_ref().map(|failed| failed.wait);
                return Ok(Some(self.ended(again)));
            }
            Step::Rest { verdict, again } => {
                return self.rest(&record, &wanted, &verdict, again).await.map(Some);
            }
            // Directly before the call: what was written before may have taken its time.
            Step::Ask(_) if !self.cell.leads() => return Ok(Some(self.ended(None))),
            Step::Ask(ask) => self.call(&record, &wanted, ask).await,
        }
        Ok(None)
    }

    fn wanted(&self) -> Result<Wanted<P::Spec>, Refusal> {
        let Some(project) = self.project else {
            return Err(Refusal {
                by_user: false,
                message: "the project cannot be told from the labels of the instance's namespace".to_owned(),
            });
        };
        self.passes.provider.wanted(project, &self.instance)
    }

    fn seen<'a>(
        &'a self,
        record: &'a Record,
        wanted: &'a Result<Wanted<P::Spec>, Refusal>,
    ) -> Seen<'a, P::Spec> {
        let server = self.known.look.as_ref().and_then(|look| look.server.as_deref());
        let change = match (server, wanted) {
            (Some(server), Ok(wanted)) => Some(self.passes.provider.change(&server.spec, &wanted.spec)),
            _ => None,
        };
        Seen {
            instance: &self.instance,
            record,
            wanted: wanted.as_ref().map(|wanted| &wanted.place),
            change,
            power: self.power,
            known: &self.known,
            settings: self.passes.settings,
            now: self.passes.clock.now(),
        }
    }

    /// Takes over what the watch saw of the server of the recorded ID.
    fn look(&mut self, record: &Record) {
        let (Some(place), Some(server)) = (&record.place, &record.server) else { return };
        let watch = &self.passes.watch;
        // Without it the Instance is let go of, or may be gone already: nothing would end the watch.
        if self.instance.has_finalizer(PROVIDER_FINALIZER) {
            watch.follow(self.key, place, server);
        }
        if self.known.look.is_none() && !self.known.ordered {
            let (look, ordered) = watch.look(place, server);
            self.known.look = look;
            self.known.ordered = ordered;
        }
    }

    /// Stores another record. Whether the cell keeps it: nothing is asked for on a record that it does not.
    async fn record(
        &mut self,
        before: &Record,
        wanted: &Result<Wanted<P::Spec>, Refusal>,
        next: Record,
        announces: Option<Announced>,
    ) -> Result<bool, C::Error> {
        let seen = self.seen(before, wanted);
        let at = seen.now;
        let status = status::with_record(&seen, &next, self.passes.provider.name());
        let sent = Record::from_status(&status);
        if let Some(stored) = self.cell.store(&self.instance, status).await? {
            self.instance = stored;
            self.updated = true;
        }
        if Record::from_instance(&self.instance) != sent {
            return Ok(false);
        }
        let uid = self.instance.uid();
        if announces == Some(Announced::Restart) {
            self.passes.memory.set_owes_restart(uid, true);
            self.known.owes_restart = true;
        }
        self.known.announced = announces;
        self.known.announced_at = announces.map(|_| at);
        if before.server != next.server {
            self.adopted(&next);
        }
        // What was known is of a server and of quota that are gone.
        let renews = next.server.is_none()
            && next.allocation.is_none()
            && (before.server.is_some() || before.allocation.is_some() || next.is_clear());
        if renews {
            self.passes.watch.forget(self.key);
            let known = &self.known;
            let owes_restart = known.owes_restart;
            let failed = known.failed.clone();
            let announced_at = known.announced_at;
            self.known =
                Known { owes_restart, failed, announced: announces, announced_at, ..Known::default() };
        }
        Ok(true)
    }

    /// Ends the pass where the cell does not keep the record: without it, a server that is asked for now
    /// would be asked for again, and one that is looked for would be forgotten.
    async fn not_kept(
        &mut self,
        record: &Record,
        wanted: &Result<Wanted<P::Spec>, Refusal>,
    ) -> Result<Ended, C::Error> {
        let refusal = Refusal {
            by_user: false,
            message: "the cell does not keep status.provider of instances: apply the CRDs of this version of fedhub to it"
                .to_owned(),
        };
        let again = Some(self.passes.settings.settle);
        self.rest(record, wanted, &Verdict::Refused(refusal), again).await
    }

    /// Another server is the Instance's from now on: it looks as the answer showed it by which it is known.
    fn adopted(&mut self, record: &Record) {
        let (Some(place), Some(server)) = (&record.place, &record.server) else { return };
        self.passes.watch.forget_others(self.key, server);
        self.passes.watch.follow(self.key, place, server);
        if self.known.made.as_ref() != Some(server) {
            self.known.look = match &self.known.found {
                Some(Found::One(found)) if found.id == *server => {
                    Some(Look { server: Some(found.clone()), at: self.passes.clock.now() })
                }
                _ => None,
            };
        }
        if let Some(look) = self.known.look.clone() {
            self.passes.watch.saw(place, server, look);
        }
    }

    /// Says that a change destroys something, before it is made.
    async fn announce(
        &mut self,
        record: &Record,
        wanted: &Result<Wanted<P::Spec>, Refusal>,
        change: Change,
    ) -> Result<(), C::Error> {
        let (status, words) = status::announced(&self.seen(record, wanted), change);
        if let Some(stored) = self.cell.store(&self.instance, status).await? {
            self.instance = stored;
            self.updated = true;
        }
        self.cell.announce(&self.instance, words);
        Ok(())
    }

    /// Ends the pass with what is to be said of the Instance.
    async fn rest(
        &mut self,
        record: &Record,
        wanted: &Result<Wanted<P::Spec>, Refusal>,
        verdict: &Verdict,
        again: Option<Duration>,
    ) -> Result<Ended, C::Error> {
        let status = status::status(&self.seen(record, wanted), verdict, self.passes.provider.name());
        if status != *self.instance.status()
            && let Some(stored) = self.cell.store(&self.instance, status).await?
        {
            self.instance = stored;
            self.updated = true;
        }
        match verdict {
            Verdict::Failing(_) | Verdict::Unproven => {}
            _ => self.passes.memory.rest(self.instance.uid()),
        }
        // An order that waits to be repeated rests as well.
        if self.known.look.is_some() && !self.known.ordered && self.known.repeated.is_none() {
            self.passes.memory.carried_out(self.instance.uid());
        }
        // The operator may remove the others, and no event tells of that.
        let ambiguous = matches!(verdict, Verdict::Ambiguous(_)).then_some(self.passes.settings.settle);
        let failed = self.known.failed.as_ref().map(|failed| failed.wait);
        Ok(self.ended([again, ambiguous, failed].into_iter().flatten().min()))
    }

    fn ended(&self, again: Option<Duration>) -> Ended {
        Ended { updated: self.updated, again }
    }

    /// Makes a call, and takes its answer in.
    async fn call(&mut self, record: &Record, wanted: &Result<Wanted<P::Spec>, Refusal>, ask: Ask) {
        let Some(link) = plan::link(&self.seen(record, wanted)) else { return };
        let call = Call::from(&ask);
        let limit = match call {
            Call::Create | Call::Reserve => self.seen(record, wanted).left(),
            _ => self.passes.settings.call_limit(),
        };
        let spec = wanted.as_ref().ok().map(|wanted| &wanted.spec);
        let asked = tokio::time::timeout(limit, self.ask(&link, spec, ask)).await;
        match asked.unwrap_or_else(|_| Err(cut(call, limit))) {
            Ok(()) => self.passes.memory.succeed(self.instance.uid(), call),
            Err(failure) => self.failed(&link, call, failure),
        }
    }

    async fn ask(&mut self, link: &Link, spec: Option<&P::Spec>, ask: Ask) -> Result<(), Failure> {
        let provider = &*self.passes.provider;
        let place = &link.place;
        let at = self.passes.clock.now();
        match ask {
            Ask::Find => self.known.found = Some(provider.find(link).await?),
            Ask::Get(id) => {
                let server = provider.get(place, &id).await?.map(Box::new);
                self.saw(place, &id, Look { server, at });
            }
            Ask::Create => {
                let Some(spec) = spec else { return Ok(()) };
                let server = provider.create(link, spec).await?;
                self.known.made = Some(server.id.clone());
                self.known.look = Some(Look { server: Some(Box::new(server)), at });
            }
            Ask::Update(id) => {
                let Some(spec) = spec else { return Ok(()) };
                provider.update(link, &id, spec).await?;
                self.ordered(place, &id, Some(Ask::Update(id.clone())));
            }
            Ask::Delete(id) => match provider.delete(place, &id).await? {
                Deletion::Accepted => {
                    self.known.look = None;
                    self.ordered(place, &id, Some(Ask::Delete(id.clone())));
                }
                Deletion::Gone => self.saw(place, &id, Look { server: None, at }),
            },
            Ask::Power(id, power) => {
                provider.power(place, &id, power).await?;
                let restarts = power == Power::Restart;
                self.ordered(place, &id, (!restarts).then(|| Ask::Power(id.clone(), power)));
                if restarts {
                    self.known.owes_restart = false;
                    self.passes.memory.set_owes_restart(self.instance.uid(), false);
                }
            }
            Ask::Reserved => self.known.reserved = Some(provider.reserved(link).await?),
            Ask::Reserve => {
                let Some(spec) = spec else { return Ok(()) };
                self.known.taken = Some(provider.reserve(link, spec).await?);
            }
            Ask::Release(id) => self.known.released = Some(provider.release(place, &id).await?),
        }
        Ok(())
    }

    /// The server of the recorded ID was seen to look like that.
    fn saw(&mut self, place: &Place, id: &ServerId, look: Look<P::Spec>) {
        self.passes.watch.saw(place, id, look.clone());
        self.known.look = Some(look);
    }

    /// An order to the server was accepted: `ask`, where it is repeated until it shows an effect.
    fn ordered(&mut self, place: &Place, id: &ServerId, ask: Option<Ask>) {
        if let Some(ask) = ask {
            self.passes.memory.accept(self.instance.uid(), ask, template(&self.instance));
        }
        self.passes.watch.ordered(place, id);
        self.known.ordered = true;
    }

    fn failed(&mut self, link: &Link, call: Call, failure: Failure) {
        tracing::debug!(
            namespace = &*self.key.namespace, name = &*self.key.name, region = &*link.place.region,
            ?call, kind = ?failure.kind, error = %failure, "call of the provider failed"
        );
        self.known.failed = Some(self.passes.memory.fail(self.instance.uid(), call, failure));
    }
}

/// The hash of the template of an Instance.
fn template(instance: &Object) -> &str {
    instance.spec()["controller"]["templateHash"].as_str().unwrap_or_default()
}

/// The failure of a call that took too long. It may still be on its way.
fn cut(call: Call, limit: Duration) -> Failure {
    Failure {
        kind: FailureKind::Unavailable,
        message: format!("no answer within {} s", limit.as_secs()),
        after: None,
        may_have_acted: !matches!(call, Call::Find | Call::Get | Call::Reserved),
    }
}
