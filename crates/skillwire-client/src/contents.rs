//! Reading the answer to `resources/read`, which must hold exactly one content.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::web::FetchedContent;

#[derive(Deserialize)]
struct RawAnswer<'a> {
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawContent<'a> {
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    blob: Option<&'a RawValue>,
    #[serde(rename = "mimeType", borrow, default)]
    media_type: Option<&'a RawValue>,
}

/// Returns the one content for `uri` in an answer to `resources/read`; the error says what is wrong with
/// the answer.
pub fn only_content(text: &str, uri: &str) -> Result<FetchedContent, String> {
    let answer: RawAnswer<'_> =
        serde_json::from_str(text).map_err(|_| "an answer that is not an object".to_owned())?;
    let contents = answer.contents.filter(|raw| raw.get().starts_with('['));
    let contents = contents.ok_or("no list `contents`")?;
    let contents: Vec<&RawValue> =
        serde_json::from_str(contents.get()).map_err(|_| "no list `contents`".to_owned())?;
    let [content] = contents.as_slice() else {
        return Err(format!("{} contents", contents.len()));
    };
    if !content.get().starts_with('{') {
        return Err("a content that is not an object".to_owned());
    }
    let content: RawContent<'_> =
        serde_json::from_str(content.get()).map_err(|error| error.to_string())?;
    let named = content.uri.and_then(string).ok_or("a content without `uri`")?;
    if named != uri {
        return Err(format!("content of `{}`", skillwire_protocol::truncated(&named)));
    }
    let bytes = match (content.text, content.blob) {
        (Some(text), None) => string(text)
            .map(String::into_bytes)
            .ok_or("a `text` that is not a string of Unicode characters")?,
        (None, Some(blob)) => string(blob)
            .and_then(|blob| STANDARD.decode(blob).ok())
            .ok_or("a `blob` that is not canonical base64")?,
        (Some(_), Some(_)) => return Err("both `text` and `blob`".to_owned()),
        (None, None) => return Err("neither `text` nor `blob`".to_owned()),
    };
    Ok(FetchedContent { bytes: bytes.into(), media_type: content.media_type.and_then(string) })
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URI: &str = "skill://a/SKILL.md";

    #[test]
    fn text_and_blob_give_the_bytes_that_were_hashed_hst_117() {
        let text = json!({"contents": [{"uri": URI, "text": "é\r\n"}]}).to_string();
        assert_eq!(&only_content(&text, URI).unwrap().bytes[..], "é\r\n".as_bytes());
        let blob = json!({"contents": [{"uri": URI, "blob": "AP8=", "mimeType": "image/png"}]});
        let content = only_content(&blob.to_string(), URI).unwrap();
        assert_eq!(&content.bytes[..], [0, 255]);
        assert_eq!(content.media_type.as_deref(), Some("image/png"));
    }

    #[test]
    fn anything_but_one_usable_content_is_an_error_h_36() {
        let good = json!({"uri": URI, "text": "x"});
        for bad in [
            json!({}),
            json!({"contents": {}}),
            json!({"contents": []}),
            json!({"contents": [good, good]}),
            json!({"contents": [[URI, "x"]]}),
            json!({"contents": [{"uri": "skill://b/SKILL.md", "text": "x"}]}),
            json!({"contents": [{"text": "x"}]}),
            json!({"contents": [{"uri": URI, "text": "x", "blob": "AA=="}]}),
            json!({"contents": [{"uri": URI}]}),
            json!({"contents": [{"uri": URI, "text": 5}]}),
            json!({"contents": [{"uri": URI, "text": null}]}),
        ] {
            assert!(only_content(&bad.to_string(), URI).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_canonical_base64_is_decoded_h_37() {
        for bad in ["AP8", "AP9=", "A P8=", "AP8=\n", "_w==", "AP8==", "%"] {
            let answer = json!({"contents": [{"uri": URI, "blob": bad}]}).to_string();
            assert!(only_content(&answer, URI).is_err(), "{bad}");
        }
    }

    #[test]
    fn lone_surrogates_are_no_text_h_38() {
        let answer = format!(r#"{{"contents":[{{"uri":"{URI}","text":"\ud800"}}]}}"#);
        assert!(only_content(&answer, URI).unwrap_err().contains("Unicode"));
    }
}
