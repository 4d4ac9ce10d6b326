//! How many files are read from disk at once, however many clients request.

use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;
use serde_json::json;
use skillwire_core::{Finding, RelPath, SkillPath};
use skillwire_source::{
    FileStore, FileStoreError, MemorySource, ScanRequest, SkillContent, SkillSource, SourceChange,
    SourceUnavailable,
};
use skillwire_testkit::{TestOptions, TestServer, skill_md};

use crate::peers::{send, soon};

/// The number of permits for reading.
const TURNS: usize = 32;

/// The number of files that are requested at once.
const ASKED: usize = 100;

/// A disk that hangs until the test releases it.
#[derive(Debug, Clone, Default)]
struct Disk(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    reading: usize,
    most: usize,
    open: bool,
}

/// Files on such a disk.
#[derive(Debug)]
struct OnDisk(Arc<dyn FileStore>, Disk);

impl FileStore for OnDisk {
    fn read(&self, path: &RelPath, size: u64) -> Result<Bytes, FileStoreError> {
        let (state, news) = &*self.1.0;
        let mut now = state.lock().expect("nothing panics with the lock");
        now.reading += 1;
        now.most = now.most.max(now.reading);
        let mut now = news.wait_while(now, |now| !now.open).expect("nothing panics with the lock");
        now.reading -= 1;
        drop(now);
        self.0.read(path, size)
    }
}

impl SkillSource for Disk {
    fn scan(
        &self,
        look: &ScanRequest,
        report: &mut (dyn FnMut(SourceChange) + Send),
    ) -> Result<Vec<Finding>, SourceUnavailable> {
        let mut source = MemorySource::new("disk");
        let file = |n: usize| {
            (RelPath::parse(&format!("f{n}.md")).expect("a path"), Bytes::from(n.to_string()))
        };
        let own = (RelPath::skill_file(), Bytes::from(skill_md("a")));
        let path = SkillPath::parse("a").expect("a path");
        source.add(&path, (0..ASKED).map(file).chain([own])).expect("names differ");
        source.scan(look, &mut |mut news| {
            if let SourceChange::Updated(_, inspected) = &mut news {
                for skill in inspected.iter_mut().filter_map(|found| found.skill.as_mut()) {
                    if let SkillContent::Files(tree) = &mut Arc::make_mut(skill).content {
                        tree.store = Arc::new(OnDisk(Arc::clone(&tree.store), self.clone()));
                    }
                }
            }
            report(news);
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_disk_holds_up_only_so_many_threads_and_nobody_who_needs_no_file_v_24() {
    let disk = Disk::default();
    let server =
        TestServer::with_sources(vec![Box::new(disk.clone())], TestOptions::default()).await;
    let mut asked = Vec::new();
    for number in 0..ASKED {
        let uri = format!("skill://a/f{number}.md");
        let name = [("Mcp-Name", uri.as_str())];
        asked.push(send(&server, &name, number, "resources/read", json!({ "uri": uri })).await);
    }
    let full = async {
        while disk.0.0.lock().expect("nothing panics with the lock").reading < TURNS {
            tokio::task::yield_now().await;
        }
    };
    soon(full).await;
    // The server answers other requests; meanwhile further reads could start, if they had permits.
    for _ in 0..200 {
        server.call("skills/list", json!({})).await;
    }
    disk.0.0.lock().expect("nothing panics with the lock").open = true;
    disk.0.1.notify_all();
    for (number, mut connection) in asked.into_iter().enumerate() {
        let reply = connection.reply().await.message();
        assert_eq!(reply.result()["contents"][0]["text"], number.to_string());
    }
    assert_eq!(disk.0.0.lock().expect("nothing panics with the lock").most, TURNS);
}
