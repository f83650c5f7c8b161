//! `wasi:filesystem` as a guest sees it: paths go through the guard, open descriptors to wasmtime-wasi.

use std::sync::Arc;

use rustix::fs::{Timespec, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, DescriptorFlags, ErrorCode, Host, HostDescriptor, HostDirectoryEntryStream, NewTimestamp, OpenFlags,
    PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::entry::{Failure, Folder, Opened, Opening, Turn, timestamps};
use super::quota::Metered;
use super::streams::Reading;
use super::tree::{Last, join};
use super::{Guard, MAX_OPEN, Refusal};
use crate::policy::{Mode, Operation};
use crate::sandbox::Exhausted;

/// Selects [`GuardedView`] for the linker.
pub(crate) struct Guarded;

impl HasData for Guarded {
    type Data<'a> = GuardedView<'a>;
}

/// A call's files behind the guard.
pub(crate) struct GuardedView<'a> {
    pub(in crate::sandbox) stock: WasiFilesystemCtxView<'a>,
    pub(in crate::sandbox) guard: &'a mut Guard,
}

type Handle = Resource<types::Descriptor>;

impl GuardedView<'_> {
    /// The folder behind a handle, by where it really is now.
    pub(super) fn folder(&self, handle: &Handle) -> FsResult<Folder> {
        let Descriptor::Dir(dir) = self.stock.table.get(handle)? else {
            return Err(ErrorCode::NotDirectory.into());
        };
        let known = self.guard.folders.get(&handle.rep()).cloned().unwrap_or_default();
        // What was mounted is at the top of its mount wherever it has been moved.
        let path = match self.guard.tops.contains(&handle.rep()) {
            true => Some(known),
            false => self.guard.policy.current_path(&dir.dir, known),
        };
        let Some(path) = path else {
            return Err(ErrorCode::NoEntry.into());
        };
        Ok(Folder { file: dir.dir.clone(), path, policy: self.guard.policy.clone() })
    }

    /// Runs something that waits for the file system. Where a person decides, it runs again with the answer, and finds out
    /// anew what it would be done to.
    pub(super) async fn run<T: Send + 'static>(
        &mut self,
        turn: Turn,
        work: impl Fn() -> Result<T, Failure> + Send + Sync + 'static,
    ) -> FsResult<T> {
        let work = Arc::new(work);
        loop {
            let done = match turn {
                Turn::Here => work(),
                Turn::Aside => {
                    let work = work.clone();
                    let done = tokio::task::spawn_blocking(move || work()).await;
                    done.map_err(|error| FsError::trap(wasmtime::format_err!("{error}")))?
                }
            };
            match done {
                Ok(value) => return Ok(value),
                Err(Failure::Refused(refusal)) => match refusal.asks {
                    Some(operation) => {
                        let answer = self.guard.ask(operation, refusal).await;
                        answer.map_err(|refusal| self.refuse(refusal))?;
                    }
                    None => return Err(self.refuse(refusal)),
                },
                Err(Failure::Full(refusal)) => return Err(self.full(refusal)),
                Err(Failure::System(errno)) => return Err(system(errno).into()),
            }
        }
    }

    /// Whether the guest may hold one more file or folder open.
    fn has_room(&self) -> bool {
        self.guard.open.len() < MAX_OPEN
    }

    /// Hands something open to the guest.
    fn hold(&mut self, descriptor: Descriptor) -> wasmtime::Result<Handle> {
        let handle = self.stock.table.push(descriptor)?;
        self.guard.open.insert(handle.rep());
        Ok(handle)
    }

    fn refuse(&mut self, refusal: Refusal) -> FsError {
        self.guard.denials.push(refusal.into());
        ErrorCode::NotPermitted.into()
    }

    fn full(&mut self, refusal: Refusal) -> FsError {
        self.guard.denials.push(refusal.into());
        ErrorCode::InsufficientSpace.into()
    }

    /// The size of a file that is to grow to `end`, once there is room for it.
    fn grow(&mut self, handle: &Handle, end: u64) -> FsResult<()> {
        let Some(growing) = self.guard.files.get(&handle.rep()) else { return Ok(()) };
        let more = end.saturating_sub(self.size(handle)?);
        growing.quota.take_bytes(more, &growing.path).map_err(|refusal| self.full(refusal))
    }

    /// What may wait to be written to the disk. Where it does, it is no call's thread that waits for it.
    fn written(&self, handle: &Handle) -> FsResult<Written> {
        Ok(match self.stock.table.get(handle)? {
            Descriptor::Dir(_) => Written::Folder(self.folder(handle)?),
            Descriptor::File(_) if self.guard.files.contains_key(&handle.rep()) => Written::File,
            Descriptor::File(_) => Written::Never,
        })
    }

    fn size(&self, handle: &Handle) -> FsResult<u64> {
        match self.stock.table.get(handle)? {
            Descriptor::File(file) => Ok(file.file.metadata()?.len()),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// A stream into a file, with its growth counted.
    fn metered(
        &mut self,
        handle: &Handle,
        stream: Resource<DynOutputStream>,
        position: Option<u64>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let Descriptor::File(file) = self.stock.table.get(handle)? else {
            return Err(ErrorCode::BadDescriptor.into());
        };
        let file = file.file.clone();
        let Some(growing) = self.guard.files.get(&handle.rep()).cloned() else { return Ok(stream) };
        let stream = self.stock.table.delete(stream)?;
        let counted = self.guard.streams.one().ok_or(ErrorCode::InsufficientMemory)?;
        let metered = Metered::new(stream, file, growing, self.guard.denials.clone(), position, counted);
        let stream: DynOutputStream = Box::new(metered);
        Ok(self.stock.table.push(stream)?)
    }
}

/// What a guest may have changed through a handle.
enum Written {
    Never,
    File,
    Folder(Folder),
}

pub(super) fn system(errno: Errno) -> ErrorCode {
    match errno {
        Errno::XDEV => ErrorCode::CrossDevice,
        errno => ErrorCode::from(std::io::Error::from(errno)),
    }
}

fn last(flags: PathFlags) -> Last {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) { Last::Follow } else { Last::Keep }
}

