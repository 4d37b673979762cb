//! The command lines of the servers. Pure: they read nothing and start nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::admission;
use super::layout::Layout;
use super::planes::{Cells, ETCDS, HUB, Kind, Plane, Role};
use super::state::Command;
use crate::tools::Built;

/// The user of the planes' kube-controller-managers, as the audit policy knows it.
pub const CONTROLLER_MANAGER_USER: &str = "system:kube-controller-manager";
/// The user of Karmada's components on the hub, as the audit policy knows it.
pub const KARMADA_USER: &str = "system:karmada";

/// What a controller manager's kubeconfig is called.
pub const CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// What the kubeconfig of Karmada's components is called.
pub const KARMADA: &str = "karmada";

/// Karmada's aggregated API server.
pub const AGGREGATED: &str = "karmada-aggregated-apiserver";
/// Karmada's webhook.
pub const WEBHOOK: &str = "karmada-webhook";
/// Karmada's scheduler.
pub const SCHEDULER: &str = "karmada-scheduler";
/// Karmada's controllers.
pub const CONTROLLERS: &str = "karmada-controller-manager";
/// How quick the cells' autoscaling is.
const AUTOSCALING: [(&str, &str); 4] = [
    ("sync-period", "1s"),
    ("downscale-stabilization", "1s"),
    ("cpu-initialization-period", "1s"),
    ("initial-readiness-delay", "1s"),
];
/// What Karmada's detector leaves alone: no policy is for Instances, and it would keep each of them on its
/// list of what waits for one, through which it goes for every new policy.
const NEVER_PROPAGATED: &str = "compute.datumapis.com/v1alpha/Instance";

/// The programs.
pub struct Programs {
    /// etcd.
    pub etcd: Built,
    /// kube-apiserver, kube-controller-manager, kubectl.
    pub kubernetes: Built,
    /// Karmada's.
    pub karmada: Built,
}

/// Makes command lines for one instance.
pub struct Commands<'a> {
    layout: &'a Layout,
    programs: &'a Programs,
    ports: &'a BTreeMap<String, u16>,
}

/// The process name of an etcd.
pub fn etcd_process(etcd: &str) -> String {
    format!("etcd-{etcd}")
}

/// The process name of a plane's API server.
pub fn api_server_process(plane: &str) -> String {
    format!("kube-apiserver-{plane}")
}

/// The process name of a plane's controller manager.
pub fn controller_manager_process(plane: &str) -> String {
    format!("{CONTROLLER_MANAGER}-{plane}")
}

/// The name of the second port of a process: etcd's for peers, Karmada's for health.
pub fn second_port(process: &str, what: &str) -> String {
    format!("{process}/{what}")
}

/// The names of all ports that an instance with these cells needs.
pub fn port_names(cells: Cells) -> Vec<String> {
    let mut names = Vec::new();
    for etcd in ETCDS.map(etcd_process) {
        names.extend([second_port(&etcd, "peer"), etcd]);
    }
    names.extend(cells.planes().map(|plane| api_server_process(plane.name)));
    let managed = cells.planes().filter(|plane| plane.has_controller_manager());
    names.extend(managed.map(|plane| controller_manager_process(plane.name)));
    names.extend([AGGREGATED, WEBHOOK].map(str::to_owned));
    names.extend([SCHEDULER, CONTROLLERS].map(|process| second_port(process, "health")));
    names
}

impl<'a> Commands<'a> {
    /// Command lines with these programs and ports.
    pub fn new(layout: &'a Layout, programs: &'a Programs, ports: &'a BTreeMap<String, u16>) -> Self {
        Self { layout, programs, ports }
    }

