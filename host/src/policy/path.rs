//! Paths as a guest sees them.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// An absolute path within a guest, without `.`, `..`, doubled or trailing slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct GuestPath(String);

/// A text that is no guest path.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no path for a guest: {reason}")]
pub(crate) struct PathError {
    text: String,
    reason: &'static str,
}

impl GuestPath {
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let refuse = |reason| Err(PathError { text: text.to_owned(), reason });
        let Some(relative) = text.strip_prefix('/') else {
            return refuse("it must start with `/`");
        };
        if text.contains('\0') {
            return refuse("it must not hold a NUL");
        }
        if text == "/" {
            return Ok(GuestPath(text.to_owned()));
        }
        let relative = relative.strip_suffix('/').unwrap_or(relative);
        for part in relative.split('/') {
            match part {
                "" => return refuse("it must not hold `//`"),
                "." | ".." => return refuse("it must not hold `.` or `..`"),
                _ => {}
            }
        }
        Ok(GuestPath(format!("/{relative}")))
    }

    /// The path's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether one of the two is the other, or a folder on the way to it.
    pub(crate) fn overlaps(&self, other: &GuestPath) -> bool {
        self.contains(other) || other.contains(self)
    }

    fn contains(&self, other: &GuestPath) -> bool {
        match other.0.strip_prefix(self.0.trim_end_matches('/')) {
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

impl fmt::Display for GuestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for GuestPath {
    type Err = Error;

    /// # Errors
    /// When the text does not start with `/`, or holds `.`, `..`, `//` or a NUL.
    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(GuestPath::parse(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::GuestPath;

    #[test]
    fn paths_are_absolute_and_plain() {
        for (text, path) in [("/", "/"), ("/docs", "/docs"), ("/docs/", "/docs"), ("/a/[...slug]", "/a/[...slug]")] {
            assert_eq!(GuestPath::parse(text).unwrap().as_str(), path);
        }
        for text in ["", "docs", "./docs", "/docs/..", "/./docs", "//docs", "/a//b", "/a\0b"] {
            assert!(GuestPath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn overlap_goes_by_whole_names() {
        let overlaps = |a: &str, b: &str| GuestPath::parse(a).unwrap().overlaps(&GuestPath::parse(b).unwrap());
        assert!(overlaps("/a", "/a") && overlaps("/a", "/a/b") && overlaps("/a/b", "/a") && overlaps("/", "/a"));
        assert!(!overlaps("/a", "/ab") && !overlaps("/allowed", "/allowed_evil"));
    }
}
