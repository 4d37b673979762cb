//! Kills fedhub before a write of its own, on demand: a webhook that planes ask about each. Its number stands
//! in a file, which has how many are left to it; that write is not carried out, and all before it are.
//! Without the file, or with none left, everything is allowed.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;

use crate::Error;
use crate::fedhub::Fedhub;
use crate::gateway::{Answer, connection, json_answer, tls};
use crate::output::complain;
use crate::topology::{Layout, write_atomically};

/// A webhook that listens.
pub struct Killer {
    listener: TcpListener,
    tls: TlsAcceptor,
    kills: Arc<Kills>,
}

struct Kills {
    layout: Layout,
    order: PathBuf,
    /// Writes are counted one after the other.
    turn: Mutex<()>,
}

impl Killer {
    /// Listens beside an instance, with the certificate of its servers. `order` is the file with what is to
    /// be done.
    pub async fn listen(layout: &Layout, order: &Path) -> Result<Self, Error> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind(any).await.map_err(Error::file("listen on", any.to_string()))?;
        let kills = Kills { layout: layout.clone(), order: order.to_owned(), turn: Mutex::default() };
        Ok(Self { listener, tls: tls(layout)?, kills: Arc::new(kills) })
    }

    /// Where planes reach it.
    pub fn url(&self) -> String {
        self.listener.local_addr().map(|bound| format!("https://{bound}/")).unwrap_or_default()
    }

    /// Serves until it is dropped.
    pub async fn serve(self) {
        while let Ok((tcp, _)) = self.listener.accept().await {
            let kills = self.kills.clone();
            tokio::spawn(connection(tcp, self.tls.clone(), move |request| {
                let kills = kills.clone();
                async move { kills.answer(request).await }
            }));
        }
    }
}

impl Kills {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let review: Value = body.ok().and_then(|body| serde_json::from_slice(&body).ok()).unwrap_or_default();
        let kills = self.clone();
        // By itself: the end of fedhub ends its request, and with it this one.
        let counted = tokio::spawn(async move { kills.write().await }).await;
        let allowed = counted.is_ok_and(|counted| {
            counted.unwrap_or_else(|error| {
                complain(format_args!("killer: {error}"));
                true
            })
        });
        json_answer(&json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], "allowed": allowed},
        }))
    }

    /// Counts a write, and kills where it is the one; returns whether it is allowed.
    async fn write(&self) -> Result<bool, Error> {
        let _turn = self.turn.lock().await;
        let Ok(order) = fs::read_to_string(&self.order) else { return Ok(true) };
        let Some(left) = counted(&order) else { return Ok(true) };
        if left == 0 {
            Fedhub::load(&self.layout)?.kill().await?;
        }
        write_atomically(&self.order, format!("{left}\n").as_bytes())?;
        Ok(left > 0)
    }
}

/// Returns what is left of a count after one more write; `None` if nothing was left.
fn counted(order: &str) -> Option<u32> {
    order.trim().parse::<u32>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_counted_down_to_its_write_and_no_further() {
        assert_eq!((counted("2\n"), counted("1")), (Some(1), Some(0)));
        for done in ["0", "", "x"] {
            assert_eq!(counted(done), None, "{done}");
        }
    }
}
