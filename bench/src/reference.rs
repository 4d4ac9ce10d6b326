//! Reference measurements: what the machine can do without a server.

use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
};

use sha2::{Digest, Sha256};

use crate::broken::{Broken, Result};

/// The numbers of files and bytes of a bare walk.
#[derive(Debug, Default)]
pub(crate) struct Met {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

/// One thread reads and hashes every file once.
pub(crate) fn hash_all(folder: &Path) -> Result<Met> {
    let (mut met, mut content, mut digests) = (Met::default(), Vec::new(), 0_u8);
    walk(folder, &mut |path, _| {
        content.clear();
        fs::File::open(path)?.read_to_end(&mut content)?;
        // The result is used, so that the compiler cannot remove the hashing.
        digests ^= Sha256::digest(&content)[0];
        met.files += 1;
        met.bytes += content.len() as u64;
        Ok(())
    })?;
    std::hint::black_box(digests);
    Ok(met)
}

/// Reads everything into the page cache, with many reads at once.
pub(crate) fn warm_up(folder: &Path) -> Result<Met> {
    const READERS: usize = 16;
    let mut paths = Vec::new();
    let mut met = Met::default();
    walk(folder, &mut |path, _| {
        paths.push(path.to_owned());
        Ok(())
    })?;
    std::thread::scope(|scope| {
        let parts = paths.chunks(paths.len().div_ceil(READERS).max(1));
        let readers: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || {
                    let mut bytes = 0;
                    for path in part {
                        bytes += fs::read(path).map_err(Broken::at(path))?.len() as u64;
                    }
                    Ok::<u64, Broken>(bytes)
                })
            })
            .collect();
        for reader in readers {
            met.bytes += reader.join().map_err(|_| Broken::new("A reader broke."))??;
        }
        Ok(Met { files: paths.len(), ..met })
    })
}

/// One thread asks for the metadata of every file.
pub(crate) fn stat_all(folder: &Path) -> Result<Met> {
    let mut met = Met::default();
    walk(folder, &mut |_, entry| {
        met.bytes += entry.metadata()?.len();
        met.files += 1;
        Ok(())
    })?;
    Ok(met)
}

/// Writes a listing into a pipe page by page, while another thread reads it.
pub(crate) fn write_pages(pages: &[Vec<u8>]) -> Result<()> {
    let (mut reader, mut writer) = io::pipe()?;
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 256 << 10];
        while reader.read(&mut buffer)? > 0 {}
        io::Result::Ok(())
    });
    for page in pages {
        writer.write_all(page)?;
    }
    drop(writer);
    reading.join().map_err(|_| Broken::new("The reader of a pipe broke."))??;
    Ok(())
}

fn walk(
    folder: &Path,
    visit: &mut impl FnMut(&Path, &fs::DirEntry) -> io::Result<()>,
) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Broken::at(folder))? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, visit)?;
        } else {
            visit(&path, &entry).map_err(Broken::at(&path))?;
        }
    }
    Ok(())
}
