//! Which benchmarks there are.

/// The names and subjects of the benchmarks, in the order of the table.
pub const BENCHMARKS: [(&str, &str); 20] = [
    ("throughput", "5,000 WDs over 50 namespaces: WDs a second, against a bare client"),
    ("projection", "10,000 hub Instances of 500 WDs: Instances a second, against a bare client"),
    (
        "workload",
        "1,000 Workloads in two cities each: Workloads a second to both WDs on the hub, against a bare client; requests",
    ),
    ("latency", "20 WDs a second for a minute: event to event, against a bare client"),
    ("requests", "API requests for a WD, for a status change, for a no-op"),
    ("memory", "RSS with 20,000 WDs and 100,000 Instances over 1,000 planes, and with fewer on real planes"),
    (
        "footprint",
        "10,000 planes, in sync and idle: RSS for each, without objects and with a WD in order; series",
    ),
    ("restart", "20,000 objects: start to in sync, against a bare list; writes; an edit at the start"),
    ("recovery", "300 planes behind a server that is killed: how soon they are in sync again, log lines"),
    (
        "onboarding",
        "300 planes that become Ready together, and behind a server that starts slowly: how soon they are in sync",
    ),
    ("noisy-neighbor", "one of 100 planes hangs or floods: how long the others' WDs take"),
    ("idle", "1,000 planes, 20,000 objects, and nothing happens: CPU and requests"),
    ("explain", "1,000 planes, 20,000 objects, no fedhub: explain, audit of one plane and of all"),
    ("scaling", "own CPU for a WD with 10, 100, 1,000 and 10,000 planes"),
    ("connections", "TCP connections for 1,000 planes behind one host, and under load to real planes"),
    (
        "failover",
        "two replicas: the gap after SIGTERM, after SIGKILL, and what a leader that was stopped does",
    ),
    (
        "rollout",
        "200 WDs of 3 replicas over two real cells: the time of each hop, requests for an Instance's life",
    ),
    (
        "rollout-requests",
        "a new template of 200 Workloads in four cities: requests city by city, against all at once; a restart",
    ),
    (
        "admission",
        "200 reviews of Workloads a second for a minute, with a real plane that is asked about users",
    ),
    (
        "cli",
        "500 Workloads in two cities: the users' `status` against kubectl's lists, and the time of its help",
    ),
];

/// The names of the benchmarks.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.into_iter().map(|(name, _)| name)
}
