/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The allow-lists, with a reason in each line. A call that is not on the list ends the process with SIGSYS,
 * and its record says that it made a forbidden call. So no worker can use sockets, processes, programs,
 * mounts, tracing, keys, io_uring or BPF.
 *
 *   BUILTIN     an actor whose environment was loaded before the fork: it computes, waits, rings its bell
 *   LIBRARIES   an actor that loads a plugin inside: it also opens, reads and maps files of its root;
 *               and a relay (invoker/relay.h)
 *   LEARNER     the learner: it also calls execveat() once, has threads, and writes checkpoints
 *
 * An actor with an interpreter has the second list, but other calls fail with EPERM and do not end the
 * process: packages try calls that they do not need, and a user's script gets an exception at the line that
 * failed. Such an actor can do no more than other actors.
 *
 * Memory is writable or executable, never both. Memory that was mapped without PROT_EXEC never becomes
 * executable: code comes only from mapped files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "sandbox/filter.h"
#include "sandbox/step.h"

enum {
        BUILTIN = 1 << 0,
        LIBRARIES = 1 << 1,
        LEARNER = 1 << 2,
        ACTORS = BUILTIN | LIBRARIES,
        ALL = ACTORS | LEARNER
};

/* How a call is restricted. */
typedef enum Hold {
        HOLD_NOTHING,
        HOLD_NOT_EXECUTABLE, /* memory without PROT_EXEC */
        HOLD_DATA,           /* mmap(): not executable, and not onto shared futex words */
        HOLD_FILE_CODE,      /* mmap(): not executable, or code of a file */
        HOLD_OWN_CODE,       /* mmap(): as HOLD_FILE_CODE, and not onto shared futex words */
        HOLD_OWN_ADDRESSES,  /* munmap(), mremap(): not of or onto shared futex words */
        HOLD_NO_HOLES,       /* madvise(): not MADV_REMOVE */
        HOLD_OWN_WORDS,      /* futex(): on the process's own words, or the words that it shares */
        HOLD_READING,        /* open for reading, without creating */
        /* SIGABRT to itself: any other signal, above all SIGKILL, could look like one from outside */
        HOLD_OWN_ABORT,
        HOLD_OWN_FLAGS, /* fcntl(): flags of the descriptor, not of the open file, which others may share */
        HOLD_OWN_FILES, /* read(): not from standard output or error; a terminal there could be read */
        HOLD_THREADS,   /* clone() of a thread only */
        HOLD_TERMINAL,  /* ioctl(TCGETS): "is this a terminal?" */
        HOLD_NO_CHANGE, /* prlimit(): only reading */
        HOLD_ABSENT,    /* answered with ENOSYS, so that libraries use older calls */
} Hold;

typedef struct Allowed {
        const char *name;
        unsigned lists;
        Hold hold;
        const char *reason;
} Allowed;

