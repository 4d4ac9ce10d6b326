//! What images carry beside pixels: text fields, and bytes behind their end.

use crate::archive::inflate_zlib;

/// The most text fields of one image.
const MOST_FIELDS: usize = 64;

/// The most bytes of one text field.
const MOST_FIELD_BYTES: usize = 32 * 1_024;

/// The shortest rest behind an image that is looked at; a few bytes are how programs align files.
const SHORTEST_REST: usize = 8;

/// The shortest text among the values that a camera or a program leaves.
const SHORTEST_VALUE: usize = 6;

/// What one image carries.
#[derive(Debug, Default)]
pub(crate) struct ImageParts {
    pub(crate) texts: Vec<String>,
    /// Whether every text field was taken as a whole.
    pub(crate) complete: bool,
    /// Whether it breaks off, or a part of it has a length that cannot be.
    pub(crate) broken: bool,
    /// Where the image ends, if that could be told.
    end: Option<usize>,
}

/// Reads the parts of an image that are not pixels.
pub(crate) fn parts(bytes: &[u8]) -> ImageParts {
    let mut parts = ImageParts { complete: true, ..ImageParts::default() };
    if bytes.starts_with(b"\x89PNG") {
        parts.png(bytes);
    } else if bytes.starts_with(b"\xff\xd8") {
        parts.jpeg(bytes);
    } else if bytes.starts_with(b"GIF8") {
        // A picture whose blocks break off has no end.
        let _ = parts.gif(bytes);
    } else {
        parts.riff(bytes);
    }
    parts.broken |= parts.end.is_none();
    parts
}

/// The bytes behind the end of an image, which no viewer shows, if they are more than padding.
pub(crate) fn after_the_end(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.get(parts(bytes).end?..)?;
    let means_something = rest.iter().any(|byte| !matches!(byte, 0 | 0xff | b' ' | b'\r' | b'\n'));
    (rest.len() >= SHORTEST_REST && means_something).then_some(rest)
}

impl ImageParts {
    fn add(&mut self, text: &[u8]) {
        if self.texts.len() >= MOST_FIELDS {
            self.complete = false;
            return;
        }
        self.complete &= text.len() <= MOST_FIELD_BYTES;
        let text = &text[..text.len().min(MOST_FIELD_BYTES)];
        let text = String::from_utf8_lossy(text).replace('\0', " ");
        if text.bytes().any(|byte| byte.is_ascii_alphanumeric()) || !text.is_ascii() {
            self.texts.push(text);
        }
    }

    /// Adds a text that is compressed, with what stands before it.
    fn add_packed(&mut self, before: &[u8], packed: &[u8]) {
        let (text, whole) = inflate_zlib(packed, MOST_FIELD_BYTES);
        self.complete &= whole;
        self.add(&[before, b" ", &text].concat());
    }

