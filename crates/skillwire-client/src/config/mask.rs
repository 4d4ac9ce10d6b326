//! Arguments as they may be shown: values that look like secrets are masked.

use serde::Serializer;

use crate::masking::MASK;

/// Parts of names whose values are taken for secrets.
const TELLING: [&str; 9] =
    ["token", "secret", "passw", "apikey", "api-key", "api_key", "auth", "credential", "bearer"];

/// Masks the values in `--token X`, `--token=X`, `API_KEY=X` and `Authorization: X`, any single
/// long word of letters and digits, and the parts of a URL before `@` and after `?`.
pub(super) fn arguments(args: &[String]) -> Vec<String> {
    let mut shown = Vec::with_capacity(args.len());
    let mut follows_telling = false;
    for arg in args.iter().map(|arg| harmless(arg)) {
        let arg = &arg;
        let flag = arg.starts_with('-');
        shown.push(if follows_telling && !flag { MASK.to_owned() } else { argument(arg) });
        follows_telling = flag && !arg.contains('=') && is_telling(arg);
    }
    shown
}

/// Returns the arguments, or the values in them, that [`arguments`] masks.
pub(super) fn secrets(args: &[String]) -> Vec<String> {
    let changed = args.iter().zip(arguments(args)).filter(|(arg, shown)| *arg != shown);
    let secret = changed.map(|(arg, shown)| {
        // `--token=X` is shown as `--token=***`; the secret is `X`.
        let kept = shown.strip_suffix(MASK).and_then(|kept| arg.strip_prefix(kept));
        kept.unwrap_or(arg).trim().to_owned()
    });
    secret.collect()
}

/// Returns the text without anything that acts on a terminal.
pub(super) fn harmless(text: &str) -> String {
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.into() };
    text.chars().map(escape).collect()
}

fn argument(arg: &str) -> String {
    if let Some((address, rest)) = arg.split_once("://") {
        let rest =
            rest.split_once('@').map_or(rest.to_owned(), |(_, rest)| format!("{MASK}@{rest}"));
        let rest = rest.split_once('?').map_or(rest.clone(), |(rest, _)| format!("{rest}?{MASK}"));
        return format!("{address}://{rest}");
    }
    if let Some(at) = arg.find(['=', ':']).filter(|at| is_telling(&arg[..*at])) {
        return format!("{}{MASK}", &arg[..=at]);
    }
    if looks_random(arg) { MASK.to_owned() } else { arg.to_owned() }
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|part| name.contains(part)) || name.ends_with("key")
}

/// Tells whether a word looks like a key: long, without a path in it, of letters and digits mixed.
fn looks_random(word: &str) -> bool {
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    plain && word.len() >= 20 && digits >= 4 && letters >= 4
}

/// Serializes arguments with their secrets masked.
pub(super) fn serialize_arguments<S: Serializer>(
    args: &[String],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(arguments(args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_among_arguments_are_masked_and_the_rest_stays_readable() {
        let shown = |args: &[&str]| {
            arguments(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>()).join(" ")
        };
        for (args, expected) in [
            (&["-y", "@scope/server", "/data"][..], "-y @scope/server /data"),
            (&["--token", "x1", "--port", "80"], "--token *** --port 80"),
            (&["--api-key=x1", "--key", "x2"], "--api-key=*** --key ***"),
            (&["-e", "GITHUB_TOKEN=x1"], "-e GITHUB_TOKEN=***"),
            (&["--header", "Authorization: Bearer x1"], "--header Authorization:***"),
            (&["postgres://me:pw@host/db?k=v"], "postgres://***@host/db?***"),
            (&["ghp_0a1b2c3d4e5f6g7h8i9j"], "***"),
            (&["\u{1b}[2J\n"], "\\u{1b}[2J\\n"),
            (&["--verbose-auth", "--next"], "--verbose-auth --next"),
        ] {
            assert_eq!(shown(args), expected);
        }
    }
}
