//! The planes of a test in other places: behind a server with Projects, and in one cluster that is all but
//! the hub.

use std::fs;

use fedhub_fake_apiserver::resource;
use http::Request;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tower::{Service, service_fn};

use super::objects::{SPACE, instance};
use super::planes::Planes;

const WD: &str = "WorkloadDeployment";
const INSTANCE: &str = "Instance";

impl Planes {
    /// Puts Projects on a server of their own, each with whether it is Ready: the management plane's objects
    /// and, below the path of project-a, its plane.
    pub async fn put_projects(&self, projects: &[(&str, &str)]) {
        self.management.register(resource::project());
        for (name, ready) in projects {
            let project = json!({
                "apiVersion": "resourcemanager.miloapis.com/v1alpha1", "kind": "Project", "metadata": {"name": name},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            });
            self.management.put(project).unwrap();
        }
        let root = self.management.service();
        let plane = self.project.service();
        let milo = service_fn(move |mut request: Request<Incoming>| {
            let prefix = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/project-a/control-plane";
            let rest = request.uri().path_and_query().and_then(|it| it.as_str().strip_prefix(prefix));
            let rest = rest.map(str::to_owned);
            let mut server = if rest.is_some() { plane.clone() } else { root.clone() };
            if let Some(rest) = rest {
                *request.uri_mut() = rest.parse().unwrap();
            }
            server.call(request)
        });
        let content = self.serve_by("milo", milo).await;
        fs::write(self.file("milo"), content.to_string()).unwrap();
    }

    /// Makes the management plane the project plane, named `single`, and the cell.
    pub fn make_single(&self) {
        for resource in resource::project_plane() {
            self.management.register(resource);
        }
        for (kind, namespace, name) in [
            ("Namespace", "", "kube-system"),
            ("Namespace", "", "shop"),
            (WD, "shop", "web"),
            (INSTANCE, "shop", "web-0"),
        ] {
            let mut object = self.project.get(kind, namespace, name).unwrap();
            object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
            self.management.put(object).unwrap();
        }
        let named = labelled("cluster-single");
        self.management.patch(INSTANCE, "shop", "web-0", &named).unwrap();
        self.hub.patch("Namespace", "", SPACE, &named).unwrap();
        let source =
            json!({"metadata": {"annotations": {"federation.datumapis.com/source": "single/shop/web"}}});
        self.hub.patch(WD, SPACE, "web", &source).unwrap();
        let mut identities =
            self.management.get("ConfigMap", "fedhub-system", "fedhub-plane-identities-7").unwrap();
        identities["data"] = json!({"single": "uid-project-a"});
        self.management.put(identities).unwrap();
        // What Karmada brings, with the finalizer of the cell's controller.
        let mut wd = self.hub.get(WD, SPACE, "web").unwrap();
        let metadata = wd["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
        metadata.insert("finalizers".to_owned(), json!(["compute.datumapis.com/workload-controller"]));
        self.management.put(wd).unwrap();
        let own = json!({"compute.datumapis.com/workload-deployment-name": "web"});
        self.management.put(instance(SPACE, &own)).unwrap();
    }
}

fn labelled(cluster: &str) -> Value {
    json!({"metadata": {"labels": {"meta.datumapis.com/upstream-cluster-name": cluster}}})
}
