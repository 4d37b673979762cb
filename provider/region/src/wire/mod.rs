//! What travels: the service's own forms of servers, lists and allocations. Whatever is read is read
//! leniently.

mod allocation;
mod list;
mod server;

pub use allocation::{AllocationRead, AllocationWrite};
pub use list::List;
pub use server::{ServerRead, ServerWrite, TAG};
