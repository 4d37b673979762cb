//! The words of the cell's controllers: pure functions, by tables and by random worlds.

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod claims;
#[cfg(test)]
mod deployments;
#[cfg(test)]
mod hush;
#[cfg(test)]
mod instances;
#[cfg(test)]
mod networks;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod support;
#[cfg(test)]
mod terminations;
#[cfg(test)]
#[cfg(test)]
mod verdicts;