static const Allowed calls[] = {
        { "access", LIBRARIES | LEARNER, HOLD_NOTHING,
                        "linkers look whether files exist before they open them" },
        { "arch_prctl", LEARNER, HOLD_NOTHING, "a starting program sets its thread register" },
        { "brk", ALL, HOLD_NOTHING, "the heap" },
        { "clock_getres", ALL, HOLD_NOTHING, "clocks, where the vDSO cannot answer" },
        { "clock_gettime", ALL, HOLD_NOTHING, "clocks, where the vDSO cannot answer" },
        { "clock_nanosleep", ALL, HOLD_NOTHING,
                        "sleep: the meter counts CPU time, and a deadline limits the rest" },
        { "clone", LEARNER, HOLD_THREADS, "gradient threads" },
        { "clone3", LEARNER, HOLD_ABSENT, "its flags are in memory, which a filter cannot read" },
        { "close", ALL, HOLD_NOTHING, "gives up its own descriptors" },
        { "epoll_pwait", LEARNER, HOLD_NOTHING, "waits for actors that ask it for actions" },
        { "epoll_wait", LEARNER, HOLD_NOTHING, "as epoll_pwait" },
        { "execveat", LEARNER, HOLD_NOTHING,
                        "once, to become the learner; Landlock names the only program" },
        { "exit", ALL, HOLD_NOTHING, "the end of a thread" },
        { "exit_group", ALL, HOLD_NOTHING, "the end" },
        { "faccessat", LIBRARIES | LEARNER, HOLD_NOTHING, "as access" },
        { "faccessat2", LIBRARIES | LEARNER, HOLD_NOTHING, "as access" },
        { "fadvise64", LIBRARIES | LEARNER, HOLD_NOTHING, "readers of large files say so" },
        { "fallocate", LEARNER, HOLD_NOTHING, "a full disk is found before a checkpoint is half written" },
        { "fchmod", LEARNER, HOLD_NOTHING, "a checkpoint is readable for the daemon" },
        { "fcntl", LIBRARIES | LEARNER, HOLD_OWN_FLAGS, "fdopen() asks how a descriptor was opened" },
        { "fdatasync", LEARNER, HOLD_NOTHING, "a checkpoint is on disk before it counts" },
        { "fstat", LIBRARIES | LEARNER, HOLD_NOTHING, "sizes of files that are mapped or read" },
        { "fsync", LEARNER, HOLD_NOTHING, "a checkpoint is on disk before it counts" },
        { "ftruncate", LEARNER, HOLD_NOTHING, "sizes a checkpoint" },
        { "futex", ACTORS, HOLD_OWN_WORDS, "waits for an order; C libraries wait for their locks" },
        { "futex", LEARNER, HOLD_NOTHING, "waits for an order, wakes a thread" },
        { "getcpu", LEARNER, HOLD_NOTHING, "whether a gradient thread has the learner's core" },
        { "getcwd", LIBRARIES, HOLD_NOTHING, "interpreters ask where they are: in /" },
        { "getdents64", LIBRARIES | LEARNER, HOLD_NOTHING, "lists directories of its root" },
        { "getegid", LIBRARIES | LEARNER, HOLD_NOTHING, "shows only what the sandbox chose" },
        { "geteuid", LIBRARIES | LEARNER, HOLD_NOTHING, "as getegid" },
        { "getgid", LIBRARIES | LEARNER, HOLD_NOTHING, "as getegid" },
        { "getpid", ALL, HOLD_NOTHING, "abort() signals itself" },
        { "getrandom", LIBRARIES | LEARNER, HOLD_NOTHING, "hash seeds and allocators' canaries" },
        { "getrusage", LIBRARIES | LEARNER, HOLD_NOTHING, "its own use" },
        { "gettid", ALL, HOLD_NOTHING, "abort() signals itself" },
        { "gettimeofday", ALL, HOLD_NOTHING, "clocks, where the vDSO cannot answer" },
        { "getuid", LIBRARIES | LEARNER, HOLD_NOTHING, "as getegid" },
        { "ioctl", LIBRARIES | LEARNER, HOLD_TERMINAL,
                        "buffered output asks whether it goes to a terminal" },
        { "lseek", LIBRARIES | LEARNER, HOLD_NOTHING, "positions in files" },
        { "lstat", LIBRARIES, HOLD_NOTHING, "as stat" },
        { "madvise", ACTORS, HOLD_NO_HOLES, "allocators give memory back" },
        { "madvise", LEARNER, HOLD_NOTHING, "as for actors" },
        { "mmap", BUILTIN, HOLD_DATA, "large allocations" },
        { "mmap", LIBRARIES, HOLD_OWN_CODE, "allocations, libraries" },
        { "mmap", LEARNER, HOLD_FILE_CODE, "allocations, libraries, shared segments" },
        { "mprotect", ALL, HOLD_NOT_EXECUTABLE, "linkers close what they have relocated" },
        { "mremap", ACTORS, HOLD_OWN_ADDRESSES, "allocators grow; protections stay" },
        { "mremap", LEARNER, HOLD_NOTHING, "as for actors" },
        { "munmap", ACTORS, HOLD_OWN_ADDRESSES, "gives memory back" },
        { "munmap", LEARNER, HOLD_NOTHING, "as for actors" },
        { "nanosleep", ALL, HOLD_NOTHING, "sleep" },
        { "newfstatat", LIBRARIES | LEARNER, HOLD_NOTHING,
                        "fstat() of newer C libraries; paths of its root" },
        { "openat", LIBRARIES, HOLD_READING, "libraries and models of its read-only root" },
        { "openat", LEARNER, HOLD_NOTHING, "libraries; checkpoints in its state directory" },
        { "prctl", LEARNER, HOLD_NOTHING, "names the process; no privilege is left that it could change" },
        { "pread64", LIBRARIES | LEARNER, HOLD_OWN_FILES, "linkers read headers" },
        { "prlimit64", LIBRARIES | LEARNER, HOLD_NO_CHANGE, "threads ask how large a stack is" },
        { "pwrite64", LEARNER, HOLD_NOTHING, "a checkpoint's header, after its tensors" },
        { "pwritev", LEARNER, HOLD_NOTHING, "a checkpoint's tensors" },
        { "read", LIBRARIES | LEARNER, HOLD_OWN_FILES, "files that it could open anyway" },
        { "readlink", LIBRARIES | LEARNER, HOLD_NOTHING, "linkers resolve $ORIGIN" },
        { "readlinkat", LIBRARIES | LEARNER, HOLD_NOTHING, "as readlink" },
        { "renameat", LEARNER, HOLD_NOTHING, "a checkpoint appears whole or not at all" },
        { "renameat2", LEARNER, HOLD_NOTHING, "as renameat" },
        { "restart_syscall", ALL, HOLD_NOTHING, "a frozen actor that waited goes on waiting when it thaws" },
        { "rseq", LEARNER, HOLD_NOTHING, "the C library registers each thread" },
        { "rt_sigaction", ALL, HOLD_NOTHING, "abort() ends with a status of its own" },
        { "rt_sigprocmask", ALL, HOLD_NOTHING, "abort() and thread creation" },
        { "rt_sigreturn", ALL, HOLD_NOTHING, "back from a handler" },
        { "sched_getaffinity", LIBRARIES | LEARNER, HOLD_NOTHING, "how many CPUs there are" },
        { "sched_yield", ALL, HOLD_NOTHING, "spinning while cores are free" },
        { "set_robust_list", LEARNER, HOLD_NOTHING, "the C library registers each thread" },
        { "set_tid_address", LEARNER, HOLD_NOTHING, "a starting program's thread" },
        { "sigaltstack", ALL, HOLD_NOTHING, "a handler for an exhausted stack" },
        { "stat", LIBRARIES, HOLD_NOTHING, "as newfstatat, for what was linked with an older C library" },
        { "statx", LIBRARIES | LEARNER, HOLD_NOTHING, "as newfstatat" },
        { "sysinfo", LIBRARIES | LEARNER, HOLD_NOTHING, "qsort() and allocators size buffers by memory" },
        { "tgkill", ALL, HOLD_OWN_ABORT, "abort() signals itself" },
        { "uname", LIBRARIES | LEARNER, HOLD_NOTHING, "the kernel's release; the host's name is not there" },
        { "unlinkat", LEARNER, HOLD_NOTHING, "a checkpoint that could not be finished" },
        { "write", ALL, HOLD_NOTHING, "the bell, and stderr" },
        { "writev", ALL, HOLD_NOTHING, "assert() says what failed" },
};

