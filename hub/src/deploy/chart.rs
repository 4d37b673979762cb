//! The templates of the Helm chart, made of the overlays: what a component adds to one, and takes away, depends on values.
//!
//! `e2e chart` compares what Helm makes of them with what `kubectl kustomize` makes of the overlays.

mod template;
mod tree;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use serde_json::Value;

use self::template::{Field, Parameters};
use self::tree::Tree;
use super::{kustomize, overlays, strings};

/// A role of a release.
struct Role {
    /// The value `role`.
    name: &'static str,
    /// Its overlay.
    overlay: &'static str,
    /// Components without which it is not that role.
    always: &'static [&'static str],
    /// Components that a value asks for, in the order in which they are taken in.
    optional: &'static [&'static str],
}

const ROLES: [Role; 3] = [
    Role {
        name: "management",
        overlay: "overlays/management-plane",
        always: &[],
        optional: &[
            "discovery-milo",
            "high-availability",
            "network-policy",
            "metrics-auth",
            "metrics-cert-manager",
            "instance-types",
            "webhooks",
            "webhooks-trust-network",
            "webhooks-cert-manager",
            "service-monitor",
            "service-monitor-self-signed",
            "projected-hub-token",
        ],
    },
    Role {
        name: "cell",
        overlay: "overlays/cell",
        always: &[],
        optional: &[
            "cell-without-write-back",
            "high-availability",
            "network-policy",
            "cell-networking",
            "cell-quota",
            "cell-quota-milo",
            "cell-referenced-data",
            "cell-metrics-auth",
            "metrics-cert-manager",
            "service-monitor",
            "service-monitor-self-signed",
            "projected-hub-token",
        ],
    },
    Role {
        name: "single-cluster",
        overlay: "overlays/single-cluster",
        always: &["single-cluster"],
        optional: &[
            "high-availability",
            "network-policy",
            "cell-networking",
            "metrics-auth",
            "metrics-cert-manager",
            "service-monitor",
            "service-monitor-self-signed",
            "projected-hub-token",
        ],
    },
];

/// The expression that says whether values ask for a component.
fn wants(component: &str) -> &'static str {
    match component {
        "cell-networking" => ".Values.features.networking",
        "cell-quota" => r#"and .Values.features.quota (eq .Values.discovery "kubeconfigs")"#,
        "cell-quota-milo" => r#"and .Values.features.quota (eq .Values.discovery "milo")"#,
        "cell-referenced-data" => ".Values.features.referencedData",
        "cell-without-write-back" => "not .Values.features.writeBack",
        "discovery-milo" => r#"eq .Values.discovery "milo""#,
        "high-availability" => ".Values.highAvailability.enabled",
        "instance-types" => ".Values.instanceTypes.enabled",
        "metrics-auth" | "cell-metrics-auth" => ".Values.metricsAuth.enabled",
        "metrics-cert-manager" => "and .Values.metricsAuth.enabled .Values.metricsAuth.certManager",
        "network-policy" => ".Values.networkPolicy.enabled",
        "projected-hub-token" => ".Values.projectedHubToken.enabled",
        "service-monitor" => "and .Values.serviceMonitor.enabled .Values.metricsAuth.certManager",
        "service-monitor-self-signed" => {
            "and .Values.serviceMonitor.enabled (not .Values.metricsAuth.certManager)"
        }
        "webhooks" => ".Values.webhooks.enabled",
        "webhooks-trust-network" => "and .Values.webhooks.enabled .Values.webhooks.trustNetwork",
        "webhooks-cert-manager" => "and .Values.webhooks.enabled .Values.webhooks.certManager",
        other => panic!("no value asks for {other}"),
    }
}

const IMAGE: &str = r#"{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}"#;
const METRICS_TLS: &str = "{{ .Values.secrets.metrics | quote }}";
const CELL_NAME: &str =
    r#"{{ required "cell.name: the name of the cell's Cluster on the hub" .Values.cell.name | quote }}"#;
const CELL_CITY: &str =
    r#"{{ required "cell.city: the city code of the cell's Cluster" .Values.cell.city | quote }}"#;

