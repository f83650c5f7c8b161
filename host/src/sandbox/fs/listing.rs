//! Listings of folders, read as far as the guest reads them: the host never holds a folder's entries as a whole.
//!
//! wasmtime-wasi reads them all at once, so that its two functions are replaced where they are linked.

use std::collections::VecDeque;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, DescriptorType, DirectoryEntry, ErrorCode};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::entry::Turn;
use super::guarded::{GuardedView, system};
use super::streams::Counted;
use super::tree::join;
use crate::sandbox::State;

/// The interface as wasmtime-wasi links it.
const TYPES: &str = "wasi:filesystem/types@0.2.12";
/// How many entries are read at once.
const CHUNK: usize = 64;

/// A listing that a guest holds.
pub(super) struct Listing {
    /// The folder, as the guest sees it.
    path: String,
    /// The folder itself; nothing at its end, and while it is read.
    folder: Option<Dir>,
    turn: Turn,
    /// What was read and not taken yet.
    ready: VecDeque<DirectoryEntry>,
    _counted: Counted,
}

/// What a function of the interface returns.
type Answer<T> = (Result<T, ErrorCode>,);

/// Takes the place of what lists folders.
pub(crate) fn list_in_parts(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut types = linker.instance(TYPES)?;
    types.resource("directory-entry-stream", ResourceType::host::<Listing>(), |mut store, rep| {
        store.data_mut().files().stock.table.delete(Resource::<Listing>::new_own(rep))?;
        Ok(())
    })?;
    types.func_wrap_async(
        "[method]descriptor.read-directory",
        |mut store: StoreContextMut<'_, State>, (folder,): (Resource<Descriptor>,)| {
            Box::new(async move { answer(store.data_mut().files().list(&folder).await) })
        },
    )?;
    types.func_wrap_async(
        "[method]directory-entry-stream.read-directory-entry",
        |mut store: StoreContextMut<'_, State>, (listing,): (Resource<Listing>,)| {
            Box::new(async move { answer(store.data_mut().files().next_entry(&listing).await) })
        },
    )
}

fn answer<T>(done: FsResult<T>) -> wasmtime::Result<Answer<T>> {
    match done {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

impl GuardedView<'_> {
    async fn list(&mut self, folder: &Resource<Descriptor>) -> FsResult<Resource<Listing>> {
        let counted = self.guard.streams.one().ok_or(ErrorCode::InsufficientMemory)?;
        let folder = self.folder(folder)?;
        let path = folder.path.clone();
        let turn = folder.turn();
        let folder = Some(self.run(turn, move || folder.list()).await?);
        Ok(self.stock.table.push(Listing { path, folder, turn, ready: VecDeque::new(), _counted: counted })?)
    }

    /// The next entry that may be seen: what may be read, and folders on the way to it.
    async fn next_entry(&mut self, listing: &Resource<Listing>) -> FsResult<Option<DirectoryEntry>> {
        loop {
            let held = self.stock.table.get_mut(listing)?;
            while let Some(entry) = held.ready.pop_front() {
                let path = join(&held.path, &entry.name);
                let policy = &self.guard.policy;
                let is_folder = entry.type_ == DescriptorType::Directory;
                if policy.may_see(&path) || (is_folder && policy.check_folder(&path).is_ok()) {
                    return Ok(Some(entry));
                }
            }
            let Some(mut folder) = held.folder.take() else { return Ok(None) };
            let turn = held.turn;
            let read = move || {
                let read = some_entries(&mut folder);
                (read, folder)
            };
            let (read, folder) = match turn {
                Turn::Here => read(),
                Turn::Aside => {
                    let read = tokio::task::spawn_blocking(read).await;
                    read.map_err(|error| FsError::trap(wasmtime::format_err!("{error}")))?
                }
            };
            let (entries, is_last) = read.map_err(system)?;
            let held = self.stock.table.get_mut(listing)?;
            held.ready = entries;
            held.folder = (!is_last).then_some(folder);
        }
    }
}

/// The next few entries of a folder, and whether they are the last. What has a name that is no text has no form in WIT.
fn some_entries(folder: &mut Dir) -> Result<(VecDeque<DirectoryEntry>, bool), Errno> {
    let mut entries = VecDeque::new();
    for _ in 0..CHUNK {
        let Some(entry) = folder.read().transpose()? else { return Ok((entries, true)) };
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match statat(folder.fd()?.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            },
            kind => kind,
        };
        entries.push_back(DirectoryEntry { type_: type_of(kind), name: name.to_owned() });
    }
    Ok((entries, false))
}

fn type_of(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::Fifo | FileType::Socket | FileType::Unknown => DescriptorType::Unknown,
    }
}
