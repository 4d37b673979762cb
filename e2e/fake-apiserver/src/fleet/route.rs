//! Serves all planes: from a path to the plane that answers it.

use std::io;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use tokio::net::{TcpListener, TcpSocket};
use tower::{BoxError, Service};

use super::{Fleet, control};
use crate::answer::Refusal;
use crate::http::{self as server, Identity};
use crate::server::ApiServer;
use crate::service::{AnswerBody, refuse, respond};

const PROJECTS: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/";
const CONTROL_PLANE: &str = "/control-plane";

/// Answers for all planes of a [`Fleet`], and its control API.
#[derive(Clone)]
pub struct FleetService {
    fleet: Fleet,
    apart: bool,
}

/// The plane that answers a path, and the path as that plane sees it.
#[derive(Debug, PartialEq)]
enum Way<'a> {
    Hub(&'a str),
    Management(&'a str),
    Project(&'a str, &'a str),
    Control(&'a str),
}

impl<'a> Way<'a> {
    fn from_path(path: &'a str) -> Self {
        let below = |prefix: &str| {
            path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        };
        if let Some((project, rest)) = path.strip_prefix(PROJECTS).and_then(|rest| rest.split_once('/')) {
            let rest = rest.strip_prefix(&CONTROL_PLANE[1..]);
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['/', '?'])) {
                return Self::Project(project, rest);
            }
        }
        if let Some(rest) = below("/hub") {
            return Self::Hub(rest);
        }
        below("/control").map_or(Self::Management(path), Self::Control)
    }
}

impl Fleet {
    /// Serves all planes on the address of `listener` until it is dropped, `Outages` aside.
    pub async fn serve(
        &self,
        mut listener: TcpListener,
        identity: &Identity,
        speaks: &server::Settings,
    ) -> io::Result<()> {
        let bound = listener.local_addr()?;
        loop {
            let outage = tokio::select! {
                () = server::serve(listener, identity, speaks.clone(), self.service(), self.census()) => return Ok(()),
                outage = self.outages().ordered() => outage,
            };
            // The port stays bound, so that no other process gets it meanwhile; nothing listens there.
            let socket = if bound.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.set_reuseaddr(true)?;
            socket.bind(bound)?;
            tokio::time::sleep(outage.away()).await;
            self.outages().over(outage);
            listener = socket.listen(1024)?;
        }
    }

    /// The service that answers for all planes.
    pub fn service(&self) -> FleetService {
        FleetService { fleet: self.clone(), apart: false }
    }

    /// Returns a service that answers for all planes on a server of its own, which `Outages` do not affect.
    pub fn service_apart(&self) -> FleetService {
        FleetService { fleet: self.clone(), apart: true }
    }
}

impl FleetService {
    fn plane(&self, way: &Way<'_>) -> Option<ApiServer> {
        match way {
            Way::Hub(_) => Some(self.fleet.hub().clone()),
            Way::Management(_) => Some(self.fleet.management().clone()),
            Way::Project(name, _) => self.fleet.projects().get(*name).cloned(),
            Way::Control(_) => None,
        }
    }
}

impl<B> Service<Request<B>> for FleetService
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let whole = request.uri().path_and_query().map_or("/", PathAndQuery::as_str).to_owned();
        let way = Way::from_path(&whole);
        if let Way::Control(rest) = way {
            let fleet = self.fleet.clone();
            let rest = rest.to_owned();
            return Box::pin(controlled(fleet, rest, request));
        }
        let (Way::Hub(rest) | Way::Management(rest) | Way::Project(_, rest)) = way else {
            return Box::pin(async { refuse(&Refusal::no_such_path()) });
        };
        let rest = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
        match (self.plane(&way), rest.parse::<Uri>()) {
            (Some(plane), Ok(uri)) => {
                *request.uri_mut() = uri;
                if self.apart {
                    return plane.service().call(request);
                }
                let fleet = self.fleet.clone();
                Box::pin(async move {
                    if let Some(at) = fleet.outages().begins(&plane) {
                        tokio::time::sleep_until(at).await;
                    }
                    match fleet.outages().refusal(&plane, &rest) {
                        Some(refusal) => refuse(&refusal),
                        None => plane.service().call(request).await,
                    }
                })
            }
            _ => Box::pin(async { refuse(&Refusal::no_such_path()) }),
        }
    }
}

async fn controlled<B>(
    fleet: Fleet,
    rest: String,
    request: Request<B>,
) -> Result<Response<AnswerBody>, BoxError>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(Into::into)?.to_bytes();
    match control::answer(&fleet, &parts.method, &rest, &body).await {
        Ok(answer) => respond(200, "application/json", format!("{answer}\n")),
        Err(refusal) => refuse(&refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_its_plane() {
        let projects = "/apis/resourcemanager.miloapis.com/v1alpha1/projects";
        let project = format!("{projects}/p-1/control-plane");
        let of = |path: &str| format!("{:?}", Way::from_path(path));
        for (path, way) in [
            ("/hub/api/v1?x=1".to_owned(), Way::Hub("/api/v1?x=1")),
            ("/hub".to_owned(), Way::Hub("")),
            ("/hubble".to_owned(), Way::Management("/hubble")),
            ("/".to_owned(), Way::Management("/")),
            ("/control/counters".to_owned(), Way::Control("/counters")),
            (format!("{project}/api/v1"), Way::Project("p-1", "/api/v1")),
            (format!("{project}?x"), Way::Project("p-1", "?x")),
            (format!("{project}s"), Way::Management(&format!("{project}s"))),
            (format!("{projects}/p-1/status"), Way::Management(&format!("{projects}/p-1/status"))),
            (format!("{projects}?watch=1"), Way::Management(&format!("{projects}?watch=1"))),
        ] {
            assert_eq!(of(&path), format!("{way:?}"), "{path}");
        }
    }
}
