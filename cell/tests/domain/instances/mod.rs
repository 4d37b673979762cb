//! Instance control: by tables, through all small states, and by random histories.

mod build;
mod content;
mod disruptions;
mod histories;
mod power;
mod rules;
mod states;
mod support;
mod surges;
mod table;
mod template;
