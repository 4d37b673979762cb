use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_planes::transport::{AnswerKind, Transport, TransportConfig};
use fedhub_planes::{Pass, Plane};
use kube::Config;
use strum::VariantArray;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::MEMORY;
use super::polls::LongestPoll;
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
const ALL: Duration = Duration::from_mins(1);
/// How long a request may keep a thread of the runtime from others at a time, unoptimised.
const POLL: Duration = Duration::from_millis(500);

/// What one test has in memory is not another's.
static ALONE: Mutex<()> = Mutex::const_new(());

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
            other.plane.get_live(&Pass::unbound(), Kind::WorkloadDeployment, "n", "wd").await.unwrap();
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
    let _alone = ALONE.lock().await;
    let budget = MemoryBudget::from_bytes(BUDGET);
    let limits = TransportConfig {
        response_header_timeout: STEP,
        request_timeout: WHOLE,
        ..TransportConfig::default()
    };
    let metrics = Metrics::new().unwrap();
    let transport = Transport::new(limits, metrics.clone(), budget.clone());
    let healthy = transport.with_limits(TransportConfig::default());
    let healthy = plane(&healthy, &budget, "healthy", &start(Trick::None));
    let mut faults = Vec::new();
    for trick in Trick::VARIANTS {
        let hostile = plane(&transport, &budget, "hostile", &start(*trick));
        let longest = LongestPoll::default();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let all = async {
            let mut requests = JoinSet::new();
            for asking in Asking::VARIANTS {
                let hostile = hostile.clone();
                requests.spawn(longest.measure(async move { drop(asking.send(&hostile).await) }));
            }
            requests.join_all().await;
        };
        let began = Instant::now();
        let slowest = slowest(&healthy, all).await;
        let took = began.elapsed();
        let peak = MEMORY.peak_usage().saturating_sub(before);
        if peak > BUDGET + BESIDE {
            faults.push(format!("{trick:?}: {} MiB", peak / MIB));
        }
        if took > ALL {
            faults.push(format!("{trick:?}: {took:?} to the end of all requests"));
        }
        if longest.get() > POLL {
            faults.push(format!("{trick:?}: a thread was kept for {:?}", longest.get()));
        }
        if slowest > LATENCY {
            faults.push(format!("{trick:?}: another plane waited for {slowest:?}"));
        }
        println!(
            "{trick:?}: {} MiB, {took:?} in all, {:?} at a time, another plane waited for {slowest:?}",
            peak / MIB,
            longest.get()
        );
    }
    assert!(faults.is_empty(), "{faults:#?}");
    // Whatever the transport weighs was asked for, and bounded. What comes in pieces is weighed by who reads
    // it, and ends by its length or its time, whichever is first.
    for answer in AnswerKind::VARIANTS.iter().filter(|answer| **answer != AnswerKind::Pieces) {
        let given_up = metrics.too_large.with_label_values(&["project", answer.into()]).get();
        assert!(given_up > 0, "no answer was given up of those that are {answer:?}");
    }
}

/// What is said of a list that does not end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_list_that_does_not_end_is_named_as_that() {
    let _alone = ALONE.lock().await;
    let budget = MemoryBudget::from_bytes(BUDGET);
    let transport = Transport::new(TransportConfig::default(), Metrics::new().unwrap(), budget.clone());
    for (trick, said) in [
        (Trick::Pages, "it has more than 100 objects"),
        (Trick::EmptyPages, "100 pages in a row have no object"),
        (Trick::SamePage, "a page names itself as the next one"),
    ] {
        let hostile = plane(&transport, &budget, "hostile", &start(trick));
        for asking in [Asking::Pages, Asking::ListAndWatch] {
            let error = asking.send(&hostile).await.unwrap_err();
            assert!(error.contains(said), "{trick:?} {asking:?}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_an_answer_with_more_headers_than_any_server_sends_is_given_up() {
    let _alone = ALONE.lock().await;
    let budget = MemoryBudget::from_bytes(BUDGET);
    let transport = Transport::new(TransportConfig::default(), Metrics::new().unwrap(), budget.clone());
    for (trick, is_taken) in [(Trick::None, true), (Trick::LongHeaders, false)] {
        let asked = plane(&transport, &budget, "asked", &start(trick));
        let answer = Asking::LiveObject.send(&asked).await;
        assert_eq!(answer.is_ok(), is_taken, "{trick:?}: {answer:?}");
    }
}
