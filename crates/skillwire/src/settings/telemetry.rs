//! Where traces and lines of the log are sent, by the variables that OpenTelemetry defines.

use http::{HeaderName, HeaderValue};
use skillwire_client::ServerUrl;
use skillwire_otlp::{Resource, Sampling};

use super::environment::{collector, variable};
use crate::failure::Failure;

/// Where traces and lines are sent, and which.
#[derive(Debug)]
pub(crate) struct TelemetrySettings {
    pub(crate) endpoint: ServerUrl,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) resource: Resource,
    pub(crate) sampling: Sampling,
}

impl TelemetrySettings {
    /// Reads the environment; nothing is sent unless it names an endpoint.
    pub(crate) fn resolve() -> Result<Option<Self>, Failure> {
        Self::of(variable)
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Failure> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let Some(endpoint) = collector(&variable) else { return Ok(None) };
        let unusable = |name: &str, hint: &str| {
            Failure::usage(format!("`{name}` cannot be used.")).hint(hint.to_owned())
        };
        if set("OTEL_EXPORTER_OTLP_PROTOCOL").is_some_and(|value| value != "http/protobuf") {
            return Err(unusable(
                "OTEL_EXPORTER_OTLP_PROTOCOL",
                "Set it to `http/protobuf`, or leave it out.",
            ));
        }
        let endpoint = ServerUrl::parse(endpoint.trim()).map_err(|error| {
            Failure::usage("`OTEL_EXPORTER_OTLP_ENDPOINT` cannot be used.").because(error)
        })?;
        let headers = pairs(&set("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())
            .map(|pair| {
                let (name, value) = pair?;
                let mut value = HeaderValue::from_str(value).ok()?;
                value.set_sensitive(true);
                Some((name.parse().ok()?, value))
            })
            .collect::<Option<_>>();
        // The message does not repeat the value, which may hold a key.
        let headers = headers.ok_or_else(|| {
            unusable("OTEL_EXPORTER_OTLP_HEADERS", "Write it like `name=value,other=value`.")
        })?;
        let name = set("OTEL_SERVICE_NAME");
        let version = env!("CARGO_PKG_VERSION");
        let mut resource = Resource::new("skillwire", version);
        let attributes = set("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        for (key, value) in pairs(&attributes).flatten() {
            resource = resource.with(key, value);
        }
        if let Some(name) = name {
            resource = resource.with("service.name", name);
        }
        let share = set("OTEL_TRACES_SAMPLER_ARG").and_then(|text| text.parse().ok());
        let sampler = set("OTEL_TRACES_SAMPLER");
        let sampling = sampling(sampler.as_deref(), share.unwrap_or(1.0)).ok_or_else(|| {
            unusable("OTEL_TRACES_SAMPLER", "Set it to `parentbased_always_on`, or leave it out.")
        })?;
        Ok(Some(Self { endpoint, headers, resource, sampling }))
    }
}

fn sampling(name: Option<&str>, share: f64) -> Option<Sampling> {
    let name = name.unwrap_or("parentbased_always_on");
    let (own, follows_client) = match name.strip_prefix("parentbased_") {
        Some(own) => (own, true),
        None => (name, false),
    };
    let share = match own {
        "always_on" => 1.0,
        "always_off" => 0.0,
        "traceidratio" => share,
        _ => return None,
    };
    Some(Sampling::default().with_share(share).following_client(follows_client))
}

/// Splits `name=value,other=value`; a part without `=` is none.
fn pairs(text: &str) -> impl Iterator<Item = Option<(&str, &str)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').map(|(name, value)| (name.trim(), value.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, Failure> {
        TelemetrySettings::of(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_sent_unless_an_endpoint_is_named() {
        assert!(settings(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        assert!(settings(&[endpoint, ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret, y=2");
        let sampler = ("OTEL_TRACES_SAMPLER", "traceidratio");
        let share = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
        let read = settings(&[endpoint, headers, sampler, share]).unwrap().unwrap();
        assert_eq!(read.headers.len(), 2);
        assert_eq!(read.sampling, Sampling::default().with_share(0.25).following_client(false));
        assert!(!format!("{read:?}").contains("secret"));
    }

    #[test]
    fn values_that_cannot_be_used_are_named_and_not_repeated() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for bad in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret-without-a-name"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
        ] {
            let failure = settings(&[endpoint, bad]).unwrap_err().to_string();
            assert!(failure.contains(bad.0) && !failure.contains("secret"), "{failure}");
        }
        assert!(settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector")]).is_err());
    }
}
