//! Skills that change while they are served: V-57 to V-64 as clients see them.

use std::{
    collections::BTreeMap,
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use skillwire_catalog::ViewId;
use skillwire_core::Finding;
use skillwire_server::Config;
use skillwire_source::{
    DirectoryOptions, DirectorySource, GeneratedFiles, ScanRequest, SkillSource, SourceChange,
    SourceUnavailable,
};
use skillwire_testkit::{SkillFolder, TestOptions, TestServer, modern_request, skill_md};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    peers::{LiveSkill, Mood, read_until, request_bytes},
    support::{children, content, digest, generated, in_memory, text},
};

const A: &str = "skill://a/SKILL.md";
const NOTES: &str = "skill://a/notes.md";

async fn code(server: &TestServer, method: &str, uri: &str) -> i64 {
    server.modern(method, json!({ "uri": uri })).await.code()
}

async fn bytes(server: &TestServer, uri: &str) -> Vec<u8> {
    content(&server.call("resources/read", json!({ "uri": uri })).await)
}

/// Returns the files of an entry: URI to digest.
fn digests(entry: &Value) -> BTreeMap<String, String> {
    let files = entry["resources"].as_array().expect("the entry lists files");
    files.iter().map(|file| (text(&file["uri"]), text(&file["digest"]))).collect()
}

/// Asserts that every file of every entry has the bytes that the entry promises.
async fn assert_consistent(server: &TestServer) {
    for entry in server.skills().await {
        for (uri, promised) in digests(&entry) {
            let reply = server.modern("resources/read", json!({ "uri": uri })).await;
            if reply.0.get("error").is_some() {
                assert_eq!(reply.code(), -32602, "{uri} changed and is refused cleanly");
            } else {
                assert_eq!(digest(&content(reply.result())), promised, "{uri}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_that_grows_is_served_as_it_was_read_or_refused_v_57() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/notes.md", "line\n");
    let mut server = TestServer::start(folder.path()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, path) = (Arc::clone(&stop), folder.join("a/notes.md"));
        std::thread::spawn(move || {
            let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
            for _ in 0..100_000 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                std::io::Write::write_all(&mut file, b"line\n").unwrap();
            }
        })
    };
    for _ in 0..12 {
        server.refresh();
        // Either the skill is served and matches its entry, or it changed during the scan and is
        // not served.
        assert_consistent(&server).await;
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    server.refresh();
    assert_consistent(&server).await;
    assert_eq!(bytes(&server, NOTES).await, fs::read(folder.join("a/notes.md")).unwrap());
}

#[tokio::test]
async fn a_new_version_appears_as_a_whole_v_58() {
    let folder = SkillFolder::new();
    let version = |number: usize| {
        for skill in 0..20 {
            for file in 0..10 {
                folder.file(&format!("s{skill}/f{file}.md"), format!("version {number}"));
            }
            folder.skill(&format!("s{skill}"));
        }
    };
    version(1);
    let config = Config::default().page_size(3);
    let mut server =
        TestServer::with(folder.path(), TestOptions { config, ..Default::default() }).await;
    let (old, new) = (digest(b"version 1"), digest(b"version 2"));
    let (mut seen, mut cursor) = (Vec::new(), None::<Value>);
    for page in 0..20 {
        if page == 3 {
            // All files change in the middle of the walk, one of them by renaming.
            version(2);
            folder.file("s0/f0.md.tmp", "version 2");
            fs::rename(folder.join("s0/f0.md.tmp"), folder.join("s0/f0.md")).unwrap();
            server.refresh();
        }
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let result = server.call("skills/list", params).await;
        for entry in result["skills"].as_array().unwrap() {
            let mut versions: Vec<_> = digests(entry)
                .into_iter()
                .filter(|(uri, _)| !uri.ends_with("SKILL.md"))
                .map(|(_, digest)| digest)
                .collect();
            versions.dedup();
            let expected = if page < 3 { &old } else { &new };
            assert_eq!(versions, [expected.as_str()], "{}", entry["uri"]);
            seen.push(text(&entry["uri"]));
        }
        match result.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (20, 20), "each skill once, in order");
    assert_consistent(&server).await;
}

#[tokio::test]
async fn a_file_that_changed_after_listing_is_refused_until_it_is_listed_anew_v_59() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/notes.md", "old");
    let mut server = TestServer::start(folder.path()).await;
    let listed = digests(&server.skills().await[0]);
    folder.file("a/notes.md", "new");
    assert_eq!(code(&server, "resources/read", NOTES).await, -32602);
    server.refresh();
    assert_eq!(bytes(&server, NOTES).await, b"new");
    let relisted = digests(&server.skills().await[0]);
    assert_eq!(relisted[NOTES], digest(b"new"));
    assert_ne!(relisted[NOTES], listed[NOTES]);
}

#[tokio::test]
async fn a_new_file_is_nowhere_until_the_entry_has_it_v_60() {
    let folder = SkillFolder::with_skills(&["a"]);
    let mut server = TestServer::start(folder.path()).await;
    folder.file("a/notes.md", "new").file("a/more/deep.md", "new");
    for after in [false, true] {
        let entry = server.call("skills/get", json!({ "uri": A })).await["skill"].clone();
        assert_eq!(digests(&entry).contains_key(NOTES), after);
        let uris: Vec<_> =
            children(&server, "skill://a").await.iter().map(|child| text(&child["uri"])).collect();
        assert_eq!(uris.contains(&NOTES.to_owned()), after);
        assert_eq!(uris.contains(&"skill://a/more".to_owned()), after);
        if after {
            assert_eq!(bytes(&server, NOTES).await, b"new");
        } else {
            assert_eq!(code(&server, "resources/read", NOTES).await, -32602);
            assert_eq!(code(&server, "resources/directory/read", "skill://a/more").await, -32602);
        }
        server.refresh();
    }
}

#[tokio::test]
async fn a_deleted_skill_is_gone_and_stays_gone_v_61() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    folder.file("a/notes.md", "text");
    let mut server = TestServer::start(folder.path()).await;
    assert_eq!(bytes(&server, NOTES).await, b"text");
    folder.remove("a");
    assert_eq!(bytes(&server, NOTES).await, b"text", "kept in memory until the next look");
    for _ in 0..3 {
        server.refresh();
        for (method, uri) in [
            ("skills/get", A),
            ("resources/read", A),
            ("resources/read", NOTES),
            ("resources/directory/read", "skill://a"),
        ] {
            assert_eq!(code(&server, method, uri).await, -32602, "{method} {uri}");
        }
        assert_eq!(server.skills().await.len(), 1);
    }
}

