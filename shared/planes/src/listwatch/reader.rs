//! Reads an answer object by object: of an object no more is held than a limit, and of the answer no more
//! than that.

use std::pin::Pin;

use fedhub_cache::budget::{FREE, MemoryBudget, Reserved};
use fedhub_core::errors::{ApiError, Excess};
use fedhub_core::object::PlaneId;
use futures::io::{AsyncBufRead, AsyncBufReadExt};
use kube::Client;

use super::envelope::{Opener, Piece, malformed};
use super::object::{Cut, ObjectCutter};
use crate::transport::InPieces;
use crate::transport::reader::reader;

type Body = Pin<Box<dyn AsyncBufRead + Send>>;

/// Sends a request, whose answer is read in pieces.
async fn send(client: &Client, mut request: http::Request<Vec<u8>>) -> Result<Body, ApiError> {
    request.extensions_mut().insert(InPieces);
    Ok(Box::pin(client.request_stream(request).await?))
}

/// Sends a request whose answer is one object, and decodes that while its memory is paid for.
pub async fn object<T>(
    client: &Client,
    request: http::Request<Vec<u8>>,
    limit: usize,
    plane: &PlaneId,
    budget: &MemoryBudget,
    decode: impl FnOnce(&Cut) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let mut body = send(client, request).await?;
    let mut cutter = ObjectCutter::new(limit);
    let mut reserved = None;
    loop {
        let bytes = body.fill_buf().await?;
        if bytes.is_empty() {
            return Err(malformed("the answer ends in the midst of an object").into());
        }
        let (used, cut) = cutter.push(bytes);
        body.consume_unpin(used);
        if let Some(cut) = cut {
            return decode(&cut);
        }
        if reserved.is_none() && cutter.held() > FREE {
            reserved = Some(budget.reading(reader(plane), cutter.held(), limit).await);
        }
    }
}

/// A page, or a watch, that is being read.
pub struct Reader {
    body: Body,
    opener: Opener,
    limit: usize,
    read: usize,
    /// How many bytes there may be.
    most: Option<usize>,
    reserved: Option<Reserved>,
}

impl Reader {
    /// Sends a request. Each object of its answer may have `limit` bytes, and all of it `most`.
    pub async fn open(
        client: &Client,
        request: http::Request<Vec<u8>>,
        limit: usize,
        most: Option<usize>,
    ) -> Result<Self, ApiError> {
        let body = send(client, request).await?;
        Ok(Self { body, opener: Opener::new(limit), limit, read: 0, most, reserved: None })
    }

    /// Bytes so far.
    pub fn read(&self) -> usize {
        self.read
    }

    /// The next piece; `None` at the end. Its memory is paid for until the one after it is asked for.
    pub async fn next(&mut self, plane: &PlaneId, budget: &MemoryBudget) -> Result<Option<Piece>, ApiError> {
        // The last one was taken.
        self.reserved = None;
        loop {
            if let Some(most) = self.most.filter(|most| self.read > *most) {
                return Err(Excess::Page(most).into());
            }
            let bytes = self.body.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let (used, piece) = self.opener.push(bytes)?;
            self.body.consume_unpin(used);
            self.read += used;
            if piece.is_some() {
                return Ok(piece);
            }
            if self.reserved.is_none() && self.opener.held() > FREE {
                // In a box: few objects are that large.
                self.reserved =
                    Some(Box::pin(budget.reading(reader(plane), self.opener.held(), self.limit)).await);
            }
        }
    }
}
