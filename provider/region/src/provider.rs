//! The provider: the calls of the contract as requests to regions.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::object::Object;
use fedhub_provider::{
    AllocationId, Change, Deletion, Failure, FailureKind, Found, Link, Place, Power, Proof, Provider,
    Refusal, Server, ServerId, Wanted,
};
use http::{Method, StatusCode};

use crate::config::{Config, ConfigFault};
use crate::http::{Answer, failure, unreadable};
use crate::ids::Uuid;
use crate::region::{Region, Service};
use crate::spec::ServerSpec;
use crate::translate;
use crate::wire::{AllocationRead, AllocationWrite, List, ServerRead, ServerWrite, TAG};

/// The provider of the regions of a configuration.
pub struct RegionProvider {
    config: Config,
    regions: BTreeMap<Box<str>, Region>,
}

impl RegionProvider {
    /// Reads the certificates that the configuration names, and makes one client for each region. Nothing is
    /// asked yet. `seed` is that of all jitter.
    ///
    /// # Errors
    ///
    /// Every region whose certificates make no client.
    pub fn new(config: Config, seed: u64, clock: Clock) -> Result<Self, ConfigFault> {
        let mut regions = BTreeMap::new();
        let mut faults = Vec::new();
        for (n, region) in (0..).zip(&config.regions) {
            let seed = seed.wrapping_add(n << 8);
            match Region::new(region.clone(), seed, &clock) {
                Ok(made) => {
                    regions.insert(region.name.as_str().into(), made);
                }
                Err(fault) => faults.push(format!("region {:?}: {fault}", region.name)),
            }
        }
        if faults.is_empty() { Ok(Self { config, regions }) } else { Err(ConfigFault::new(faults)) }
    }

    /// How long the services may take to carry out an order that was not answered, and to show what it made.
    pub fn settle(&self) -> Duration {
        self.config.settle
    }

    fn region(&self, place: &Place) -> Result<&Region, Failure> {
        self.regions.get(&place.region).ok_or_else(|| {
            refused(
                FailureKind::Denied,
                format!(
                    "region {:?} is not in the provider's configuration: put it back for as long as it has servers",
                    place.region
                ),
            )
        })
    }
}

fn refused(kind: FailureKind, message: String) -> Failure {
    Failure { kind, message, after: None, may_have_acted: false }
}

/// The path of a server. The ID comes from a status, and a path is made of nothing but UUIDs.
fn path_of(id: &ServerId) -> Result<String, Failure> {
    let id: Uuid = id
        .0
        .parse()
        .map_err(|error| refused(FailureKind::Invalid, format!("the server's ID {:?} is {error}", id.0)))?;
    Ok(format!("/api/v2/servers/{id}"))
}

/// The path of a project's allocations.
fn allocations(region: &Region, place: &Place) -> Result<String, Failure> {
    let project: Uuid = place.project.parse().map_err(|error| {
        refused(FailureKind::Invalid, format!("the project {:?} is {error}", place.project))
    })?;
    Ok(format!("/api/v1/organizations/{}/projects/{project}/allocations", region.config.organization_id))
}

/// One server out of an answer.
fn server(
    region: &Region,
    asked: &str,
    method: &Method,
    answer: &Answer,
) -> Result<Server<ServerSpec>, Failure> {
    let read: ServerRead = answer.json().map_err(|error| unreadable(asked, method, &error))?;
    Ok(read.server(&region.config.name, &region.config.region_id.to_string()))
}

/// The servers that fit a query.
struct Listed {
    servers: Vec<Server<ServerSpec>>,
    /// Whether there are more, which cannot be read.
    incomplete: bool,
}

async fn servers(region: &Region, query: &str) -> Result<Listed, Failure> {
    let answer = region.ask(Service::Region, Method::GET, format!("/api/v2/servers?{query}")).await?;
    let asked = "list servers";
    if answer.status != StatusCode::OK {
        return Err(failure(asked, &Method::GET, &answer));
    }
    let list: List<ServerRead> = answer.json().map_err(|error| unreadable(asked, &Method::GET, &error))?;
    region.tell_unreadable(&list.unreadable);
    let id = region.config.region_id.to_string();
    let servers: Vec<_> = list.items.into_iter().map(|read| read.server(&region.config.name, &id)).collect();
    for server in &servers {
        region.learn(server);
    }
    Ok(Listed { servers, incomplete: !list.unreadable.is_empty() })
}

