//! Honest answers, with faults applied to them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use skillwire_core::Digest;
use skillwire_protocol::{
    Era, ErrorCode, SKILLS_EXTENSION, meta, method,
    version::{self, MODERN},
};

use super::{Fault, ReceivedRequest, ScriptedReply, content::HonestContent};

/// The members of a result, each as JSON text, so that it may hold what no JSON value can.
type JsonMembers = Vec<(String, String)>;

const PAGE_SIZE: usize = 100;

/// Answers a request honestly, except for the faults.
pub(super) fn answer(
    content: &HonestContent,
    faults: &[Fault],
    request: &ReceivedRequest,
    count: usize,
) -> ScriptedReply {
    let answering = AnswerBuilder { content, faults, request, count };
    match answering.members() {
        Ok(members) => ScriptedReply::Text(answering.apply_faults(members)),
        Err(reply) => reply,
    }
}

struct AnswerBuilder<'a> {
    content: &'a HonestContent,
    faults: &'a [Fault],
    request: &'a ReceivedRequest,
    count: usize,
}

impl AnswerBuilder<'_> {
    fn find<T>(&self, pick: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.faults.iter().rev().find_map(pick)
    }

    fn has(&self, is: impl Fn(&Fault) -> bool) -> bool {
        self.faults.iter().any(is)
    }

    fn members(&self) -> Result<JsonMembers, ScriptedReply> {
        match self.request.method.as_str() {
            method::DISCOVER => self.discover(),
            method::INITIALIZE => self.initialize(),
            method::SKILLS_LIST => self.list(),
            method::SKILLS_GET => self.get(),
            method::RESOURCES_READ => self.read(),
            method::RESOURCES_LIST => Ok(self.resources()),
            method::DIRECTORY_READ => self.directory(),
            method::PING | method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE => {
                Ok(JsonMembers::new())
            }
            // The transport answers this one: it decides how long the stream stays open.
            method::LISTEN if self.request.era == Era::Modern => Err(ScriptedReply::Honest),
            _ => Err(unknown_method()),
        }
    }

    /// Adds what every result has, and applies the faults.
    fn apply_faults(&self, mut members: JsonMembers) -> String {
        if self.request.era == Era::Modern {
            set(&mut members, "resultType", &json!("complete"));
        }
        for fault in self.faults {
            match fault {
                Fault::Member { method, name, value } if *method == self.request.method => {
                    set(&mut members, name, value);
                }
                Fault::WithoutMember { method, name } if *method == self.request.method => {
                    members.retain(|(found, _)| found != name);
                }
                _ => {}
            }
        }
        let members: Vec<_> =
            members.iter().map(|(name, text)| format!("{}:{text}", json!(name))).collect();
        format!("{{{}}}", members.join(","))
    }

    fn discover(&self) -> Result<JsonMembers, ScriptedReply> {
        if self.has(|fault| matches!(fault, Fault::LegacySilent)) {
            return Err(ScriptedReply::Never);
        }
        if self.has(|fault| matches!(fault, Fault::LegacyOnly)) {
            return Err(unknown_method());
        }
        let versions = self.find(|fault| match fault {
            Fault::SupportedVersions(versions) => Some(json!(versions)),
            _ => None,
        });
        let mut members = JsonMembers::new();
        set(&mut members, "supportedVersions", &versions.unwrap_or(json!([MODERN])));
        self.describe(&mut members);
        set(&mut members, "_meta", &json!({ meta::SERVER_INFO: self.server_info() }));
        cacheable(&mut members);
        Ok(members)
    }

    fn initialize(&self) -> Result<JsonMembers, ScriptedReply> {
        if self.has(|fault| matches!(fault, Fault::ModernOnly)) {
            return Err(unknown_method());
        }
        let requested = self.request.params["protocolVersion"].as_str().unwrap_or("");
        let mut members = JsonMembers::new();
        set(&mut members, "protocolVersion", &version::negotiate_legacy(requested).into());
        self.describe(&mut members);
        set(&mut members, "serverInfo", &self.server_info());
        Ok(members)
    }

    fn describe(&self, members: &mut JsonMembers) {
        let mut settings = json!({});
        let mut declared = true;
        let mut capabilities = None;
        for fault in self.faults {
            match fault {
                Fault::Undeclared => declared = false,
                Fault::Declared(value) => settings = value.clone(),
                Fault::DirectoryRead(value) => settings["directoryRead"] = value.clone(),
                Fault::Capabilities(value) => capabilities = Some(value.clone()),
                Fault::Instructions(value) => set(members, "instructions", value),
                _ => {}
            }
        }
        let capabilities = capabilities.unwrap_or_else(|| {
            let mut honest = json!({ "resources": { "listChanged": true, "subscribe": true } });
            if declared {
                honest["extensions"] = json!({ SKILLS_EXTENSION: settings });
            }
            honest
        });
        set(members, "capabilities", &capabilities);
    }

    fn server_info(&self) -> Value {
        let name = self.find(|fault| match fault {
            Fault::ServerName(name) => Some(name.clone()),
            _ => None,
        });
        json!({ "name": name.unwrap_or_else(|| "hostile".to_owned()), "version": "1" })
    }

    fn list(&self) -> Result<JsonMembers, ScriptedReply> {
        let cursor = self.request.params["cursor"].as_str();
        let mut members = JsonMembers::new();
        if self.has(|fault| matches!(fault, Fault::EndlessPages)) {
            let uri = format!("skill://endless-{}/SKILL.md", self.count);
            set_text(&mut members, "skills", format!("[{}]", fabricated(&uri)));
            set(&mut members, "nextCursor", &format!("page {}", self.count).into());
            cacheable(&mut members);
            return Ok(members);
        }
        let entries = self.listed();
        let size = self.find(|fault| match fault {
            Fault::PageSize(size) => Some(*size),
            _ => None,
        });
        let start: usize = match cursor {
            // Some tests use the empty string as a cursor.
            None | Some("") => 0,
            Some(text) => {
                text.parse().map_err(|_| ScriptedReply::known_error(ErrorCode::InvalidParams))?
            }
        };
        let start = start.min(entries.len());
        let end = (start + size.unwrap_or(PAGE_SIZE)).min(entries.len());
        set_text(&mut members, "skills", format!("[{}]", entries[start..end].join(",")));
        let first = self.find(|fault| match fault {
            Fault::FirstCursor(value) if cursor.is_none() => Some(value.clone()),
            _ => None,
        });
        if self.has(|fault| matches!(fault, Fault::SameCursorForever)) {
            set(&mut members, "nextCursor", &json!("0"));
        } else if let Some(first) = first {
            set(&mut members, "nextCursor", &first);
        } else if end < entries.len() {
            set(&mut members, "nextCursor", &end.to_string().into());
        }
        cacheable(&mut members);
        Ok(members)
    }

    /// The entries of the whole listing, as text.
    fn listed(&self) -> Vec<String> {
        if self.has(|fault| matches!(fault, Fault::ListsNothing)) {
            return Vec::new();
        }
        let is_left_out = |uri: &str| {
            self.has(|fault| matches!(fault, Fault::Unlisted(found) if found == uri))
                || !self.is_visible(uri)
        };
        let uris = self.content.uris().into_iter().filter(|uri| !is_left_out(uri));
        let mut entries: Vec<_> = uris.filter_map(|uri| self.entry(&uri)).collect();
        entries.extend(self.faults.iter().filter_map(|fault| match fault {
            Fault::AlsoListed(entry) => Some(entry.to_string()),
            _ => None,
        }));
        entries
    }

    fn is_visible(&self, uri: &str) -> bool {
        self.faults.iter().all(|fault| match fault {
            Fault::OnlyFor { uri: found, token } if found == uri => {
                self.request.token.as_ref() == Some(token)
            }
            _ => true,
        })
    }

    /// A skill's entry as text, with every fault of it.
    fn entry(&self, uri: &str) -> Option<String> {
        let mut entry = self.content.entry(uri)?;
        let mut text = None;
        for fault in self.faults {
            match fault {
                Fault::Entry { uri: found, patch } if found == uri => merge(&mut entry, patch),
                Fault::EntryText { uri: found, text: exact } if found == uri => {
                    text = Some(exact.clone());
                }
                Fault::NeverConsistent { uri: file } => {
                    let digest = Digest::of(format!("entry {}", self.count).as_bytes());
                    let files = entry["resources"].as_array_mut().into_iter().flatten();
                    for found in files.filter(|found| found["uri"] == **file) {
                        found["digest"] = digest.to_string().into();
                    }
                }
                _ => {}
            }
        }
        Some(text.unwrap_or_else(|| entry.to_string()))
    }

    fn get(&self) -> Result<JsonMembers, ScriptedReply> {
        let uri = self.request.uri();
        let other = self.find(|fault| match fault {
            Fault::Gets { uri: found, entry } if found == uri => Some(entry.to_string()),
            _ => None,
        });
        let entry = other.or_else(|| self.entry(uri).filter(|_| self.is_visible(uri)));
        let entry = entry.ok_or_else(not_found)?;
        if self.has(|fault| matches!(fault, Fault::GetsInline)) {
            return Err(ScriptedReply::Text(entry));
        }
        let mut members = JsonMembers::new();
        set_text(&mut members, "skill", entry);
        cacheable(&mut members);
        Ok(members)
    }

    fn read(&self) -> Result<JsonMembers, ScriptedReply> {
        let uri = self.request.uri();
        let mut bytes = self.content.bytes(uri).map(<[u8]>::to_vec);
        for fault in self.faults {
            match fault {
                Fault::ReadBytes { uri: found, bytes: other } if found == uri => {
                    bytes = Some(other.clone());
                }
                Fault::ReadResult { uri: found, result } if found == uri => {
                    return Err(ScriptedReply::Result(result.clone()));
                }
                Fault::ReadError { uri: found, code } if found == uri => {
                    return Err(ScriptedReply::Error {
                        code: *code,
                        message: "As told.".to_owned(),
                    });
                }
                Fault::NeverConsistent { uri: found } if found == uri => {
                    bytes = Some(format!("read {}", self.count).into_bytes());
                }
                _ => {}
            }
        }
        let missing = || match self.request.era {
            Era::Modern => not_found(),
            Era::Legacy => {
                let code = ErrorCode::LegacyResourceNotFound.number().into();
                ScriptedReply::Error { code, message: "There is no such resource.".to_owned() }
            }
        };
        let item = match String::from_utf8(bytes.ok_or_else(missing)?) {
            Ok(text) => json!({ "uri": uri, "text": text }),
            Err(error) => json!({ "uri": uri, "blob": STANDARD.encode(error.as_bytes()) }),
        };
        let mut members = JsonMembers::new();
        set(&mut members, "contents", &json!([item]));
        cacheable(&mut members);
        Ok(members)
    }

    fn resources(&self) -> JsonMembers {
        let of_skills = self.content.files().map(|(uri, _)| uri);
        let uris = of_skills.chain(self.content.resources.keys().cloned());
        let resources: Vec<_> = uris.map(|uri| json!({ "uri": uri, "name": uri })).collect();
        let mut members = JsonMembers::new();
        set(&mut members, "resources", &resources.into());
        cacheable(&mut members);
        members
    }

    fn directory(&self) -> Result<JsonMembers, ScriptedReply> {
        let uri = self.request.uri();
        let other = self.find(|fault| match fault {
            Fault::Children { uri: found, children } if found == uri => Some(children.clone()),
            _ => None,
        });
        let children = other.or_else(|| self.content.children(uri)).ok_or_else(not_found)?;
        let mut members = JsonMembers::new();
        set(&mut members, "resources", &children.into());
        cacheable(&mut members);
        Ok(members)
    }
}

