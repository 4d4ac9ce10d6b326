//! The system calls that scripts may make with any arguments.
//!
//! Every call that is not listed fails with `EPERM`. Among these are all calls about mounts,
//! namespaces, modules, keys, tracing, the memory of other processes, clocks, users and devices,
//! and `io_uring` (which makes calls that no filter sees), `bpf`, `userfaultfd` (which makes kernel
//! races winnable), `memfd_create` (whose files could be executed although no folder allows that),
//! and `inotify` and `fanotify` (which tell what other processes do with files of the machine). The
//! parent module lists calls whose arguments decide.

use libc::{
    SYS_accept, SYS_accept4, SYS_bind, SYS_brk, SYS_capget, SYS_chdir, SYS_clock_getres,
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_close, SYS_connect, SYS_copy_file_range, SYS_dup,
    SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_eventfd2,
    SYS_execve, SYS_exit, SYS_exit_group, SYS_faccessat, SYS_faccessat2, SYS_fadvise64,
    SYS_fallocate, SYS_fchdir, SYS_fchmod, SYS_fchmodat, SYS_fdatasync, SYS_fgetxattr,
    SYS_flistxattr, SYS_flock, SYS_fstat, SYS_fstatfs, SYS_fsync, SYS_ftruncate, SYS_futex,
    SYS_get_robust_list, SYS_getcpu, SYS_getcwd, SYS_getdents64, SYS_getegid, SYS_geteuid,
    SYS_getgid, SYS_getgroups, SYS_getitimer, SYS_getpeername, SYS_getpgid, SYS_getpid,
    SYS_getppid, SYS_getpriority, SYS_getrandom, SYS_getresgid, SYS_getresuid, SYS_getrusage,
    SYS_getsid, SYS_getsockname, SYS_getsockopt, SYS_gettid, SYS_gettimeofday, SYS_getuid,
    SYS_getxattr, SYS_lgetxattr, SYS_linkat, SYS_listen, SYS_listxattr, SYS_llistxattr, SYS_lseek,
    SYS_madvise, SYS_membarrier, SYS_mincore, SYS_mkdirat, SYS_mmap, SYS_mprotect, SYS_mremap,
    SYS_msync, SYS_munmap, SYS_nanosleep, SYS_newfstatat, SYS_openat, SYS_openat2, SYS_pidfd_open,
    SYS_pipe2, SYS_pkey_alloc, SYS_pkey_free, SYS_pkey_mprotect, SYS_ppoll, SYS_pread64,
    SYS_preadv, SYS_preadv2, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_read,
    SYS_readahead, SYS_readlinkat, SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg,
    SYS_renameat, SYS_renameat2, SYS_restart_syscall, SYS_rseq, SYS_rt_sigaction,
    SYS_rt_sigpending, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
    SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_yield,
    SYS_sendfile, SYS_sendto, SYS_set_robust_list, SYS_set_tid_address, SYS_setitimer,
    SYS_setsockopt, SYS_shutdown, SYS_sigaltstack, SYS_splice, SYS_statfs, SYS_statx,
    SYS_symlinkat, SYS_sync_file_range, SYS_sysinfo, SYS_tee, SYS_timer_create, SYS_timer_delete,
    SYS_timer_getoverrun, SYS_timer_gettime, SYS_timer_settime, SYS_timerfd_create,
    SYS_timerfd_gettime, SYS_timerfd_settime, SYS_times, SYS_truncate, SYS_umask, SYS_uname,
    SYS_unlinkat, SYS_utimensat, SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write, SYS_writev,
};

