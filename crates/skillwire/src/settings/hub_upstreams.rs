//! The upstreams that `hub.toml` describes.

use serde::Deserialize;
use skillwire_hub::{
    NamespaceName, ResourcePatterns, ReviewRules, ToolPatterns, Upstream, UpstreamLimits,
    UpstreamMode, UpstreamSource,
};

use crate::failure::Failure;

/// The key of the tables.
const KEY: &str = "upstreams";

/// One `[[upstreams]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfiguredUpstream {
    label: NamespaceName,
    mode: UpstreamMode,
    source: UpstreamSource,
    #[serde(default)]
    limits: UpstreamLimits,
    #[serde(default)]
    rules: ReviewRules,
    #[serde(default)]
    tools: ToolPatterns,
    #[serde(default)]
    resources: ResourcePatterns,
}

/// Takes the upstreams out of a configuration before its variables are filled in: the hub keeps a header such
/// as `Bearer ${TOKEN}` with the variable's name, so that no credential reaches its database.
///
/// The error says what cannot be understood.
pub(super) fn split(text: &str) -> Result<(String, Vec<ConfiguredUpstream>), String> {
    // A text that is valid only after its variables were filled in cannot be split; it is read as a whole.
    let Ok(mut table) = toml::from_str::<toml::Table>(text) else {
        return Ok((text.to_owned(), Vec::new()));
    };
    let Some(found) = table.remove(KEY) else { return Ok((text.to_owned(), Vec::new())) };
    let upstreams = found.try_into().map_err(|error: toml::de::Error| {
        format!("`[[{KEY}]]`: {}", error.message().trim_end_matches('.'))
    })?;
    let rest = toml::to_string(&table).map_err(|error| error.to_string())?;
    Ok((rest, upstreams))
}

/// Checks every upstream before any is used.
pub(super) fn resolve(tables: &[ConfiguredUpstream]) -> Result<Vec<Upstream>, Failure> {
    let mut upstreams: Vec<Upstream> = Vec::new();
    for table in tables {
        let label = &table.label;
        if upstreams.iter().any(|known| known.label == *label) {
            return Err(Failure::usage(format!("The upstream `{label}` is there twice.")));
        }
        let upstream = Upstream::new(label.clone(), table.source.clone(), table.mode)
            .and_then(|upstream| upstream.with_limits(table.limits))
            .map_err(|refusal| {
                Failure::usage(format!("The upstream `{label}` cannot be used.")).because(refusal)
            })?;
        let upstream = upstream.with_rules(table.rules).with_tools(table.tools.clone());
        upstreams.push(upstream.with_resources(table.resources.clone()));
    }
    Ok(upstreams)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = r#"
        name = "${NAME}"
        [[upstreams]]
        label = "docs"
        mode = "pin"
        source = { kind = "mcp", url = "https://docs.example/mcp", headers = { Authorization = "Bearer ${DOCS}" } }
        limits = { answer-ms = 500 }
        rules = { text-only = true }
        tools = ["read_*"]
        resources = ["file:///docs/**"]
    "#;

    #[test]
    fn variables_of_upstreams_are_kept_as_variables_gw_19() {
        let (rest, tables) = split(DOCS).unwrap();
        assert!(rest.contains("${NAME}") && !rest.contains("DOCS"), "{rest}");
        let upstreams = resolve(&tables).unwrap();
        let UpstreamSource::Mcp { headers, .. } = &upstreams[0].source else { panic!("mcp") };
        assert_eq!(headers["Authorization"], "Bearer ${DOCS}");
        assert_eq!((upstreams[0].limits.answer_ms, upstreams[0].limits.pages), (500, 1_000));
        assert!(upstreams[0].rules.text_only);
        assert!(upstreams[0].tools.iter().eq(["read_*"]));
        assert!(upstreams[0].resources.iter().eq(["file:///docs/**"]));
    }

    #[test]
    fn upstreams_that_cannot_be_used_are_refused_as_a_whole() {
        for bad in [
            DOCS.replace("pin", "hide"),
            DOCS.replace("label", "name"),
            DOCS.replace("Bearer ${DOCS}", "Bearer abc"),
            DOCS.replace("500", "0"),
            DOCS.replace("text-only", "text"),
            DOCS.replace("read_*", "[a]"),
            DOCS.replace("file:///docs/**", "a b"),
            format!("{DOCS}\n{}", &DOCS[DOCS.find("[[").unwrap()..]),
        ] {
            let read = split(&bad).map_err(Failure::usage).and_then(|it| resolve(&it.1));
            assert!(read.is_err(), "{bad}");
        }
    }
}