/* F_SETFL is not allowed: the invoker shares the flags of stderr and of the eventfd (the bell), and must
 * never block on either. F_NOTIFY, F_SETOWN and F_SETSIG are not allowed: together they send any signal to
 * any process of the same user. F_DUPFD is not allowed: the rules of add_read() depend on descriptors'
 * numbers. */
static int add_fcntl(scmp_filter_ctx filter, int number) {
        static const unsigned commands[] = { F_GETFD, F_SETFD, F_GETFL };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(commands) && r >= 0; i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1, SCMP_A1(SCMP_CMP_EQ, commands[i]));
        return r;
}

/* Allows the descriptors 0, 3, and 4 to 65535: each of the latter has a bit above bit 1 and none above bit
 * 15. The kernel looks at 32 bits of a descriptor and a filter at 64. So a rule "above 2" would also allow
 * 2^32 + 2, which is descriptor 2 for the kernel. */
static int add_read(scmp_filter_ctx filter, int number) {
        const uint64_t above = ~UINT64_C(0xffff);
        int r;

        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1, SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO));
        if (r < 0)
                return r;
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1, SCMP_A0(SCMP_CMP_EQ, 3));
        for (unsigned bit = 2; bit < 16 && r >= 0; bit++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, above | UINT64_C(1) << bit, UINT64_C(1) << bit));
        return r;
}

