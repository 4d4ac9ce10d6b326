//! The flows of a user who installs skills, as pictures of the documentation.

use super::forge::Forge;
use crate::host::screen::TestScreen;

fn start(forge: &Forge, arguments: &[&str], size: (u16, u16)) -> TestScreen {
    let mut command = forge.user.command(arguments);
    command.env("PAGER", "cat");
    TestScreen::start(command, size)
}

#[tokio::test]
async fn the_list_to_choose_from_fits_the_terminal() {
    let forge = Forge::new();
    let url = forge.url();
    let arguments = ["acme/skills", "--agent", "claude-code", "--global"];
    let mut screen = start(&forge, &Forge::add(&url, &arguments), (80, 12));
    screen.wait_for("0 marked").await;
    screen.press("pdf\n");
    screen.wait_for("1 marked").await;
    screen.assert_picture("add.svg");
    screen.press("q\n");
    screen.wait().await;
    assert!(!forge.exists(".claude"), "nothing is written before the user agrees");
}
