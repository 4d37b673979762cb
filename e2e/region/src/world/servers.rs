//! Orders and reads about servers, and what of them is refused.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::World;
use super::bodies::{
    CreateBody, UpdateBody, check_name, check_ssh, check_user_data, check_uuid, networking, tag_of_query,
};
use super::model::{Hidden, Overlay, Plant, Server, Step, instance};
use crate::ids;
use crate::refusal::Refusal;

/// Which servers a list is of.
#[derive(Clone, Debug, Default)]
pub struct ServerQuery {
    pub tags: Vec<String>,
    pub organizations: Vec<String>,
    pub projects: Vec<String>,
    pub regions: Vec<String>,
    pub networks: Vec<String>,
}

/// An order about a server's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    Start,
    Stop,
    SoftReboot,
    HardReboot,
}

impl World {
    /// All that stand now, whoever may see them.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.values()
    }

    /// The servers that a caller sees, as JSON: null where it may see nothing of what it asks for.
    pub fn list_servers(&mut self, query: &ServerQuery, now: Instant) -> Result<Value, Refusal> {
        for ids in [&query.organizations, &query.projects, &query.regions, &query.networks] {
            ids.iter().try_for_each(|id| check_uuid(id))?;
        }
        let options = &self.options;
        let projects: Vec<_> = options.networks.iter().map(|network| network.project_id.clone()).collect();
        for (asked, readable) in
            [(&query.organizations, &options.organizations), (&query.projects, &projects)]
        {
            if !asked.is_empty() && !asked.iter().any(|id| readable.contains(id)) {
                return Ok(Value::Null);
            }
        }
        let tags = query.tags.iter().map(|tag| tag_of_query(tag)).collect::<Result<Vec<_>, _>>()?;
        let moment = now - self.lag(self.options.lag.list);
        let vanish = self.options.chaos.map_or(0, |chaos| chaos.vanish);
        let mut items = Vec::new();
        for shown in self.shown.values() {
            let Some(server) = shown.at(moment) else { continue };
            let matches = |ids: &[String], id: &String| ids.is_empty() || ids.contains(id);
            let seen = server.hidden == Hidden::No
                && self.options.organizations.contains(&server.organization_id)
                && matches(&query.organizations, &server.organization_id)
                && matches(&query.projects, &server.project_id)
                && matches(&query.regions, &self.options.region_id)
                && matches(&query.networks, &server.network_id)
                && tags.iter().all(|tag| server.tags.contains(tag));
            if seen && rand::Rng::random_range(&mut self.rng, 0..1000) >= vanish {
                items.push(server.shown(&self.options.region_id));
            }
        }
        Ok(items.into())
    }

    /// One server as a caller sees it.
    pub fn get_server(&mut self, id: &str, now: Instant) -> Result<Value, Refusal> {
        let moment = now - self.lag(self.options.lag.get);
        let server = self.server_at(id, moment)?;
        Ok(server.shown(&self.options.region_id))
    }

    /// Makes a server.
    pub fn create_server(&mut self, body: CreateBody, now: Instant) -> Result<Value, Refusal> {
        let CreateBody { metadata, spec } = body;
        let ids = [&spec.network_id, &spec.rest.flavor_id, &spec.rest.image_id];
        ids.into_iter().try_for_each(|id| check_uuid(id))?;
        check_name(&metadata.name)?;
        let network = self.network(&spec.network_id)?.clone();
        check_ssh(spec.ssh_injection.as_deref(), spec.ssh_certificate_authority_id.is_some())?;
        let user_data = spec.rest.user_data.filter(|data| !data.is_empty());
        check_user_data(user_data.as_deref())?;
        let networking = networking(spec.rest.networking)?;
        self.check_image(&spec.rest.image_id, &spec.rest.flavor_id, true)?;
        let id = ids::server_id(&network.id, &metadata.name).ok_or_else(Refusal::not_found)?;
        if self.servers.contains_key(&id) {
            return Err(Refusal::conflict());
        }
        let tags = metadata.tags.unwrap_or_default();
        let server = Server {
            id: id.clone(),
            name: metadata.name,
            description: metadata.description,
            instance: instance(&tags).map(str::to_owned),
            tags,
            organization_id: network.organization_id,
            project_id: network.project_id,
            network_id: network.id,
            flavor_id: spec.rest.flavor_id,
            image_id: spec.rest.image_id,
            networking,
            user_data,
            ..self.blank(now)
        };
        let shown = server.shown(&self.options.region_id);
        self.will_create(&server, now);
        self.servers.insert(id.clone(), server);
        self.changed(&id, "created", now);
        let build = self.options.timing.build;
        self.due(now, build / 5, &id, Step::Accepted(0));
        self.due(now, build * 3 / 5, &id, Step::Built(0));
        self.due(now, build, &id, Step::Runs(0));
        Ok(shown)
    }

    /// Replaces all of a server that can be replaced.
    pub fn update_server(&mut self, id: &str, body: UpdateBody, now: Instant) -> Result<Value, Refusal> {
        let UpdateBody { metadata, spec } = body;
        [&spec.flavor_id, &spec.image_id].into_iter().try_for_each(|id| check_uuid(id))?;
        check_name(&metadata.name)?;
        let current = self.ordered(id, now)?;
        if current.deleting.is_some() {
            return Err(Refusal::invalid("the server is being deleted"));
        }
        if current.name != metadata.name {
            return Err(Refusal::unprocessable("the name of a server cannot be changed"));
        }
        if current.flavor_id != spec.flavor_id {
            return Err(Refusal::unprocessable("the flavor of a server cannot be changed"));
        }
        let networking = networking(spec.networking)?;
        let user_data = spec.user_data.filter(|data| !data.is_empty());
        if user_data != current.user_data {
            check_user_data(user_data.as_deref())?;
        }
        if spec.image_id != current.image_id {
            self.check_image(&spec.image_id, &spec.flavor_id, false)?;
        }
        self.will_order(id, "updated", now);
        let timing = self.options.timing;
        let server = self.servers.get_mut(id).ok_or_else(Refusal::not_found)?;
        server.tags = metadata.tags.unwrap_or_default();
        server.description = metadata.description;
        server.user_data = user_data;
        let networked = server.networking != networking;
        server.networking = networking;
        let rebuilt = server.image_id != spec.image_id;
        server.image_id = spec.image_id;
        if rebuilt {
            server.turn += 1;
            "provisioning".clone_into(&mut server.provisioning_status);
            server.message = None;
        }
        let turn = server.turn;
        let shown = server.shown(&self.options.region_id);
        if rebuilt {
            self.due(now, timing.rebuild / 3, id, Step::Rebuilds(turn));
            self.due(now, timing.rebuild, id, Step::Runs(turn));
        }
        if networked {
            self.due(now, timing.change, id, Step::Networked);
        }
        self.changed(id, "updated", now);
        Ok(shown)
    }

    /// Begins to delete a server. One that is being deleted already goes on.
    pub fn delete_server(&mut self, id: &str, now: Instant) -> Result<(), Refusal> {
        let current = self.ordered(id, now)?;
        if current.deleting.is_some() {
            return Ok(());
        }
        self.will_order(id, "deleted", now);
        let at = self.timestamp(now);
        let server = self.servers.get_mut(id).ok_or_else(Refusal::not_found)?;
        server.deleting = Some(at);
        "deprovisioning".clone_into(&mut server.provisioning_status);
        let deletion = self.options.timing.deletion;
        self.due(now, deletion, id, Step::Gone);
        self.changed(id, "deleting", now);
        Ok(())
    }

    /// Carries out an order about a server's power.
    pub fn power(&mut self, id: &str, power: Power, now: Instant) -> Result<(), Refusal> {
        let current = self.ordered(id, now)?;
        let state = current.power_state.as_deref().unwrap_or_default();
        let allowed = match power {
            Power::Start => state == "Stopped",
            Power::Stop | Power::SoftReboot => state == "Running",
            Power::HardReboot => matches!(state, "Running" | "Stopped"),
        };
        if !allowed || current.deleting.is_some() {
            return Err(Refusal::invalid("the server is not in a state for that"));
        }
        self.will_order(id, "powered", now);
        let change = self.options.timing.change;
        let server = self.servers.get_mut(id).ok_or_else(Refusal::not_found)?;
        server.turn += 1;
        let turn = server.turn;
        match power {
            Power::Start => server.power_state = Some("Pending".to_owned()),
            Power::Stop => server.power_state = Some("Stopping".to_owned()),
            Power::SoftReboot | Power::HardReboot => server.restarts += 1,
        }
        let step = if power == Power::Stop { Step::Stopped(turn) } else { Step::Runs(turn) };
        self.due(now, change, id, step);
        let what = match power {
            Power::Start => "starting",
            Power::Stop => "stopping",
            Power::SoftReboot | Power::HardReboot => "restarted",
        };
        self.changed(id, what, now);
        Ok(())
    }

    /// Makes a server end in error, in place of what was ordered last.
    pub fn doom(&mut self, id: &str, now: Instant) {
        let Some(server) = self.servers.get_mut(id) else { return };
        server.turn += 1;
        let turn = server.turn;
        let build = self.options.timing.build;
        self.due(now, build, id, Step::Fails(turn));
    }

    /// Puts a server there that no request made. It runs.
    pub fn plant(&mut self, plant: Plant, now: Instant) -> String {
        let id = plant.id.unwrap_or_else(|| self.random_id());
        let network = self.options.networks.iter().find(|network| network.id == plant.network_id).cloned();
        let network = network.unwrap_or_else(|| crate::options::Network::new(&plant.network_id));
        let server = Server {
            id: id.clone(),
            name: plant.name,
            instance: None,
            tags: plant.tags,
            organization_id: network.organization_id,
            project_id: network.project_id,
            network_id: network.id,
            flavor_id: plant.flavor_id,
            image_id: plant.image_id,
            foreign: !plant.ours,
            ..self.blank(now)
        };
        self.servers.insert(id.clone(), server);
        self.apply(&id, Step::Built(0), now);
        self.apply(&id, Step::Runs(0), now);
        id
    }

    /// Changes a server past the interface; false where there is none of this ID. One that was stuck in its
    /// deletion and is not any more is gone.
    pub fn tamper(&mut self, id: &str, now: Instant, change: impl FnOnce(&mut Server)) -> bool {
        let Some(server) = self.servers.get_mut(id) else { return false };
        let was_stuck = server.stuck;
        change(server);
        let is_freed = was_stuck && !server.stuck;
        self.changed(id, "tampered", now);
        if is_freed {
            self.apply(id, Step::Gone, now);
        }
        true
    }

    /// Makes a server vanish without an order; false where there is none of this ID.
    pub fn destroy(&mut self, id: &str, now: Instant) -> bool {
        let at = self.timestamp(now);
        let exists = self.tamper(id, now, |server| {
            server.deleting = Some(at);
            server.stuck = false;
        });
        self.apply(id, Step::Gone, now);
        exists
    }

    /// A server that nothing is known of but that it is new.
    fn blank(&mut self, now: Instant) -> Server {
        Server {
            id: String::new(),
            name: String::new(),
            description: None,
            tags: Vec::new(),
            organization_id: String::new(),
            project_id: String::new(),
            network_id: String::new(),
            flavor_id: String::new(),
            image_id: String::new(),
            networking: Value::Null,
            user_data: None,
            created: self.timestamp(now),
            deleting: None,
            provisioning_status: "pending".to_owned(),
            health_status: "unknown".to_owned(),
            message: None,
            power_state: None,
            private_ip: None,
            public_ip: None,
            mac_address: None,
            root_disks: 1,
            restarts: 0,
            instance: None,
            foreign: false,
            stuck: false,
            hidden: Hidden::No,
            overlay: Overlay::default(),
            turn: 0,
        }
    }

    /// The server that an order is about, as the service knows it.
    fn ordered(&mut self, id: &str, now: Instant) -> Result<Arc<Server>, Refusal> {
        let moment = now - std::time::Duration::from_millis(self.options.lag.orders);
        self.server_at(id, moment)?;
        // What is changed is never what was: a lock sees to that.
        self.server_at(id, now)
    }

    fn server_at(&self, id: &str, moment: Instant) -> Result<Arc<Server>, Refusal> {
        check_uuid(id)?;
        let server = self.shown.get(id).and_then(|shown| shown.at(moment)).ok_or_else(Refusal::not_found)?;
        let organizations = &self.options.organizations;
        if server.hidden == Hidden::Everywhere || !organizations.contains(&server.organization_id) {
            return Err(Refusal::forbidden("the caller may not do that in this project"));
        }
        Ok(server)
    }
}