#[tokio::test]
async fn a_read_under_way_is_completed_from_what_there_was_v_61() {
    let folder = SkillFolder::with_skills(&["a"]);
    let large = "x".repeat(8 << 20);
    folder.file("a/notes.md", &large);
    let mut server = TestServer::start(folder.path()).await;
    let body = modern_request(1, "resources/read", json!({ "uri": NOTES })).to_string();
    let request = request_bytes(&format!("Mcp-Name: {NOTES}\r\n"), &body, "resources/read");
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    // The answer is larger than the socket buffers, so the server is still sending it.
    let mut received = read_until(&mut stream, "\r\n\r\n").await;
    folder.remove("a");
    server.refresh();
    assert_eq!(code(&server, "resources/read", NOTES).await, -32602);
    if !received.ends_with("}}}") {
        received += &read_until(&mut stream, "}}}").await;
    }
    assert!(received.contains(&large), "the whole file");
}

#[tokio::test]
async fn an_edit_that_hides_behind_size_and_time_is_found_v_62() {
    let folder = SkillFolder::with_skills(&["a"]);
    folder.file("a/notes.md", "same size 1");
    let mut server = TestServer::start(folder.path()).await;
    let path = folder.join("a/notes.md");
    let then = fs::metadata(&path).unwrap().modified().unwrap();
    for (contents, time) in [
        ("same size 2", then),
        // The modification time goes back.
        ("same size 3", then - std::time::Duration::from_hours(24)),
        ("same size 4", std::time::UNIX_EPOCH),
    ] {
        fs::write(&path, contents).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        server.refresh();
        assert_eq!(bytes(&server, NOTES).await, contents.as_bytes());
        assert_consistent(&server).await;
    }
}

#[tokio::test]
async fn a_skill_that_outgrows_the_limits_is_not_served_and_comes_back_v_63() {
    let folder = SkillFolder::with_skills(&["a", "b"]);
    let mut server = TestServer::start(folder.path()).await;
    for what in ["bytes", "files"] {
        if what == "bytes" {
            folder.file("a/more/large.bin", vec![0; 17 << 20]);
        } else {
            for number in 0..600 {
                folder.file(&format!("a/more/{number}.md"), "x");
            }
        }
        let refreshed = server.refresh();
        let refused = refreshed.inspected().find(|found| found.skill.is_none());
        assert!(!refused.expect("the skill is refused").findings.is_empty(), "{what}: no reason");
        assert_eq!(code(&server, "resources/read", A).await, -32602, "{what}");
        assert_eq!(code(&server, "skills/get", A).await, -32602, "{what}");
        assert_eq!(bytes(&server, "skill://b/SKILL.md").await, skill_md("b").as_bytes());
        folder.remove("a/more");
        server.refresh();
        assert_eq!(bytes(&server, A).await, skill_md("a").as_bytes(), "{what}");
    }
}

/// A folder that sometimes cannot be read.
#[derive(Debug)]
struct Unsteady(DirectorySource, Arc<AtomicBool>);

impl SkillSource for Unsteady {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        if self.1.load(Ordering::Relaxed) {
            let (origin, reason) = ("folder".to_owned(), "Too many open files.".to_owned());
            return Err(SourceUnavailable::new(origin, reason));
        }
        self.0.scan(look, report)
    }
}

