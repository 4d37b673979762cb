//! What RBAC grants: to which identity, on which planes, by which role.

use std::fmt::{self, Display, Formatter};

use crate::topology::Holder;
use crate::topology::planes::{Kind, Plane};

/// What an identity may do on the planes of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// On what.
    pub plane: &'static str,
    /// Whose.
    pub identity: &'static str,
    /// The API group; empty for the core group, and for what is no resource.
    pub group: String,
    /// The resource with its subresource, or the path of what is no resource.
    pub resource: String,
    pub verb: String,
}

impl Display for Right {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { plane, identity, group, resource, verb } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{verb} {resource}{dot}{group} on {plane} for {identity}")
    }
}

/// A right that a binding gives, and the role that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    pub role: RoleId,
    pub right: Right,
    /// Whether the binding gives it in all namespaces.
    pub everywhere: bool,
}

/// A role, on whichever planes it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoleId {
    /// `Role` or `ClusterRole`, and its name.
    pub name: String,
    /// What it grants: roles of one name on different planes may be different roles.
    pub rules: String,
}

pub fn kind(plane: &Plane) -> &'static str {
    match plane.kind {
        Kind::Management => "the management plane",
        Kind::Project => "a project plane",
        Kind::Hub => "the hub",
        Kind::Cell { .. } => "a cell",
    }
}

/// The cells are alike: what one of them used, all of them may.
pub fn identity(holder: Holder) -> &'static str {
    match holder {
        Holder::Fedhub => "fedhub",
        Holder::Cell => "fedhub-cell",
        Holder::CellOnHub(_) => "cells",
    }
}
