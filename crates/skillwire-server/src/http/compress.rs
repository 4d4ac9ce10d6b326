//! Compresses large answers for clients that accept gzip.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::Body;

use super::body::ResponseBody;

/// Smaller answers are sent uncompressed: compressing them costs more than it saves.
const WORTH_BYTES: usize = 16 * 1024;

/// Larger answers are compressed off the event loop, so that they do not delay other requests.
const LONG_WORK_BYTES: u64 = 256 * 1024;

/// Tells whether a client accepts gzip; an entry for `gzip` takes precedence over one for `*`.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let codings = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let (mut named, mut any) = (None, None);
    for coding in codings {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or("");
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse::<f32>().ok());
        let taken = quality.unwrap_or(1.0) > 0.0;
        if name.eq_ignore_ascii_case("gzip") {
            named = Some(taken);
        } else if name == "*" {
            any = Some(taken);
        }
    }
    named.or(any).unwrap_or(false)
}

/// Compresses an answer that is large and complete; passes any other through unchanged.
///
/// An ordinary page takes about a millisecond; longer work runs off the event loop.
pub(super) async fn compress(response: Response<ResponseBody>) -> Response<ResponseBody> {
    if response.body().size_hint().lower() < LONG_WORK_BYTES {
        return pack(response);
    }
    match tokio::task::spawn_blocking(move || pack(response)).await {
        Ok(response) => response,
        Err(_) => super::reply::empty(http::StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn pack(mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    let Some((pieces, memory)) = response.body_mut().take_large(WORTH_BYTES) else {
        return response;
    };
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let mut encoder = GzEncoder::new(Vec::with_capacity(length / 4), Compression::fast());
    let written = pieces.iter().try_for_each(|piece| encoder.write_all(piece));
    match written.and_then(|()| encoder.finish()) {
        Ok(compressed) => {
            *response.body_mut() =
                ResponseBody::ready(vec![Bytes::from(compressed)]).within(memory);
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        // Writing to memory does not fail; if it did, the client gets the plain answer.
        Err(_) => *response.body_mut() = ResponseBody::ready(pieces).within(memory),
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn accepts(value: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
        accepts_gzip(&headers)
    }

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        assert!(accepts("gzip, deflate, br"));
        assert!(accepts("br;q=1.0, GZIP;q=0.5"));
        assert!(accepts("*"));
        for refused in ["", "identity", "br", "gzip;q=0", "gzip; q=0.0", "gzip;q=0, *"] {
            assert!(!accepts(refused), "{refused}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn large_answers_are_compressed_and_small_ones_are_not() {
        let body =
            |text: &str| Response::new(ResponseBody::ready(vec![Bytes::from(text.to_owned())]));
        let large = "skill ".repeat(10_000);
        let mut response = pack(body(&large));
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
        let (pieces, _) = response.body_mut().take_large(0).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(&pieces[0][..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, large);
        assert!(pack(body("small")).headers().is_empty());
    }
}
