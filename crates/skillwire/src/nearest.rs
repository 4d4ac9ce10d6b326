//! Finds the word that a user probably meant.

/// Returns the known word that is most like a mistyped one, if one is like it at all.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let most = (typed.chars().count() / 4).clamp(1, 4);
    let near = known.map(|word| (distance(typed, word), word)).filter(|(far, _)| *far <= most);
    near.min().map(|(_, word)| word)
}

/// Returns the path that a user probably meant: the one that was typed without its folders, or the one
/// that is most like it.
#[cfg(feature = "host")]
pub(crate) fn nearest_path<'a>(
    typed: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let has_name =
        |path: &&str| path.strip_suffix(typed).is_some_and(|folder| folder.ends_with('/'));
    known.clone().find(has_name).or_else(|| nearest(typed, known))
}

/// The number of letters to add, remove, replace or swap with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let [one, two] = [one, two].map(|word| word.chars().collect::<Vec<_>>());
    let mut second_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut fewest = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                fewest = fewest.min(second_last[j - 1] + 1);
            }
            row.push(fewest);
        }
        second_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_word_is_suggested_and_no_other() {
        let known = ["acme:refunds", "acme:invoices", "beta:refunds"];
        for (typed, meant) in [
            ("acme:refund", Some("acme:refunds")),
            ("acme:refudns", Some("acme:refunds")),
            ("acme:invoice", Some("acme:invoices")),
            ("acme:none", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known.into_iter()), meant, "{typed}");
        }
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
