//! The page's own style, script and icon. Their names hold their digests, so that browsers keep them
//! and never use one of another version.

use std::sync::LazyLock;

use bytes::Bytes;
use skillwire_core::Digest;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    path: String,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
}

impl Asset {
    fn new(name: &str, ending: &str, media_type: &'static str, text: &'static str) -> Self {
        let digest = Digest::of(text.as_bytes()).hex();
        let path = format!("/assets/{name}-{}.{ending}", &digest[..16]);
        Self { path, media_type, bytes: Bytes::from_static(text.as_bytes()) }
    }
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "css", "text/css; charset=utf-8", include_str!("assets/page.css"))
});
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("page", "js", "text/javascript; charset=utf-8", include_str!("assets/page.js"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("assets/icon.svg")));

pub(crate) fn style_address() -> &'static str {
    &STYLE.path
}

pub(crate) fn script_address() -> &'static str {
    &SCRIPT.path
}

pub(crate) fn icon_address() -> &'static str {
    &ICON.path
}

/// Finds a file of the page.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_content_weighs_less_than_100_kb() {
        let all: usize = [&*STYLE, &*SCRIPT, &*ICON].iter().map(|asset| asset.bytes.len()).sum();
        assert!(all < 60_000, "{all}");
    }

    #[test]
    fn only_the_named_files_are_found() {
        assert!(find(style_address()).is_some());
        assert!(find("/assets/page.css").is_none() && find("/assets/../x").is_none());
    }
}