/// The query of a project, and of what else is asked of it.
fn query(region: &Region, project: &str, more: (&str, &str)) -> String {
    form_urlencoded::Serializer::new(String::new())
        .append_pair("organizationID", &region.config.organization_id.to_string())
        .append_pair("projectID", project)
        .append_pair("regionID", &region.config.region_id.to_string())
        .append_pair(more.0, more.1)
        .finish()
}

async fn get(region: &Region, id: &ServerId) -> Result<Option<Server<ServerSpec>>, Failure> {
    let answer = region.ask_item(Service::Region, path_of(id)?).await?;
    let asked = "get server";
    if answer.is_not_found() {
        return Ok(None);
    }
    if answer.status != StatusCode::OK {
        return Err(failure(asked, &Method::GET, &answer));
    }
    let server = server(region, asked, &Method::GET, &answer)?;
    if server.id == *id {
        region.learn(&server);
        return Ok(Some(server));
    }
    Err(unreadable(asked, &Method::GET, "it is another server"))
}

impl Provider for RegionProvider {
    type Spec = ServerSpec;

    fn name(&self) -> &'static str {
        "region"
    }

    fn wanted(&self, project: &str, instance: &Object) -> Result<Wanted<ServerSpec>, Refusal> {
        translate::wanted(&self.config, project, instance)
    }

    fn change(&self, stands: &ServerSpec, wanted: &ServerSpec) -> Change {
        stands.change(wanted)
    }

    async fn list(&self, place: &Place) -> Result<Vec<Server<ServerSpec>>, Failure> {
        let region = self.region(place)?;
        let all = servers(region, &query(region, &place.project, ("networkID", &place.network))).await?;
        Ok(all.servers.into_iter().filter(|server| server.place == *place).collect())
    }

    async fn find(&self, link: &Link) -> Result<Found<ServerSpec>, Failure> {
        let region = self.region(&link.place)?;
        let tag = format!("{TAG}={}", link.instance);
        let Listed { servers: mut found, incomplete } =
            servers(region, &query(region, &link.place.project, ("tag", &tag))).await?;
        // The service filters by the tag; one that did not would have us take a stranger's server.
        found.retain(|server| server.instance.as_ref() == Some(&link.instance));
        match found.len() {
            // One that cannot be read may be ours, or another one.
            0 | 1 if incomplete => return Ok(Found::Unknown),
            0 => {}
            1 => return Ok(found.pop().map_or(Found::Unknown, |one| Found::One(Box::new(one)))),
            _ => return Ok(Found::Many(found.into_iter().map(|server| server.id).collect())),
        }
        let Some(id) = region.expected_id(&link.place.network, &link.name) else { return Ok(Found::Unknown) };
        let id = ServerId(id.to_string().into());
        Ok(match get(region, &id).await? {
            None if region.proves_absence() => Found::Absent(Proof::NotFound(id)),
            Some(server) if server.instance.as_ref() == Some(&link.instance) => Found::One(Box::new(server)),
            None | Some(_) => Found::Unknown,
        })
    }

    async fn get(&self, place: &Place, id: &ServerId) -> Result<Option<Server<ServerSpec>>, Failure> {
        get(self.region(place)?, id).await
    }

    async fn create(&self, link: &Link, spec: &ServerSpec) -> Result<Server<ServerSpec>, Failure> {
        let region = self.region(&link.place)?;
        let write = ServerWrite::create(link, spec);
        let answer =
            region.order(Service::Region, Method::POST, "/api/v2/servers".to_owned(), &write).await?;
        let asked = "create server";
        if answer.status != StatusCode::CREATED {
            return Err(failure(asked, &Method::POST, &answer));
        }
        let server = server(region, asked, &Method::POST, &answer)?;
        region.learn_rule(&link.place.network, &link.name, &server.id.0);
        Ok(server)
    }

    async fn update(&self, link: &Link, id: &ServerId, spec: &ServerSpec) -> Result<(), Failure> {
        let region = self.region(&link.place)?;
        let write = ServerWrite::update(link, spec);
        let answer = region.order(Service::Region, Method::PUT, path_of(id)?, &write).await?;
        let asked = "update server";
        // The service answers so too where the server stands, and what the change refers to does not.
        if answer.is_not_found() && matches!(get(region, id).await, Ok(Some(_))) {
            return Err(failure(asked, &Method::PUT, &answer));
        }
        accepted(asked, &Method::PUT, &answer)
    }

    async fn delete(&self, place: &Place, id: &ServerId) -> Result<Deletion, Failure> {
        let region = self.region(place)?;
        let answer = region.ask(Service::Region, Method::DELETE, path_of(id)?).await?;
        deleted("delete server", &answer)
    }

    async fn power(&self, place: &Place, id: &ServerId, power: Power) -> Result<(), Failure> {
        let region = self.region(place)?;
        let verb = match power {
            Power::Start => "start",
            Power::Stop => "stop",
            Power::Restart => "softreboot",
        };
        let answer = region.ask(Service::Region, Method::POST, format!("{}/{verb}", path_of(id)?)).await?;
        let result = accepted(&format!("{verb} server"), &Method::POST, &answer);
        // There is no body to be wrong: 400 is how the service says that the server is not in a state for it.
        result.map_err(|failure| match answer.status {
            StatusCode::BAD_REQUEST => Failure { kind: FailureKind::Conflict, ..failure },
            _ => failure,
        })
    }

    async fn reserve(&self, link: &Link, spec: &ServerSpec) -> Result<AllocationId, Failure> {
        let region = self.region(&link.place)?;
        if !region.has_quota() {
            return Ok(AllocationId("".into()));
        }
        let flavors = region.config.instance_types.iter();
        let mut types =
            flavors.filter(|(_, flavor)| flavor.to_string() == *spec.flavor_id).map(|(name, _)| name);
        let gpus = types.find_map(|name| region.config.gpus.get(name)).copied().unwrap_or(0);
        let write = AllocationWrite::new(&link.name, &link.instance, gpus, spec.public_ip);
        let path = allocations(region, &link.place)?;
        let answer = region.order(Service::Identity, Method::POST, path, &write).await?;
        let asked = "reserve quota";
        if answer.status != StatusCode::CREATED {
            let failure = failure(asked, &Method::POST, &answer);
            // Others take quota of the organization at this moment: there is none of ours that conflicts.
            let kind = if failure.kind == FailureKind::Conflict { FailureKind::Retry } else { failure.kind };
            return Err(Failure { kind, ..failure });
        }
        let read: AllocationRead = answer.json().map_err(|error| unreadable(asked, &Method::POST, &error))?;
        Ok(AllocationId(read.id().to_string().into()))
    }

    async fn reserved(&self, link: &Link) -> Result<Vec<AllocationId>, Failure> {
        let region = self.region(&link.place)?;
        if !region.has_quota() {
            return Ok(Vec::new());
        }
        let path = format!("/api/v1/organizations/{}/allocations", region.config.organization_id);
        let answer = region.ask(Service::Identity, Method::GET, path).await?;
        let asked = "list allocations";
        if answer.status != StatusCode::OK {
            return Err(failure(asked, &Method::GET, &answer));
        }
        let list: Option<List<AllocationRead>> =
            answer.json().map_err(|error| unreadable(asked, &Method::GET, &error))?;
        let Some(list) = list else {
            let why = "it is null, as for an organization that is hidden from fedhub";
            return Err(unreadable(asked, &Method::GET, why));
        };
        let ours =
            list.items.iter().filter(|allocation| allocation.is_for(&link.place.project, &link.instance));
        let ours: Vec<_> = ours.map(|allocation| AllocationId(allocation.id().to_string().into())).collect();
        // One that cannot be read may be ours: that there is none is not known.
        if let (true, Some((id, error))) = (ours.is_empty(), list.unreadable.first()) {
            return Err(unreadable(asked, &Method::GET, &format!("allocation {id:?}: {error}")));
        }
        Ok(ours)
    }

    async fn release(&self, place: &Place, id: &AllocationId) -> Result<Deletion, Failure> {
        if id.0.is_empty() {
            return Ok(Deletion::Gone);
        }
        let region = self.region(place)?;
        let allocation: Uuid = id.0.parse().map_err(|error| {
            refused(FailureKind::Invalid, format!("the allocation's ID {:?} is {error}", id.0))
        })?;
        let path = format!("{}/{allocation}", allocations(region, place)?);
        let answer = region.ask(Service::Identity, Method::DELETE, path).await?;
        deleted("release quota", &answer)
    }
}

/// Whether an order was accepted. Its answer may have a body, which says nothing that the next look does not.
fn accepted(asked: &str, method: &Method, answer: &Answer) -> Result<(), Failure> {
    if matches!(answer.status, StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(());
    }
    let failure = failure(asked, method, answer);
    // The server went in the meantime, which the next look shows.
    let kind = if answer.is_not_found() { FailureKind::Conflict } else { failure.kind };
    Err(Failure { kind, ..failure })
}

fn deleted(asked: &str, answer: &Answer) -> Result<Deletion, Failure> {
    if answer.is_not_found() {
        return Ok(Deletion::Gone);
    }
    accepted(asked, &Method::DELETE, answer)?;
    Ok(Deletion::Accepted)
}
