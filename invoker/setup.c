/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the spawner left is taken over: checked, made ours, and closed to whoever is forked from here. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "invoker/invoker.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/fragment.h"

static int map_contract(int fd, size_t bytes, const void **ret) {
        void *map;
        int r;

        r = memfd_check_sealed(fd);
        if (r >= 0)
                r = fd_map(fd, bytes, false, &map);
        if (r < 0)
                return r;
        *ret = map;
        return 0;
}

static bool launch_is_sane(const Invoked *invoked) {
        const Launch *l = &invoked->launch;

        return l->abi == LAUNCH_ABI && l->struct_bytes == sizeof(*l) && l->purpose <= LAUNCH_EVALUATE &&
               l->sandbox < _SANDBOX_CHOICE_MAX && l->n_mounts <= LAUNCH_MOUNTS_MAX &&
               invoked->level < _SANDBOX_LEVEL_MAX && invoked->cgroup <= INVOKER_CGROUP_SCOPE &&
               memchr(invoked->directory, 0, sizeof(invoked->directory)) &&
               memchr(invoked->scope_prefix, 0, sizeof(invoked->scope_prefix));
}

static uint32_t cpus(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (uint32_t) CPU_COUNT(&set);
}

int setup_contracts(Invoker *i) {
        const void *invoked, *settings;
        int r;

        r = map_contract(INVOKER_FD_INVOKED, sizeof(Invoked), &invoked);
        if (r < 0)
                return invoker_complain(r,
                                "this program is started by actord-spawn; descriptor 3 is not its sealed message");
        i->invoked = invoked;
        if (!launch_is_sane(i->invoked))
                return invoker_complain(-EBADMSG,
                                "actord-spawn and actord-invoker are of different versions: install both from one build");

        r = map_contract(INVOKER_FD_SETTINGS, sizeof(JobSettings), &settings);
        if (r < 0)
                return invoker_complain(r, "descriptor 4 is no sealed job settings");
        i->settings = settings;
        if (i->settings->abi != SETTINGS_ABI || i->settings->struct_bytes != sizeof(JobSettings))
                return invoker_complain(-EBADMSG,
                                "actord and actord-invoker are of different versions: install both from one build");
        if (environment_is_job(i->settings->environment)) {
                r = map_contract(INVOKER_FD_SETTINGS, 2 * sizeof(JobSettings), &settings);
                if (r < 0)
                        return invoker_complain(r, "descriptor 4 holds no inner job's settings");
                i->inner = (const JobSettings *) settings + 1;
        }

        i->distribution = distribution_of(i->settings);
        if (!i->distribution)
                return invoker_complain(-ERANGE, "the job's distribution is none of ours");
        i->n_cpus = cpus();
        i->n_learners = distribution_learners(i->distribution, i->settings);
        if (i->n_learners < 1 || i->n_learners > LEARNERS_MAX)
                return invoker_complain(-ERANGE, "the job's number of learners is impossible");
        i->n_actors = settings_actors_max(i->settings);
        i->n_containers = settings_processes(i->settings);
        i->fused = distribution_fuses(i->distribution) && i->invoked->launch.purpose == LAUNCH_TRAIN;
        i->overlaps = distribution_overlaps(i->distribution);
        i->n_episodes = i->invoked->launch.n_episodes;
        if (i->invoked->launch.purpose == LAUNCH_TRAIN) {
                i->n_episodes = i->settings->evaluation_episodes;
                i->n_evaluators = settings_evaluators(i->settings);
        }
        if (i->n_actors == 0 || i->n_actors > ACTORS_MAX || i->n_containers == 0)
                return invoker_complain(-ERANGE, "the job's number of actors is impossible");
        return 0;
}

/* Standard output and error are the job's stream; its text is hostile and never passes through us. */
int setup_streams(void) {
        _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0)
                return -errno;
        if (dup2(null, STDIN_FILENO) < 0 || dup2(INVOKER_FD_STDERR, STDOUT_FILENO) < 0 ||
                        dup2(INVOKER_FD_STDERR, STDERR_FILENO) < 0)
                return -errno;

        for (int fd = INVOKER_FD_INVOKED; fd < INVOKER_FD_MOUNTS + (int) LAUNCH_MOUNTS_MAX; fd++)
                (void) fd_set_cloexec(fd, true);
        return 0;
}

/* Signals are events like others; whoever sends one wants the job gone. */
int setup_signals(Invoker *i) {
        sigset_t signals;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigaddset(&signals, SIGQUIT);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        (void) signal(SIGPIPE, SIG_IGN);

        i->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        return i->signal_fd < 0 ? -errno : 0;
}

/* /proc of our PID namespace, kept as a descriptor: for the peak memory of workers, after the host is out of reach. */
int setup_proc(void) {
        _cleanup_close_ int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), fs = -EBADF;
        char self[32];
        ssize_t n = proc >= 0 ? readlinkat(proc, "self", self, sizeof(self) - 1) : -1;

        if (n > 0) {
                self[n] = 0;
                if (atoi(self) == getpid())
                        return TAKE_FD(proc);
        }

        fs = fsopen("proc", FSOPEN_CLOEXEC);
        if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -EBADF;
        n = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        return n < 0 ? -EBADF : (int) n;
}

void setup_cgroup(Invoker *i) {
        const JobSettings *s = i->settings;
        int r;

        if (i->invoked->cgroup != INVOKER_CGROUP_NONE) {
                i->cgroup.fd = INVOKER_FD_CGROUP;
                r = cgroup_enter(&i->cgroup);
                if (r < 0) {
                        (void) invoker_complain(r,
                                        "its cgroup cannot be used, CPU time is read from process clocks instead");
                        i->cgroup = (Cgroup){ .fd = -EBADF };
                }
        }

        if (i->cgroup.fd < 0)
                i->missing |= 1u << LIMIT_CGROUP;
        if (!(i->cgroup.controllers & CONTROLLER_MEMORY))
                i->missing |= 1u << LIMIT_MEMORY;
        if (!(i->cgroup.controllers & CONTROLLER_PIDS))
                i->missing |= 1u << LIMIT_TASKS;
        if (!(i->cgroup.controllers & CONTROLLER_CPU) && settings_present(s, SETTING_Actor_CPUQuota))
                i->missing |= 1u << LIMIT_CPU_QUOTA;
        if (!(i->cgroup.controllers & CONTROLLER_CPUSET) && settings_present(s, SETTING_Actor_AllowedCPUs))
                i->missing |= 1u << LIMIT_CPUS;
}
