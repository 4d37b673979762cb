//! What follows a write: the URL, the rollout, and what is printed.
