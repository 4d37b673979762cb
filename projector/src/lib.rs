//! Projector: Instances of the hub back into the project planes.
