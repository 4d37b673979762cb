//! The rights that the roles of `deploy/` grant, read from those very files: a role that changes changes what
//! is asked.

use anyhow::Context;
use fedhub_planes::discovery::Discovery;
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReviewSpec,
};
use serde_json::Value;

use super::finding::Part;
use crate::args::{InstanceTypesSource, RunArgs};

/// A file with a role, and whom it is for.
struct RoleFile {
    /// Its path in `deploy/`.
    path: &'static str,
    text: &'static str,
    on: Part,
    needed: fn(&RunArgs) -> bool,
}

macro_rules! roles {
    ($($path:literal on $part:ident if $needed:expr;)*) => {
        &[$(RoleFile {
            path: concat!("deploy/", $path),
            text: include_str!(concat!("../../../deploy/", $path)),
            on: Part::$part,
            needed: $needed,
        }),*]
    };
}

fn manages(args: &RunArgs) -> bool {
    args.enable_management_controllers
}

fn is_cell(args: &RunArgs) -> bool {
    args.enable_cell_controllers
}

fn claims(args: &RunArgs) -> bool {
    is_cell(args) && args.quota_kubeconfig.is_some()
}

fn serves_metrics(args: &RunArgs) -> bool {
    args.metrics.address.is_some()
}

fn admits(args: &RunArgs) -> bool {
    args.webhooks.enabled
}

/// Whether the catalogue of instance types is there.
fn catalog_is_on(args: &RunArgs, part: Part) -> bool {
    manages(args)
        && match args.instance_types {
            InstanceTypesSource::Off => false,
            InstanceTypesSource::Management => part == Part::Management,
            InstanceTypesSource::Discovery => part == Part::Discovery,
        }
}

/// Every role of `deploy/`.
const ROLES: &[RoleFile] = roles! {
    "base/role.yaml" on Management if manages;
    "components/hub/cluster-role.yaml" on Hub if manages;
    // For `fedhub kubeconfig rotate`, by whoever runs that.
    "components/own-token/role.yaml" on Hub if |_| false;
    "components/milo/cluster-role.yaml" on Discovery if |args| manages(args) && args.discovery.mode == Discovery::Milo;
    "components/instance-types-rights/cluster-role.yaml" on Management if |args| catalog_is_on(args, Part::Management);
    "components/instance-types-rights/cluster-role.yaml" on Discovery if |args| catalog_is_on(args, Part::Discovery);
    "components/project-plane-rights/cluster-role.yaml" on Project if manages;
    "components/hub-for-cells/cluster-role.yaml" on Hub if |args| is_cell(args) && args.write_back;
    "components/cell/cluster-role.yaml" on Cell if is_cell;
    "components/cell/role.yaml" on Cell if |args| is_cell(args) && args.leader_elect;
    "components/cell-referenced-data/cluster-role.yaml" on Cell if |args| is_cell(args) && args.referenced_data;
    "components/management-for-cells/role.yaml" on Quota
        if |args| claims(args) && args.discovery.mode == Discovery::Kubeconfigs;
    "components/milo-for-cells/cluster-role.yaml" on Quota
        if |args| claims(args) && args.discovery.mode == Discovery::Milo;
    "components/project-plane-for-cells/cluster-role.yaml" on QuotaProject if claims;
    "components/metrics-auth/cluster-role.yaml" on Management if |args| serves_metrics(args) && manages(args);
    "components/metrics-auth/cluster-role.yaml" on Cell if |args| serves_metrics(args) && !manages(args);
    "components/webhooks-project-plane/cluster-role.yaml" on Project if admits;
    // For whoever scrapes.
    "components/metrics-auth/reader.yaml" on Management if |_| false;
};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// A resource, such as `workloaddeployments/status`, and the name of the only object where there is one.
    Resource {
        /// Its API group.
        group: String,
        /// Its plural name, and its subresource after a slash.
        resource: String,
        /// The name of the object; all of them where there is none.
        name: Option<String>,
    },
    /// A path.
    Url(String),
}

