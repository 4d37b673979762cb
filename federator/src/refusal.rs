//! Why a WD is not federated, said where its user looks (I11; specification, sections 1 and 6).

use std::fmt;

use fedhub_shared::names::is_label_value;

use crate::held::Held;

/// A reason on the condition `Available` that the hub writes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `spec.cityCode` is no label value.
    InvalidCityCode(String),
    /// The WD's name is no label value.
    InvalidName,
    /// No Cluster carries the city's code (I10).
    NoCellForCity(String),
    /// More than one Cluster carries it (I10).
    AmbiguousCity(String),
    /// What stands on the hub belongs to somebody else (I6).
    FederationConflict(String),
    /// It is being deleted, and that is not proven done (I3).
    CleanupHeld(Held),
}

impl Refusal {
    /// Every reason, for telling ours from a cell's.
    pub const REASONS: [&'static str; 6] = [
        "InvalidCityCode",
        "InvalidName",
        "NoCellForCity",
        "AmbiguousCity",
        "FederationConflict",
        "CleanupHeld",
    ];

    /// The condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::InvalidCityCode(_) => "InvalidCityCode",
            Self::InvalidName => "InvalidName",
            Self::NoCellForCity(_) => "NoCellForCity",
            Self::AmbiguousCity(_) => "AmbiguousCity",
            Self::FederationConflict(_) => "FederationConflict",
            Self::CleanupHeld(_) => "CleanupHeld",
        }
    }

    /// Whether it stands even where a cell reports `Available=True` (F8).
    pub fn always_stands(&self) -> bool {
        matches!(self, Self::AmbiguousCity(_) | Self::CleanupHeld(_))
    }

    /// The refusal that the WD's own words call for, before anything is looked up.
    pub fn of_input(name: &str, city: &str) -> Option<Self> {
        if !is_label_value(city) {
            return Some(Self::InvalidCityCode(city.to_owned()));
        }
        (name.len() > 63).then_some(Self::InvalidName)
    }

    /// The refusal that the number of cells of a city calls for.
    pub fn of_cells(city: &str, cells: usize) -> Option<Self> {
        match cells {
            0 => Some(Self::NoCellForCity(city.to_owned())),
            1 => None,
            _ => Some(Self::AmbiguousCity(city.to_owned())),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidCityCode(city) => write!(
                f,
                "spec.cityCode {city:?} is not a city code: it must have 1 to 63 letters, digits, '-', '_' or '.', and begin and end with a letter or digit"
            ),
            Self::InvalidName => {
                f.write_str("the name of a WorkloadDeployment may have at most 63 characters")
            }
            Self::NoCellForCity(city) => write!(f, "no cell serves city {city:?}"),
            Self::AmbiguousCity(city) => {
                write!(f, "more than one cell serves city {city:?}; the platform's operator has to say which")
            }
            Self::FederationConflict(what) => f.write_str(what),
            Self::CleanupHeld(why) => why.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_judged_by_the_rules_of_section_6() {
        for (name, city, expected) in [
            ("wd", "DFW", None),
            ("wd", "", Some("InvalidCityCode")),
            ("wd", "New York", Some("InvalidCityCode")),
            ("wd", "-x", Some("InvalidCityCode")),
            (&*"n".repeat(64), "DFW", Some("InvalidName")),
            (&*"n".repeat(63), "DFW", None),
            ("wd", &*"C".repeat(64), Some("InvalidCityCode")),
            ("wd", &*"C".repeat(63), None),
        ] {
            let refusal = Refusal::of_input(name, city);
            assert_eq!(refusal.as_ref().map(Refusal::reason), expected, "{name} {city}");
            if let Some(refusal) = refusal {
                assert!(Refusal::REASONS.contains(&refusal.reason()));
            }
        }
    }
}
