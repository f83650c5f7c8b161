//! The system calls that are given up.

/// System calls of no use to whoever runs tools, and of much to whoever breaks out: programs, other processes, namespaces and
/// mounts, the kernel's modules, its interpreters and its keys, and what the filter could not see.
pub(super) const DENIED: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_setpriority,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_ioprio_set,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // What Landlock does not ask about: owners, modes and attributes of any file.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    FCHMODAT2,
    SETXATTRAT,
    REMOVEXATTRAT,
    OPEN_TREE_ATTR,
    QUOTACTL_FD,
    PROCESS_MRELEASE,
    // What is shared with other processes by a number.
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_personality,
    libc::SYS_fanotify_init,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
];
/// Those that only this kind of processor has.
#[cfg(target_arch = "x86_64")]
pub(super) const DENIED_HERE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_vfork,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    // Of programs with 32-bit pointers: execve, ptrace, process_vm_readv, process_vm_writev, kexec_load, execveat.
    X32 | 520,
    X32 | 521,
    X32 | 539,
    X32 | 540,
    X32 | 528,
    X32 | 545,
    // And ioctl as a whole, sendto's kin and the signals with information.
    X32 | 514,
    X32 | 518,
    X32 | 538,
    X32 | 524,
    X32 | 536,
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const DENIED_HERE: &[i64] = &[];

/// What tells such numbers from others (`asm/unistd.h`).
pub(super) const X32: i64 = 0x4000_0000;
/// Newer calls, whose numbers are the same on all processors and not in all libraries.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const OPEN_TREE_ATTR: i64 = 467;
const QUOTACTL_FD: i64 = 443;
const PROCESS_MRELEASE: i64 = 448;
/// A virtual console's request to do several things, among them to type (`linux/tiocl.h`).
pub(super) const TIOCLINUX: u64 = 0x541c;