/* Address 0, which most allocations pass, or an address outside of the range for shared futex words. */
static const struct scmp_arg_cmp own_addresses[] = {
        { .arg = 0, .op = SCMP_CMP_EQ, .datum_a = 0 },
        { .arg = 0,
                        .op = SCMP_CMP_MASKED_EQ,
                        .datum_a = SANDBOX_OWN_ADDRESSES,
                        .datum_b = SANDBOX_OWN_ADDRESSES },
};

/* Allows mmap() of memory that is not executable. With `code` it also allows a private mapping of a file
 * that is executable and not writable, as the dynamic linker makes for a library's code. With `own` the
 * mapping must lie outside of the address range that is reserved for shared futex words. */
static int add_mmap(scmp_filter_ctx filter, int number, bool code, bool own) {
        const uint64_t writable = PROT_WRITE | PROT_EXEC, shared = MAP_ANONYMOUS | MAP_SHARED;

        for (size_t i = 0; i < (own ? ELEMENTSOF(own_addresses) : 1); i++) {
                const struct scmp_arg_cmp at = own_addresses[i];
                const struct scmp_arg_cmp data[] = { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), at };
                const struct scmp_arg_cmp text[] = { SCMP_A2(SCMP_CMP_MASKED_EQ, writable, PROT_EXEC),
                        SCMP_A3(SCMP_CMP_MASKED_EQ, shared, 0), at };
                int r;

                r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, own ? 2 : 1, data);
                if (r < 0)
                        return r;
                if (!code)
                        continue;
                r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, own ? 3 : 2, text);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Allows munmap() or mremap() of addresses outside the range for shared words. The fourth argument of
 * mremap() has its flags, among which MREMAP_FIXED is forbidden. */
static int add_own_addresses(scmp_filter_ctx filter, int number, bool is_mremap) {
        const struct scmp_arg_cmp rules[] = { own_addresses[1],
                SCMP_A3(SCMP_CMP_MASKED_EQ, MREMAP_FIXED, 0) };

        return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, is_mremap ? 2 : 1, rules);
}

/* Allows each advice but MADV_REMOVE, which takes pages out of a segment. The kernel counts a new page as
 * memory of the process that touches it first. That would be the learner, when it reads the rollout: an
 * actor could fill the learner's memory, and have more than its own. MADV_REMOVE has bits 0 and 3. The
 * kernel looks at 32 bits of the advice and a filter at 64, so the rules compare single bits. */
static int add_madvise(scmp_filter_ctx filter, int number) {
        static const struct {
                uint64_t mask, value;
        } others[] = { { 1, 0 }, { 8, 0 }, { 2, 2 }, { 4, 4 }, { 16, 16 }, { 32, 32 }, { 64, 64 } };
        int r = 0;

        static_assert(MADV_REMOVE == 9, "bits above");

        for (size_t i = 0; i < ELEMENTSOF(others) && r >= 0; i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                                SCMP_A2(SCMP_CMP_MASKED_EQ, others[i].mask, others[i].value));
        return r;
}

/* Allows futex(). FUTEX_REQUEUE and FUTEX_WAKE_OP are not allowed on shared words, since their second
 * address is in another argument. */
static int add_futex(scmp_filter_ctx filter, int number) {
        static const unsigned commands[] = { FUTEX_WAIT, FUTEX_WAKE };
        int r;

        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
                        SCMP_A1(SCMP_CMP_MASKED_EQ, FUTEX_PRIVATE_FLAG, FUTEX_PRIVATE_FLAG));
        for (size_t i = 0; i < ELEMENTSOF(commands) && r >= 0; i++)
                r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 2, SCMP_A1(SCMP_CMP_EQ, commands[i]),
                                SCMP_A0(SCMP_CMP_MASKED_EQ, ~(SANDBOX_WORDS_BYTES - 1),
                                                (uint64_t) FILTER_WORDS_LATER << 32));
        return r;
}

/* The kernel chooses the address of a new mapping, so the address shows in which range the kernel maps. */
bool sandbox_has_high_addresses(void) {
        void *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED)
                return false;
        (void) munmap(page, 1);
        return (uintptr_t) page & SANDBOX_OWN_ADDRESSES;
}