    /// Adds the texts between other values: of one byte for a letter, and of two.
    fn add_values(&mut self, values: &[u8]) {
        let values = &values[..values.len().min(MOST_FIELD_BYTES)];
        let texts = |bytes: &[u8]| {
            let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0x80..);
            let runs = bytes.split(|byte| !is_text(byte));
            let runs =
                runs.filter(|run| run.iter().filter(|it| it.is_ascii()).count() >= SHORTEST_VALUE);
            runs.collect::<Vec<_>>().join(&b'\n')
        };
        let narrow = texts(values);
        let wide: Vec<u8> = values.iter().copied().filter(|byte| *byte != 0).collect();
        let wide = texts(&wide);
        if wide.len() > narrow.len() + SHORTEST_VALUE {
            self.add(&wide);
        }
        self.add(&narrow);
    }

    fn png(&mut self, bytes: &[u8]) {
        let mut at = 8_usize;
        while let Some(header) = bytes.get(at..at + 8) {
            let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let Some(data) = bytes.get(at + 8..(at + 8).saturating_add(length)) else { return };
            let mut words = data.splitn(2, |byte| *byte == 0);
            let (name, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            match &header[4..8] {
                b"tEXt" => self.add(data),
                b"zTXt" => self.add_packed(name, rest.get(1..).unwrap_or_default()),
                b"iTXt" => match rest {
                    [1, _, rest @ ..] => {
                        // A language and a translated name stand before the text.
                        let mut words = rest.splitn(3, |byte| *byte == 0);
                        let before = [words.next(), words.next()].map(Option::unwrap_or_default);
                        let packed = words.next().unwrap_or_default();
                        self.add_packed(&[name, before[1]].join(&b' '), packed);
                    }
                    _ => self.add(data),
                },
                b"eXIf" => self.add_values(data),
                b"IEND" => {
                    self.end = Some((at + 12 + length).min(bytes.len()));
                    return;
                }
                _ => {}
            }
            at = at.saturating_add(12).saturating_add(length);
        }
    }

    fn jpeg(&mut self, bytes: &[u8]) {
        let mut at = 2;
        while let Some(&[0xff, marker]) = bytes.get(at..at + 2) {
            match marker {
                // Padding.
                0xff => at += 1,
                0xd9 => {
                    self.end = Some(at + 2);
                    return;
                }
                0x01 | 0xd0..=0xd8 => at += 2,
                _ => {
                    let Some(length) = bytes.get(at + 2..at + 4) else { return };
                    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
                    let end = at + 2 + length.max(2);
                    let Some(data) = bytes.get(at + 4..end) else { return };
                    match marker {
                        0xfe => self.add(data),
                        0xe1 if data.starts_with(b"http://") => self.add(data),
                        0xe1 | 0xed => self.add_values(data),
                        _ => {}
                    }
                    at = if marker == 0xda { after_scan(bytes, end) } else { end };
                }
            }
        }
    }

    fn gif(&mut self, bytes: &[u8]) -> Option<()> {
        let colours = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
        let mut at = 13 + colours(*bytes.get(10)?);
        loop {
            match *bytes.get(at)? {
                b',' => {
                    let flags = *bytes.get(at + 9)?;
                    at = sub_blocks(bytes, at + 11 + colours(flags))?.1;
                }
                b'!' => {
                    let label = *bytes.get(at + 1)?;
                    let (text, end) = sub_blocks(bytes, at + 2)?;
                    match label {
                        0xfe | 0x01 => self.add(&text),
                        // What programs keep, such as XMP, is not cut into blocks.
                        0xff => self.add_values(bytes.get(at + 2..end)?),
                        _ => {}
                    }
                    at = end;
                }
                b';' => {
                    self.end = Some(at + 1);
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// WebP, and the other containers of that kind.
    fn riff(&mut self, bytes: &[u8]) {
        let length = |at: usize| {
            let it = bytes.get(at..at.checked_add(4)?)?;
            Some(u32::from_le_bytes([it[0], it[1], it[2], it[3]]) as usize)
        };
        self.end = length(4).and_then(|size| size.checked_add(8)).filter(|end| *end <= bytes.len());
        let mut at = 12_usize;
        while let (Some(kind), Some(size)) = (bytes.get(at..at + 4), length(at + 4)) {
            let Some(data) = bytes.get(at + 8..(at + 8).saturating_add(size)) else {
                // What stands behind the end need not be a part.
                self.broken |= self.end.is_none_or(|end| at < end);
                break;
            };
            match kind {
                b"XMP " => self.add(data),
                b"EXIF" | b"LIST" => self.add_values(data),
                _ => {}
            }
            at = (at + 8).saturating_add(size).saturating_add(size % 2);
        }
    }
}

/// Where the next marker stands behind the pixels of a JPEG.
fn after_scan(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|it| *it == 0xff))
    {
        at += found;
        match bytes.get(at + 1) {
            Some(0 | 0xd0..=0xd7) => at += 2,
            Some(0xff) => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// The bytes of the blocks of a GIF that begin at a place, and where the next part begins.
fn sub_blocks(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut all = Vec::new();
    loop {
        let length = usize::from(*bytes.get(at)?);
        if length == 0 {
            return Some((all, at + 1));
        }
        let block = bytes.get(at + 1..at + 1 + length)?;
        if all.len() <= MOST_FIELD_BYTES {
            all.extend_from_slice(block);
        }
        at += 1 + length;
    }
}
