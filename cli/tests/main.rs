//! All integration tests of this crate, in one program: each further program would link every dependency once
//! more.

#[cfg(test)]
mod access;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod destroy;
#[cfg(test)]
mod host;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod power;
#[cfg(test)]
mod problems;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod rollout;
#[cfg(test)]
mod support;
