use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_planes::Plane;
use fedhub_planes::transport::{Transport, TransportConfig};
use kube::Config;
use strum::VariantArray;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::MEMORY;
use super::requests::{Asked, Asking};
use super::server::{Trick, start};

const MIB: usize = 1 << 20;
/// What all planes share.
const BUDGET: usize = 16 * MIB;
/// What the process may take beside that: buffers, and an answer for each thread that decodes one.
const BESIDE: usize = 40 * MIB;
/// How long a request may take, and how long a byte of its answer.
const WHOLE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_secs(2);
/// How long the slowest request to another plane may take, beside a build that runs.
const LATENCY: Duration = Duration::from_secs(5);
/// How long all requests may take together: large answers are read one after the other.
const ALL: Duration = Duration::from_secs(60);

fn plane(transport: &Transport, budget: &MemoryBudget, name: &str, address: &str) -> Asked {
    let id = PlaneId::Project(PlaneName::new(name).unwrap());
    let config = Config::new(address.parse().unwrap());
    let connection = transport.server(&config).unwrap().connection(&id);
    let plane = Arc::new(Plane::new(id, connection.clone(), &[], Fence::open(), budget));
    Asked { plane, connection, budget: budget.clone() }
}

/// The slowest answer of another plane while `until` runs.
async fn slowest(other: &Asked, until: impl Future<Output = ()>) -> Duration {
    let mut slowest = Duration::ZERO;
    let asking = async {
        loop {
            let began = Instant::now();
            other.plane.get_live(Kind::WorkloadDeployment, "n", "wd").await.unwrap();
            slowest = slowest.max(began.elapsed());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = until => {}
        () = asking => {}
    }
    slowest
}

/// Each trick on a request of each kind, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_whatever_a_server_sends_memory_is_bounded_requests_end_and_others_are_answered() {
    let budget = MemoryBudget::of(BUDGET);
    let limits = TransportConfig {
        response_header_timeout: STEP,
        request_timeout: WHOLE,
        ..TransportConfig::default()
    };
    let metrics = Metrics::new().unwrap();
    let transport = Transport::new(limits, metrics.clone(), budget.clone());
    let healthy = transport.with_limits(TransportConfig::default());
    let healthy = plane(&healthy, &budget, "healthy", &start(Trick::None).await);
    let mut faults = Vec::new();
    for trick in Trick::VARIANTS {
        let hostile = plane(&transport, &budget, "hostile", &start(*trick).await);
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let all = async {
            let mut requests = JoinSet::new();
            for asking in Asking::VARIANTS {
                let hostile = hostile.clone();
                requests.spawn(async move { drop(asking.send(&hostile).await) });
            }
            requests.join_all().await;
        };
        let began = Instant::now();
        let slowest = slowest(&healthy, all).await;
        let (took, peak) = (began.elapsed(), MEMORY.peak_usage().saturating_sub(before));
        if peak > BUDGET + BESIDE {
            faults.push(format!("{trick:?}: {} MiB", peak / MIB));
        }
        if took > ALL {
            faults.push(format!("{trick:?}: {took:?} to the end of all requests"));
        }
        if slowest > LATENCY {
            faults.push(format!("{trick:?}: another plane waited for {slowest:?}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    let given_up = metrics.too_large.with_label_values(&["project", "answer"]).get();
    assert!(given_up > 50, "{given_up} answers were weighed and given up");
}

/// What is said of a list that does not end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_list_that_does_not_end_is_named_as_that() {
    let budget = MemoryBudget::of(BUDGET);
    let transport = Transport::new(TransportConfig::default(), Metrics::new().unwrap(), budget.clone());
    for (trick, said) in [
        (Trick::Pages, "it has more than 300 objects"),
        (Trick::EmptyPages, "100 pages in a row have no object"),
        (Trick::SamePage, "a page names itself as the next one"),
    ] {
        let hostile = plane(&transport, &budget, "hostile", &start(trick).await);
        for asking in [Asking::Pages, Asking::ListAndWatch] {
            let error = asking.send(&hostile).await.unwrap_err();
            assert!(error.contains(said), "{trick:?} {asking:?}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_an_answer_with_more_headers_than_any_server_sends_is_given_up() {
    let budget = MemoryBudget::of(BUDGET);
    let transport = Transport::new(TransportConfig::default(), Metrics::new().unwrap(), budget.clone());
    for (trick, is_taken) in [(Trick::None, true), (Trick::LongHeaders, false)] {
        let asked = plane(&transport, &budget, "asked", &start(trick).await);
        let answer = Asking::LiveObject.send(&asked).await;
        assert_eq!(answer.is_ok(), is_taken, "{trick:?}: {answer:?}");
    }
}
