//! What the standard variables of OpenTelemetry say, as far as the SDK does not read them itself: it reads
//! those of the endpoint, of headers, of the resource and of batches.

use std::path::PathBuf;
use std::time::Duration;

use opentelemetry_sdk::trace::Sampler;

/// The only protocol.
const PROTOCOL: &str = "http/protobuf";

/// How spans are exported.
#[derive(Debug, Default)]
pub struct Settings {
    /// Whether the endpoint is an HTTPS one.
    pub is_tls: bool,
    /// The CA of the endpoint, in place of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// The share of traces that is exported; all of them where there is none.
    pub share: Option<f64>,
}

impl Settings {
    /// Reads the settings from environment variables; `None` if they disable traces. Returns a line for each
    /// invalid variable.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Vec<String>> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        // The variable of traces precedes that of all signals. Returned with its name, for faults.
        let exporter = |name: &str| {
            let names = [format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}")];
            names.into_iter().find_map(|name| variable(&name).map(|value| (name, value)))
        };
        let file = |name: &str| exporter(name).map(|(_, value)| PathBuf::from(value));
        let mut faults = Vec::new();
        let mut noted = |checked: Result<(), String>| faults.extend(checked.err());
        let mut settings = Self {
            is_tls: exporter("ENDPOINT").is_some_and(|(_, url)| url.starts_with("https://")),
            ca: file("CERTIFICATE"),
            timeout: Duration::from_secs(10),
            ..Self::default()
        };
        noted(match exporter("ENDPOINT") {
            Some((name, url)) if !url.starts_with("http://") && !url.starts_with("https://") => {
                Err(format!("{name} {url:?} is not an http:// or https:// URL"))
            }
            _ => Ok(()),
        });
        noted(match exporter("PROTOCOL") {
            Some((name, protocol)) if protocol != PROTOCOL => {
                Err(format!("{name} {protocol:?} is not supported: only {PROTOCOL} is"))
            }
            _ => Ok(()),
        });
        noted(match exporter("TIMEOUT").map(|(name, value)| (name, value.parse(), value)) {
            Some((_, Ok(milliseconds), _)) => {
                settings.timeout = Duration::from_millis(milliseconds);
                Ok(())
            }
            Some((name, Err(_), value)) => Err(format!("{name} {value:?} is not a number of milliseconds")),
            None => Ok(()),
        });
        noted(match (file("CLIENT_CERTIFICATE"), file("CLIENT_KEY")) {
            (None, None) => Ok(()),
            (Some(certificate), Some(key)) => {
                settings.identity = Some((certificate, key));
                Ok(())
            }
            _ => Err("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY go together"
                .to_owned()),
        });
        match share(variable("OTEL_TRACES_SAMPLER"), variable("OTEL_TRACES_SAMPLER_ARG")) {
            Ok(share) => settings.share = share,
            Err(fault) => faults.push(fault),
        }
        if faults.is_empty() { Ok(Some(settings)) } else { Err(faults) }
    }

    /// Decides by the id of the trace alone, so that all processes decide the same.
    pub fn sampler(&self) -> Sampler {
        self.share.map_or(Sampler::AlwaysOn, Sampler::TraceIdRatioBased)
    }
}

fn share(sampler: Option<String>, argument: Option<String>) -> Result<Option<f64>, String> {
    let Some(sampler) = sampler else { return Ok(None) };
    match sampler.strip_prefix("parentbased_").unwrap_or(&sampler) {
        "always_on" => Ok(None),
        "always_off" => Ok(Some(0.0)),
        "traceidratio" => {
            let argument = argument.unwrap_or_else(|| "1".to_owned());
            let share = argument.parse().ok().filter(|share| (0.0..=1.0).contains(share));
            share
                .map(Some)
                .ok_or_else(|| format!("OTEL_TRACES_SAMPLER_ARG {argument:?} is not a number from 0 to 1"))
        }
        _ => Err(format!(
            "OTEL_TRACES_SAMPLER {sampler:?} is not supported: always_on, always_off and traceidratio are"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Settings>, Vec<String>> {
        Settings::from_environment(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_standard_variables_say_how_spans_are_exported() {
        let usual = of(&[]).unwrap().unwrap();
        assert!(!usual.is_tls && usual.share.is_none() && usual.timeout == Duration::from_secs(10));
        let all = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.crt"),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/tls.crt"),
            ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/tls.key"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2500"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ]);
        let all = all.unwrap().unwrap();
        assert!(all.is_tls && all.share == Some(0.25) && all.timeout == Duration::from_millis(2500));
        assert_eq!(all.ca, Some("/ca.crt".into()));
        assert_eq!(all.identity, Some(("/tls.crt".into(), "/tls.key".into())));
        for (sampler, share) in [("always_on", None), ("parentbased_always_off", Some(0.0))] {
            assert_eq!(of(&[("OTEL_TRACES_SAMPLER", sampler)]).unwrap().unwrap().share, share);
        }
        assert!(of(&[("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_SAMPLER", "x")]).unwrap().is_none());
    }

    #[test]
    fn each_fault_names_its_variable() {
        for (variable, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/tls.key"),
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ] {
            let faults = of(&[(variable, value)]).unwrap_err();
            assert!(faults.len() == 1 && faults[0].contains(variable), "{faults:?}");
        }
        for argument in ["2", "-0.1", "half", "NaN"] {
            let sampler = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", argument)];
            assert!(of(&sampler).unwrap_err()[0].contains("OTEL_TRACES_SAMPLER_ARG"), "{argument}");
        }
    }
}
