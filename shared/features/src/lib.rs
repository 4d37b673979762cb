//! Features of dependencies, united over the workspace; there is no code here. `Cargo.toml` says why.
