//! All integration tests of this crate, in one program: each further program would link every dependency once
//! more.

#[cfg(test)]
mod chart;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod monitoring;
#[cfg(test)]
mod output;
