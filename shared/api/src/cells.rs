//! Cells as the hub knows them: who they are (C10), whether Karmada reaches them (U2), and whether an
//! operator declared one lost (C11).

mod declaration;
mod down;
mod lost;
mod objection;
mod refusal;
mod source;

pub use declaration::{Declaration, declarations, lost_since};
pub use down::{CellDown, is_reachable};
pub use lost::{
    cluster_of, declares, declaring, is_city_lost, is_copy_lost, lost_by, redeclares, source_lost_since,
};
pub use refusal::{CellRefusal, Hold, REPORT_DEADLINE, denial, readable};
pub use source::{CellId, CellSource, KUBE_SYSTEM};
