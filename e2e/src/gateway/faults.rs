//! Planes that are unhealthy on demand: a request to the gateway itself says which and how.
//!
//! `POST /faults/<project>` with `silent`, `stalled`, `stalled-lists`, `unavailable` or `garbage` makes the
//! plane of that project unhealthy from then on, what it is just answering included;
//! `DELETE /faults/<project>` heals it.

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, stream};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::{Bytes, Frame};
use tokio::sync::watch;

use super::answer::{Answer, Content, Problem, content, refusal};

/// The path of the gateway's own under which faults are.
const PATH: &str = "/faults/";

/// How a plane is unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The plane takes every request and never answers: a black hole.
    Silent,
    /// The plane stops in the middle of every answer, and of the next line of every watch.
    Stalled,
    /// The plane stops in the middle of every page of a list.
    StalledLists,
    /// The plane answers 503.
    Unavailable,
    /// The plane answers a page in HTML with 200, as a misconfigured proxy does.
    Garbage,
}

impl Fault {
    fn named(name: &str) -> Option<Self> {
        match name {
            "silent" => Some(Self::Silent),
            "stalled" => Some(Self::Stalled),
            "stalled-lists" => Some(Self::StalledLists),
            "unavailable" => Some(Self::Unavailable),
            "garbage" => Some(Self::Garbage),
            _ => None,
        }
    }

    /// How it shows in the answer to a request for a list, or for anything else.
    pub fn shows(self, list: bool) -> Option<Self> {
        match self {
            Self::StalledLists => list.then_some(Self::Stalled),
            other => Some(other),
        }
    }

    /// Returns the answer of an unhealthy plane, whatever the request. `None` if it begins as if it were
    /// healthy.
    pub async fn answer(self) -> Option<Answer> {
        Some(match self {
            Self::Silent => pending().await,
            Self::Stalled | Self::StalledLists => return None,
            Self::Unavailable => {
                refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the plane is made unhealthy")
            }
            Self::Garbage => {
                let mut answer = Response::new(content("<html><body>It works!</body></html>\n"));
                answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
                answer
            }
        })
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

    /// The project that a request to the gateway itself is about.
    pub fn project(path: &str) -> Option<&str> {
        path.strip_prefix(PATH).filter(|project| !project.is_empty())
    }

    /// Makes a plane unhealthy, or heals it where there is no word for how it is.
    pub fn set(&self, project: &str, word: Option<&str>) -> Answer {
        let fault = word.map(str::trim).and_then(Fault::named);
        if word.is_some() && fault.is_none() {
            return refusal(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                "a fault is silent, stalled, stalled-lists, unavailable or garbage",
            );
        }
        self.all().entry(project.to_owned()).or_default().send_replace(fault);
        Response::new(content("{}\n"))
    }
}

/// A body that comes from a plane for as long as that is well. A silent plane says no more, one that stalls
/// half of what it has to say next; of any other the rest is lost. `list` says whether it is the answer to a
/// request for a list.
pub fn cut<B>(body: B, health: watch::Receiver<Option<Fault>>, list: bool) -> Content
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Problem>,
{
    let frames = BodyStream::new(body).map(|frame| frame.map_err(Into::into)).boxed();
    let frames = stream::unfold(Some((frames, health)), move |state| async move {
        let (mut frames, mut health) = state?;
        let shows = |fault: &Option<Fault>| fault.and_then(|fault| fault.shows(list));
        let next = {
            let turns_unhealthy = async {
                // An error says that the gateway ends.
                health.wait_for(|fault| shows(fault).is_some()).await.ok().and_then(|fault| shows(&fault))
            };
            tokio::select! { biased; fault = turns_unhealthy => Err(fault), frame = frames.next() => Ok(frame) }
        };
        let fault = match next {
            Ok(frame) => return frame.map(|frame| (frame, Some((frames, health)))),
            Err(fault) => fault,
        };
        match fault {
            None => None,
            Some(Fault::Silent) => pending().await,
            Some(Fault::Stalled) => {
                let half = frames.next().await?.map(half);
                Some((half, Some((stream::pending().boxed(), health))))
            }
            Some(_) => Some((Err(io::Error::from(io::ErrorKind::ConnectionReset).into()), None)),
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// The first half of a frame.
fn half(frame: Frame<Bytes>) -> Frame<Bytes> {
    frame.map_data(|data| data.slice(..data.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_goes_on_until_its_plane_turns_unhealthy() {
        for (fault, ends) in [("unavailable", true), ("silent", false), ("stalled", false)] {
            let faults = Faults::default();
            let frames =
                stream::iter([Ok::<_, Problem>(Frame::data("news".into()))]).chain(stream::pending());
            let mut body = cut(StreamBody::new(frames), faults.of("p"), false);
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "news");
            assert_eq!(faults.set("p", Some("purple")).status(), StatusCode::BAD_REQUEST);
            assert_eq!(faults.set("p", Some(fault)).status(), StatusCode::OK);
            let last = futures::poll!(Box::pin(body.frame()));
            assert_eq!(matches!(last, std::task::Poll::Ready(Some(Err(_)))), ends, "{fault}");
        }
        let faults = Faults::default();
        let whole = stream::iter([Ok::<_, Problem>(Frame::data("all".into()))]);
        assert_eq!(
            cut(StreamBody::new(whole), faults.of("p"), false).collect().await.unwrap().to_bytes(),
            "all"
        );
    }

    #[tokio::test]
    async fn a_plane_that_stalls_says_half_of_what_comes_next() {
        for (fault, list, first) in
            [("stalled", false, "ne"), ("stalled-lists", true, "ne"), ("stalled-lists", false, "news")]
        {
            let faults = Faults::default();
            faults.set("p", Some(fault));
            let frames =
                stream::iter([Ok::<_, Problem>(Frame::data("news".into()))]).chain(stream::pending());
            let mut body = cut(StreamBody::new(frames), faults.of("p"), list);
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), first);
            faults.set("p", None);
            assert!(futures::poll!(Box::pin(body.frame())).is_pending(), "{fault}");
        }
    }
}
