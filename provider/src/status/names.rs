//! The conditions of an Instance that are its provider's.

/// Condition of an Instance: its server is being made anew, and what is lost by that (V5). It is there only
/// meanwhile.
pub const REBUILDING: &str = "Rebuilding";
/// Condition of an Instance: its server stands as it is wanted.
pub const PROGRAMMED: &str = "Programmed";
/// Condition of an Instance: its server runs.
pub const AVAILABLE: &str = "Available";
