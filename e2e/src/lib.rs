//! Real planes as processes, chainsaw suites and the demonstration.
