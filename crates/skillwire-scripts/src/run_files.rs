//! Reads the files of a run, each compared with its published digest.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use skillwire_core::Digest;
use skillwire_sandbox::{InputFile, JobFile};
use skillwire_source::{FileRecord, FileStoreError, FileTree};

use crate::{
    script_not_run::ScriptNotRun,
    sent_inputs::{InputContent, SentInput},
};

/// How long the files of a skill may take that have to be fetched from another server. The run holds
/// its slot meanwhile.
const FETCH_TIME: Duration = Duration::from_mins(1);

/// How many files of one skill are fetched at once.
const CONCURRENT_FETCHES: usize = 4;

/// Reads the inputs of a request, those that are files of skills included.
pub(crate) async fn read_inputs(inputs: &[SentInput]) -> Result<Vec<InputFile>, ScriptNotRun> {
    let mut files = Vec::with_capacity(inputs.len());
    for SentInput { path, content } in inputs {
        let bytes = match content {
            InputContent::Bytes(bytes) => bytes.clone(),
            InputContent::SkillFile(tree) => {
                let read = read_files(tree.clone()).await?.pop();
                read.ok_or(ScriptNotRun::SkillChanged(None))?.bytes
            }
        };
        files.push(InputFile { path: path.clone(), bytes, writable: false });
    }
    Ok(files)
}

/// Reads every file of a skill, from this machine or from the server that the skill comes from.
pub(crate) async fn read_files(tree: FileTree) -> Result<Vec<JobFile>, ScriptNotRun> {
    if tree.store.remote().is_some() {
        let fetched = tokio::time::timeout(FETCH_TIME, fetch_files(&tree)).await;
        return fetched.map_err(|_| ScriptNotRun::FilesUnavailable(None))?;
    }
    let read = tokio::task::spawn_blocking(move || {
        let files = tree
            .files
            .iter()
            .map(|record| checked(record, tree.store.read(&record.path, record.size)));
        files.collect()
    });
    read.await.map_err(ScriptNotRun::Panicked)?
}

async fn fetch_files(tree: &FileTree) -> Result<Vec<JobFile>, ScriptNotRun> {
    let mut files = Vec::with_capacity(tree.files.len());
    for records in tree.files.chunks(CONCURRENT_FETCHES) {
        // A store with remote files keeps having them.
        let remote = tree.store.remote().ok_or(ScriptNotRun::FilesUnavailable(None))?;
        let fetches: Vec<_> =
            records.iter().map(|record| remote.fetch(&record.path, record.size)).collect();
        for (record, fetched) in records.iter().zip(join_all(fetches).await) {
            files.push(checked(record, fetched)?);
        }
    }
    Ok(files)
}

/// Compares what was read with what was published.
fn checked(
    record: &FileRecord,
    read: Result<Bytes, FileStoreError>,
) -> Result<JobFile, ScriptNotRun> {
    let bytes = read.map_err(|error| match error {
        FileStoreError::Changed => ScriptNotRun::SkillChanged(Some(error.into())),
        FileStoreError::Failed(_) => ScriptNotRun::FilesUnavailable(Some(error)),
    })?;
    if Digest::of(&bytes) != record.digest {
        return Err(ScriptNotRun::SkillChanged(None));
    }
    Ok(JobFile { path: record.path.clone(), bytes })
}