/// The template in place of a scalar.
fn scalar(own: &str, kind: &str, path: &str, value: &Value) -> Option<String> {
    let text = value.as_str().unwrap_or_default();
    if kind == "Certificate" && path.starts_with("/spec/dnsNames/") {
        let name = text.replacen(&format!(".{own}."), ".{{ .Release.Namespace }}.", 1);
        return Some(name);
    }
    let template = match (kind, path) {
        (_, "/metadata/namespace") | ("Namespace", "/metadata/name") if text == own => {
            "{{ .Release.Namespace }}"
        }
        (_, path) if path.starts_with("/subjects/") && path.ends_with("/namespace") && text == own => {
            "{{ .Release.Namespace }}"
        }
        ("Deployment", "/spec/replicas") => "{{ .Values.replicas }}",
        ("Deployment", "/spec/template/spec/containers/0/image") => IMAGE,
        ("Deployment", path) if path.ends_with("/secret/secretName") => match text {
            "fedhub-hub-kubeconfig" => "{{ .Values.secrets.hub | quote }}",
            "fedhub-discovery-kubeconfig" => "{{ .Values.secrets.discovery | quote }}",
            "fedhub-metrics-tls" => METRICS_TLS,
            "fedhub-webhook-tls" => "{{ .Values.secrets.webhook | quote }}",
            "fedhub-quota-kubeconfig" => "{{ .Values.secrets.quota | quote }}",
            other => panic!("no value names the Secret {other}"),
        },
        ("Certificate", "/spec/secretName") if text == "fedhub-webhook-tls" => {
            "{{ .Values.secrets.webhook | quote }}"
        }
        ("Certificate", "/spec/secretName") if text == "fedhub-metrics-tls" => METRICS_TLS,
        ("ServiceMonitor", path) if path.ends_with("/ca/secret/name") => METRICS_TLS,
        ("ConfigMap", "/data/name") | ("Service", "/metadata/labels/federation.datumapis.com/cell") => {
            CELL_NAME
        }
        ("ConfigMap", "/data/city") => CELL_CITY,
        _ => return None,
    };
    Some(template.to_owned())
}

/// The template of a field of an object, or what follows it.
fn field(kind: &str, name: &str, path: &str) -> Option<Field> {
    let found = match (kind, path) {
        ("Deployment", "/spec/template/spec/containers/0/args") => {
            Field::And("{{- range .Values.extraArgs }}\n- {{ . | quote }}\n{{- end }}")
        }
        ("Deployment", "/spec/template/spec/containers/0/resources") => {
            Field::Is("{{- toYaml .Values.resources | nindent INDENT }}")
        }
        ("Deployment", "/spec/template/spec/containers") => Field::Then(
            "{{- with .Values.image.pullSecrets }}\nimagePullSecrets:\n{{- toYaml . | nindent INDENT }}\n{{- end }}",
        ),
        ("Certificate", "/spec/dnsNames") if name == "fedhub-webhook-tls" => {
            Field::And("{{- range .Values.webhooks.dnsNames }}\n- {{ . | quote }}\n{{- end }}")
        }
        ("NetworkPolicy", "/spec/egress/1/ports") => Field::Is(
            "{{- range .Values.networkPolicy.apiServerPorts }}\n- port: {{ . }}\n  protocol: TCP\n{{- end }}",
        ),
        ("ServiceMonitor", "/metadata/labels") => Field::And(
            "{{- with .Values.serviceMonitor.labels }}\n{{- toYaml . | nindent INDENT }}\n{{- end }}",
        ),
        _ => return None,
    };
    Some(found)
}

/// The template of a role.
fn role(role: &Role) -> String {
    let rendered = |component: Option<&'static str>| {
        let components: Vec<_> = role.always.iter().copied().chain(component).collect();
        Value::Array(kustomize::with_components(role.overlay, &components))
    };
    let plain = rendered(None);
    let variants: Vec<_> = role.optional.iter().map(|one| (*one, rendered(Some(one)))).collect();
    let variants: Vec<_> = variants.iter().map(|(one, objects)| (*one, objects)).collect();
    let Tree::List(objects) = tree::merge(&plain, &variants) else { panic!("no objects") };
    let deployment = plain.as_array().unwrap().iter().find(|object| object["kind"] == "Deployment").unwrap();
    let own = deployment["metadata"]["namespace"].as_str().unwrap();

    let mut text = format!(
        "{{{{- /* Written by `make chart` from deploy/{}: change that. */ -}}}}\n{{{{- if eq .Values.role \"{}\" }}}}\n",
        role.overlay, role.name
    );
    for part in objects {
        let kind = string(&part.of, &["kind"]);
        let scalar = |path: &str, value: &Value| scalar(own, &kind, path, value);
        let name = string(&part.of, &["metadata", "name"]);
        let field = |path: &str| field(&kind, &name, path);
        let parameters = Parameters { wants: &wants, scalar: &scalar, field: &field };
        let mut content = format!("---\n{}", template::object(&part.of, &parameters));
        if kind == "Namespace" && name == own {
            content = format!("{{{{- if .Values.namespace.create }}}}\n{content}{{{{- end }}}}\n");
        }
        text.push_str(&template::guarded(&part.when, &parameters, &content));
    }
    let _ = writeln!(text, "{{{{- end }}}}");
    text
}

