//! All integration tests of this crate, in one program: each further program would link every dependency once
//! more.

#[cfg(test)]
mod check;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod explain;
#[cfg(test)]
mod image;
#[cfg(test)]
mod manual;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod process;
#[cfg(test)]
mod supply_chain;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod wording;
