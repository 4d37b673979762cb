//! API servers in memory, for engine tests under paused time.
