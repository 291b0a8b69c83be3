/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for any cgroup: they find where the unified hierarchy is mounted, look for a process in a
 * cgroup, delegate the cgroup, read its usage and its weight, and empty it. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/fd.h"

/* Dead processes leave their cgroup within a moment. The bill does not wait for one that hangs in the
 * kernel. */
enum { EMPTY_PATIENCE = 100, EMPTY_ATTEMPTS = 400, EMPTY_WAIT_USEC = 5000 };

int cgroup_mount(char ret[256]) {
        _cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
        char line[4096], at[256], type[32];

        if (!f)
                return -errno;
        while (fgets(line, sizeof(line), f)) {
                const char *dash = strstr(line, " - ");

                if (!dash || sscanf(dash + 3, "%31s", type) != 1 || strcmp(type, "cgroup2") != 0 ||
                                sscanf(line, "%*s %*s %*s %*s %255s", at) != 1)
                        continue;
                strcpy(ret, at);
                return 0;
        }
        return -ENOENT;
}

bool cgroup_holds(int fd, pid_t pid) {
        _cleanup_close_ int file = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_fclose_ FILE *f = file < 0 ? NULL : fdopen(file, "re");
        int member;

        if (!f)
                return false;
        (void) TAKE_FD(file);
        while (fscanf(f, "%d", &member) == 1)
                if (member == pid)
                        return true;
        return false;
}

/* Gives a file to a group. The owner of a file may give it to a group of which the owner is a member. With
 * CAP_SETGID this program can join any group for a moment, so it needs no CAP_CHOWN. */
int cgroup_give(int fd, const char *name, gid_t group) {
        struct stat st;
        int r;

        (void) setfsgid(group);
        r = fchownat(fd, name, (uid_t) -1, group, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
        (void) setfsgid(getegid());
        if (r < 0)
                return r;
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        /* the group gets the owner's permissions */
        return fchmodat(fd, name, (st.st_mode & 0777) | (st.st_mode & S_IRWXU) >> 3, 0) < 0 ? -errno : 0;
}

int cgroup_delegate(int fd, gid_t group) {
        static const char *const files[] = { ".", "cgroup.procs", "cgroup.subtree_control",
                "cgroup.threads" };
        int r;

        if (group == UINT32_MAX)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                r = cgroup_give(fd, files[i], group);
                if (r < 0)
                        return r;
        }
        return 0;
}

int cgroup_usage(int fd, uint64_t *ret_nsec) {
        static const char key[] = "usage_usec ";
        char text[1024];
        int r;

        r = file_read_at(fd, "cpu.stat", text, sizeof(text));
        if (r < 0)
                return r;
        if (strncmp(text, key, strlen(key)) != 0)
                return -EBADMSG;
        *ret_nsec = strtoull(text + strlen(key), NULL, 10) * 1000;
        return 0;
}

int cgroup_weight(int fd, uint64_t *ret) {
        char text[32];
        int r;

        r = file_read_at(fd, "cpu.weight", text, sizeof(text));
        if (r < 0)
                return r == -ENOENT ? -EOPNOTSUPP : r;
        *ret = strtoull(text, NULL, 10);
        return *ret > 0 && *ret <= SHARES_KERNEL_MAX ? 0 : -EBADMSG;
}

int cgroup_empty(int fd) {
        _cleanup_close_ int kill_fd = openat(fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
        char text[256];

        for (unsigned i = 0; i < EMPTY_ATTEMPTS; i++) {
                int r = file_read_at(fd, "cgroup.events", text, sizeof(text));

                if (r < 0)
                        return r;
                if (strstr(text, "populated 0\n"))
                        return 0;
                if (i >= EMPTY_PATIENCE && kill_fd >= 0)
                        (void) !write(kill_fd, "1", 1);
                (void) usleep(EMPTY_WAIT_USEC);
        }
        return -ETIMEDOUT;
}