fn timespec(time: NewTimestamp) -> FsResult<Timespec> {
    Ok(match time {
        NewTimestamp::NoChange => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        NewTimestamp::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        NewTimestamp::Timestamp(time) => {
            // The system takes some numbers beyond a second for other requests.
            let carry = u64::from(time.nanoseconds / 1_000_000_000);
            let seconds = time.seconds.checked_add(carry).and_then(|seconds| i64::try_from(seconds).ok());
            let tv_sec = seconds.ok_or(ErrorCode::Overflow)?;
            Timespec { tv_sec, tv_nsec: (time.nanoseconds % 1_000_000_000).into() }
        }
    })
}

impl preopens::Host for GuardedView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let mut folders = Vec::new();
        let policy = self.guard.policy.clone();
        for mount in &policy.mounts {
            if !self.has_room() {
                return Err(Exhausted::Objects.into());
            }
            let is_writable = mount.mode == Mode::ReadWrite;
            let mode = if is_writable { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
            let may_write = policy.may(Operation::Write, &mount.guest);
            let folder = Dir::new(mount.root.folder.try_clone()?, perms(may_write), mode, mount.is_local());
            let handle = self.hold(Descriptor::Dir(folder))?;
            self.guard.folders.insert(handle.rep(), mount.guest.clone());
            self.guard.tops.insert(handle.rep());
            folders.push((handle, mount.guest.clone()));
        }
        Ok(folders)
    }
}

impl Host for GuardedView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.stock.convert_error_code(error)
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        self.stock.filesystem_error_code(error)
    }
}

