//! Paths by WASI's own functions: the standard library would resolve some of them itself.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};

use crate::exports::witbox::probe::probe::{Outcome, Way};

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
        Way::Create => done(write(OpenFlags::CREATE).map(|_| ())),
        Way::CreateNew => done(write(OpenFlags::CREATE | OpenFlags::EXCLUSIVE).map(|_| ())),
        Way::Truncate => done(write(OpenFlags::TRUNCATE).map(|_| ())),
        Way::OpenFolder => done(read(FOLLOW, OpenFlags::DIRECTORY).map(|_| ())),
        Way::List => list(read(FOLLOW, OpenFlags::DIRECTORY)).map_err(|error| error.name().to_owned()),
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

/// The mount that a path begins with, and the rest as it is.
fn split<'f, 'p>(folders: &'f [(Descriptor, String)], path: &'p str) -> Result<(&'f Descriptor, &'p str), String> {
    for (folder, mount) in folders {
        match path.strip_prefix(mount.as_str()) {
            Some("") => return Ok((folder, ".")),
            Some(rest) if rest.starts_with('/') => return Ok((folder, &rest[1..])),
            _ => {}
        }
    }
    Err("in no mount".to_owned())
}

fn list(folder: Result<Descriptor, ErrorCode>) -> Result<String, ErrorCode> {
    let entries = folder?.read_directory()?;
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
