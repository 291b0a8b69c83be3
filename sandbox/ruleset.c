/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The Landlock rules. All accesses that the running kernel can forbid are forbidden. Then a few places are
 * allowed again; an actor with a built-in environment needs none. The numbers are those of the kernel's ABI.
 * They are repeated here, since the installed headers may be older than the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd.h"
#include "sandbox/places.h"
#include "sandbox/step.h"

enum {
        FS_EXECUTE = 1 << 0,
        FS_WRITE_FILE = 1 << 1,
        FS_READ_FILE = 1 << 2,
        FS_READ_DIR = 1 << 3,
        FS_REMOVE_FILE = 1 << 5,
        FS_MAKE_REG = 1 << 8,
        FS_TRUNCATE = 1 << 14,
        FS_OF_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,
        FS_LOOK = FS_READ_FILE | FS_READ_DIR,
        FS_KEEP = FS_LOOK | FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG | FS_TRUNCATE,

        RULESET_VERSION = 1 << 0, /* landlock_create_ruleset(): only return the ABI */
        RULE_PATH_BENEATH = 1,
        NET_ALL = 1 << 0 | 1 << 1,   /* bind, connect */
        SCOPE_ALL = 1 << 0 | 1 << 1, /* abstract sockets, signals */
};

typedef struct Ruleset {
        uint64_t fs, net, scope;
} Ruleset;

typedef struct PathBeneath {
        uint64_t allowed;
        int32_t fd;
} __attribute__((packed)) PathBeneath;

static uint64_t fs_of_abi(int abi) {
        if (abi >= 5)
                return (1u << 16) - 1; /* ioctls of devices */
        if (abi >= 3)
                return (1u << 15) - 1; /* truncate */
        if (abi >= 2)
                return (1u << 14) - 1; /* rename and link across directories */
        return (1u << 13) - 1;
}

/* The size of Ruleset for this ABI: the members that the kernel knows. */
static size_t ruleset_bytes(int abi) {
        if (abi >= 6)
                return sizeof(Ruleset);
        return abi >= 4 ? offsetof(Ruleset, scope) : offsetof(Ruleset, net);
}

static int ruleset_open(int *ret_fd, uint64_t *ret_fs) {
        int abi = (int) syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);
        Ruleset ruleset = {};
        int fd;

        /* Landlock is not built in (ENOSYS) or not enabled (EOPNOTSUPP), or a container's filter forbids it
         * (EPERM). */
        if (abi <= 0)
                return -EOPNOTSUPP;

        ruleset.fs = fs_of_abi(abi);
        ruleset.net = abi >= 4 ? NET_ALL : 0;
        ruleset.scope = abi >= 6 ? SCOPE_ALL : 0;

        fd = (int) syscall(SYS_landlock_create_ruleset, &ruleset, ruleset_bytes(abi), 0);
        if (fd < 0)
                return -errno;

        *ret_fd = fd;
        *ret_fs = ruleset.fs;
        return 0;
}

static int allow(int ruleset_fd, int fd, uint64_t allowed, uint64_t fs) {
        PathBeneath rule = { .allowed = allowed & fs, .fd = fd };
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                rule.allowed &= FS_OF_FILES;
        return syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

static int allow_path(int ruleset_fd, const char *path, uint64_t allowed, uint64_t fs) {
        _cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        return allow(ruleset_fd, fd, allowed, fs);
}

static int allow_libraries(int ruleset_fd, uint64_t fs) {
        static const char *const libraries[] = { SANDBOX_LIBRARIES };
        static const char *const devices[] = { SANDBOX_DEVICES };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(libraries); i++) {
                r = allow_path(ruleset_fd, libraries[i], FS_LOOK, fs);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(devices); i++) {
                r = allow_path(ruleset_fd, devices[i], FS_READ_FILE | FS_WRITE_FILE, fs);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The learner's process executes a program of its own, which needs the dynamic linker. The learner writes
 * files into one directory. */
static int allow_learner(int ruleset_fd, const SandboxSpec *spec, uint64_t fs) {
        static const char *const linkers[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1" };
        int r;

        if (spec->executable_fd >= 0) {
                r = allow(ruleset_fd, spec->executable_fd, FS_EXECUTE | FS_READ_FILE, fs);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < ELEMENTSOF(linkers); i++) {
                        r = allow_path(ruleset_fd, linkers[i], FS_EXECUTE | FS_READ_FILE, fs);
                        if (r < 0)
                                return r;
                }
        }
        return spec->state_fd >= 0 ? allow(ruleset_fd, spec->state_fd, FS_KEEP, fs) : 0;
}

static int ruleset_fill(int ruleset_fd, const SandboxSpec *spec, uint64_t fs) {
        int r;

        if (spec->libraries) {
                r = allow_libraries(ruleset_fd, fs);
                if (r < 0)
                        return r;
        }
        for (uint32_t i = 0; i < spec->n_mounts; i++) {
                uint64_t allowed = spec->mounts[i].read_only ? FS_LOOK : FS_KEEP;

                /* Landlock has no rules for memory files. */
                if (memfd_check_sealed(INVOKER_FD_MOUNTS + (int) i) >= 0)
                        continue;
                r = allow(ruleset_fd, INVOKER_FD_MOUNTS + (int) i, allowed, fs);
                if (r < 0)
                        return r;
        }
        return allow_learner(ruleset_fd, spec, fs);
}

int sandbox_ruleset_make(const SandboxSpec *spec, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t fs = 0;
        int r, high;

        r = ruleset_open(&fd, &fs);
        if (r < 0)
                return r;
        r = ruleset_fill(fd, spec, fs);
        if (r < 0)
                return r;

        high = fd_lift(fd, spec->fd_floor);
        if (high < 0)
                return high;
        *ret_fd = high;
        return 0;
}
