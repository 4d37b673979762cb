//! Faults in the flags of `fedhub run` that are found before anything starts.
//!
//! Decides C14.

use std::time::Duration;

use fedhub_core::names::is_label_value;

use fedhub_planes::discovery::Discovery;
use fedhub_provider_region::Config;

use super::{InstanceTypesSource, RunArgs};

impl RunArgs {
    /// Validates the flags together, and returns a line for each fault.
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.enable_management_controllers && !self.enable_cell_controllers {
            faults.push(
                "no role is enabled: give --enable-management-controllers or --enable-cell-controllers"
                    .to_owned(),
            );
        }
        if self.enable_management_controllers && self.hub.kubeconfig.is_none() {
            faults.push(
                "--enable-management-controllers needs --hub-kubeconfig (or FEDHUB_HUB_KUBECONFIG)"
                    .to_owned(),
            );
        }
        let files = [
            ("--hub-kubeconfig", &self.hub.kubeconfig),
            ("--management-kubeconfig", &self.management.kubeconfig),
            ("--discovery-kubeconfig", &self.discovery.kubeconfig),
            ("--cell-kubeconfig", &self.cell_kubeconfig),
            ("--quota-kubeconfig", &self.quota_kubeconfig),
        ];
        for (flag, file) in files.into_iter().chain(self.metrics.files()).chain(self.webhooks.files()) {
            if let Some(file) = file
                && let Err(error) = std::fs::File::open(file)
            {
                faults.push(format!("{flag} {}: {error}", file.display()));
            }
        }
        faults.extend(self.cell_faults());
        faults.extend(self.discovery.faults(&self.management).into_iter().chain(self.instance_types_fault()));
        faults.extend(self.metrics.faults());
        faults.extend(self.webhooks.faults(self.enable_management_controllers));
        if self.lease_duration <= self.lease_renew * 2 {
            faults.push(
                "--lease-duration must be longer than twice --lease-renew: one failed renewal would end the lease"
                    .to_owned(),
            );
        }
        if self.lease_renew < Duration::from_millis(100) {
            faults.push("--lease-renew is shorter than 100ms".to_owned());
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if self.lease_name.is_empty()
            || self.cell_lease_name().len() > 253
            || !self.lease_name.chars().all(plain)
        {
            faults.push(format!("--lease-name {:?} is not a valid object name", self.lease_name));
        }
        if self.namespace().is_empty() || !self.namespace().chars().all(|c| c != '.' && plain(c)) {
            faults.push(format!("--namespace {:?} is not a valid namespace name", self.namespace()));
        }
        if self.credentials_interval < Duration::from_millis(100) {
            faults.push("--credentials-interval is shorter than 100ms".to_owned());
        }
        if self.memory_budget < 16 << 20 {
            faults.push("--memory-budget is less than 16Mi".to_owned());
        }
        if self.backoff_first > self.backoff_max {
            faults.push("--backoff-first is longer than --backoff-max".to_owned());
        }
        faults
    }

    /// Returns the fault of the source of instance types. Karmada writes the copies to every cell: if a cell
    /// were the source, they would overwrite what operators write there.
    fn instance_types_fault(&self) -> Option<String> {
        let source = self.instance_types;
        let mode = self.discovery.mode;
        let of_management = source == InstanceTypesSource::Management
            || source == InstanceTypesSource::Discovery
                && self.discovery.projects(&self.management).is_none();
        let is_cell = self.enable_cell_controllers && self.cell_kubeconfig.is_none();
        match source {
            InstanceTypesSource::Off => None,
            _ if !self.enable_management_controllers => {
                Some("--instance-types is for --enable-management-controllers".to_owned())
            }
            InstanceTypesSource::Discovery if mode != Discovery::Milo => {
                Some(format!("--instance-types discovery is for --discovery milo, not for {mode}"))
            }
            _ if of_management && is_cell => Some(format!(
                "--instance-types {source} needs a source that is no cell: this process's cell is its management plane, \
                 unless --cell-kubeconfig names another"
            )),
            _ => None,
        }
    }

    /// Returns the faults of the provider's flags, and of the file that they name.
    fn provider_faults(&self) -> Vec<String> {
        match (self.enable_provider, &self.provider_config) {
            (true, Some(file)) => Config::load(file).err().map_or_else(Vec::new, |fault| {
                let faults = fault.faults().iter();
                faults.map(|fault| format!("--provider-config {}: {fault}", file.display())).collect()
            }),
            (true, None) => {
                vec!["--enable-provider needs --provider-config (or FEDHUB_PROVIDER_CONFIG)".to_owned()]
            }
            (false, Some(_)) => vec!["--provider-config is for --enable-provider".to_owned()],
            (false, None) => Vec::new(),
        }
    }

    fn cell_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.enable_cell_controllers {
            let given = [
                ("--cell-kubeconfig", self.cell_kubeconfig.is_some()),
                ("--cell-name", self.cell_name.is_some()),
                ("--cell-city", self.cell_city.is_some()),
                ("--write-back=false", !self.write_back),
                ("--networking", self.networking),
                ("--referenced-data", self.referenced_data),
                ("--quota-kubeconfig", self.quota_kubeconfig.is_some()),
                ("--quota=false", !self.quota),
                ("--enable-provider", self.enable_provider),
                ("--provider-config", self.provider_config.is_some()),
            ];
            let needless = given.into_iter().filter(|(_, given)| *given);
            return needless.map(|(flag, _)| format!("{flag} is for --enable-cell-controllers")).collect();
        }
        if self.cell_name.is_none() {
            faults.push("--enable-cell-controllers needs --cell-name (or FEDHUB_CELL_NAME)".to_owned());
        }
        if self.write_back && self.hub.kubeconfig.is_none() && !self.enable_management_controllers {
            faults.push(
                "--enable-cell-controllers needs --hub-kubeconfig (or FEDHUB_HUB_KUBECONFIG) to write its Instances \
                 back; --write-back=false runs the cell without"
                    .to_owned(),
            );
        }
        for (flag, value) in [("--cell-name", &self.cell_name), ("--cell-city", &self.cell_city)] {
            if let Some(value) = value
                && (value.is_empty() || !is_label_value(value))
            {
                faults.push(format!("{flag} {value:?} is not a valid label value"));
            }
        }
        faults.extend(self.provider_faults());
        if self.cell_context.is_some() && self.cell_kubeconfig.is_none() {
            faults.push("--cell-context needs --cell-kubeconfig: it is a context in that file".to_owned());
        }
        faults
    }
}