impl HostDescriptor for GuardedView<'_> {
    async fn open_at(
        &mut self,
        handle: Handle,
        path_flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let syncs = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(syncs) {
            return Err(ErrorCode::Unsupported.into());
        }
        let makes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if how.contains(OpenFlags::DIRECTORY) && how.intersects(makes) {
            return Err(ErrorCode::Invalid.into());
        }
        let opening = Opening {
            last: last(path_flags),
            read: flags.contains(DescriptorFlags::READ),
            write: flags.contains(DescriptorFlags::WRITE),
            create: how.contains(OpenFlags::CREATE),
            exclusive: how.contains(OpenFlags::EXCLUSIVE),
            truncate: how.contains(OpenFlags::TRUNCATE),
            folder: how.contains(OpenFlags::DIRECTORY),
        };
        let folder = self.folder(&handle)?;
        if !self.has_room() {
            let rule = format!("a call holds at most {MAX_OPEN} files and folders open");
            let refusal = Refusal::new("open", join(&folder.path, &path), rule);
            self.guard.denials.push(refusal.into());
            return Err(ErrorCode::Quota.into());
        }
        let mode = opening.mode();
        let turn = if opening.writes() { Turn::Aside } else { folder.turn() };
        let opened = self.run(turn, move || folder.open(&path, opening)).await?;
        match opened {
            Opened::Folder { file, path } => {
                let is_writable = self.guard.policy.may(Operation::Write, &path);
                let folder = Descriptor::Dir(Dir::new(file, perms(is_writable), mode, turn == Turn::Here));
                let opened = self.hold(folder).map_err(FsError::trap)?;
                self.guard.folders.insert(opened.rep(), path);
                Ok(opened)
            }
            Opened::File { file, path, may_write } => {
                let file = Descriptor::File(File::new(file, perms(may_write), mode, turn == Turn::Here));
                let opened = self.hold(file).map_err(FsError::trap)?;
                if may_write {
                    self.guard.files.extend(self.guard.policy.growing(&path).map(|file| (opened.rep(), file)));
                }
                Ok(opened)
            }
        }
    }

    /// Replaced where it is linked.
    async fn read_directory(&mut self, _handle: Handle) -> FsResult<Resource<types::DirectoryEntryStream>> {
        Err(ErrorCode::Unsupported.into())
    }

    async fn stat_at(&mut self, handle: Handle, flags: PathFlags, path: String) -> FsResult<types::DescriptorStat> {
        let looked = self.look(&handle, flags, path).await?;
        let stat = self.stock.stat(Resource::new_borrow(looked.rep())).await;
        self.stock.table.delete(looked)?;
        stat
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        let looked = self.look(&handle, flags, path).await?;
        let hash = self.stock.metadata_hash(Resource::new_borrow(looked.rep())).await;
        self.stock.table.delete(looked)?;
        hash
    }

    async fn readlink_at(&mut self, handle: Handle, path: String) -> FsResult<String> {
        let folder = self.folder(&handle)?;
        self.run(folder.turn(), move || folder.read_link(&path)).await
    }

    async fn create_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let folder = self.folder(&handle)?;
        self.run(Turn::Aside, move || folder.make_folder(&path)).await
    }

    async fn remove_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let folder = self.folder(&handle)?;
        self.run(Turn::Aside, move || folder.remove_folder(&path)).await
    }

    async fn unlink_file_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let folder = self.folder(&handle)?;
        self.run(Turn::Aside, move || folder.remove_file(&path)).await
    }

    async fn rename_at(&mut self, handle: Handle, path: String, to: Handle, to_path: String) -> FsResult<()> {
        let (from, to) = (self.folder(&handle)?, self.folder(&to)?);
        self.run(Turn::Aside, move || from.rename(&path, &to, &to_path)).await
    }

    async fn set_times_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let times = timestamps(timespec(access)?, timespec(modification)?);
        let folder = self.folder(&handle)?;
        self.run(Turn::Aside, move || folder.set_times(&path, last(flags), &times)).await
    }

    async fn symlink_at(&mut self, handle: Handle, target: String, path: String) -> FsResult<()> {
        let folder = self.folder(&handle)?;
        self.run(Turn::Aside, move || folder.make_link(&target, &path)).await
    }

    async fn link_at(
        &mut self,
        handle: Handle,
        _flags: PathFlags,
        path: String,
        _to: Handle,
        _to_path: String,
    ) -> FsResult<()> {
        let path = join(&self.folder(&handle)?.path, &path);
        Err(self.refuse(Refusal::new("link", path, "making hard links is never granted")))
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.guard.open.remove(&handle.rep());
        self.guard.folders.remove(&handle.rep());
        self.guard.tops.remove(&handle.rep());
        self.guard.files.remove(&handle.rep());
        HostDescriptor::drop(&mut self.stock, handle)
    }

    async fn advise(
        &mut self,
        handle: Handle,
        offset: types::Filesize,
        length: types::Filesize,
        advice: types::Advice,
    ) -> FsResult<()> {
        self.stock.advise(handle, offset, length, advice).await
    }

    async fn sync_data(&mut self, handle: Handle) -> FsResult<()> {
        match self.written(&handle)? {
            Written::Never => Ok(()),
            Written::Folder(folder) => self.run(Turn::Aside, move || folder.sync()).await,
            Written::File => self.stock.sync_data(handle).await,
        }
    }

    async fn sync(&mut self, handle: Handle) -> FsResult<()> {
        match self.written(&handle)? {
            Written::Never => Ok(()),
            Written::Folder(folder) => self.run(Turn::Aside, move || folder.sync()).await,
            Written::File => self.stock.sync(handle).await,
        }
    }

    async fn get_flags(&mut self, handle: Handle) -> FsResult<DescriptorFlags> {
        self.stock.get_flags(handle).await
    }

    async fn get_type(&mut self, handle: Handle) -> FsResult<types::DescriptorType> {
        self.stock.get_type(handle).await
    }

    async fn set_size(&mut self, handle: Handle, size: types::Filesize) -> FsResult<()> {
        self.grow(&handle, size)?;
        self.stock.set_size(handle, size).await
    }

    async fn set_times(&mut self, handle: Handle, access: NewTimestamp, modification: NewTimestamp) -> FsResult<()> {
        self.stock.set_times(handle, access, modification).await
    }

    async fn read(
        &mut self,
        handle: Handle,
        length: types::Filesize,
        offset: types::Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.stock.read(handle, length, offset).await
    }

    async fn write(&mut self, handle: Handle, bytes: Vec<u8>, offset: types::Filesize) -> FsResult<types::Filesize> {
        self.grow(&handle, offset.saturating_add(bytes.len() as u64))?;
        self.stock.write(handle, bytes, offset).await
    }

    async fn stat(&mut self, handle: Handle) -> FsResult<types::DescriptorStat> {
        self.stock.stat(handle).await
    }

    fn read_via_stream(&mut self, handle: Handle, offset: types::Filesize) -> FsResult<Resource<DynInputStream>> {
        let counted = self.guard.streams.one().ok_or(ErrorCode::InsufficientMemory)?;
        let stream = self.stock.read_via_stream(handle, offset)?;
        let stream = self.stock.table.delete(stream)?;
        let reading: DynInputStream = Box::new(Reading { stream, _counted: counted });
        Ok(self.stock.table.push(reading)?)
    }

    fn write_via_stream(&mut self, handle: Handle, offset: types::Filesize) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.stock.write_via_stream(Resource::new_borrow(handle.rep()), offset)?;
        self.metered(&handle, stream, Some(offset))
    }

    fn append_via_stream(&mut self, handle: Handle) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.stock.append_via_stream(Resource::new_borrow(handle.rep()))?;
        self.metered(&handle, stream, None)
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        self.stock.is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, handle: Handle) -> FsResult<types::MetadataHashValue> {
        self.stock.metadata_hash(handle).await
    }
}

impl GuardedView<'_> {
    /// An object that is opened for nothing but to be asked about, as wasmtime-wasi asks.
    async fn look(&mut self, handle: &Handle, flags: PathFlags, path: String) -> FsResult<Handle> {
        let folder = self.folder(handle)?;
        let turn = folder.turn();
        let file = self.run(turn, move || folder.look(&path, last(flags))).await?;
        let file = File::new(file, FsPerms::ReadOnly, OpenMode::READ, turn == Turn::Here);
        Ok(self.stock.table.push(Descriptor::File(file))?)
    }
}

/// Replaced where they are linked.
impl HostDirectoryEntryStream for GuardedView<'_> {
    async fn read_directory_entry(
        &mut self,
        _listing: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        Err(ErrorCode::Unsupported.into())
    }

    fn drop(&mut self, listing: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.stock, listing)
    }
}

fn perms(may_write: bool) -> FsPerms {
    if may_write { FsPerms::ReadWrite } else { FsPerms::ReadOnly }
}

impl Opening {
    /// What the descriptor reports of itself.
    fn mode(self) -> OpenMode {
        let mut mode = if self.writes() { OpenMode::WRITE } else { OpenMode::READ };
        if self.read {
            mode |= OpenMode::READ;
        }
        mode
    }
}
