//! What the cell's controllers decide and say: pure functions, by tables, through small states and by random
//! worlds.

#![allow(clippy::too_many_lines, reason = "tables of cases")]

#[cfg(test)]
mod instances;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod status;
