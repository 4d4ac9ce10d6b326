//! What a plain scalar means: the YAML 1.2 core schema, and where YAML 1.1 reads it differently.

use serde_json::{Number, Value};

/// The largest integer that every JSON reader keeps exact.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The reason why a plain scalar has no JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotJson {
    /// An integer that a JSON reader may round.
    Integer,
    /// An infinity, written out or by overflow.
    Infinite,
    /// Not a number.
    Nan,
}

/// Resolves a plain scalar by the core schema of YAML 1.2.
pub(super) fn resolve(text: &str) -> Result<Value, NotJson> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return Err(NotJson::Nan),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Err(NotJson::Infinite);
    }
    if all(unsigned, |byte| byte.is_ascii_digit()) {
        return integer(text.strip_prefix('+').unwrap_or(text), 10);
    }
    if let Some(digits) = text.strip_prefix("0o").filter(|s| all(s, |b| matches!(b, b'0'..=b'7'))) {
        return integer(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x").filter(|s| all(s, |b| b.is_ascii_hexdigit())) {
        return integer(digits, 16);
    }
    if is_float(unsigned) {
        let number: f64 = text.parse().map_err(|_| NotJson::Nan)?;
        return Number::from_f64(number).map(Value::Number).ok_or(NotJson::Infinite);
    }
    Ok(Value::String(text.to_owned()))
}

fn integer(digits: &str, radix: u32) -> Result<Value, NotJson> {
    match i64::from_str_radix(digits, radix) {
        Ok(value) if value.abs() <= MAX_SAFE_INTEGER => Ok(Value::from(value)),
        _ => Err(NotJson::Integer),
    }
}

/// Matches `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = split_exponent(text);
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !all(digits, |byte| byte.is_ascii_digit()) {
            return false;
        }
    }
    match mantissa.split_once('.') {
        Some(("", fraction)) => all(fraction, |byte| byte.is_ascii_digit()),
        Some((whole, fraction)) => {
            all(whole, |byte| byte.is_ascii_digit()) && fraction.bytes().all(|b| b.is_ascii_digit())
        }
        None => all(mantissa, |byte| byte.is_ascii_digit()),
    }
}

fn split_exponent(text: &str) -> (&str, Option<&str>) {
    text.split_once(['e', 'E']).map_or((text, None), |(mantissa, rest)| (mantissa, Some(rest)))
}

/// How YAML 1.1, or a parser that mixes the versions, reads a plain scalar if it differs from YAML
/// 1.2.
///
/// The answer completes the sentence "other YAML parsers read it as ...".
pub(super) fn other_reading(text: &str) -> Option<&'static str> {
    if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return Some("several lines");
    }
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some("`true`"),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some("`false`"),
        "=" => return Some("a default value"),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    if is_date(text) {
        return Some("a date");
    }
    if let Some(digits) = unsigned.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1' | b'_')).then_some("a binary number");
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        let hex = all(digits, |byte| byte.is_ascii_hexdigit() || byte == b'_');
        return (hex && (unsigned != text || digits.contains('_'))).then_some("a number");
    }
    if let Some(digits) = unsigned.strip_prefix("0o") {
        return all(digits, |byte| byte.is_ascii_digit()).then_some("a string or an octal number");
    }
    if unsigned.strip_prefix('0').is_some_and(is_digits) {
        return Some("an octal number or a string");
    }
    if is_sexagesimal(unsigned) {
        return Some("a number in base 60");
    }
    if unsigned.contains('_') {
        let plain = unsigned.replace('_', "");
        let starts = !unsigned.starts_with('_') && !unsigned.starts_with("._");
        return (starts && is_float(&plain)).then_some("a number without the `_`");
    }
    if is_float(unsigned) {
        let (mantissa, exponent) = split_exponent(unsigned);
        let signed = exponent.is_none_or(|exponent| exponent.starts_with(['-', '+']));
        return (exponent.is_some() && (!signed || !mantissa.contains('.'))).then_some("a string");
    }
    None
}

