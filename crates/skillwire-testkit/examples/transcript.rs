//! Replays a conversation against a server over stdio:
//!
//! ```text
//! cargo run -p skillwire-testkit --example transcript -- FILE COMMAND [ARGUMENT...]
//! ```
//!
//! `{skills}` in an argument is replaced by a folder with the skills that the conversations use.

use std::path::Path;

use skillwire_testkit::{StdioClient, Transcript, reference_skills};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [file, command, arguments @ ..] = given.as_slice() else {
        return Err("Name a file and the command of a server.".into());
    };
    let transcript = Transcript::parse(&std::fs::read_to_string(file)?)?;
    let skills = reference_skills::folder();
    let folder = skills.path().display().to_string();
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.replace("{skills}", &folder)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut client = StdioClient::spawn(Path::new(command), &arguments);
    Ok(transcript.replay(&mut client).await?)
}
