//! The program `fedhub`: its library, with an allocator for the whole process.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;
use zeroizing_alloc::ZeroAlloc;

/// Objects come and go in bursts: a list, a flood. What they took is given back to the machine when they are
/// gone. All of it is wiped when it is freed, for a tenant's Secret passes through buffers of libraries that
/// do not wipe them (W6).
#[global_allocator]
static ALLOCATOR: ZeroAlloc<Jemalloc> = ZeroAlloc(Jemalloc);

fn main() -> ExitCode {
    fedhub::main()
}
