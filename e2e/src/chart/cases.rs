//! Overlays, and the values by which a release is the same.

/// An overlay with components in place of its own, or as it is.
#[derive(Debug, Clone)]
pub struct Case {
    /// A directory of `deploy/overlays`.
    pub overlay: &'static str,
    /// Names of `deploy/components`; none: as it is.
    pub components: Option<Vec<&'static str>>,
}

/// The Helm release that corresponds to an overlay: its namespace and values.
struct Role {
    overlay: &'static str,
    namespace: &'static str,
    values: &'static [&'static str],
    /// Components without which it is not that.
    always: &'static [&'static str],
    /// Components that go with it, each alone and together with others.
    optional: &'static [&'static str],
}

/// The values of every release: both components that the chart enables by default are disabled.
const WITHOUT: [&str; 2] = ["highAvailability.enabled=false", "networkPolicy.enabled=false"];

const ROLES: [Role; 4] = [
    Role {
        overlay: "management-plane",
        namespace: "fedhub-system",
        values: &[],
        always: &[],
        optional: &[
            "high-availability",
            "network-policy",
            "metrics-auth",
            "instance-types",
            "webhooks",
            "projected-hub-token",
        ],
    },
    Role {
        overlay: "milo",
        namespace: "fedhub-system",
        values: &["discovery=milo"],
        always: &["discovery-milo"],
        optional: &["high-availability", "network-policy", "metrics-auth", "projected-hub-token"],
    },
    Role {
        overlay: "cell",
        namespace: "fedhub-cells",
        values: &["role=cell", "cell.name=cell-dfw", "cell.city=DFW"],
        always: &[],
        optional: &[
            "cell-without-write-back",
            "high-availability",
            "network-policy",
            "cell-networking",
            "cell-quota",
            "cell-referenced-data",
            "cell-provider",
            "cell-metrics-auth",
        ],
    },
    Role {
        overlay: "single-cluster",
        namespace: "fedhub-system",
        values: &["role=single-cluster", "cell.name=cell-dfw", "cell.city=DFW"],
        always: &["single-cluster"],
        optional: &["high-availability", "network-policy", "cell-networking", "metrics-auth"],
    },
];

/// The values that take in a component.
fn values(component: &str) -> &'static [&'static str] {
    match component {
        "cell-networking" => &["features.networking=true"],
        "cell-quota" => &["features.quota=true"],
        "cell-quota-milo" => &["features.quota=true", "discovery=milo"],
        "cell-referenced-data" => &["features.referencedData=true"],
        "cell-provider" => &["features.provider=true"],
        "cell-without-write-back" => &["features.writeBack=false"],
        "high-availability" => &["highAvailability.enabled=true"],
        "metrics-auth" | "cell-metrics-auth" => {
            &["metricsAuth.enabled=true", "metricsAuth.certManager=false"]
        }
        "metrics-cert-manager" => &["metricsAuth.certManager=true"],
        "network-policy" => &["networkPolicy.enabled=true"],
        "projected-hub-token" => &["projectedHubToken.enabled=true"],
        "service-monitor" | "service-monitor-self-signed" => &["serviceMonitor.enabled=true"],
        "instance-types" => &["instanceTypes.enabled=true"],
        "webhooks" => &["webhooks.enabled=true"],
        "webhooks-trust-network" => &["webhooks.enabled=true", "webhooks.trustNetwork=true"],
        "webhooks-cert-manager" => &["webhooks.enabled=true", "webhooks.certManager=true"],
        // These are of a role's own values.
        _ => &[],
    }
}

