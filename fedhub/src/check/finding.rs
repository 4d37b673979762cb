//! What a check found: the closed list of checks, and the state of each.

/// A check. The list is closed: `docs/reference/cli.md` explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum CheckId {
    /// The kubeconfig can be used.
    Kubeconfig,
    /// The server answers, and accepts the credentials.
    Reachable,
    /// The server's clock agrees with this machine's.
    Clock,
    /// Certificates and tokens do not end soon.
    Credentials,
    /// The credentials have the rights that the roles of `deploy/` grant.
    Rights,
    /// The plane serves the CRDs of this version, with all their fields.
    Crds,
    /// The webhooks of the plane exempt fedhub from review, and no other user.
    Admission,
    /// The hub serves the kinds of Karmada that fedhub uses.
    Karmada,
    /// Karmada's interpreter of `WorkloadDeployment` is this version's.
    Interpreter,
    /// The hub's admission policies for fedhub and for cells are this version's.
    AdmissionPolicies,
    /// Each city has one cell.
    Cities,
    /// The hub knows its cells by the identities that they have.
    CellIdentities,
    /// Project planes are found.
    Discovery,
    /// No plane is paused.
    Paused,
    /// Project planes are the clusters that fedhub remembers.
    PlaneIdentities,
}

impl CheckId {
    /// Its name in the output.
    pub fn id(self) -> &'static str {
        self.into()
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum State {
    /// All is as it has to be.
    Ok,
    /// It works, and will or may not for long.
    Warning,
    /// Something of fedhub does not work.
    Failed,
    /// It could not be checked.
    Skipped,
}

impl State {
    /// Its name in the output.
    pub fn id(self) -> &'static str {
        self.into()
    }
}

/// A plane, by its part in the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Part {
    /// The cluster that the management role runs in.
    Management,
    /// The hub.
    Hub,
    /// The server with the Projects, where it is not the management plane.
    Discovery,
    /// The cell.
    Cell,
    /// The server where the cell role finds project planes.
    Quota,
    /// A project plane of the management role.
    Project,
    /// A project plane of the cell role, which claims quota there.
    QuotaProject,
}

impl Part {
    /// Its name in the output.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// Whether there may be thousands of them.
    pub fn is_project(self) -> bool {
        matches!(self, Self::Project | Self::QuotaProject)
    }
}

/// A plane, as the output names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaneName {
    /// Its part.
    pub part: Part,
    /// The name of a project plane; of others that of the part.
    pub name: String,
}

impl PlaneName {
    /// The one plane of that part.
    pub fn from_part(part: Part) -> Self {
        Self { part, name: part.id().to_owned() }
    }

    /// A project plane.
    pub fn project(part: Part, name: &str) -> Self {
        Self { part, name: name.to_owned() }
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: CheckId,
    /// The plane that it is about.
    pub plane: PlaneName,
    /// How it ended.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do; empty where nothing is.
    pub remedy: String,
}

impl Finding {
    fn new(check: CheckId, plane: &PlaneName, state: State, found: String, remedy: String) -> Self {
        Self { check, plane: plane.clone(), state, found, remedy }
    }

    /// All is as it has to be.
    pub fn ok(check: CheckId, plane: &PlaneName, found: impl Into<String>) -> Self {
        Self::new(check, plane, State::Ok, found.into(), String::new())
    }

    /// It will not last, or may not.
    pub fn warning(
        check: CheckId,
        plane: &PlaneName,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(check, plane, State::Warning, found.into(), remedy.into())
    }

    /// It does not work.
    pub fn failed(
        check: CheckId,
        plane: &PlaneName,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(check, plane, State::Failed, found.into(), remedy.into())
    }

    /// It could not be checked.
    pub fn skipped(
        check: CheckId,
        plane: &PlaneName,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(check, plane, State::Skipped, found.into(), remedy.into())
    }
}

/// Some of a list, so that a line stays readable.
pub fn some(items: &[String]) -> String {
    const SHOWN: usize = 5;
    match items.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", items[..SHOWN].join(", ")),
        _ => items.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::*;

    #[test]
    fn u4_every_check_is_documented() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/cli.md");
        let page = std::fs::read_to_string(path).unwrap();
        for check in CheckId::VARIANTS {
            assert!(page.contains(&format!("\n| `{}` | ", check.id())), "{check:?}");
        }
    }
}