#[tokio::test]
async fn a_source_that_cannot_be_read_is_served_as_it_was_and_recovers_v_64() {
    let folder = SkillFolder::with_skills(&["a"]);
    let broken = Arc::new(AtomicBool::new(false));
    let source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
    let source = Box::new(Unsteady(source, Arc::clone(&broken)));
    let mut server = TestServer::with_sources(vec![source], TestOptions::default()).await;
    folder.file("a/notes.md", "new");
    broken.store(true, Ordering::Relaxed);
    assert_eq!(server.refresh().unavailable.len(), 1);
    assert_eq!(bytes(&server, A).await, skill_md("a").as_bytes());
    assert_eq!(code(&server, "resources/read", NOTES).await, -32602);
    broken.store(false, Ordering::Relaxed);
    assert!(server.refresh().unavailable.is_empty());
    assert_eq!(bytes(&server, NOTES).await, b"new");
}

#[tokio::test]
async fn generated_content_is_news_only_if_its_entry_is_srv_106() {
    let described = Arc::new(AtomicBool::new(false));
    let (other, count) = (Arc::clone(&described), AtomicUsize::new(0));
    let files = GeneratedFiles::new().file("SKILL.md", move || {
        let text = skill_md("live") + &count.fetch_add(1, Ordering::Relaxed).to_string();
        if other.load(Ordering::Relaxed) {
            text.replace("description: ", "description: Not. ")
        } else {
            text
        }
    });
    let sources = vec![generated("live", files), in_memory(["a"])];
    let mut server = TestServer::with_sources(sources, TestOptions::default()).await;
    // Each of these scans reads every file again.
    for _ in 0..2 {
        assert!(server.refresh().changes.is_empty());
    }
    described.store(true, Ordering::Relaxed);
    let changes = server.refresh().changes;
    let change = changes.of(ViewId::EVERYTHING).expect("a view of everything");
    assert!(change.list && change.updated.contains("skill://live/SKILL.md"), "{change:?}");
    assert!(server.refresh().changes.is_empty());
}

#[tokio::test]
async fn what_changes_around_a_skill_is_no_news_of_it_srv_106() {
    let folder = SkillFolder::new();
    folder.skill("a");
    let source = DirectorySource::new(folder.path(), DirectoryOptions::default()).unwrap();
    let files = GeneratedFiles::new().file("SKILL.md", || skill_md("live"));
    // An earlier source has a skill below `a`, so neither of the two that claim `a` is served there.
    let sources = vec![generated("a/live", files), Box::new(source), in_memory(["a"])];
    let mut server = TestServer::with_sources(sources, TestOptions::default()).await;
    assert_eq!(code(&server, "resources/read", A).await, -32602);
    folder.file("a/notes.md", "new");
    assert!(server.refresh().changes.is_empty());
    assert_eq!(bytes(&server, "skill://a/live/SKILL.md").await, skill_md("live").as_bytes());
}

#[tokio::test]
async fn a_source_that_breaks_costs_no_change_of_another_v_64() {
    let folder = SkillFolder::new();
    folder.skill("a").skill("c");
    let source = |name| -> Box<dyn SkillSource> {
        let source = DirectorySource::new(folder.join(name), DirectoryOptions::default());
        Box::new(source.unwrap())
    };
    let broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&broken);
    let files = GeneratedFiles::new().file("SKILL.md", move || {
        assert!(!breaks.load(Ordering::Relaxed), "the generator breaks");
        skill_md("live")
    });
    let sources = vec![source("a"), generated("live", files), source("c")];
    let mut server = TestServer::with_sources(sources, TestOptions::default()).await;
    broken.store(true, Ordering::Relaxed);
    folder.file("a/notes.md", "new").file("c/notes.md", "new");
    assert_eq!(server.refresh().unavailable.len(), 1);
    assert_eq!(bytes(&server, NOTES).await, b"new");
    assert_eq!(bytes(&server, "skill://c/notes.md").await, b"new");
    broken.store(false, Ordering::Relaxed);
    assert_eq!(bytes(&server, "skill://live/SKILL.md").await, skill_md("live").as_bytes());
    assert!(server.refresh().unavailable.is_empty());
}

#[tokio::test]
async fn content_that_cannot_be_made_is_an_internal_error_and_recovers_v_64() {
    let live = LiveSkill::default();
    let server = TestServer::with_sources(vec![live.source()], TestOptions::default()).await;
    let uri = "skill://live/now.txt";
    for mood in [Mood::Failing, Mood::Panicking] {
        live.set(mood);
        for (method, uri) in [("resources/read", uri), ("resources/directory/read", "skill://live")]
        {
            let reply = server.modern(method, json!({ "uri": uri })).await;
            assert_eq!(reply.code(), -32603, "{mood:?}");
            assert!(!reply.0.to_string().contains("secret"), "{}", reply.0);
        }
        live.set(Mood::Willing);
        assert_eq!(bytes(&server, uri).await, b"now");
    }
}
