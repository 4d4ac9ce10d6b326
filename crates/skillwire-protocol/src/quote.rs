//! Writes strings as JSON.

/// Bytes that are checked together, so that the processor can compare all of them at once.
const BLOCK: usize = 16;

/// Appends a string as JSON, in the form that `serde_json` writes.
///
/// Whole files are written with this, so bytes that need no escape are copied in runs.
pub fn quote(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (run, tail) = rest.split_at(plain(rest));
        out.extend_from_slice(run);
        let Some((special, tail)) = tail.split_first() else { break };
        escape(out, *special);
        rest = tail;
    }
    out.push(b'"');
}

/// Returns the number of bytes that [`quote`] appends.
pub fn quoted_length(text: &str) -> usize {
    let extra = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + 2 + text.bytes().map(extra).sum::<usize>()
}

/// Returns the number of bytes before the first one that needs an escape.
fn plain(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(BLOCK);
    let clean = blocks.take_while(|block| !block.iter().fold(false, |any, b| any | special(*b)));
    let start = clean.count() * BLOCK;
    let more = bytes[start..].iter().position(|byte| special(*byte));
    more.map_or(bytes.len(), |more| start + more)
}

fn special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_as_serde_json_writes_it_srv_75() {
        let all: String = (0..=0x2ff_u32).filter_map(char::from_u32).collect();
        let mut texts = vec![String::new(), all.clone(), format!("{all}\u{2028}\u{10ffff}")];
        // Each special byte at each position of a block, and beyond its end.
        for special in ['"', '\\', '\n', '\r', '\t', '\0', '\u{8}', '\u{c}', '\u{1f}', '\u{7f}'] {
            texts.extend(
                (0..40).map(|at| format!("{}{special}é{}", "a".repeat(at), "b".repeat(20))),
            );
        }
        for text in texts {
            let mut written = Vec::new();
            quote(&mut written, &text);
            assert_eq!(written.len(), quoted_length(&text));
            assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
