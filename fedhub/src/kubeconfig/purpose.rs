//! What a kubeconfig is for: whose server it names, which `ServiceAccount` it acts as, and which Secret holds
//! it. As `deploy/` has them. Pure.

use std::fmt;

use fedhub_core::names::PlaneName;

use crate::common::{CELL_NAMESPACE, MANAGEMENT_NAMESPACE};

/// What a kubeconfig is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Purpose {
    /// The hub, for the management role.
    Hub,
    /// A project plane, for the management role.
    Project,
    /// The hub, for a cell.
    Cell,
    /// The management plane, for a cell with quota.
    Quota,
    /// A project plane, for cells with quota.
    QuotaProject,
}

/// The plane whose API server a kubeconfig names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// The hub's.
    Hub,
    /// The management plane's.
    Management,
    /// A project plane's.
    Project,
}

impl Purpose {
    /// Returns the plane whose API server the kubeconfig names.
    pub fn server(self) -> Server {
        match self {
            Self::Hub | Self::Cell => Server::Hub,
            Self::Quota => Server::Management,
            Self::Project | Self::QuotaProject => Server::Project,
        }
    }

    /// The part that it is a kubeconfig of.
    pub fn part(self) -> &'static str {
        match self.server() {
            Server::Hub => "hub",
            Server::Management => "management",
            Server::Project => "project",
        }
    }

    /// Whether its Secret is in the cell, and not on the management plane.
    pub fn is_stored_in_cell(self) -> bool {
        matches!(self, Self::Cell | Self::Quota)
    }

    /// Whether it is for cells.
    pub fn is_of_cells(self) -> bool {
        matches!(self, Self::Cell | Self::Quota | Self::QuotaProject)
    }

    /// The `ServiceAccount` that it acts as. On the hub each cell has one of its own.
    pub fn account(self, cell: &str) -> Account {
        let (namespace, name) = match self {
            Self::Hub | Self::Project => (MANAGEMENT_NAMESPACE, "fedhub"),
            Self::Cell => (CELL_NAMESPACE, cell),
            Self::Quota | Self::QuotaProject => (CELL_NAMESPACE, "fedhub-cell"),
        };
        Account { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The name of the Secret, where there is none yet.
    pub fn secret(self, plane: Option<&PlaneName>) -> String {
        match (self, plane) {
            (Self::Project | Self::QuotaProject, Some(plane)) => format!("plane-{plane}"),
            (Self::Quota, _) => "fedhub-quota-kubeconfig".to_owned(),
            _ => "fedhub-hub-kubeconfig".to_owned(),
        }
    }

    /// Who may create its tokens.
    pub fn permitted(self) -> &'static str {
        match self {
            Self::Hub => {
                "name a user who may, by --hub-context; a token renews itself where deploy/components/own-token is applied"
            }
            Self::Project => {
                "name a user who may, by --project-context PLANE=CONTEXT; a token renews itself where deploy/components/own-token is applied"
            }
            Self::Cell => "name a user of the hub who may, by --hub-context",
            Self::Quota => "name a user who may, by --management-context",
            Self::QuotaProject => "name a user who may, by --project-context PLANE=CONTEXT",
        }
    }

    /// What creates the `ServiceAccount`.
    pub fn origin(self) -> &'static str {
        match self {
            Self::Hub => "apply deploy/components/hub",
            Self::Project => "apply deploy/components/project-plane",
            Self::Cell => "run fedhub cells admit",
            Self::Quota => "apply deploy/components/management-for-cells",
            Self::QuotaProject => "apply deploy/components/project-plane-for-cells",
        }
    }
}

/// A `ServiceAccount`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Account {
    /// The one of a user name of Kubernetes, such as `system:serviceaccount:fedhub-system:fedhub`.
    pub fn of_user(user: &str) -> Option<Self> {
        let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// Parses `NAMESPACE/NAME`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is not NAMESPACE/NAME")),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
