//! The kinds whose objects are reviewed.

/// The kinds that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Workload.
    Workload,
    /// `WorkloadRollout`.
    WorkloadRollout,
    /// WorkloadDeployment.
    WorkloadDeployment,
    /// `InstanceType`.
    InstanceType,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Workload, Self::WorkloadRollout, Self::WorkloadDeployment, Self::InstanceType];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workload => "Workload",
            Self::WorkloadRollout => "WorkloadRollout",
            Self::WorkloadDeployment => "WorkloadDeployment",
            Self::InstanceType => "InstanceType",
        }
    }
}
