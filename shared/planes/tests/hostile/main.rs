//! A server that sends what it likes: whatever is asked, the process keeps within its memory, each request
//! ends, and another plane is answered meanwhile (I8). In a binary of its own: its allocator counts.

#[cfg(test)]
mod polls;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tests;

/// Counts what the process has in memory, and the most that it had.
#[cfg(test)]
#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;
