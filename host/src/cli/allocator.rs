//! How the C library's allocator is set for a process that serves.
#![allow(
    unsafe_code,
    reason = "the setting is a function of the C library's, and no crate wraps it; here is why it is safe"
)]

use libc::{M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, c_int};

/// How large a text may be that is not memory of its own, and how much of what is free is kept, by each thread that runs calls, in
/// bytes. Left alone the library gives a mebibyte back to the system whenever it is free and asks for it again, several times in a
/// call, which takes as long as all the rest of it.
const KEPT: c_int = 16 << 20;

/// Has the memory of large texts kept for the next ones.
pub(super) fn keep_large_texts() {
    for setting in [M_MMAP_THRESHOLD, M_TRIM_THRESHOLD] {
        // SAFETY: it takes two numbers and sets a number under the allocator's own lock; there is one thread yet, too. A value that it
        // does not take changes nothing.
        unsafe { libc::mallopt(setting, KEPT) };
    }
}
