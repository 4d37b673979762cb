//! The calls of the region.

use fedhub_core::object::{Object, ObjectView};
use fedhub_provider::{
    AllocationId, Change, Deletion, Failure, FailureKind, Found, Link, Place, Power, Proof, Provider,
    Refusal, Server, ServerId, Wanted,
};
use rand::Rng;

use super::region::{Inner, Order, Region, Spec, rule};

/// How a call goes.
enum Fate {
    Works,
    /// It is refused, and nothing comes of it.
    Refused(Failure),
    /// It is carried out, and its answer gets lost.
    Lost,
    /// It gets no answer, and is carried out later.
    Late,
}

fn failure(kind: FailureKind, may_have_acted: bool) -> Failure {
    let message = format!("{kind:?}");
    Failure { kind, message, after: None, may_have_acted }
}

impl Inner {
    fn fate(&mut self) -> Fate {
        let faults = self.faults;
        if self.chance(faults.refused) {
            let kinds = [
                FailureKind::Retry,
                FailureKind::Denied,
                FailureKind::Quota,
                FailureKind::Invalid,
                FailureKind::Unavailable,
            ];
            let kind = kinds[self.random.random_range(0..kinds.len())];
            return Fate::Refused(failure(kind, false));
        }
        if self.chance(faults.lost) {
            return Fate::Lost;
        }
        if self.chance(faults.late) { Fate::Late } else { Fate::Works }
    }
}

impl Region {
    /// A call that changes something: what came of it, the reason why it is not carried out if that is so.
    async fn order(
        &self,
        call: &'static str,
        order: Order,
    ) -> Result<Result<Option<String>, &'static str>, Failure> {
        self.fuse.point().await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        self.hang().await;
        let answer = self.with(|inner| {
            *inner.calls.entry(call).or_default() += 1;
            match inner.fate() {
                Fate::Refused(failure) => Err(failure),
                Fate::Late => {
                    inner.postpone(order);
                    Err(failure(FailureKind::Retry, true))
                }
                Fate::Lost => {
                    let _ = inner.carry_out(self, order);
                    Err(failure(FailureKind::Unavailable, true))
                }
                Fate::Works => Ok(inner.carry_out(self, order)),
            }
        });
        self.fuse.point().await;
        answer
    }

    /// What takes longer than an answer is waited for.
    async fn hang(&self) {
        let hangs = self.with(|inner| inner.faults.hangs);
        tokio::time::sleep(std::time::Duration::from_secs(hangs)).await;
    }

    async fn read<T>(&self, call: &'static str, read: impl FnOnce(&mut Inner) -> T) -> Result<T, Failure> {
        self.fuse.point().await;
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        let answer = self.with(|inner| {
            *inner.calls.entry(call).or_default() += 1;
            match inner.fate() {
                Fate::Works => Ok(read(inner)),
                Fate::Refused(failure) => Err(failure),
                Fate::Lost | Fate::Late => Err(failure(FailureKind::Retry, false)),
            }
        });
        self.fuse.point().await;
        answer
    }
}

/// An order whose server is not there, or not in a state for it.
fn done(answer: Result<Option<String>, &'static str>) -> Result<(), Failure> {
    match answer {
        Ok(_) => Ok(()),
        Err("invalid") => Err(failure(FailureKind::Invalid, false)),
        Err(_) => Err(failure(FailureKind::Conflict, false)),
    }
}

impl Provider for Region {
    type Spec = Spec;

