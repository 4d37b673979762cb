//! The service in a project, as fedhub remembers it and as the project's plane shows it (W9).

use fedhub_core::object::Kind;
use fedhub_planes::entitlement::{self, Entitlement, Grant};

use crate::operator::connect::Connection;
use crate::operator::read::Read;
use crate::operator::requests::list;

/// The service in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Service {
    /// It was granted.
    Granted,
    /// It was granted, and is suspended.
    Suspended,
    /// It was granted and is no more.
    Withdrawn,
    /// It was granted, and there is no entitlement any more: unless fedhub saw it go, an operator decides.
    Missing,
}

impl Service {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// Judges the service by what fedhub remembers, and by what the plane shows if it can be read.
    pub fn judge(grant: Grant, shown: Option<Entitlement>) -> Self {
        match grant {
            Grant::Withdrawn => Self::Withdrawn,
            Grant::Granted | Grant::Suspended if shown == Some(Entitlement::Absent) => Self::Missing,
            Grant::Granted => Self::Granted,
            Grant::Suspended => Self::Suspended,
        }
    }
}

/// What the entitlements on a plane say.
pub async fn shown(plane: &Connection) -> Read<Entitlement> {
    let all = list(plane, Kind::ServiceEntitlement.resource(), "", "").await;
    all.map(|all| entitlement::read(all.iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_u4_an_entitlement_is_missing_where_the_service_was_granted_and_the_plane_shows_none() {
        let active = Some(Entitlement::Active);
        let absent = Some(Entitlement::Absent);
        for (grant, shown, expected) in [
            (Grant::Granted, active, Service::Granted),
            (Grant::Granted, None, Service::Granted),
            (Grant::Granted, Some(Entitlement::Unreadable), Service::Granted),
            (Grant::Granted, absent, Service::Missing),
            (Grant::Suspended, None, Service::Suspended),
            (Grant::Suspended, absent, Service::Missing),
            (Grant::Withdrawn, absent, Service::Withdrawn),
            (Grant::Withdrawn, active, Service::Withdrawn),
        ] {
            assert_eq!(Service::judge(grant, shown), expected, "{grant} {shown:?}");
        }
    }
}
