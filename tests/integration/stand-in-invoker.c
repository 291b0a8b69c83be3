/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that tests start instead of actord-invoker, beside a copy of the spawner. It examines all that
 * the spawner passed to it, prints lines of KEY VALUE, and waits to be killed. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "include/launch.h"

extern char **environ;

static void say_fds(void) {
        printf("fds");
        for (int fd = 0; fd < 256; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        printf(" %d", fd);
        printf("\n");
}

static void say_file(const char *key, const char *path) {
        char line[512];
        FILE *f = fopen(path, "r");

        while (f && fgets(line, sizeof(line), f))
                printf("%s %s", key, line);
        if (f)
                fclose(f);
}

/* Attaches each mount in turn, and prints whether it is read-only and, for a file, the text in it. */
static void say_mounts(const Launch *launch, unsigned level) {
        for (unsigned i = 0; i < launch->n_mounts; i++) {
                int fd = INVOKER_FD_MOUNTS + (int) i, r;
                struct statvfs vfs;
                char text[64] = "", path[64];
                struct stat st;

                if (level < 2) {
                        printf("mount %s plain %d\n", launch->mounts[i].at, fstat(fd, &st) >= 0);
                        continue;
                }
                fstat(fd, &st);
                (void) mount("tmpfs", "/mnt", "tmpfs", 0, NULL);
                snprintf(path, sizeof(path), "/mnt/%u", i);
                r = S_ISDIR(st.st_mode) ? mkdir(path, 0755) : close(open(path, O_CREAT | O_RDWR, 0600));
                if (r < 0 || move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
                        printf("mount %s error %s\n", launch->mounts[i].at, strerror(errno));
                if (statvfs(path, &vfs) < 0)
                        vfs.f_flag = 0;
                if (S_ISDIR(st.st_mode))
                        printf("mount %s dir %d\n", launch->mounts[i].at, (vfs.f_flag & ST_RDONLY) != 0);
                else {
                        fd = open(path, O_RDONLY);
                        r = (int) read(fd, text, sizeof(text) - 1);
                        printf("mount %s file %d %s\n", launch->mounts[i].at, (vfs.f_flag & ST_RDONLY) != 0,
                                        text);
                }
        }
}

static void say_cgroup(void) {
        int fd;

        if (mkdirat(INVOKER_FD_CGROUP, "leaf", 0755) < 0) {
                printf("leaf error %s\n", strerror(errno));
                return;
        }
        fd = openat(INVOKER_FD_CGROUP, "leaf/cgroup.procs", O_WRONLY);
        if (fd < 0 || write(fd, "0", 1) < 0)
                printf("leaf error %s\n", strerror(errno));
        else
                printf("leaf yes\n");
}

int main(int argc, char **argv) {
        Invoked invoked;
        char path[300], link[256] = "";
        gid_t groups[64];
        int n;

        if (read(INVOKER_FD_INVOKED, &invoked, sizeof(invoked)) != sizeof(invoked))
                return 3;
        printf("argv %d %s\n", argc, argv[0]);
        say_fds();
        printf("level %u\ncgroup %u\npid1 %u\njob %d\n", invoked.level, invoked.cgroup, getpid() == 1,
                        (int) invoked.launch.job);
        printf("uid %d %d\ngid %d\n", (int) getuid(), (int) geteuid(), (int) getgid());
        n = getgroups(64, groups);
        printf("groups %d\n", n);
        say_file("uid_map", "/proc/self/uid_map");
        say_file("in", "/proc/self/cgroup");
        printf("environment %s %d\n", environ[0], environ[1] != NULL);
        say_file("status", "/proc/self/status");
        snprintf(path, sizeof(path), "%s/actord-learner", invoked.directory);
        printf("directory %d %.14s\n", access(path, R_OK) >= 0, invoked.directory);
        printf("sealed %d\n", fcntl(INVOKER_FD_INVOKED, F_GET_SEALS));
        n = (int) readlink("/proc/self/ns/net", link, sizeof(link) - 1);
        printf("net %s\n", n > 0 ? link : "-");
        printf("settings %s\n", pread(INVOKER_FD_SETTINGS, path, 4, 0) == 4 && memcmp(path, "sett", 4) == 0
                                                ? "yes"
                                                : "no");
        if (invoked.cgroup != INVOKER_CGROUP_NONE)
                say_cgroup();
        say_mounts(&invoked.launch, invoked.level);
        printf("end\n");
        fflush(stdout);
        for (;;)
                pause();
}