fn set(members: &mut JsonMembers, name: &str, value: &Value) {
    set_text(members, name, value.to_string());
}

fn set_text(members: &mut JsonMembers, name: &str, text: String) {
    members.retain(|(found, _)| found != name);
    members.push((name.to_owned(), text));
}

fn cacheable(members: &mut JsonMembers) {
    set(members, "ttlMs", &json!(0));
    set(members, "cacheScope", &json!("private"));
}

/// An entry of a skill that does not exist.
fn fabricated(uri: &str) -> Value {
    let name = uri.trim_start_matches("skill://").trim_end_matches("/SKILL.md");
    let digest = Digest::of(b"").to_string();
    json!({
        "uri": uri,
        "frontmatter": { "name": name, "description": "Nothing." },
        "resources": [{ "uri": uri, "digest": digest, "size": 0 }],
    })
}

/// Applies a merge patch: objects are merged, null removes, everything else replaces.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(target) = target {
        for (name, value) in patch {
            if value.is_null() {
                target.remove(name);
            } else {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

fn not_found() -> ScriptedReply {
    let code = ErrorCode::InvalidParams.number().into();
    ScriptedReply::Error { code, message: "There is no such resource or skill.".to_owned() }
}

fn unknown_method() -> ScriptedReply {
    let code = ErrorCode::MethodNotFound.number().into();
    ScriptedReply::Error { code, message: "There is no such method.".to_owned() }
}
