//! Lists that are read once, page by page and object by object, in bounded memory and to an end (I8).

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use fedhub_cache::MemoryBudget;
use fedhub_core::errors::{ApiError, Excess};
use fedhub_core::object::{Object, ObjectView, PlaneId, from_json};
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::{ApiResource, Request};

use super::envelope::{Piece, malformed};
use super::limits::{ListLimits, Tally};
use super::object::{Cut, Extent};
use super::reader::{self, Reader};
use super::{PAGE, PAGE_BYTES, page_size};
use crate::listwatch::guard;

/// Bytes of memory that are decoded before other tasks have their turn.
const TURN: usize = 256 << 10;
/// Bytes of memory that one object may take. It is decoded in one go, and more than one may be held.
const OBJECT: usize = 16 << 20;

/// The part of objects that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole objects.
    Whole,
    /// Their metadata.
    Metadata,
}

impl Part {
    /// How many bytes an object may have. A whole one as many as on a hub: there is no place to answer a
    /// larger one.
    fn limit(self, kind: &ApiResource) -> usize {
        match self {
            Self::Whole if kind.plural != "namespaces" => guard::limit(&PlaneId::Hub),
            Self::Whole | Self::Metadata => guard::METADATA,
        }
    }
}

/// The plane to read, its client, and the memory for its answers.
#[derive(Clone)]
pub struct BoundedClient {
    /// Asks the plane.
    pub client: Client,
    /// The plane whose share of the memory is used.
    pub plane: PlaneId,
    /// The memory that all planes share.
    pub budget: MemoryBudget,
}

impl BoundedClient {
    /// Reads one object; of a cluster-scoped kind where `namespace` is empty.
    pub async fn object(
        &self,
        kind: &ApiResource,
        namespace: &str,
        name: &str,
        part: Part,
    ) -> Result<Object, ApiError> {
        let requests = requests(kind, namespace);
        let params = GetParams::default();
        let request = match part {
            Part::Whole => requests.get(name, &params),
            Part::Metadata => requests.get_metadata(name, &params),
        };
        let limit = part.limit(kind);
        reader::object(&self.client, request?, limit, &self.plane, &self.budget, |cut| decode(cut, limit))
            .await
    }

    /// Reads a list; of all namespaces where `namespace` is empty.
    pub fn pages(&self, kind: &ApiResource, namespace: &str, part: Part, limits: ListLimits) -> Pages {
        Pages {
            source: self.clone(),
            requests: requests(kind, namespace),
            part,
            limit: part.limit(kind),
            params: ListParams::default().limit(PAGE),
            tally: Tally::new(limits),
        }
    }
}

/// Requests for objects of a kind.
fn requests(kind: &ApiResource, namespace: &str) -> Request {
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    Request::new(<Object as kube::Resource>::url_path(kind, namespace))
}

fn decode(cut: &Cut, limit: usize) -> Result<Object, ApiError> {
    if cut.extent != Extent::Whole {
        return Err(Excess::Object(limit).into());
    }
    if cut.memory > OBJECT {
        return Err(Excess::Memory(OBJECT).into());
    }
    Ok(from_json(&cut.text)?)
}

/// The pages of a list, of which no more is held than one object.
pub struct Pages {
    source: BoundedClient,
    requests: Request,
    part: Part,
    /// How many bytes an object may have.
    limit: usize,
    params: ListParams,
    tally: Tally,
}

impl Pages {
    /// Selects objects by labels.
    #[must_use]
    pub fn labels(mut self, labels: &str) -> Self {
        self.params.label_selector = Some(labels.to_owned()).filter(|labels| !labels.is_empty());
        self
    }

    /// Selects objects by fields.
    #[must_use]
    pub fn fields(mut self, fields: &str) -> Self {
        self.params.field_selector = Some(fields.to_owned()).filter(|fields| !fields.is_empty());
        self
    }

    /// Reads the next page, and has each of its objects visited once. Breaks where that was the last page, or
    /// `visit` broke off.
    pub async fn next(
        &mut self,
        visit: &mut (impl FnMut(Object) -> ControlFlow<()> + Send),
    ) -> Result<ControlFlow<()>, ApiError> {
        // A page that turns out too large is asked for again, with fewer objects on it.
        let mut visited = BTreeSet::new();
        loop {
            self.tally.page_begins();
            match self.page(&mut visited, visit).await {
                Err(ApiError::TooLarge(Excess::Page(_))) => {
                    let asked = self.params.limit.unwrap_or(PAGE);
                    let size = page_size(self.tally.on_page(), PAGE_BYTES).min(asked / 2).max(1);
                    self.params.limit = Some(size);
                }
                page => return page,
            }
        }
    }

    async fn page(
        &mut self,
        visited: &mut BTreeSet<(String, String)>,
        visit: &mut (impl FnMut(Object) -> ControlFlow<()> + Send),
    ) -> Result<ControlFlow<()>, ApiError> {
        let BoundedClient { client, plane, budget } = &self.source;
        let request = match self.part {
            Part::Whole => self.requests.list(&self.params),
            Part::Metadata => self.requests.list_metadata(&self.params),
        };
        let most = (self.params.limit != Some(1)).then_some(PAGE_BYTES);
        let mut reader = Reader::open(client, request?, self.limit, most).await?;
        let mut decoded = 0;
        loop {
            match reader.next(plane, budget).await? {
                Some(Piece::Item(cut)) => {
                    self.tally.object(cut.memory)?;
                    let object = decode(&cut, self.limit)?;
                    let name = (object.namespace().to_owned(), object.name().to_owned());
                    if visited.insert(name) && visit(object).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    decoded += cut.memory;
                    if decoded > TURN {
                        decoded = 0;
                        tokio::task::yield_now().await;
                    }
                }
                Some(Piece::Page(page)) => {
                    let next = page.next.filter(|token| !token.is_empty());
                    self.tally.page_ends(self.params.continue_token.as_deref(), next.as_deref())?;
                    let size = page_size(self.tally.on_page(), reader.read());
                    (self.params.limit, self.params.continue_token) = (Some(size), next);
                    let more = self.params.continue_token.is_some();
                    return Ok(if more { ControlFlow::Continue(()) } else { ControlFlow::Break(()) });
                }
                Some(Piece::Event(..)) => {
                    return Err(malformed("a watch in place of a list").into());
                }
                None => {
                    return Err(malformed("the list ends in the midst of a page").into());
                }
            }
        }
    }
}
