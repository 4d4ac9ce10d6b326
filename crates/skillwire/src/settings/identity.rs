//! Resolves what a server says about itself.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use skillwire_server::{Icon, ServerIdentity};

use crate::{args::IdentityArgs, failure::Failure};

/// The largest image that is taken from a file: clients get it in one message, as text.
const MAX_ICON_BYTES: usize = 64 * 1024;

/// Resolves name, texts, website and icon.
pub(super) fn resolve(args: &IdentityArgs) -> Result<ServerIdentity, Failure> {
    let mut identity = ServerIdentity::default();
    if let Some(name) = &args.name {
        text("--name", name)?.clone_into(&mut identity.name);
    }
    if let Some(title) = &args.title {
        identity = identity.title(text("--title", title)?);
    }
    if let Some(description) = &args.description {
        identity = identity.description(text("--description", description)?);
    }
    if let Some(instructions) = &args.instructions {
        identity = identity.instructions(text("--instructions", instructions)?);
    }
    if let Some(website) = &args.website {
        if !website.starts_with("https://") && !website.starts_with("http://") {
            return Err(Failure::usage(format!("`--website {website}` is not a web address."))
                .hint("Write it like `https://skills.example.com`."));
        }
        identity = identity.website(website);
    }
    if let Some(icon) = &args.icon {
        identity = identity.icon(image(icon)?);
    }
    Ok(identity)
}

fn text<'a>(option: &str, text: &'a str) -> Result<&'a str, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!("`{option}` is empty."))
            .hint("Write a text, or leave the option out."));
    }
    Ok(text)
}

/// Takes an address as it is, and the bytes of a file as a `data:` address.
fn image(given: &str) -> Result<Icon, Failure> {
    if given.starts_with("https://") || given.starts_with("data:image/") {
        return Ok(Icon::new(given));
    }
    let ending = Path::new(given).extension().and_then(|ending| ending.to_str()).unwrap_or("");
    let media_type = match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ => {
            return Err(Failure::usage(format!("`--icon {given}` is not an image."))
                .hint("Name an `https` URL, or a PNG, JPEG, WebP or SVG file."));
        }
    };
    let bytes = std::fs::read(given).map_err(|error| {
        Failure::usage(format!("`--icon {given}` cannot be read.")).because(error)
    })?;
    if bytes.len() > MAX_ICON_BYTES {
        return Err(Failure::usage(format!(
            "`--icon {given}` has {} bytes; {MAX_ICON_BYTES} are allowed.",
            bytes.len()
        ))
        .hint("Use a smaller image, or name its `https` URL."));
    }
    let src = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
    Ok(Icon::new(src).media_type(media_type))
}
