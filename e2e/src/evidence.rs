//! What the logs and audit logs of a run say against it, whatever it tested.

use crate::suites::rights;
use crate::topology::Layout;
use crate::{Error, secrecy};

/// A line for each credential in a log of fedhub or of a simulated service.
pub fn leaks(instances: &[Layout]) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for layout in instances {
        let leaks = secrecy::search(layout)?;
        lines.extend(leaks.into_iter().map(|leak| {
            format!("{}:{} contains a secret of {}", leak.log.display(), leak.line, leak.secret)
        }));
    }
    Ok(lines)
}

/// A line for each right that fedhub asked for on any of these instances and that `deploy/` lacks.
pub fn missing_rights(instances: &[Layout]) -> Result<Vec<String>, Error> {
    let missing = rights::missing(instances)?;
    Ok(missing.into_iter().map(|right| format!("deploy/ does not grant: {right}")).collect())
}
