//! The user or the system asks a program of this crate for its end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Error;

/// SIGINT, SIGTERM and SIGHUP, caught from the start to the very end: a second Ctrl-C does not leave anything
/// behind.
pub struct Interruption([Signal; 3]);

impl Interruption {
    /// Catches them from now on.
    pub fn new() -> Result<Self, Error> {
        let catch = |kind| signal(kind).map_err(Error::file("catch signals of", "this process"));
        Ok(Self([
            catch(SignalKind::interrupt())?,
            catch(SignalKind::terminate())?,
            catch(SignalKind::hangup())?,
        ]))
    }

    /// Waits for one of them.
    pub async fn came(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Ends when the user or the system asks for it, with an error that says so.
pub async fn interruption<T>() -> anyhow::Result<T> {
    Interruption::new()?.came().await;
    anyhow::bail!("interrupted")
}
