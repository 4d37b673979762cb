//! Planes that are sick on demand: a request to the front itself says which and how.
//!
//! `POST /faults/<project>` with `silent`, `unavailable` or `garbage` makes the plane of that project sick from then
//! on, what it is just answering included; `DELETE /faults/<project>` heals it.

use std::{
    collections::BTreeMap,
    future::pending,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt, stream};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;
use tokio::sync::watch;

use super::{Answer, Content, Problem, refusal};

/// The path of the front's own under which faults are.
const PATH: &str = "/faults/";

/// How a plane is sick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It takes every request and never answers: a black hole.
    Silent,
    /// It answers 503.
    Unavailable,
    /// It answers a page in HTML with 200, as a misconfigured proxy does.
    Garbage,
}

impl Fault {
    fn named(name: &str) -> Option<Self> {
        match name {
            "silent" => Some(Self::Silent),
            "unavailable" => Some(Self::Unavailable),
            "garbage" => Some(Self::Garbage),
            _ => None,
        }
    }

    /// What a sick plane answers, whatever is asked.
    pub async fn answer(self) -> Answer {
        match self {
            Self::Silent => pending().await,
            Self::Unavailable => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the plane is played sick")
            }
            Self::Garbage => {
                let mut answer = Response::new(content("<html><body>It works!</body></html>\n"));
                answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
                answer
            }
        }
    }
}

/// How each project's plane is.
#[derive(Default)]
pub struct Faults(Mutex<BTreeMap<String, watch::Sender<Option<Fault>>>>);

impl Faults {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, watch::Sender<Option<Fault>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the plane of a project is, from now on.
    pub fn of(&self, project: &str) -> watch::Receiver<Option<Fault>> {
        self.all().entry(project.to_owned()).or_default().subscribe()
    }

    /// The project that a request to the front itself is about.
    pub fn project(path: &str) -> Option<&str> {
        path.strip_prefix(PATH).filter(|project| !project.is_empty())
    }

    /// Makes a plane sick, or heals it where there is no word for how it is.
    pub fn set(&self, project: &str, word: Option<&str>) -> Answer {
        let fault = word.map(str::trim).and_then(Fault::named);
        if word.is_some() && fault.is_none() {
            return refusal(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                "a fault is silent, unavailable or garbage",
            );
        }
        self.all().entry(project.to_owned()).or_default().send_replace(fault);
        Response::new(content("{}\n"))
    }
}

/// A body that comes from a plane for as long as that is well. A silent plane says no more; of any other the rest is
/// lost.
pub fn cut<B>(body: B, mut health: watch::Receiver<Option<Fault>>) -> Content
where
    B: hyper::body::Body<Data = hyper::body::Bytes> + Send + 'static,
    B::Error: Into<Problem>,
{
    let mut sick = health.clone();
    let falls_sick = async move {
        // An error says that the front ends.
        let _ = sick.wait_for(Option::is_some).await;
    };
    let well = BodyStream::new(body).map(|frame| frame.map_err(Into::into)).take_until(falls_sick);
    let rest = stream::once(async move {
        let fault = *health.borrow_and_update();
        match fault {
            None => None,
            Some(Fault::Silent) => pending().await,
            Some(_) => Some(Err::<Frame<_>, Problem>(io::Error::from(io::ErrorKind::ConnectionReset).into())),
        }
    });
    StreamBody::new(well.chain(rest.filter_map(std::future::ready))).boxed_unsync()
}

/// A body that is there already.
pub fn content(text: impl Into<hyper::body::Bytes>) -> Content {
    http_body_util::Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_goes_on_until_its_plane_falls_sick() {
        for (fault, ends) in [("unavailable", true), ("silent", false)] {
            let faults = Faults::default();
            let frames =
                stream::iter([Ok::<_, Problem>(Frame::data("news".into()))]).chain(stream::pending());
            let mut body = cut(StreamBody::new(frames), faults.of("p"));
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "news");
            assert_eq!(faults.set("p", Some("purple")).status(), StatusCode::BAD_REQUEST);
            assert_eq!(faults.set("p", Some(fault)).status(), StatusCode::OK);
            let last = futures::poll!(Box::pin(body.frame()));
            assert_eq!(matches!(last, std::task::Poll::Ready(Some(Err(_)))), ends, "{fault}");
        }
        let faults = Faults::default();
        let whole = stream::iter([Ok::<_, Problem>(Frame::data("all".into()))]);
        assert_eq!(cut(StreamBody::new(whole), faults.of("p")).collect().await.unwrap().to_bytes(), "all");
    }
}
