//! Inclusion in a Merkle tree (RFC 6962), and signed checkpoints of a log.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};

use crate::key::PublicKey;

/// Hashes an entry of the log.
pub(crate) fn leaf_hash(entry: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

fn node_hash(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// Computes the root of a tree from one leaf and the hashes beside its path; `None` if the path does
/// not fit the tree.
pub(crate) fn root_of(
    index: u64,
    tree_size: u64,
    leaf: [u8; 32],
    beside: &[[u8; 32]],
) -> Option<[u8; 32]> {
    let mut last = tree_size.checked_sub(1).filter(|last| index <= *last)?;
    let (mut node, mut hash) = (index, leaf);
    for sibling in beside {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            // A node without a sibling on its level is taken up as it is.
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(hash)
}

/// The size and root of a log at some time, signed by the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) tree_size: u64,
    pub(crate) root: [u8; 32],
}

impl Checkpoint {
    /// Reads a signed note and verifies the log's signature over it; `hint` are the first bytes of
    /// the log's key id, which stand in front of its signature.
    pub(crate) fn verify(note: &str, key: &PublicKey, hint: [u8; 4]) -> Option<Self> {
        let end = note.find("\n\n")? + 1;
        let (text, signatures) = (&note[..end], &note[end + 1..]);
        let signed = signatures.lines().take(16).any(|line| {
            let value = line.strip_prefix("\u{2014} ").and_then(|line| line.rsplit_once(' '));
            let value = value.and_then(|(_, value)| STANDARD.decode(value).ok());
            value.is_some_and(|value| {
                value.get(..4) == Some(&hint[..]) && key.verifies(text.as_bytes(), &value[4..])
            })
        });
        if !signed {
            return None;
        }
        let mut lines = text.lines().skip(1);
        let tree_size = lines.next()?.parse().ok()?;
        let root = STANDARD.decode(lines.next()?).ok()?.try_into().ok()?;
        Some(Self { tree_size, root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the root and the path of a leaf the plain way, by the definition of RFC 6962.
    fn tree(leaves: &[[u8; 32]], index: usize) -> ([u8; 32], Vec<[u8; 32]>) {
        if leaves.len() == 1 {
            return (leaves[0], Vec::new());
        }
        let split = leaves.len().next_power_of_two() / 2;
        let (left, right) = leaves.split_at(split);
        let (mine, other, index) =
            if index < split { (left, right, index) } else { (right, left, index - split) };
        let (hash, mut path) = tree(mine, index);
        let (other_hash, _) = tree(other, 0);
        path.push(other_hash);
        let root = if mine.as_ptr() == left.as_ptr() {
            node_hash(&hash, &other_hash)
        } else {
            node_hash(&other_hash, &hash)
        };
        (root, path)
    }

    #[test]
    fn every_leaf_of_small_trees_leads_to_the_root_and_to_no_other() {
        for size in 1..=17_usize {
            let leaves: Vec<_> = (0..size).map(|n| leaf_hash(&n.to_be_bytes())).collect();
            for index in 0..size {
                let (root, path) = tree(&leaves, index);
                let of = |index, size| {
                    root_of(
                        index,
                        size,
                        leaves[usize::try_from(index).unwrap() % leaves.len()],
                        &path,
                    )
                };
                let (index, size) = (index as u64, size as u64);
                assert_eq!(of(index, size), Some(root), "{index} of {size}");
                assert_eq!(root_of(size, size, leaves[0], &path), None);
                let mut longer = path.clone();
                longer.push([0; 32]);
                let own = leaves[usize::try_from(index).unwrap()];
                assert_ne!(root_of(index, size, own, &longer), Some(root));
                if let Some((_, shorter)) = path.split_last() {
                    assert_ne!(root_of(index, size, own, shorter), Some(root));
                }
            }
        }
    }
}
