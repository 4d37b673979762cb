//! Orders and reads about quota.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;

use super::World;
use super::bodies::{check_name, check_uuid};
use super::model::{Allocation, ResourceAllocation, Tag};
use crate::journal::Event;
use crate::refusal::Refusal;

/// What an allocation is to be.
#[derive(Clone, Debug, Deserialize)]
pub struct AllocationBody {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    tags: Option<Vec<Tag>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    kind: String,
    id: String,
    allocations: Vec<ResourceAllocation>,
}

impl World {
    /// All that stand now.
    pub fn allocations(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.values()
    }

    /// Those of an organization, as JSON.
    pub fn list_allocations(&mut self, organization: &str, now: Instant) -> Result<Value, Refusal> {
        self.check_organization(organization)?;
        let moment = now - self.lag(self.options.lag.list);
        let seen = self.shown_allocations.values().filter_map(|shown| shown.at(moment));
        Ok(seen.filter(|it| it.organization_id == organization).map(|it| it.shown()).collect())
    }

    /// One of a project, as JSON.
    pub fn get_allocation(&mut self, scope: [&str; 2], id: &str, now: Instant) -> Result<Value, Refusal> {
        self.check_scope(scope)?;
        let moment = now - self.lag(self.options.lag.get);
        let shown = self.shown_allocations.get(id).and_then(|shown| shown.at(moment));
        let found = shown.filter(|it| it.project_id == scope[1]).ok_or_else(Refusal::not_found)?;
        Ok(found.shown())
    }

    /// Takes quota. Nothing keeps a caller from taking it twice.
    pub fn create_allocation(
        &mut self,
        scope: [&str; 2],
        body: AllocationBody,
        now: Instant,
    ) -> Result<Value, Refusal> {
        self.check_scope(scope)?;
        check_name(&body.metadata.name)?;
        let id = self.random_id();
        let allocation = Allocation {
            id: id.clone(),
            name: body.metadata.name,
            tags: body.metadata.tags.unwrap_or_default(),
            organization_id: scope[0].to_owned(),
            project_id: scope[1].to_owned(),
            kind: body.spec.kind,
            resource: body.spec.id,
            allocations: body.spec.allocations,
            created: self.timestamp(now),
        };
        self.check_quota(&allocation)?;
        self.will_reserve(&allocation, now);
        let shown = allocation.shown();
        self.allocated(&id, "taken", now, Some(allocation));
        Ok(shown)
    }

    /// Changes how much is taken.
    pub fn update_allocation(
        &mut self,
        scope: [&str; 2],
        id: &str,
        body: AllocationBody,
        now: Instant,
    ) -> Result<Value, Refusal> {
        self.check_scope(scope)?;
        let current = self.allocation(scope, id)?;
        let allocation = Allocation {
            name: body.metadata.name,
            tags: body.metadata.tags.unwrap_or_default(),
            kind: body.spec.kind,
            resource: body.spec.id,
            allocations: body.spec.allocations,
            ..current
        };
        self.check_quota(&allocation)?;
        let shown = allocation.shown();
        self.allocated(id, "changed", now, Some(allocation));
        Ok(shown)
    }

    /// Gives quota back.
    pub fn delete_allocation(&mut self, scope: [&str; 2], id: &str, now: Instant) -> Result<(), Refusal> {
        self.check_scope(scope)?;
        let current = self.allocation(scope, id)?;
        self.will_release(&current, now);
        self.allocated(id, "released", now, None);
        Ok(())
    }

    fn allocation(&self, scope: [&str; 2], id: &str) -> Result<Allocation, Refusal> {
        let found = self.allocations.get(id).filter(|it| it.project_id == scope[1]);
        found.cloned().ok_or_else(Refusal::not_found)
    }

    fn allocated(&mut self, id: &str, what: &'static str, now: Instant, state: Option<Allocation>) {
        let before = self.allocations.remove(id);
        let instance = state.as_ref().or(before.as_ref()).map(|it| it.instance().to_owned());
        self.write(now, Event::Change { id: id.to_owned(), instance, what });
        self.shown_allocations.entry(id.to_owned()).or_default().turn(now, state.clone());
        if let Some(state) = state {
            self.allocations.insert(id.to_owned(), state);
        }
    }

    /// The sum of all allocations of an organization may not exceed its quota of any kind.
    fn check_quota(&self, new: &Allocation) -> Result<(), Refusal> {
        let mut taken = BTreeMap::<&str, u64>::new();
        let others = self.allocations.values().filter(|it| it.id != new.id);
        let same = others.filter(|it| it.organization_id == new.organization_id);
        for part in same.chain([new]).flat_map(|it| &it.allocations) {
            *taken.entry(&part.kind).or_default() += part.committed + part.reserved;
        }
        for (kind, taken) in taken {
            if self.options.quotas.get(kind).is_some_and(|limit| taken > *limit) {
                return Err(Refusal::forbidden(format!("the quota of {kind} would be exceeded")));
            }
        }
        Ok(())
    }

    fn check_organization(&self, organization: &str) -> Result<(), Refusal> {
        check_uuid(organization)?;
        if self.options.organizations.iter().any(|it| it == organization) {
            return Ok(());
        }
        Err(Refusal::forbidden("the caller may not do that in this organization"))
    }

    fn check_scope(&self, [organization, project]: [&str; 2]) -> Result<(), Refusal> {
        self.check_organization(organization)?;
        check_uuid(project)?;
        let mut networks = self.options.networks.iter();
        if networks.any(|it| it.organization_id == organization && it.project_id == project) {
            return Ok(());
        }
        Err(Refusal::not_found())
    }
}
