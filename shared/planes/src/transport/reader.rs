//! Whose answers are read, for the memory that they take.

use fedhub_cache::budget::BudgetShare;
use fedhub_core::object::PlaneId;

/// A project plane is one of many; the others are there once, and all work depends on them.
pub(crate) fn reader(plane: &PlaneId) -> BudgetShare<'_> {
    match plane {
        PlaneId::Project(_) => BudgetShare::OneOfMany(plane),
        PlaneId::Hub | PlaneId::Management | PlaneId::Cell => BudgetShare::Single,
    }
}
