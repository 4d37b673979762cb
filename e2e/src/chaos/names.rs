//! What UIDs and generations stand for.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixture::{Found, NAMESPACE, Way, ways};
use crate::demo::objects::Kind;
use crate::topology::planes::HUB;

/// How long a UID is.
const UID: usize = 36;
/// The UID of a Workload that there is not: every WD of ours says this one.
const WORKLOAD: &str = "00000000-0000-4000-8000-000000000000";

/// The names of what lives.
#[derive(Debug, Default)]
pub struct Names {
    /// The objects by their UID.
    by_uid: BTreeMap<String, String>,
    /// Generations of WDs by plane, namespace and name.
    generations: BTreeMap<(&'static str, String, String), i64>,
    /// The UID of the namespace in each project.
    spaces: BTreeMap<&'static str, String>,
}

/// The object whose generation a field contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The WD's in its project.
    Projects,
    /// The WD's on the hub.
    Hubs,
    /// The object's own.
    Own,
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The namespace of an object.
pub fn space(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// The UID of an object.
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

impl Names {
    /// The names of all that was found.
    pub fn from_world(world: &[Found]) -> Self {
        let mut names = Self::default();
        names.by_uid.insert(WORKLOAD.to_owned(), "no Workload".to_owned());
        // The name of a hub namespace holds the UID of a project's.
        let (spaces, others): (Vec<_>, Vec<_>) =
            world.iter().partition(|found| found.kind == Kind::Namespace && found.plane != HUB);
        for found in spaces.into_iter().chain(others) {
            let alias = names.of_object(found);
            names.by_uid.insert(uid(&found.object).to_owned(), alias);
            if found.kind == Kind::Namespace && name(&found.object) == NAMESPACE {
                names.spaces.insert(found.plane, uid(&found.object).to_owned());
            }
            if let (Kind::Deployment, Some(generation)) =
                (found.kind, found.object["metadata"]["generation"].as_i64())
            {
                let space = space(&found.object).to_owned();
                let name = name(&found.object).to_owned();
                names.generations.insert((found.plane, space, name), generation);
            }
        }
        names
    }

    /// An object in words, with its plane.
    pub fn of_object(&self, found: &Found) -> String {
        let kind = found.kind.resource().kind;
        let own = match space(&found.object) {
            "" => name(&found.object).to_owned(),
            space => format!("{space}/{}", name(&found.object)),
        };
        format!("{} {kind} {}", found.plane, self.resolve(&own))
    }

    /// A text with names in place of the UIDs in it. What does not live any more is called `{gone}`.
    pub fn resolve(&self, text: &str) -> String {
        let mut resolved = String::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let uid = rest.get(..UID).filter(|uid| is_uid(uid));
            if let Some(uid) = uid {
                resolved.push('{');
                resolved.push_str(self.by_uid.get(uid).map_or("gone", String::as_str));
                resolved.push('}');
            } else {
                resolved.push(next);
            }
            rest = &rest[uid.map_or(next.len_utf8(), str::len)..];
        }
        resolved
    }

    /// The generation that the WD of an object's name has on its project plane, on the hub, or where the
    /// object is.
    pub fn generation(&self, found: &Found, whose: Whose) -> Option<i64> {
        let own = name(&found.object);
        let space = space(&found.object);
        let way = self.way(found)?;
        let hub_space = self.hub_space(way);
        let (plane, space) = match whose {
            Whose::Projects => (way.project.name, NAMESPACE.to_owned()),
            Whose::Hubs => (HUB, hub_space?),
            Whose::Own => (found.plane, space.to_owned()),
        };
        self.generations.get(&(plane, space, own.to_owned())).copied()
    }

    /// The namespace of an object in its cell.
    pub fn space_in_cell(&self, found: &Found) -> Option<String> {
        self.hub_space(self.way(found)?)
    }

    /// The hub namespace of the WD that goes this way.
    pub fn hub_space(&self, way: Way) -> Option<String> {
        self.spaces.get(way.project.name).map(|uid| format!("ns-{uid}"))
    }

    /// The way of the WD that an object is, or belongs to.
    fn way(&self, found: &Found) -> Option<Way> {
        ways().find(|way| {
            let hub_space = self.hub_space(*way);
            match found.plane {
                HUB => hub_space.as_deref() == Some(space(&found.object)),
                plane => plane == way.project.name || plane == way.cell.name,
            }
        })
    }
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const A: &str = "aaaaaaaa-1111-4000-8000-000000000001";
    const B: &str = "bbbbbbbb-1111-4000-8000-000000000002";

    fn found(plane: &'static str, kind: Kind, metadata: Value) -> Found {
        Found { plane, kind, object: json!({ "metadata": metadata }) }
    }

    #[test]
    fn a_uid_becomes_the_name_of_what_lives() {
        let names = Names::from_world(&[
            found("hub", Kind::Deployment, json!({"name": "web", "namespace": format!("ns-{A}"), "uid": B})),
            found("project-a", Kind::Namespace, json!({"name": "chaos", "uid": A})),
        ]);
        assert_eq!(names.resolve(&format!("ns-{A}")), "ns-{project-a Namespace chaos}");
        assert_eq!(names.resolve(B), "{hub WorkloadDeployment ns-{project-a Namespace chaos}/web}");
        assert_eq!(names.resolve(&format!("é/{}", B.replace('b', "c"))), "é/{gone}");
        assert_eq!(names.resolve(WORKLOAD), "{no Workload}");
        assert_eq!(names.resolve("short-1111-4000"), "short-1111-4000");
    }

    #[test]
    fn a_generation_is_that_of_the_same_wd() {
        let hub_space = format!("ns-{A}");
        let wd = |plane, space: &str, generation: i64| {
            found(
                plane,
                Kind::Deployment,
                json!({"name": "web", "namespace": space, "uid": plane, "generation": generation}),
            )
        };
        let world = [
            found("project-a", Kind::Namespace, json!({"name": "chaos", "uid": A})),
            wd("project-a", "chaos", 3),
            wd("hub", &hub_space, 5),
            wd("cell-dfw", &hub_space, 9),
            wd("hub", "ns-of-another", 7),
        ];
        let names = Names::from_world(&world);
        for (at, expected) in [(1, [3, 5, 3]), (2, [3, 5, 5]), (3, [3, 5, 9])] {
            let seen =
                [Whose::Projects, Whose::Hubs, Whose::Own].map(|whose| names.generation(&world[at], whose));
            assert_eq!(seen, expected.map(Some));
        }
        assert_eq!(names.generation(&world[4], Whose::Projects), None);
        assert_eq!(names.space_in_cell(&world[1]), Some(hub_space));
    }
}