/// A right that a role grants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The verb.
    pub verb: String,
    /// What it is about.
    pub object: Object,
    /// The namespace; all of them where there is none.
    pub namespace: Option<String>,
    /// The file of the role.
    pub role: &'static str,
}

impl Right {
    /// As `kubectl auth can-i` has it.
    pub fn words(&self) -> String {
        let within = self.namespace.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
        match &self.object {
            Object::Url(path) => format!("{} {path}", self.verb),
            Object::Resource { group, resource, name } => {
                let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                let sub = if sub.is_empty() { String::new() } else { format!("/{sub}") };
                let name = name.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
                format!("{} {plural}{group}{sub}{name}{within}", self.verb)
            }
        }
    }

    /// Whether it is to create Events.
    pub fn creates_events(&self) -> bool {
        let is_event = matches!(&self.object, Object::Resource { resource, .. } if resource == "events");
        is_event && self.verb == "create"
    }

    /// The question to the API server.
    pub fn question(&self) -> SelfSubjectAccessReviewSpec {
        match &self.object {
            Object::Url(path) => SelfSubjectAccessReviewSpec {
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.clone()),
                    verb: Some(self.verb.clone()),
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            Object::Resource { group, resource, name } => {
                let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
                SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(ResourceAttributes {
                        group: Some(group.clone()),
                        resource: Some(plural.to_owned()),
                        subresource: Some(sub.to_owned()).filter(|sub| !sub.is_empty()),
                        verb: Some(self.verb.clone()),
                        name: name.clone(),
                        namespace: self.namespace.clone(),
                        ..ResourceAttributes::default()
                    }),
                    ..SelfSubjectAccessReviewSpec::default()
                }
            }
        }
    }
}

/// The rights on a plane of that part, each once.
pub fn needed(args: &RunArgs, on: Part) -> anyhow::Result<Vec<Right>> {
    let mut rights = Vec::new();
    for file in ROLES.iter().filter(|file| file.on == on && (file.needed)(args)) {
        rights.extend(of_file(file, args.namespace())?);
    }
    rights.sort();
    // Two roles may grant one right: it is asked for once.
    rights.dedup_by(|a, b| a.verb == b.verb && a.object == b.object && a.namespace == b.namespace);
    Ok(rights)
}

fn of_file(file: &RoleFile, own: &str) -> anyhow::Result<Vec<Right>> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(file.text).with_context(|| format!("failed to parse {}", file.path))?;
    let mut rights = Vec::new();
    for role in &documents {
        // The role's own namespace is that of deploy/; the process may be in another.
        let namespace = match role["kind"].as_str() {
            Some("Role") => Some(own.to_owned()),
            Some("ClusterRole") => None,
            _ => continue,
        };
        for rule in role["rules"].as_array().into_iter().flatten() {
            for object in objects(rule) {
                for verb in strings(&rule["verbs"]) {
                    let role = file.path;
                    let object = object.clone();
                    rights.push(Right { role, verb, object, namespace: namespace.clone() });
                }
            }
        }
    }
    Ok(rights)
}

