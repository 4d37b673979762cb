//! `deploy/` grants what the code asks for, and what it must not have is not granted.

mod denied;
mod granted;
mod plane;
