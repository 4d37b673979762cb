//! Each rule in tables and short stories.

mod abort;
mod away;
mod external;
mod failures;
mod frozen;
mod health;
mod held;
mod put_back;
mod rest;
mod stateless;
mod waves;
