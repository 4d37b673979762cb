//! Waiting for a condition, never for a time.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Error;

/// How often a condition is looked at. All servers are local.
const INTERVAL: Duration = Duration::from_millis(50);

/// Why a condition does not hold.
pub enum NotYet {
    /// It may come true.
    Again(String),
    /// It cannot come true any more.
    Never(Error),
}

impl NotYet {
    /// It may come true; the error is what the last look at it gave.
    pub fn again(reason: impl ToString) -> Self {
        Self::Again(reason.to_string())
    }
}

impl From<Error> for NotYet {
    /// An error of the API is an answer that may change; any other will not.
    fn from(error: Error) -> Self {
        match error {
            Error::Api { .. } | Error::Timeout { .. } => Self::Again(error.to_string()),
            other => Self::Never(other),
        }
    }
}

/// Looks until the condition holds.
pub async fn until<T, F, Fut>(what: impl Into<String>, limit: Duration, mut look: F) -> Result<T, Error>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, NotYet>>,
{
    let start = Instant::now();
    loop {
        let last = match look().await {
            Ok(value) => return Ok(value),
            Err(NotYet::Never(error)) => return Err(error),
            Err(NotYet::Again(reason)) => reason,
        };
        if start.elapsed() > limit {
            return Err(Error::Timeout { what: what.into(), seconds: limit.as_secs(), last });
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether plain HTTP on a local port answers 200.
pub async fn http_ok(port: u16, path: &str) -> Result<(), NotYet> {
    let answer = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    match tokio::time::timeout(Duration::from_secs(2), answer).await {
        Ok(Ok(answer)) if answer.split(' ').nth(1) == Some("200") => Ok(()),
        Ok(Ok(answer)) => Err(NotYet::again(answer.lines().next().unwrap_or("an empty answer"))),
        Ok(Err(error)) => Err(NotYet::again(error)),
        Err(_) => Err(NotYet::again("no answer")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn a_condition_that_comes_true_is_awaited() {
        let looks = Cell::new(0);
        let found = until("three", Duration::from_secs(5), || async {
            looks.set(looks.get() + 1);
            if looks.get() == 3 { Ok(looks.get()) } else { Err(NotYet::again("fewer")) }
        });
        assert_eq!(found.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_last_look_is_reported() {
        let never = until::<(), _, _>("rain", Duration::ZERO, || async { Err(NotYet::again("sunny")) });
        let error = never.await.unwrap_err().to_string();
        assert!(error.contains("rain") && error.contains("sunny"), "{error}");
    }

    #[tokio::test]
    async fn what_cannot_come_true_is_not_awaited() {
        let never =
            until::<(), _, _>("x", Duration::from_mins(1), || async { Err(NotYet::Never(Error::GoMissing)) });
        assert!(matches!(never.await, Err(Error::GoMissing)));
    }
}