/// Calls that both processors have.
pub(super) const COMMON: &[i64] = &[
    // Files, as far as Landlock and mounts let them be opened.
    SYS_chdir,
    SYS_close,
    SYS_copy_file_range,
    SYS_dup,
    SYS_dup3,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fadvise64,
    SYS_fallocate,
    SYS_fchdir,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fdatasync,
    SYS_fgetxattr,
    SYS_flistxattr,
    SYS_flock,
    SYS_fstat,
    SYS_fstatfs,
    SYS_fsync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_getdents64,
    SYS_getxattr,
    SYS_lgetxattr,
    SYS_linkat,
    SYS_listxattr,
    SYS_llistxattr,
    SYS_lseek,
    SYS_mkdirat,
    SYS_newfstatat,
    SYS_openat,
    SYS_openat2,
    SYS_pipe2,
    SYS_pread64,
    SYS_preadv,
    SYS_preadv2,
    SYS_pwrite64,
    SYS_pwritev,
    SYS_pwritev2,
    SYS_read,
    SYS_readahead,
    SYS_readlinkat,
    SYS_readv,
    SYS_renameat,
    SYS_renameat2,
    SYS_sendfile,
    SYS_splice,
    SYS_statfs,
    SYS_statx,
    SYS_symlinkat,
    SYS_sync_file_range,
    SYS_tee,
    SYS_truncate,
    SYS_umask,
    SYS_unlinkat,
    SYS_utimensat,
    SYS_vmsplice,
    SYS_write,
    SYS_writev,
    // The memory of the process itself.
    SYS_brk,
    SYS_madvise,
    SYS_membarrier,
    SYS_mincore,
    SYS_mmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_msync,
    SYS_munmap,
    SYS_pkey_alloc,
    SYS_pkey_free,
    SYS_pkey_mprotect,
    // Waiting.
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_epoll_pwait2,
    SYS_eventfd2,
    SYS_futex,
    SYS_nanosleep,
    SYS_ppoll,
    SYS_pselect6,
    SYS_restart_syscall,
    SYS_sched_yield,
    SYS_wait4,
    SYS_waitid,
    // Clocks and timers, read or used only by the process itself.
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_getitimer,
    SYS_gettimeofday,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timer_delete,
    SYS_timer_getoverrun,
    SYS_timer_gettime,
    SYS_timer_settime,
    SYS_timerfd_create,
    SYS_timerfd_gettime,
    SYS_timerfd_settime,
    SYS_times,
    // How the process itself handles signals.
    SYS_rt_sigaction,
    SYS_rt_sigpending,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    // What the process can know about itself.
    SYS_capget,
    SYS_get_robust_list,
    SYS_getcpu,
    SYS_getegid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getpid,
    SYS_getppid,
    SYS_getpriority,
    SYS_getrandom,
    SYS_getresgid,
    SYS_getresuid,
    SYS_getrusage,
    SYS_getsid,
    SYS_gettid,
    SYS_getuid,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_sched_getaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sysinfo,
    SYS_uname,
    // Threads, programs, and their end.
    SYS_execve,
    SYS_exit,
    SYS_exit_group,
    SYS_pidfd_open,
    SYS_rseq,
    SYS_set_robust_list,
    SYS_set_tid_address,
    // Messages over sockets that the process has.
    SYS_getpeername,
    SYS_getsockname,
    SYS_getsockopt,
    SYS_recvfrom,
    SYS_recvmmsg,
    SYS_recvmsg,
    SYS_sendto,
    SYS_setsockopt,
    SYS_shutdown,
];

/// Calls that connect sockets, for the full tier, where a script can reach only its own processes.
pub(super) const SOCKETS: &[i64] = &[SYS_accept, SYS_accept4, SYS_bind, SYS_connect, SYS_listen];

/// Older variants of calls, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
pub(super) const OLDER: &[i64] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_chmod,
    libc::SYS_creat,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_futimesat,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_setrlimit,
    libc::SYS_stat,
    libc::SYS_symlink,
    libc::SYS_time,
    libc::SYS_unlink,
    libc::SYS_utime,
    libc::SYS_utimes,
];

/// Never tested on such a machine; see
/// [`IsolationPolicy::accept_untested_processor`](crate::IsolationPolicy::accept_untested_processor).
#[cfg(target_arch = "aarch64")]
pub(super) const OLDER: &[i64] = &[libc::SYS_getrlimit, libc::SYS_setrlimit];

/// Older variants of `clone`.
#[cfg(target_arch = "x86_64")]
pub(super) const FORKS: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];

/// There are none: `clone` is the only call.
#[cfg(target_arch = "aarch64")]
pub(super) const FORKS: &[i64] = &[];

/// Calls that change what a path leads to, which Landlock does not govern.
#[cfg(target_arch = "x86_64")]
pub(super) const BY_PATH: &[i64] =
    &[SYS_fchmodat, libc::SYS_chmod, libc::SYS_futimesat, libc::SYS_utime, libc::SYS_utimes];

/// Calls that change what a path leads to, which Landlock does not govern.
#[cfg(target_arch = "aarch64")]
pub(super) const BY_PATH: &[i64] = &[SYS_fchmodat];

/// Calls that read the attributes of what a path leads to, which Landlock does not govern.
pub(super) const GET_ATTRIBUTES_BY_PATH: &[i64] =
    &[SYS_getxattr, SYS_lgetxattr, SYS_listxattr, SYS_llistxattr];

/// Calls that change the attributes of files.
pub(super) const SET_ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Calls that change the owner and group of files.
#[cfg(target_arch = "x86_64")]
pub(super) const CHANGE_OWNERS: &[i64] =
    &[libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_chown, libc::SYS_lchown];

/// Calls that change the owner and group of files.
#[cfg(target_arch = "aarch64")]
pub(super) const CHANGE_OWNERS: &[i64] = &[libc::SYS_fchown, libc::SYS_fchownat];