fn objects(rule: &Value) -> Vec<Object> {
    let mut objects: Vec<Object> = strings(&rule["nonResourceURLs"]).into_iter().map(Object::Url).collect();
    let names: Vec<Option<String>> = match strings(&rule["resourceNames"]) {
        names if names.is_empty() => vec![None],
        names => names.into_iter().map(Some).collect(),
    };
    for group in strings(&rule["apiGroups"]) {
        for resource in strings(&rule["resources"]) {
            objects.extend(names.iter().map(|name| Object::Resource {
                group: group.clone(),
                resource: resource.clone(),
                name: name.clone(),
            }));
        }
    }
    objects
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn run(flags: &[&str]) -> RunArgs {
        let all = ["fedhub", "run"].iter().chain(flags).copied();
        match Args::try_parse_from(all).unwrap().command {
            Command::Run(args) => *args,
            _ => panic!("{flags:?}"),
        }
    }

    fn yaml(directory: &Path, found: &mut Vec<PathBuf>) {
        for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                yaml(&path, found);
            } else if path.extension().is_some_and(|it| it == "yaml") {
                found.push(path);
            }
        }
    }

    /// A role that is added to `deploy/` is asked for, or this fails.
    #[test]
    fn u4_every_role_of_deploy_is_asked_for() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        yaml(&repository.join("deploy"), &mut files);
        // Its templates are made of the others.
        files.retain(|path| !path.starts_with(repository.join("deploy/chart")));
        // A Milo's IAM has roles of that kind too.
        let is_role = |text: &str| {
            let mut lines = text.lines();
            let of_rbac = lines.any(|line| line == "apiVersion: rbac.authorization.k8s.io/v1");
            of_rbac && lines.any(|line| matches!(line, "kind: Role" | "kind: ClusterRole"))
        };
        let roles = files.into_iter().filter(|path| is_role(&std::fs::read_to_string(path).unwrap()));
        let roles: BTreeSet<String> =
            roles.map(|path| path.strip_prefix(repository).unwrap().display().to_string()).collect();
        assert!(roles.len() >= 10, "{roles:?}");
        assert_eq!(ROLES.iter().map(|file| file.path.to_owned()).collect::<BTreeSet<_>>(), roles);
    }

    #[test]
    fn u4_a_role_is_asked_for_where_its_part_is_and_in_the_process_s_namespace() {
        let words = |args: &RunArgs, on| -> Vec<String> {
            needed(args, on).unwrap().iter().map(Right::words).collect()
        };
        let management = run(&["--enable-management-controllers", "--discovery=milo", "--namespace=mine"]);
        let own = words(&management, Part::Management);
        assert!(own.contains(&"create leases.coordination.k8s.io in mine".to_owned()), "{own:?}");
        let hub = words(&management, Part::Hub);
        assert!(hub.contains(&"delete workloaddeployments.compute.datumapis.com".to_owned()), "{hub:?}");
        assert!(words(&management, Part::Discovery).contains(&"get /apis/*".to_owned()));
        assert!(words(&management, Part::Cell).is_empty());

        let cell = run(&["--enable-cell-controllers"]);
        let own = words(&cell, Part::Cell);
        let crd =
            "get customresourcedefinitions.apiextensions.k8s.io workloaddeployments.compute.datumapis.com";
        assert!(own.contains(&crd.to_owned()), "{own:?}");
        assert!(!own.contains(&"list secrets".to_owned()), "{own:?}");
        assert!(
            words(&run(&["--enable-cell-controllers", "--referenced-data"]), Part::Cell)
                .contains(&"list secrets".to_owned())
        );
        for part in [Part::Management, Part::Quota, Part::QuotaProject, Part::Project] {
            assert!(words(&cell, part).is_empty(), "{part:?}");
        }
        let reviews = "create tokenreviews.authentication.k8s.io".to_owned();
        for (role, part) in
            [("--enable-management-controllers", Part::Management), ("--enable-cell-controllers", Part::Cell)]
        {
            assert!(words(&run(&[role, "--metrics-address=0.0.0.0:1"]), part).contains(&reviews), "{part:?}");
            assert!(!words(&run(&[role]), part).contains(&reviews), "{part:?}");
        }
        assert!(words(&run(&["--enable-cell-controllers", "--write-back=false"]), Part::Hub).is_empty());
        let claims = run(&["--enable-cell-controllers", "--quota-kubeconfig=q", "--discovery=kubeconfigs"]);
        assert_eq!(words(&claims, Part::QuotaProject).len(), 6);
        assert!(words(&claims, Part::Quota).contains(&"list secrets in fedhub-cells".to_owned()));
        // Both roles at one hub: what both grant is asked for once.
        let both = words(&run(&["--enable-management-controllers", "--enable-cell-controllers"]), Part::Hub);
        assert_eq!(both.iter().collect::<BTreeSet<_>>().len(), both.len(), "{both:?}");
    }
}