fn string(tree: &Tree, path: &[&str]) -> String {
    let found = path.iter().fold(tree, |at, name| match at {
        Tree::Map(fields) => &fields.iter().find(|(field, _)| field == name).unwrap().1.of,
        _ => panic!("{path:?}"),
    });
    match found {
        Tree::Scalar(Value::String(text)) => text.clone(),
        _ => panic!("{path:?}"),
    }
}

fn chart(path: &str) -> String {
    let path = kustomize::deploy("chart").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `UPDATE_CHART=1` writes them.
#[test]
fn the_templates_are_those_of_the_overlays() {
    for one in &ROLES {
        let (path, text) = (format!("templates/{}.yaml", one.name), role(one));
        if std::env::var_os("UPDATE_CHART").is_some() {
            fs::write(kustomize::deploy("chart").join(&path), &text).unwrap();
        }
        assert!(chart(&path) == text, "deploy/chart/{path} is not up to date: run `make chart`");
    }
}

#[test]
fn a_release_may_have_every_component_and_has_no_other() {
    for one in &ROLES {
        for component in kustomize::components(one.overlay) {
            let known = one.always.contains(&&*component) || one.optional.contains(&&*component);
            assert!(known, "{}: {component}", one.name);
        }
    }
    for (directory, kustomization) in kustomize::all() {
        let name = directory.file_name().unwrap().to_str().unwrap();
        let known = |one: &Role| one.always.contains(&name) || one.optional.contains(&name);
        assert!(kustomization.kind != "Component" || ROLES.iter().any(known), "no value asks for {name}");
    }
}

/// Without values of its own a release is what the overlay is.
#[test]
fn the_values_are_those_of_the_manifests() {
    let values: Value = serde_saphyr::from_str(&chart("values.yaml")).unwrap();
    for overlay in overlays().iter().filter(|overlay| overlay.directory.starts_with("overlays/")) {
        let objects = overlay.objects();
        let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let (deployment, policy) = (&of("Deployment")["spec"], &of("NetworkPolicy")["spec"]);
        let container = &deployment["template"]["spec"]["containers"][0];
        assert_eq!(values["replicas"], deployment["replicas"]);
        assert_eq!(values["resources"], container["resources"]);
        let version: Value = serde_saphyr::from_str(&chart("Chart.yaml")).unwrap();
        let image = format!(
            "{}:{}",
            values["image"]["repository"].as_str().unwrap(),
            version["appVersion"].as_str().unwrap()
        );
        assert_eq!(container["image"], image, "{overlay:?}");
        let ports = policy["egress"][1]["ports"].as_array().unwrap().iter().map(|port| port["port"].clone());
        assert_eq!(values["networkPolicy"]["apiServerPorts"], Value::Array(ports.collect()));
    }
    assert!(chart("Chart.yaml").contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))));
    assert!(chart("Chart.yaml").contains(&format!("\nappVersion: v{}\n", env!("CARGO_PKG_VERSION"))));
}

/// The paths of a document's scalars and lists, and of maps that are empty.
fn paths(value: &Value, path: &str) -> BTreeSet<String> {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            fields.iter().flat_map(|(name, value)| paths(value, &format!("{path}.{name}"))).collect()
        }
        None => BTreeSet::from([path.to_owned()]),
    }
}

/// Each value is explained above it, has a type in the schema, and means something.
#[test]
fn every_value_is_used_and_described() {
    let text = chart("values.yaml");
    let values: Value = serde_saphyr::from_str(&text).unwrap();
    let schema: Value = serde_json::from_str(&chart("values.schema.json")).unwrap();
    let templates: String = ROLES.iter().map(role).collect();
    for path in paths(&values, "") {
        // As a whole.
        let path = if path.starts_with(".resources.") { ".resources" } else { &path };
        let used =
            templates.contains(&format!(".Values{path} ")) || templates.contains(&format!(".Values{path})"));
        assert!(used, "no template has .Values{path}");
        let described = path.split('.').skip(1).try_fold(&schema, |at, name| at["properties"].get(name));
        assert!(described.is_some_and(|of| of["type"].is_string()), "values.schema.json has no {path}");
    }
    let schema_of = paths(&values, "");
    for found in templates.split(".Values").skip(1) {
        let end = found.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap();
        let known = schema_of.iter().any(|path| path.starts_with(&found[..end]));
        assert!(known, "values.yaml has no {}", &found[..end]);
    }
    let commented = |(above, line): (&str, &str)| {
        line.starts_with([' ', '#']) || line.is_empty() || above.starts_with('#')
    };
    let lines: Vec<_> = text.lines().collect();
    for pair in lines.windows(2) {
        assert!(commented((pair[0], pair[1])), "{} is not explained", pair[1]);
    }
    assert_eq!(strings(&schema["properties"]["role"]["enum"]), ROLES.map(|role| role.name));
}