/// Matches the base 60 numbers of YAML 1.1, such as `12:30:45` and `190:20:30.15`.
fn is_sexagesimal(text: &str) -> bool {
    let (text, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let mut rest = parts.peekable();
    is_digits(first)
        && (fraction.is_some() || !first.starts_with('0'))
        && fraction.unwrap_or_default().bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && rest.peek().is_some()
        && rest.all(|part| match part.as_bytes() {
            [one] => one.is_ascii_digit(),
            [ten, one] => matches!(ten, b'0'..=b'5') && one.is_ascii_digit(),
            _ => false,
        })
}

/// Matches `2026-01-31` and the timestamps of YAML 1.1, leniently in what follows the day.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (day, time) = rest.split_at(end);
    let hour = time.trim_start_matches(['t', 'T', ' ', '\t']);
    let short = |digits: &str| matches!(digits.len(), 1 | 2) && is_digits(digits);
    year.len() == 4
        && is_digits(year)
        && short(month)
        && short(day)
        && match time.as_bytes().first() {
            None => month.len() == 2 && day.len() == 2,
            Some(b't' | b'T' | b' ' | b'\t') => {
                hour.contains(':')
                    && hour.starts_with(|c: char| c.is_ascii_digit())
                    && hour.bytes().all(|b| b.is_ascii_digit() || b" \t:.+-Z".contains(&b))
            }
            Some(_) => false,
        }
}

/// Tells whether `text` has at least one byte and every byte passes.
fn all(text: &str, passes: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(passes)
}

fn is_digits(text: &str) -> bool {
    all(text, |byte| byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_parsers_read_is_named_fmt_28() {
        for (texts, reading) in [
            (&["y", "Yes", "YES", "on", "On"][..], "`true`"),
            (&["N", "no", "NO", "Off", "OFF"], "`false`"),
            (&["="], "a default value"),
            (&["a\u{85}b", "a\u{2028}b", "a\u{2029}b"], "several lines"),
            (&["2026-01-31", "2026-1-1 10:00:00", "2026-01-01T10:00:00Z"], "a date"),
            (&["2026-01-01t1:0:0.5+01:00", "2026-01-01\t 10:00"], "a date"),
            (&["0b1", "-0b1_0"], "a binary number"),
            (&["-0x1F", "0x_F", "+0xf"], "a number"),
            (&["0o7", "-0o7", "0o8"], "a string or an octal number"),
            (&["00", "0755", "-07", "0_7"], "an octal number or a string"),
            (&["1_000", "1_0.5", ".5_0", "-1_0", "1_"], "a number without the `_`"),
            (
                &["12:30", "-1:5", "1:2:59", "190:20:30.15", "08:30.5", "1:0.5_0", "1_0:30"],
                "a number in base 60",
            ),
            (&["1e3", "1E3", "1.5e3", ".5e3", "1e+3", "1e-3", "-1e3"], "a string"),
        ] {
            for text in texts {
                assert_eq!(other_reading(text), Some(reading), "{text}");
            }
        }
    }

    #[test]
    fn what_all_parsers_read_alike_has_no_other_reading_fmt_28() {
        for text in [
            "",
            "nope",
            "yEs",
            "==",
            "-",
            ".",
            "v1",
            "a_b",
            "_1",
            "._5",
            "1_a",
            "1.5",
            "1.5e+3",
            "1.5e-3",
            "0",
            "7",
            "0b",
            "0b2",
            "0x",
            "0x1F",
            "0xg",
            "-0xg",
            "0o",
            "0oa",
            "08:30",
            "12:",
            ":30",
            "12:60",
            "12:5a",
            "12:a5",
            "12:030",
            "1:2:",
            "1:3.x",
            "a:30",
            "2026",
            "2026-01",
            "2026-1-1",
            "2026-01-1",
            "2026-1-01",
            "202-01-01",
            "20261-01-01",
            "2026-001-01",
            "2026-01-001",
            "2026-aa-01",
            "2026-01-aa",
            "aaaa-01-01",
            "-2026-01-01",
            "2026-01-01x",
            "2026-01-01 noon",
            "2026-01-01 x10:00",
            "2026-01-01T1000",
            "2026-01-01T:10",
            "2026-01-01 10:00 h",
        ] {
            assert_eq!(other_reading(text), None, "{text}");
        }
    }

    #[test]
    fn a_float_has_digits_before_or_after_its_point_fmt_28() {
        for text in ["1", "1.", ".5", "1.5", "1e3", "1.e3", ".5E-3", "15.25e+10"] {
            assert!(is_float(text), "{text}");
        }
        for text in ["", ".", "e3", ".e3", "1e", "1e+", "1e5x", "1.x", "x.1", "1.5.3", "1e3e3"] {
            assert!(!is_float(text), "{text}");
        }
    }
}