    /// An etcd. Its data is thrown away with the instance, so it need not reach the disk.
    pub fn etcd(&self, etcd: &str) -> Command {
        let name = etcd_process(etcd);
        let client = self.etcd_url(etcd);
        let peer = format!("http://127.0.0.1:{}", self.port(&second_port(&name, "peer")));
        let arguments = vec![
            flag("name", etcd),
            flag("data-dir", self.layout.etcd_data(etcd).display()),
            "--unsafe-no-fsync".to_owned(),
            flag("listen-client-urls", &client),
            flag("advertise-client-urls", client),
            flag("listen-peer-urls", &peer),
            flag("initial-advertise-peer-urls", &peer),
            flag("initial-cluster", format!("{etcd}={peer}")),
            flag("quota-backend-bytes", 2_147_483_648_u64),
            flag("auto-compaction-mode", "periodic"),
            flag("auto-compaction-retention", "5m"),
            flag("log-level", "warn"),
        ];
        command(name, Role::Etcd, self.programs.etcd.program("etcd"), arguments)
    }

    /// A plane's API server.
    pub fn api_server(&self, plane: &Plane) -> Command {
        let name = api_server_process(plane.name);
        let pki = |file: &str| self.layout.pki().join(file).display().to_string();
        let mut arguments = vec![
            flag("etcd-servers", self.etcd_url(plane.etcd)),
            flag("etcd-prefix", format!("/{}", plane.name)),
            flag("bind-address", "127.0.0.1"),
            flag("advertise-address", "127.0.0.1"),
            flag("secure-port", self.port(&name)),
            flag("endpoint-reconciler-type", "none"),
            flag("tls-cert-file", pki("server.crt")),
            flag("tls-private-key-file", pki("server.key")),
            flag("cert-dir", self.layout.scratch(&name).display()),
            flag("client-ca-file", pki("ca.crt")),
            flag("token-auth-file", pki("tokens.csv")),
            flag("authorization-mode", "RBAC"),
            flag("requestheader-client-ca-file", pki("front-proxy-ca.crt")),
            flag("requestheader-allowed-names", "front-proxy-client"),
            flag("requestheader-username-headers", "X-Remote-User"),
            flag("requestheader-group-headers", "X-Remote-Group"),
            flag("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            flag("proxy-client-cert-file", pki("front-proxy-client.crt")),
            flag("proxy-client-key-file", pki("front-proxy-client.key")),
            flag("service-account-issuer", format!("https://{}.planes.local", plane.name)),
            flag("service-account-key-file", pki("sa.pub")),
            flag("service-account-signing-key-file", pki("sa.key")),
            flag("service-cluster-ip-range", "10.96.0.0/16"),
            flag("disable-admission-plugins", "ServiceAccount,StorageObjectInUseProtection"),
            flag("audit-policy-file", self.layout.audit_policy().display()),
            flag("audit-log-path", self.layout.audit_log(plane.name).display()),
            // One file: a suite that counts requests must not lose some to a rotation.
            flag("audit-log-maxsize", 1_000_000),
            flag("profiling", false),
            flag("v", 1),
        ];
        arguments.extend(admission::flags(self.layout, plane));
        command(name, Role::ApiServer, self.programs.kubernetes.program("kube-apiserver"), arguments)
    }

    /// A plane's controller manager: namespaces are emptied, owned objects go with their owner, and cells
    /// scale.
    pub fn controller_manager(&self, plane: &Plane) -> Command {
        let name = controller_manager_process(plane.name);
        let kubeconfig =
            self.layout.component_kubeconfig(CONTROLLER_MANAGER, plane.name).display().to_string();
        let pki = |file: &str| self.layout.pki().join(file).display().to_string();
        let scales = matches!(plane.kind, Kind::Cell { .. });
        let controllers = ["namespace", "garbagecollector"];
        let controllers = controllers.into_iter().chain(scales.then_some("horizontalpodautoscaling"));
        let mut arguments = vec![
            flag("kubeconfig", &kubeconfig),
            flag("authentication-kubeconfig", &kubeconfig),
            flag("authorization-kubeconfig", &kubeconfig),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", self.port(&name)),
            flag("tls-cert-file", pki("server.crt")),
            flag("tls-private-key-file", pki("server.key")),
            flag("cert-dir", self.layout.scratch(&name).display()),
            flag("controllers", controllers.collect::<Vec<_>>().join(",")),
            flag("leader-elect", false),
            flag("use-service-account-credentials", false),
            flag("profiling", false),
        ];
        if scales {
            // By default it checks every 15 s, and is cautious for minutes.
            arguments.extend(
                AUTOSCALING.map(|(name, span)| flag(&format!("horizontal-pod-autoscaler-{name}"), span)),
            );
        }
        let program = self.programs.kubernetes.program("kube-controller-manager");
        command(name, Role::Controller, program, arguments)
    }

    /// The server of `cluster.karmada.io`, behind the hub's API server.
    pub fn aggregated_api_server(&self, hub: &Plane) -> Command {
        let kubeconfig = self.karmada_kubeconfig();
        let pki = |file: &str| self.layout.pki().join(file).display().to_string();
        let arguments = vec![
            flag("kubeconfig", &kubeconfig),
            flag("authentication-kubeconfig", &kubeconfig),
            flag("authorization-kubeconfig", &kubeconfig),
            flag("etcd-servers", self.etcd_url(hub.etcd)),
            flag("etcd-prefix", "/hub-karmada"),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", self.port(AGGREGATED)),
            flag("tls-cert-file", pki("server.crt")),
            flag("tls-private-key-file", pki("server.key")),
            flag("cert-dir", self.layout.scratch(AGGREGATED).display()),
            flag("enable-priority-and-fairness", false),
        ];
        self.karmada(AGGREGATED, Role::ApiServer, arguments)
    }

    /// Karmada's webhook. Bindings get no identity without it and are never scheduled.
    pub fn webhook(&self) -> Command {
        let arguments = vec![
            flag("kubeconfig", self.karmada_kubeconfig()),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", self.port(WEBHOOK)),
            flag("cert-dir", self.layout.pki().join("webhook").display()),
            flag("health-probe-bind-address", 0),
            flag("metrics-bind-address", 0),
            flag("allow-no-execute-taint-policy", true),
        ];
        self.karmada(WEBHOOK, Role::Controller, arguments)
    }

    /// Karmada's scheduler.
    pub fn scheduler(&self) -> Command {
        let arguments = vec![
            flag("kubeconfig", self.karmada_kubeconfig()),
            flag("leader-elect", false),
            self.health(SCHEDULER),
            flag("metrics-bind-address", 0),
        ];
        self.karmada(SCHEDULER, Role::Controller, arguments)
    }

    /// Karmada's controllers, quick to see a cell come and go, as docs/install.md has them installed.
    pub fn controllers(&self) -> Command {
        let arguments = vec![
            flag("kubeconfig", self.karmada_kubeconfig()),
            flag("leader-elect", false),
            self.health(CONTROLLERS),
            flag("metrics-bind-address", 0),
            flag("cluster-status-update-frequency", "2s"),
            flag("cluster-success-threshold", "1s"),
            flag("cluster-failure-threshold", "5s"),
            flag("enable-cluster-resource-modeling", false),
            flag("skipped-propagating-apis", NEVER_PROPAGATED),
        ];
        self.karmada(CONTROLLERS, Role::Controller, arguments)
    }

    fn karmada(&self, name: &str, role: Role, arguments: Vec<String>) -> Command {
        command(name.to_owned(), role, self.programs.karmada.program(name), arguments)
    }

    fn karmada_kubeconfig(&self) -> String {
        self.layout.component_kubeconfig(KARMADA, HUB).display().to_string()
    }

    fn health(&self, process: &str) -> String {
        let port = self.port(&second_port(process, "health"));
        flag("health-probe-bind-address", format!("127.0.0.1:{port}"))
    }

    fn etcd_url(&self, etcd: &str) -> String {
        format!("http://127.0.0.1:{}", self.port(&etcd_process(etcd)))
    }

    /// Port 0 for a name that was not reserved: the process then says that it cannot be reached there.
    fn port(&self, name: &str) -> u16 {
        self.ports.get(name).copied().unwrap_or_default()
    }
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}

fn command(name: String, role: Role, program: PathBuf, arguments: Vec<String>) -> Command {
    Command { name, role, program, arguments }
}
