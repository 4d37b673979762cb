//! The rules of the specification as tables and properties over the pure functions `plan` and
//! `status::desired`. Each test's name begins with the rule that it is about.

#[cfg(test)]
mod any_order;
#[cfg(test)]
mod carried;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod karmada;
#[cfg(test)]
mod marked;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod model;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod no_op;
#[cfg(test)]
mod observed;
#[cfg(test)]
mod outlook;
#[cfg(test)]
mod paused;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod rendering;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod stalled;
#[cfg(test)]
mod states;
#[cfg(test)]
mod status;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod teardown;
#[cfg(test)]
mod tenants;
#[cfg(test)]
mod withdrawn;