/// Every case.
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for role in &ROLES {
        all.push(Case { overlay: role.overlay, components: None });
        let mut with = |optional: &[&'static str]| {
            let components = role.always.iter().chain(optional).copied().collect();
            all.push(Case { overlay: role.overlay, components: Some(components) });
        };
        with(&[]);
        role.optional.iter().for_each(|one| with(&[one]));
        with(role.optional);
    }
    for components in [
        &["cell-quota-milo"][..],
        &[
            "high-availability",
            "network-policy",
            "cell-networking",
            "cell-quota-milo",
            "cell-referenced-data",
        ],
        &[
            "cell-quota",
            "cell-metrics-auth",
            "metrics-cert-manager",
            "service-monitor",
            "projected-hub-token",
        ],
        &["cell-without-write-back", "cell-quota", "cell-metrics-auth", "service-monitor-self-signed"],
    ] {
        all.push(Case { overlay: "cell", components: Some(components.to_vec()) });
    }
    for more in [
        &["webhooks-cert-manager"][..],
        &["webhooks-trust-network"],
        &["webhooks-trust-network", "webhooks-cert-manager"],
    ] {
        let admission = [&["network-policy", "webhooks"], more].concat();
        all.push(Case { overlay: "management-plane", components: Some(admission) });
    }
    all.push(Case {
        overlay: "management-plane",
        components: Some(vec!["metrics-auth", "service-monitor-self-signed"]),
    });
    for (overlay, role) in [
        ("management-plane", None),
        ("single-cluster", Some("single-cluster")),
        ("milo", Some("discovery-milo")),
    ] {
        let monitored = ["metrics-auth", "metrics-cert-manager", "service-monitor", "projected-hub-token"];
        let components = Some(role.into_iter().chain(monitored).collect());
        all.push(Case { overlay, components });
    }
    for (overlay, role) in [("single-cluster", "single-cluster"), ("milo", "discovery-milo")] {
        let components =
            Some(vec![role, "metrics-auth", "service-monitor-self-signed", "projected-hub-token"]);
        all.push(Case { overlay, components });
    }
    all
}

impl Case {
    fn role(&self) -> &'static Role {
        ROLES.iter().find(|role| role.overlay == self.overlay).unwrap_or(&ROLES[0])
    }

    /// The namespace of the release.
    pub fn namespace(&self) -> &'static str {
        self.role().namespace
    }

    /// The values of the release, each `name=value`.
    pub fn values(&self) -> Vec<&'static str> {
        let mut all = vec!["namespace.create=true"];
        all.extend(self.role().values);
        if let Some(components) = &self.components {
            all.extend(WITHOUT);
            all.extend(components.iter().flat_map(|component| values(component)));
        }
        all
    }

    /// Names the case.
    pub fn name(&self) -> String {
        match &self.components {
            None => self.overlay.to_owned(),
            Some(components) => format!("{} with [{}]", self.overlay, components.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// One that is added to `deploy/` is compared, or this fails.
    #[test]
    fn every_component_and_every_overlay_is_compared() {
        let deploy = crate::repository().join("deploy");
        let names = |of: &str| -> BTreeSet<String> {
            let all = fs::read_dir(deploy.join(of)).unwrap().flatten();
            all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let cases = all();
        let overlays: BTreeSet<_> = cases.iter().map(|case| case.overlay.to_owned()).collect();
        assert_eq!(names("overlays"), overlays);
        let compared: BTreeSet<_> =
            cases.iter().filter_map(|case| case.components.as_ref()).flatten().collect();
        for name in names("components") {
            let file = deploy.join("components").join(&name).join("kustomization.yaml");
            let is_component =
                fs::read_to_string(file).is_ok_and(|text| text.contains("\nkind: Component\n"));
            assert!(!is_component || compared.contains(&&*name), "{name} is not compared");
        }
    }

    /// What an overlay has, or offers in a comment, is compared for that overlay.
    #[test]
    fn every_component_that_an_overlay_names_is_compared_in_it() {
        let overlays = crate::repository().join("deploy/overlays");
        for role in &ROLES {
            let file = overlays.join(role.overlay).join("kustomization.yaml");
            let text = fs::read_to_string(file).unwrap();
            let after_resources = text.split("\ncomponents:\n").nth(1).unwrap();
            let mut named = after_resources.split("../../components/").skip(1).peekable();
            assert!(named.peek().is_some(), "{}", role.overlay);
            for rest in named {
                let name = rest.lines().next().unwrap();
                let is_compared = all().iter().any(|case| {
                    case.overlay == role.overlay
                        && case.components.as_ref().is_some_and(|all| all.contains(&name))
                });
                assert!(is_compared, "{name} is not compared in {}", role.overlay);
            }
        }
    }
}
