//! A cell process takes part in the election on its cell, and its fence holds there as it does on the hub.

use fedhub_core::clock::Clock;
use fedhub_core::errors::Category;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, Object, PlaneId};
use fedhub_fake_apiserver::{ApiServer, until};
use fedhub_lease::Leadership;
use fedhub_planes::{Pass, Planes, Settings, Watched};
use serde_json::json;

use crate::support::{SPACE, config, holder};

#[tokio::test(start_paused = true)]
async fn writes_to_the_cell_pass_while_its_lease_is_held_and_no_longer() {
    let cell = ApiServer::cell("cell");
    cell.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})).unwrap();
    let clock = Clock::from_tokio(cell.clock().now());
    let leadership = Leadership::start(cell.client(), config("one"), clock.clone(), &Metrics::new().unwrap());
    let settings = Settings {
        anchor: PlaneId::Cell,
        anchor_kinds: vec![Watched::all(Kind::Instance)],
        project_kinds: Vec::new(),
        fence: leadership.fence(),
        ..Settings::default()
    };
    let planes = Planes::with(cell.client(), Metrics::new().unwrap(), clock, settings);
    planes.start();
    let create = async |name: &str| {
        let object: Object = serde_json::from_value(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
            "metadata": {"namespace": SPACE, "name": name},
        }))
        .unwrap();
        planes.anchor().create(&Pass::unbound(), Kind::Instance, &object, "test").await
    };
    let early = create("early").await.unwrap_err();
    assert_eq!((early.category(), early.plane), (Category::NotEngaged, PlaneId::Cell));
    until("it leads", || planes.leads()).await;
    assert_eq!(holder(&cell), "one");
    create("in-time").await.unwrap();
    leadership.release().await;
    assert!(create("late").await.is_err());
    assert_eq!(cell.list("Instance").len(), 1);
    planes.stop().await;
}
