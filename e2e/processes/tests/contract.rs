//! Each call of the contract, with commands of the shell, and with ends of the provider between them.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::object::{Kind, Object, bare, set_field};
use fedhub_processes::process::{self, Known};
use fedhub_processes::{ADDRESS, Command, Processes};
use fedhub_provider::{
    Change, Deletion, FailureKind, Found, Link, Phase, Place, Power, Proof, Provider, Server, ServerId,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Writes a line for each start, then runs until it is asked to end.
const RUNS: &str = "echo $$ >>starts; exec sleep 600";
/// Does not end when it is asked to.
const STUBBORN: &str = "echo $$ >>starts; trap '' TERM; while :; do sleep 0.1; done";

fn place() -> Place {
    Place { region: "local".into(), project: "alpha".into(), network: "default".into() }
}

fn instance(name: &str) -> Object {
    let mut instance = bare(Kind::Instance, "ns", name);
    instance.metadata.uid = Some(format!("uid-of-{name}"));
    instance
}

fn link(name: &str) -> Link {
    Link::new(place(), &instance(name))
}

fn shell(script: &str) -> Command {
    let arguments = ["/bin/sh", "-c", script].map(str::to_owned).into();
    Command { arguments, ..Command::default() }
}

/// A machine, on which the provider may be restarted.
struct World {
    state: TempDir,
    clock: Clock,
}

impl World {
    fn new() -> Self {
        let clock = Clock::from_tokio("2030-01-01T00:00:00Z".parse().unwrap());
        Self { state: tempfile::tempdir().unwrap(), clock }
    }

    fn provider(&self) -> Processes {
        Processes::new(self.state.path(), self.clock.clone()).unwrap()
    }

    fn starts(&self, link: &Link) -> usize {
        let file = self.state.path().join(&*link.name).join("work/starts");
        fs::read_to_string(file).unwrap_or_default().lines().count()
    }
}

/// No process outlives its test.
impl Drop for World {
    fn drop(&mut self) {
        for entry in fs::read_dir(self.state.path()).unwrap() {
            if let Ok(Known::Runs(process)) = process::known(&entry.unwrap().path()) {
                process.end(true);
            }
        }
    }
}

/// Looks at a server until it is like that.
async fn until(
    processes: &Processes,
    id: &ServerId,
    is: impl Fn(Option<&Server<Command>>) -> bool,
) -> Option<Server<Command>> {
    for _ in 0..500 {
        let server = processes.get(&place(), id).await.unwrap();
        if is(server.as_ref()) {
            return server;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("it does not become so: {:?}", processes.get(&place(), id).await);
}

async fn until_phase(processes: &Processes, id: &ServerId, phase: Phase) -> Server<Command> {
    until(processes, id, |server| server.is_some_and(|server| server.phase == phase)).await.unwrap()
}

/// Waits for what the command itself does.
fn until_started(world: &World, link: &Link, times: usize) {
    for _ in 0..500 {
        if world.starts(link) == times {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("started {} times", world.starts(link));
}

#[tokio::test(start_paused = true)]
async fn v1_a_restart_of_the_provider_starts_no_second_process() {
    let world = World::new();
    let link = link("web-0");
    let processes = world.provider();
    let id = processes.create(&link, &shell(RUNS)).await.unwrap().id;
    let made = until_phase(&processes, &id, Phase::Running).await;
    until_started(&world, &link, 1);
    drop(processes);
    for _ in 0..3 {
        tokio::time::advance(Duration::from_mins(10)).await;
        let processes = world.provider();
        assert_eq!(processes.list(&place()).await.unwrap(), std::slice::from_ref(&made));
        assert_eq!(processes.find(&link).await.unwrap(), Found::One(Box::new(made.clone())));
        let again = processes.create(&link, &shell(RUNS)).await.unwrap_err();
        assert_eq!(again.kind, FailureKind::Conflict);
    }
    sleep(Duration::from_millis(200));
    assert_eq!(world.starts(&link), 1);
}

/// The provider may end before a process that it started has written itself down.
#[tokio::test(start_paused = true)]
async fn v1_of_several_starts_one_becomes_the_command() {
    let world = World::new();
    let directory = world.state.path().join("web-0");
    for _ in 0..8 {
        process::start(&directory, &shell(RUNS), &[]).unwrap();
    }
    sleep(Duration::from_secs(1));
    assert_eq!(fs::read_to_string(directory.join("work/starts")).unwrap().lines().count(), 1);
    assert!(matches!(process::known(&directory).unwrap(), Known::Runs(_)));
    assert!(!process::prevent(&directory).unwrap());

    let prevented = world.state.path().join("web-1");
    assert!(process::prevent(&prevented).unwrap());
    process::start(&prevented, &shell(RUNS), &[]).unwrap();
    sleep(Duration::from_millis(500));
    assert_eq!(process::known(&prevented).unwrap(), Known::Ended);
    assert!(!prevented.join("work/starts").exists());
}

#[tokio::test(start_paused = true)]
async fn v4_a_deleted_server_is_gone_once_its_process_is() {
    let world = World::new();
    let link = link("web-0");
    let processes = world.provider();
    let id = processes.create(&link, &shell(STUBBORN)).await.unwrap().id;
    until_phase(&processes, &id, Phase::Running).await;
    until_started(&world, &link, 1);
    assert_eq!(processes.delete(&place(), &id).await.unwrap(), Deletion::Accepted);
    sleep(Duration::from_millis(300));
    let ending = processes.get(&place(), &id).await.unwrap().unwrap();
    assert!(ending.deleting.is_some() && ending.phase == Phase::Stopping, "{ending:?}");
    drop(processes);

    // One that is restarted meanwhile goes on with it.
    tokio::time::advance(Duration::from_secs(6)).await;
    let processes = world.provider();
    until(&processes, &id, |server| server.is_none()).await;
    assert_eq!(processes.delete(&place(), &id).await.unwrap(), Deletion::Gone);
    assert_eq!(processes.find(&link).await.unwrap(), Found::Absent(Proof::NotFound(id)));
    let left = fs::read_dir(world.state.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
}

#[tokio::test(start_paused = true)]
async fn v9_a_stopped_server_has_no_process() {
    let world = World::new();
    let other = link("web-1");
    let link = link("web-0");
    let processes = world.provider();
    let id = processes.create(&link, &shell(RUNS)).await.unwrap().id;
    let orders = [
        (Power::Stop, Phase::Stopped, 1),
        (Power::Start, Phase::Running, 2),
        (Power::Restart, Phase::Running, 3),
    ];
    until_phase(&processes, &id, Phase::Running).await;
    for (power, phase, starts) in orders {
        until_started(&world, &link, starts - usize::from(power != Power::Stop));
        processes.power(&place(), &id, power).await.unwrap();
        until(&processes, &id, |server| server.is_some_and(|it| it.phase == phase && it.settled)).await;
        tokio::time::advance(Duration::from_mins(1)).await;
        until_phase(&processes, &id, phase).await;
        until_started(&world, &link, starts);
    }
    // It is stopped before it began.
    let id = processes.create(&other, &shell(RUNS)).await.unwrap().id;
    processes.power(&place(), &id, Power::Stop).await.unwrap();
    until_phase(&processes, &id, Phase::Stopped).await;
    sleep(Duration::from_millis(300));
    until_phase(&processes, &id, Phase::Stopped).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_is_started_again_after_a_while() {
    let world = World::new();
    let link = link("web-0");
    let processes = world.provider();
    let id = processes.create(&link, &shell("echo $$ >>starts")).await.unwrap().id;
    until_started(&world, &link, 1);
    until_phase(&processes, &id, Phase::Pending).await;
    sleep(Duration::from_millis(200));
    until_phase(&processes, &id, Phase::Pending).await;
    assert_eq!(world.starts(&link), 1);
    tokio::time::advance(Duration::from_secs(10)).await;
    processes.list(&place()).await.unwrap();
    until_started(&world, &link, 2);
}

#[tokio::test(start_paused = true)]
async fn each_server_has_an_address_of_its_own_and_its_command_knows_it() {
    let world = World::new();
    let processes = world.provider();
    let command = shell(&format!("echo ${ADDRESS} >address; exec sleep 600"));
    let mut addresses = Vec::new();
    for name in ["web-0", "web-1", "web-2"] {
        let server = processes.create(&link(name), &command).await.unwrap();
        let address = server.addresses[0].network_ip.clone().unwrap();
        assert!(address.starts_with("127.") && !address.starts_with("127.0.0."), "{address}");
        let file = world.state.path().join(&*server.id.0).join("work/address");
        until_phase(&processes, &server.id, Phase::Running).await;
        while fs::read_to_string(&file).unwrap_or_default().trim() != &*address {
            sleep(Duration::from_millis(20));
        }
        addresses.push(address);
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn v2_an_id_of_others_reaches_nothing() {
    let world = World::new();
    let processes = world.provider();
    for id in ["..", "../x", "", "/etc"] {
        let id = ServerId(id.into());
        let kinds = [
            processes.get(&place(), &id).await.map(|_| ()).unwrap_err().kind,
            processes.delete(&place(), &id).await.map(|_| ()).unwrap_err().kind,
            processes.power(&place(), &id, Power::Stop).await.unwrap_err().kind,
        ];
        assert_eq!(kinds, [FailureKind::Invalid; 3], "{id}");
    }
    assert!(Processes::new(world.state.path(), world.clock.clone()).is_err(), "one provider has a directory");
    assert_eq!(processes.change(&shell("a"), &shell("a")), Change::Nothing);
    assert_eq!(processes.change(&shell("a"), &shell("b")), Change::Recreate);
}

#[test]
fn what_processes_cannot_do_is_said_to_the_user() {
    let container = json!({"name": "app", "image": "none", "command": ["python3", "-m"], "args": ["http.server"], "env": [{"name": "A", "value": "b"}]});
    let with = |change: Value| {
        let mut container = container.clone();
        container.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"sandbox": {"containers": [container]}})
    };
    let wanted = |runtime: Value, interfaces: usize| {
        let mut runtime = runtime;
        runtime["resources"] = json!({"instanceType": "datumcloud/d1-standard-2"});
        let interface = json!({"network": {"name": "default"}});
        let mut instance = instance("web-0");
        let spec = json!({"runtime": runtime, "networkInterfaces": vec![interface; interfaces]});
        set_field(&mut instance, "spec", spec);
        fedhub_processes::command::wanted("alpha", &instance)
    };
    let good = wanted(with(json!({})), 1).unwrap();
    assert_eq!(
        (good.place, good.spec.arguments),
        (place(), ["python3", "-m", "http.server"].map(str::to_owned).into())
    );
    assert_eq!(good.spec.environment["A"], "b");
    for (runtime, interfaces, words) in [
        (json!({"virtualMachine": {"volumeAttachments": []}}), 1, "use a sandbox"),
        (json!({"sandbox": {"containers": []}}), 1, "use a sandbox"),
        (with(json!({"command": []})), 1, "name the program"),
        (with(json!({"env": [{"name": "A", "valueFrom": {}}]})), 1, "give each a value"),
        (with(json!({"envFrom": []})), 1, "remove these"),
        (with(json!({})), 2, "leave one network interface"),
    ] {
        let refusal = wanted(runtime, interfaces).unwrap_err();
        assert!(refusal.by_user && refusal.message.contains(words), "{refusal}");
    }
}
