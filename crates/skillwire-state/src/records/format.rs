//! The JSON form of a record, which names the skill it is about.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use skillwire_core::{ContentId, ContentSet, Digest, received};
use skillwire_dialects::Dialect;
use skillwire_trust::{
    Approval, ApprovalBinding, DecisionChannel, Grants, NextLoad, Record, SkillId, Voucher,
};

use super::MAX_RECORD_BYTES;
use crate::time;

/// The only version of the format.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    version: u32,
    server: String,
    uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<FileApproval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declined: Option<String>,
    #[serde(default)]
    disabled: bool,
    /// The approval of the next load. Records of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_load: Option<FileNextLoad>,
    #[serde(default, skip_serializing_if = "is_zero")]
    revocations: u64,
    #[serde(default)]
    asked: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileApproval {
    at: String,
    /// How the decision came; records of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    through: Option<String>,
    grants: Grants,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    revoked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_seen: Option<String>,
    fingerprint: String,
    /// The identity of the files, wherever they are. Records of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_id: Option<ContentId>,
    /// The trusted signer that vouched for the content. Records of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<FileVoucher>,
    /// The entry that the server listed, in the form of version 1 of the extension.
    entry: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileNextLoad {
    at: String,
    content: String,
    grants: Grants,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileVoucher {
    name: String,
    signer: String,
    trusted: String,
    /// When the signer's word ends. Signatures over files have no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Writes a record so that it reads back as the same one, or says why that is impossible.
pub(super) fn write(record: &Record, id: &SkillId) -> Result<String, String> {
    let approval = record.approval.as_ref().map(|approval| {
        Ok::<_, serde_json::Error>(FileApproval {
            at: time::to_text(approval.at),
            through: approval.channel.map(|channel| channel.code().to_owned()),
            grants: approval.grants.clone(),
            revoked: approval.revoked,
            first_seen: approval.binding.first_seen_in().map(|dialect| dialect.code().to_owned()),
            fingerprint: approval.content.fingerprint().to_string(),
            content_id: approval.content.content_id().ok(),
            signer: approval.voucher.as_ref().map(|voucher| FileVoucher {
                name: voucher.name.to_string(),
                signer: voucher.signer.to_string(),
                trusted: voucher.trusted.to_string(),
                until: voucher.until.map(time::to_text),
            }),
            entry: to_raw_value(&approval.content.entry())?,
        })
    });
    let cannot = |error: serde_json::Error| format!("cannot hold this record: {error}");
    let file = RecordFile {
        version: VERSION,
        server: record.id.origin.label().to_owned(),
        uri: record.id.uri.as_str().to_owned(),
        approval: approval.transpose().map_err(cannot)?,
        declined: record.declined.map(|digest| digest.to_string()),
        disabled: record.disabled,
        next_load: record.next_load.as_ref().map(|next| FileNextLoad {
            at: time::to_text(next.at),
            content: next.content.to_string(),
            grants: next.grants.clone(),
        }),
        revocations: record.revocations,
        asked: record.asked.iter().map(|at| time::to_text(*at)).collect(),
    };
    let text = serde_json::to_string_pretty(&file).map_err(cannot)? + "\n";
    if text.len() as u64 > MAX_RECORD_BYTES {
        return Err(format!("cannot hold a record of more than {MAX_RECORD_BYTES} bytes"));
    }
    let again = read(text.as_bytes(), id)?;
    let same = |one: &Approval, two: &Approval| {
        one.content == two.content
            && one.grants == two.grants
            && one.revoked == two.revoked
            && one.binding == two.binding
            && one.channel == two.channel
            && one.voucher == two.voucher
    };
    let kept = match (&again.approval, &record.approval) {
        (Some(one), Some(two)) => same(one, two),
        (None, None) => true,
        _ => false,
    };
    if kept { Ok(text) } else { Err("would not hold what was approved".to_owned()) }
}

/// Reads the record of a skill; the error is a clause that follows the file's path.
pub(super) fn read(bytes: &[u8], id: &SkillId) -> Result<Record, String> {
    let not = |error: serde_json::Error| format!("is not a record: {error}");
    let file: RecordFile = serde_json::from_slice(bytes).map_err(not)?;
    if file.version != VERSION {
        return Err(format!("has version {}, which this program does not know", file.version));
    }
    if file.server != id.origin.label() || file.uri != id.uri.as_str() {
        return Err("is the record of another skill".to_owned());
    }
    let moment =
        |text: &str| time::from_text(text).ok_or_else(|| "holds a time that is none".to_owned());
    let digest = |text: String| text.parse::<Digest>().map_err(|error| format!("holds {error}"));
    let approval = match file.approval {
        None => None,
        Some(approval) => Some(Approval {
            content: content(&approval, id)?,
            at: moment(&approval.at)?,
            channel: match &approval.through {
                None => None,
                Some(code) => Some(
                    DecisionChannel::parse(code)
                        .ok_or("says that it came in a way that is none")?,
                ),
            },
            binding: match &approval.first_seen {
                None => ApprovalBinding::Manifest,
                Some(code) => ApprovalBinding::FirstSeen(
                    Dialect::parse(code).ok_or("names a dialect that is none")?,
                ),
            },
            voucher: match approval.signer {
                None => None,
                Some(file) => Some(Voucher {
                    name: file.name.into(),
                    signer: file.signer.into(),
                    trusted: digest(file.trusted)?,
                    until: file.until.as_deref().map(moment).transpose()?,
                }),
            },
            grants: approval.grants,
            revoked: approval.revoked,
        }),
    };
    Ok(Record {
        id: id.clone(),
        approval,
        declined: file.declined.map(digest).transpose()?,
        disabled: file.disabled,
        next_load: match file.next_load {
            None => None,
            Some(next) => Some(NextLoad {
                content: digest(next.content)?,
                grants: next.grants,
                at: moment(&next.at)?,
            }),
        },
        revocations: file.revocations,
        asked: file.asked.iter().map(|at| moment(at)).collect::<Result<_, _>>()?,
    })
}

fn content(approval: &FileApproval, id: &SkillId) -> Result<ContentSet, String> {
    let entry = received::read_kept(approval.entry.get())
        .map_err(|fault| format!("holds an entry that cannot be used: {fault}"))?;
    if entry.uri != id.uri {
        return Err("approves another skill than it is about".to_owned());
    }
    let content =
        ContentSet::of(&entry).ok_or("approves a dynamic skill, which nothing can approve")?;
    if content.fingerprint().to_string() != approval.fingerprint {
        return Err("holds an entry that does not match its fingerprint".to_owned());
    }
    let same = |id: ContentId| content.content_id() == Ok(id);
    if !approval.content_id.is_none_or(same) {
        return Err("holds an entry that does not match its content id".to_owned());
    }
    Ok(content)
}
