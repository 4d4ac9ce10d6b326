//! Reads words of a command line as the arguments that a skill declares.

use serde_json::{Map, Value};

use super::{DeclarationError, DeclaredArguments, schema::Schema};

impl DeclaredArguments {
    /// Checks words as a user or a model wrote them. The script gets them as they are.
    ///
    /// `--help` and `-h` are let through: a script says itself what it takes.
    pub(crate) fn check_words(&self, words: &[String]) -> Result<(), DeclarationError> {
        let options = words.iter().take_while(|word| *word != "--");
        if options.clone().any(|word| word == "--help" || word == "-h") {
            return Ok(());
        }
        let read = self.read_words(words);
        let checked = read.and_then(|read| self.schema.check(&Value::Object(read), "arguments"));
        checked.map_err(DeclarationError::Arguments)
    }

    /// The object that these words stand for.
    fn read_words(&self, words: &[String]) -> Result<Map<String, Value>, String> {
        let mut read = Map::new();
        let mut positional = Vec::new();
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                positional.extend(rest.by_ref());
                break;
            }
            let Some((name, value)) = option(word) else {
                positional.push(word);
                continue;
            };
            let schema = self.schema.property(name);
            let is_place = self.command.as_deref() == Some(name)
                || self.positional.iter().any(|positional| positional == name);
            if is_place || schema.is_none() && self.schema.is_closed() {
                return Err(format!("`{}` is not known", shown(word)));
            }
            let value = match (value, schema) {
                (Some(value), _) => Some(value),
                (None, Some(schema)) if schema.is_switch() => None,
                (None, Some(_)) => {
                    Some(rest.next().ok_or_else(|| format!("`{}` has no value", shown(word)))?)
                }
                // An option that is not declared may be a switch or not.
                (None, None) => rest.next_if(|next| option(next).is_none() && *next != "--"),
            };
            insert(&mut read, name, schema, value);
        }
        let mut positional = positional.into_iter();
        if let Some(name) = &self.command
            && let Some(word) = positional.next()
        {
            insert(&mut read, name, self.schema.property(name), Some(word));
        }
        for (index, name) in self.positional.iter().enumerate() {
            let schema = self.schema.property(name);
            let after = self.positional.len() - index - 1;
            let count = match schema {
                Some(schema) if schema.takes_array() => positional.len().saturating_sub(after),
                _ => 1,
            };
            for word in positional.by_ref().take(count) {
                insert(&mut read, name, schema, Some(word));
            }
        }
        match positional.next() {
            Some(word) => Err(format!("`{}` is one word too many", shown(word))),
            None => Ok(read),
        }
    }
}

/// Adds a value; a switch has none. An array gets one more element, and any other argument its last
/// value, as most programs read them.
fn insert(read: &mut Map<String, Value>, name: &str, schema: Option<&Schema>, word: Option<&str>) {
    let Some(word) = word else {
        read.insert(name.to_owned(), true.into());
        return;
    };
    let value = |schema: Option<&Schema>| {
        schema.map_or_else(|| Value::from(word), |schema| schema.read_word(word))
    };
    match schema {
        Some(schema) if schema.takes_array() => {
            let item = value(schema.items());
            let values = read.entry(name).or_insert_with(|| Value::Array(Vec::new()));
            values.as_array_mut().into_iter().for_each(|values| values.push(item.clone()));
        }
        _ => {
            read.insert(name.to_owned(), value(schema));
        }
    }
}

/// The name of an option, and its value where it is in the same word; `None` for other words, negative
/// numbers among them.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        return Some(
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))),
        );
    }
    let short = word.strip_prefix('-').filter(|rest| !rest.is_empty())?;
    if short.parse::<f64>().is_ok() {
        return None;
    }
    let (name, value) = short.split_at(short.chars().next().map_or(0, char::len_utf8));
    Some((name, (!value.is_empty()).then(|| value.strip_prefix('=').unwrap_or(value))))
}

fn shown(word: &str) -> String {
    word.chars().take(64).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::declared;

    fn check(line: &str) -> Result<(), String> {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        declared().check_words(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_checked_as_the_object_that_they_stand_for() {
        for fits in [
            "check #fff0 #0000",
            "check --size 3 #fff0",
            "--size=3 check #fff0 --quiet #0000",
            "sheet -- #fff0 --x-is-a-word",
            "check --help",
            "-h",
        ] {
            assert_eq!(check(fits), Ok(()), "{fits}");
        }
        for (line, said) in [
            ("check", "`arguments` lacks `colors`"),
            ("x #fff0", "`arguments.action` is not one of"),
            ("check abc", "`arguments.colors[0]` is shorter"),
            ("check #fff0 --size 11", "`arguments.size` is more than 10"),
            ("check #fff0 --size -1", "`arguments.size` is less than 1"),
            ("check #fff0 --size x", "`arguments.size` is not an integer"),
            ("check #fff0 --size", "`--size` has no value"),
            ("check #fff0 --quiet=x", "`arguments.quiet` is not true or false"),
            ("check #fff0 --other", "`--other` is not known"),
            ("check #fff0 -x1", "`-x1` is not known"),
            ("--action check #fff0", "`--action` is not known"),
        ] {
            let refused = check(line).unwrap_err();
            assert!(refused.contains(said), "{line}: {refused}");
        }
    }

    #[test]
    fn a_word_that_has_no_place_is_refused() {
        let mut declared = declared();
        declared.positional.clear();
        let words = ["check", "#fff0"].map(str::to_owned);
        let refused = declared.check_words(&words).unwrap_err().to_string();
        assert!(refused.ends_with("`#fff0` is one word too many"), "{refused}");
    }
}