    fn name(&self) -> &'static str {
        "model"
    }

    fn wanted(&self, project: &str, instance: &Object) -> Result<Wanted<Spec>, Refusal> {
        let text = |field: &str| instance.spec()[field].as_str().unwrap_or_default().to_owned();
        Ok(Wanted {
            place: Place { region: "r".into(), project: project.into(), network: text("network").into() },
            spec: Spec { image: text("image"), flavor: text("flavor") },
        })
    }

    fn change(&self, stands: &Spec, wanted: &Spec) -> Change {
        if stands.flavor != wanted.flavor {
            Change::Recreate
        } else if stands.image != wanted.image {
            Change::Rebuild
        } else {
            Change::Nothing
        }
    }

    async fn list(&self, place: &Place) -> Result<Vec<Server<Spec>>, Failure> {
        self.read("list", |inner| {
            let state = inner.read();
            let faults = inner.faults;
            let mut shown = Vec::new();
            for server in state.servers.values().filter(|server| server.place == *place) {
                if !inner.chance(faults.vanished) {
                    shown.push(server.shown(inner.chance(faults.unknown)));
                }
            }
            shown
        })
        .await
    }

    async fn find(&self, link: &Link) -> Result<Found<Spec>, Failure> {
        let by_rule = self.by_rule;
        self.read("find", |inner| {
            let faults = inner.faults;
            let state = inner.read();
            let there = state.servers.values().filter(|server| {
                let ours = server.tag.as_ref() == Some(&link.instance);
                ours && server.place.project == link.place.project && !inner.chance(faults.vanished)
            });
            let mut seen: Vec<_> = there.collect();
            match (seen.pop(), seen.is_empty()) {
                (Some(one), true) => return Found::One(Box::new(one.shown(false))),
                (Some(one), false) => {
                    seen.push(one);
                    return Found::Many(seen.iter().map(|server| server.id.clone()).collect());
                }
                (None, _) => {}
            }
            let id = ServerId(rule(&link.place, &link.name).into());
            if by_rule && !inner.read().servers.contains_key(&id) {
                Found::Absent(Proof::NotFound(id))
            } else {
                Found::Unknown
            }
        })
        .await
    }

    async fn get(&self, _: &Place, id: &ServerId) -> Result<Option<Server<Spec>>, Failure> {
        self.read("get", |inner| {
            let faults = inner.faults;
            let server = inner.read().servers.get(id).cloned();
            server.map(|server| server.shown(inner.chance(faults.unknown)))
        })
        .await
    }

    async fn create(&self, link: &Link, spec: &Spec) -> Result<Server<Spec>, Failure> {
        let order = Order::Create {
            place: link.place.clone(),
            name: link.name.clone(),
            instance: link.instance.clone(),
            spec: spec.clone(),
        };
        match self.order("create", order).await? {
            Ok(Some(id)) => {
                let server = self.with(|inner| inner.now.servers.get(&ServerId(id.into())).cloned());
                Ok(server.expect("it was just made").shown(false))
            }
            _ => Err(failure(FailureKind::Conflict, false)),
        }
    }

    async fn update(&self, link: &Link, id: &ServerId, spec: &Spec) -> Result<(), Failure> {
        let order = Order::Update { id: id.clone(), instance: link.instance.clone(), spec: spec.clone() };
        done(self.order("update", order).await?)
    }

    async fn delete(&self, _: &Place, id: &ServerId) -> Result<Deletion, Failure> {
        Ok(match self.order("delete", Order::Delete(id.clone())).await? {
            Ok(_) => Deletion::Accepted,
            Err(_) => Deletion::Gone,
        })
    }

    async fn power(&self, _: &Place, id: &ServerId, power: Power) -> Result<(), Failure> {
        done(self.order("power", Order::Power(id.clone(), power)).await?)
    }

    async fn reserve(&self, link: &Link, _: &Spec) -> Result<AllocationId, Failure> {
        match self.order("reserve", Order::Reserve(link.instance.clone())).await? {
            Ok(Some(id)) => Ok(AllocationId(id.into())),
            _ => Err(failure(FailureKind::Conflict, false)),
        }
    }

    async fn reserved(&self, link: &Link) -> Result<Vec<AllocationId>, Failure> {
        self.read("reserved", |inner| {
            let state = inner.read();
            let ours = state.allocations.iter().filter(|(_, owner)| **owner == link.instance);
            ours.map(|(id, _)| AllocationId(id.as_str().into())).collect()
        })
        .await
    }

    async fn release(&self, _: &Place, id: &AllocationId) -> Result<Deletion, Failure> {
        Ok(match self.order("release", Order::Release(id.to_string())).await? {
            Ok(_) => Deletion::Accepted,
            Err(_) => Deletion::Gone,
        })
    }
}
