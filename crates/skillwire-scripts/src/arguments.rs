//! What a client gives to a script, which nothing was checked about.

use serde_json::{Map, Value};
use skillwire_sandbox::arguments::Arguments;

use crate::scripts::NotRun;

/// Reads the object that a client sent, or none.
pub(crate) fn read(given: Option<&Value>) -> Result<Arguments, NotRun> {
    let nothing = Map::new();
    let object = match given {
        None | Some(Value::Null) => &nothing,
        Some(Value::Object(object)) => object,
        Some(_) => return Err(NotRun::Refused("The arguments are not an object.".to_owned())),
    };
    Arguments::of(object).map_err(|error| NotRun::Refused(format!("The arguments {error}.")))
}
