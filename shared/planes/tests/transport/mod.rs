//! The transport against real servers on the loopback.

#[cfg(test)]
mod credentials;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod server;