static int add(scmp_filter_ctx filter, const Allowed *call, int number, bool own) {
        const uint32_t allow = SCMP_ACT_ALLOW;

        switch (call->hold) {
        case HOLD_NOTHING: return seccomp_rule_add(filter, allow, number, 0);
        case HOLD_NOT_EXECUTABLE:
                return seccomp_rule_add(filter, allow, number, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        case HOLD_DATA: return add_mmap(filter, number, false, own);
        case HOLD_FILE_CODE: return add_mmap(filter, number, true, false);
        case HOLD_OWN_CODE: return add_mmap(filter, number, true, own);
        case HOLD_OWN_ADDRESSES:
                return own ? add_own_addresses(filter, number, strcmp(call->name, "mremap") == 0)
                           : seccomp_rule_add(filter, allow, number, 0);
        case HOLD_NO_HOLES: return add_madvise(filter, number);
        case HOLD_OWN_WORDS:
                return own ? add_futex(filter, number) : seccomp_rule_add(filter, allow, number, 0);
        case HOLD_READING:
                return seccomp_rule_add(filter, allow, number, 1,
                                SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND,
                                                O_RDONLY));
        case HOLD_OWN_ABORT:
                return seccomp_rule_add(filter, allow, number, 2, SCMP_A0(SCMP_CMP_EQ, FILTER_PID_LATER),
                                SCMP_A2(SCMP_CMP_EQ, SIGABRT));
        case HOLD_OWN_FLAGS: return add_fcntl(filter, number);
        case HOLD_OWN_FILES: return add_read(filter, number);
        case HOLD_THREADS:
                return seccomp_rule_add(filter, allow, number, 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM,
                                                CLONE_THREAD | CLONE_VM));
        case HOLD_TERMINAL: return seccomp_rule_add(filter, allow, number, 1, SCMP_A1(SCMP_CMP_EQ, TCGETS));
        case HOLD_NO_CHANGE: return seccomp_rule_add(filter, allow, number, 1, SCMP_A2(SCMP_CMP_EQ, 0));
        case HOLD_ABSENT: return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
        }
        return -EINVAL;
}

static int add_all(scmp_filter_ctx filter, unsigned list) {
        bool own = sandbox_has_high_addresses();

        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                int number, r;

                if (!(calls[i].lists & list))
                        continue;

                /* Some calls exist only on some machines (newfstatat is fstatat64 elsewhere, arch_prctl is
                 * x86's). */
                number = seccomp_syscall_resolve_name(calls[i].name);
                if (number < 0)
                        continue;
                r = add(filter, &calls[i], number, own);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Turns a filter into a program in memory. libseccomp writes a program only to a descriptor. */
static int export(scmp_filter_ctx filter, struct sock_fprog *ret) {
        _cleanup_close_ int fd = memfd_create("filter", MFD_CLOEXEC);
        _cleanup_free_ struct sock_filter *program = NULL;
        uint64_t bytes;
        int r;

        if (fd < 0)
                return -errno;
        r = seccomp_export_bpf(filter, fd);
        if (r < 0)
                return r;
        r = fd_size(fd, &bytes);
        if (r < 0)
                return r;
        if (bytes == 0 || bytes / sizeof(*program) > BPF_MAXINSNS)
                return -E2BIG;

        program = malloc(bytes);
        if (!program)
                return -ENOMEM;
        r = pread_full(fd, program, bytes, 0);
        if (r < 0)
                return r;

        *ret = (struct sock_fprog){ .len = (unsigned short) (bytes / sizeof(*program)),
                .filter = TAKE_PTR(program) };
        return 0;
}

static unsigned list_of(SandboxKind kind, bool libraries) {
        if (kind == SANDBOX_LEARNER)
                return LEARNER;
        return libraries ? LIBRARIES : BUILTIN;
}

int sandbox_filter_compile(SandboxKind kind, bool libraries, bool interpreter, struct sock_fprog *ret) {
        _cleanup_filter_ scmp_filter_ctx filter = NULL;
        int r;

        r = filter_new(interpreter ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS, &filter);
        if (r < 0)
                return r;

        /* Calls of another architecture (32 bits on 64) have other numbers, which the list cannot name. */
        r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
        if (r < 0)
                return r;
        r = add_all(filter, list_of(kind, libraries));
        if (r < 0)
                return r;

        return export(filter, ret);
}
