//! `deploy`: what flags and files ask for, what changes by it, what is sent and what is not.

#[cfg(test)]
mod documents;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod page;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod urls;
