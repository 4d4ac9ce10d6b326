//! The skills that the documentation shows every dialect with; their bytes and digests are known.

use crate::skill_folder::SkillFolder;

/// The files of the catalogue: path, content, digest.
pub const FILES: [(&str, &str, &str); 4] = [
    (
        "acme/billing/refunds/SKILL.md",
        "---\nname: refunds\ndescription: Handle a customer refund by the book. Use when money goes \
         back.\nlicense: Apache-2.0\nmetadata:\n  version: \"2.1.0\"\n---\n\n# Refunds\n\n1. Run \
         `scripts/calc.py`.\n2. Answer with `examples/email.md`.\n",
        "sha256:13282b32e467ac552a38bbbb006c7c7e1d9a5555b8915a4c7f3310bc64666995",
    ),
    (
        "acme/billing/refunds/examples/email.md",
        "Hello,\n\nyour refund is on its way.\n",
        "sha256:2c10c32c019e82e12cc42775b6834c421036c4023729a42fba69762e4062a6b9",
    ),
    (
        "acme/billing/refunds/scripts/calc.py",
        "import sys\nprint(round(float(sys.argv[1]) * 0.9, 2))\n",
        "sha256:f59350f12c138c10e00b79dead7fb719cb26bbd513905d12ec050d8f3e2c15d5",
    ),
    (
        "git-workflow/SKILL.md",
        "---\nname: git-workflow\ndescription: Branch and commit the way this team does. Use when \
         committing.\n---\n\n# Git workflow\n\nBranch from `main`.\n",
        "sha256:3649868ec7d451aab99fec8ee96fe4ed5ec62ddb22fecc65c0abb85c081a2ef0",
    ),
];

/// The digest of the whole skill `refunds` as one revision of the HTTP index computes it.
pub const REFUNDS_DIGEST: &str =
    "sha256:29575d72792aa1d040d94de9081ac368df87e7cb3e1314788f0c1112af2e537a";

/// Writes the catalogue into a folder of its own.
pub fn folder() -> SkillFolder {
    let folder = SkillFolder::new();
    for (path, content, _) in FILES {
        folder.file(path, content);
    }
    folder
}

#[cfg(test)]
mod tests {
    use skillwire_core::Digest;

    use super::*;

    #[test]
    fn the_catalogue_has_the_digests_that_the_dialects_are_documented_with() {
        for (path, content, digest) in FILES {
            assert_eq!(Digest::of(content.as_bytes()).to_string(), digest, "{path}");
        }
        let sizes = FILES.map(|(_, content, _)| content.len());
        assert_eq!(sizes, [222, 35, 53, 140]);
    }
}
