//! Instance control: by tables, through all small states, and by random histories.

#[cfg(test)]
mod build;
#[cfg(test)]
mod content;
#[cfg(test)]
mod histories;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod states;
#[cfg(test)]
mod support;
#[cfg(test)]
mod table;
#[cfg(test)]
mod template;
