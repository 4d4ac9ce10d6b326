//! What the scanner says where a user decides about a skill: at a terminal and in a client's form.

use serde_json::{Value, json};
use skillwire_testkit::{SkillFolder, modern_meta, modern_request, skill_md};

use crate::{
    host::user::TestUser,
    scan::LURE,
    support::{StdioServer, TEST_TIMEOUT},
};

const UNSEEN: &str = "The scanner has not looked at 2 files";

async fn user() -> (TestUser, SkillFolder) {
    let (user, skills) = (TestUser::new(), SkillFolder::new());
    skills.file("notes/SKILL.md", skill_md("notes")).file("notes/rates.txt", "one\n");
    user.add_folder_server("acme", &skills).await;
    (user, skills)
}

/// Puts a download behind base64 into the skill.
fn worsen(skills: &SkillFolder) {
    skills.file("notes/SKILL.md", LURE);
}

/// The files that were read from servers so far, by the audit log.
async fn reads(user: &TestUser) -> usize {
    let audit = user.run_json(&["audit", "--json"]).await;
    let lines = audit.as_array().cloned().unwrap_or_default();
    lines.iter().filter(|it| ["inspect", "read"].iter().any(|name| it["action"] == *name)).count()
}

#[tokio::test]
async fn approving_names_new_findings_and_fetches_nothing_for_them_hst_53_hst_86() {
    let (user, skills) = user().await;
    let first = user.run(&["approve", "acme:notes", "--yes"]).await.assert_exit(0);
    assert!(first.stderr.contains(UNSEEN), "{}", first.stderr);
    assert!(first.stderr.contains("`skillwire scan acme:notes` fetches"), "{}", first.stderr);
    assert_eq!(reads(&user).await, 0, "nothing is read for a card");
    user.run_ok(&["load", "acme:notes"]).await;

    worsen(&skills);
    let changed = user.run(&["approve", "acme:notes", "--yes"]).await.assert_exit(0);
    let new = "New since you approved: critical[remote-code/";
    assert!(changed.stderr.contains(new), "{}", changed.stderr);
    assert!(changed.stderr.contains("it contacts `93.184.216.34`"), "{}", changed.stderr);
    assert!(changed.stderr.contains("not looked at 1 file"), "{}", changed.stderr);
}

#[tokio::test]
async fn a_skill_that_was_looked_at_has_its_findings_on_the_card() {
    let (user, skills) = user().await;
    worsen(&skills);
    user.run(&["scan", "acme:notes"]).await.assert_exit(1);
    let card = user.run(&["approve", "acme:notes", "--yes"]).await.assert_exit(0);
    assert!(card.stderr.contains("The scanner found: critical[remote-code/"), "{}", card.stderr);
    assert!(!card.stderr.contains("has not looked at"), "{}", card.stderr);
    let same = user.run(&["scan", "acme:notes", "--since", "acme:notes"]).await.assert_exit(1);
    assert!(same.stdout.contains("this version does nothing new"), "{}", same.stdout);
}

/// A client of the modern era that shows forms.
struct Client {
    bridge: StdioServer,
    id: i64,
}

impl Client {
    async fn call(&mut self, mut params: Value) -> Value {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
        params["_meta"] = meta;
        self.id += 1;
        self.bridge.request(&modern_request(self.id, "tools/call", params)).await.result().clone()
    }

    /// Loads the skill until the user is asked, says yes, and returns the words of the form.
    async fn load_and_agree(&mut self) -> String {
        let load = json!({ "name": "load_skill", "arguments": { "name": "acme:notes" } });
        let start = std::time::Instant::now();
        let mut asked = self.call(load.clone()).await;
        while asked["resultType"] != "input_required" && start.elapsed() < TEST_TIMEOUT {
            asked = self.call(load.clone()).await;
        }
        let words = asked["inputRequests"]["approve"]["params"]["message"].clone();
        let mut answered = load;
        answered["requestState"] = asked["requestState"].clone();
        answered["inputResponses"] =
            json!({ "approve": { "action": "accept", "content": { "load": true } } });
        let loaded = self.call(answered).await;
        assert_eq!(loaded["resultType"], "complete", "the answer is for another form: {loaded}");
        words.as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn a_form_of_the_bridge_names_what_is_new_and_what_was_not_looked_at_hst_53_hst_86() {
    let (user, skills) = user().await;
    let mut client = Client { bridge: StdioServer::start(user.command(&["bridge"])), id: 0 };
    let first = client.load_and_agree().await;
    assert!(first.contains(UNSEEN), "{first}");
    assert!(!first.contains("The scanner found"), "{first}");

    worsen(&skills);
    let changed = client.load_and_agree().await;
    assert!(changed.contains("New since you approved: critical[remote-code/"), "{changed}");
    assert!(changed.contains("New since you approved: it contacts `93.184.216.34`."), "{changed}");
    assert!(changed.contains("The scanner has not looked at 1 file; `skillwire scan"), "{changed}");
}
