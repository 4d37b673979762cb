//! The federation hub process.

fn main() {}
