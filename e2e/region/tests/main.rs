//! What the region does and refuses, over connections within the process and under paused time; and over
//! sockets where they are what is tested.

#[cfg(test)]
mod access;
#[cfg(test)]
mod chaos;
#[cfg(test)]
mod client;
#[cfg(test)]
mod control;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod invariants;
#[cfg(test)]
mod program;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod sockets;
