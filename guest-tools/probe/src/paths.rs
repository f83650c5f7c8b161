//! Paths by WASI's own functions: the standard library would resolve some of them itself.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};

use crate::exports::witbox::probe::probe::{Outcome, Survey, Way};

const TERABYTE: u64 = 1 << 40;
const FOLLOW: PathFlags = PathFlags::SYMLINK_FOLLOW;

pub fn touch(way: Way, path: &str, other: Option<&str>) -> Outcome {
    match attempt(way, path, other) {
        Ok(text) => Outcome::Allowed(text),
        Err(error) => Outcome::Refused(error),
    }
}

fn attempt(way: Way, path: &str, other: Option<&str>) -> Result<String, String> {
    let folders = get_directories();
    let (folder, rest) = split(&folders, path)?;
    let second = || split(&folders, other.ok_or("there is no other path")?);
    let read = |flags, how| folder.open_at(flags, rest, how, DescriptorFlags::READ);
    let write = |how| folder.open_at(FOLLOW, rest, how, DescriptorFlags::WRITE);
    let done = |done: Result<(), ErrorCode>| done.map(|()| "done".to_owned()).map_err(|error| error.name().to_owned());
    let opened = |file: Result<Descriptor, ErrorCode>| match file.and_then(|file| file.read(64, 0)) {
        Ok((bytes, _)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(error.name().to_owned()),
    };
    match way {
        Way::Open => opened(read(FOLLOW, OpenFlags::empty())),
        Way::OpenLink => opened(read(PathFlags::empty(), OpenFlags::empty())),
        Way::OpenWrite => done(write(OpenFlags::empty()).and_then(|file| file.write(b"touched", 0)).map(|_| ())),
        Way::OpenToWrite => done(write(OpenFlags::empty()).map(|_| ())),
        Way::Create => done(write(OpenFlags::CREATE).map(|_| ())),
        Way::CreateNew => done(write(OpenFlags::CREATE | OpenFlags::EXCLUSIVE).map(|_| ())),
        Way::Truncate => done(write(OpenFlags::TRUNCATE).map(|_| ())),
        Way::OpenFolder => done(read(FOLLOW, OpenFlags::DIRECTORY).map(|_| ())),
        // A mount is open from the start.
        Way::List if rest == "." => list(folder).map_err(|error| error.name().to_owned()),
        Way::List => read(FOLLOW, OpenFlags::DIRECTORY)
            .and_then(|folder| list(&folder))
            .map_err(|error| error.name().to_owned()),
        Way::Stat => stat(folder.stat_at(FOLLOW, rest)),
        Way::StatLink => stat(folder.stat_at(PathFlags::empty(), rest)),
        Way::ReadLink => folder.readlink_at(rest).map_err(|error| error.name().to_owned()),
        Way::MakeFolder => done(folder.create_directory_at(rest)),
        Way::MakeLink => done(folder.symlink_at(other.ok_or("there is no other path")?, rest)),
        Way::Link => second().and_then(|(to, name)| done(folder.link_at(PathFlags::empty(), rest, to, name))),
        Way::Rename => second().and_then(|(to, name)| done(folder.rename_at(rest, to, name))),
        Way::Remove => done(folder.unlink_file_at(rest)),
        Way::RemoveFolder => done(folder.remove_directory_at(rest)),
        Way::Grow => done(write(OpenFlags::empty()).and_then(|file| file.set_size(TERABYTE))),
        Way::WriteFar => done(write(OpenFlags::empty()).and_then(|file| file.write(b"x", TERABYTE)).map(|_| ())),
        Way::SetTimes => done(folder.set_times_at(FOLLOW, rest, NewTimestamp::NoChange, NewTimestamp::Now)),
    }
}

pub fn reopen(path: &str, times: u32) -> Outcome {
    let folders = get_directories();
    let tried = split(&folders, path).and_then(|(folder, rest)| {
        for _ in 0..times {
            let file = folder.open_at(FOLLOW, rest, OpenFlags::empty(), DescriptorFlags::READ);
            file.and_then(|file| file.read(64, 0)).map_err(|error| error.name().to_owned())?;
        }
        Ok(format!("{times} times"))
    });
    match tried {
        Ok(text) => Outcome::Allowed(text),
        Err(error) => Outcome::Refused(error),
    }
}

pub fn hold(path: &str, times: u32) -> u32 {
    let folders = get_directories();
    let Ok((folder, rest)) = split(&folders, path) else { return 0 };
    let open = |_| folder.open_at(FOLLOW, rest, OpenFlags::empty(), DescriptorFlags::READ).ok();
    let held: Vec<Descriptor> = (0..times).map_while(open).collect();
    held.len() as u32
}

pub fn hold_mounts(times: u32) -> u32 {
    let held: Vec<_> = (0..times).map(|_| get_directories()).collect();
    held.len() as u32
}

/// The ways to change a file that was opened to be read, those that worked.
pub fn change_opened(path: &str) -> Vec<String> {
    let folders = get_directories();
    let (folder, rest) = match split(&folders, path) {
        Ok(found) => found,
        Err(error) => return vec![error],
    };
    let opened = folder.open_at(FOLLOW, rest, OpenFlags::empty(), DescriptorFlags::READ);
    // A mount is open from the start.
    let file = match (&opened, rest) {
        (_, ".") => folder,
        (Ok(file), _) => file,
        (Err(error), _) => return vec![error.name().to_owned()],
    };
    let tried = [
        ("write", file.write(b"x", 0).map(|_| ())),
        ("set-size", file.set_size(0)),
        ("set-times", file.set_times(NewTimestamp::Now, NewTimestamp::Now)),
        ("write-via-stream", file.write_via_stream(0).map(|stream| drop(stream.blocking_write_and_flush(b"x")))),
        ("append-via-stream", file.append_via_stream().map(|stream| drop(stream.blocking_write_and_flush(b"x")))),
    ];
    tried.into_iter().filter(|(_, done)| done.is_ok()).map(|(way, _)| way.to_owned()).collect()
}

pub fn survey(path: &str, most: u64, sample: u32) -> Result<Survey, String> {
    let folders = get_directories();
    let (folder, rest) = split(&folders, path)?;
    let mut survey = Survey { complete: true, ..Survey::default() };
    let mut left = vec![rest.to_owned()];
    while let Some(here) = left.pop() {
        let flags = OpenFlags::DIRECTORY;
        let Ok(listed) = folder.open_at(PathFlags::empty(), &here, flags, DescriptorFlags::READ) else { continue };
        let Ok(entries) = listed.read_directory() else { continue };
        survey.folders += 1;
        while let Ok(Some(entry)) = entries.read_directory_entry() {
            let below = if here == "." { entry.name } else { format!("{here}/{}", entry.name) };
            if entry.type_ == DescriptorType::Directory {
                left.push(below);
                continue;
            }
            if survey.files >= most {
                survey.complete = false;
                return Ok(survey);
            }
            survey.files += 1;
            survey.look(folder, &below, sample as usize);
        }
    }
    Ok(survey)
}

impl Survey {
    /// Opens a file to read and to write.
    fn look(&mut self, folder: &Descriptor, path: &str, sample: usize) {
        let open = |flags| folder.open_at(PathFlags::empty(), path, OpenFlags::empty(), flags);
        if let Ok(file) = open(DescriptorFlags::READ) {
            self.readable += 1;
            self.bytes += file.stat().map_or(0, |stat| stat.size);
            if self.sample_readable.len() < sample {
                self.sample_readable.push(path.to_owned());
            }
        }
        if open(DescriptorFlags::WRITE).is_ok() {
            self.writable += 1;
            if self.sample_writable.len() < sample {
                self.sample_writable.push(path.to_owned());
            }
        }
    }
}

impl Default for Survey {
    fn default() -> Self {
        Survey {
            folders: 0,
            files: 0,
            readable: 0,
            writable: 0,
            bytes: 0,
            sample_readable: Vec::new(),
            sample_writable: Vec::new(),
            complete: false,
        }
    }
}

/// The mount that a path begins with, and the rest as it is.
fn split<'f, 'p>(folders: &'f [(Descriptor, String)], path: &'p str) -> Result<(&'f Descriptor, &'p str), String> {
    for (folder, mount) in folders {
        match path.strip_prefix(mount.trim_end_matches('/')) {
            Some("" | "/") => return Ok((folder, ".")),
            Some(rest) if rest.starts_with('/') => return Ok((folder, &rest[1..])),
            _ => {}
        }
    }
    Err("in no mount".to_owned())
}

fn list(folder: &Descriptor) -> Result<String, ErrorCode> {
    let entries = folder.read_directory()?;
    let mut names = Vec::new();
    while let Some(entry) = entries.read_directory_entry()? {
        names.push(entry.name);
    }
    names.sort();
    Ok(names.join(" "))
}

fn stat(stat: Result<wasip2::filesystem::types::DescriptorStat, ErrorCode>) -> Result<String, String> {
    match stat {
        Ok(stat) => Ok(format!("{:?} of {} bytes", stat.type_, stat.size)),
        Err(error) => Err(error.name().to_owned()),
    }
}
