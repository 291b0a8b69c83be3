/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Takes over from the spawner: checks and maps the memory that the spawner passed, and makes its
 * descriptors close on exec. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "invoker/complain.h"
#include "invoker/invoker.h"
#include "lib/cleanup.h"
#include "lib/cpu-count.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/fragment.h"
#include "lib/width.h"

static int map_contract(int fd, size_t bytes, const void **ret) {
        void *map;
        int r;

        r = memfd_check_sealed(fd);
        if (r < 0)
                return r;
        r = fd_map(fd, bytes, false, &map);
        if (r < 0)
                return r;
        *ret = map;
        return 0;
}

static bool launch_is_sane(const Invoked *invoked) {
        const Launch *l = &invoked->launch;

        return l->abi == LAUNCH_ABI && l->struct_bytes == sizeof(*l) && l->purpose <= LAUNCH_NODE &&
               l->sandbox < _SANDBOX_CHOICE_MAX && l->n_mounts <= LAUNCH_MOUNTS_MAX &&
               invoked->level < _SANDBOX_LEVEL_MAX && invoked->cgroup <= INVOKER_CGROUP_SCOPE &&
               memchr(invoked->directory, 0, sizeof(invoked->directory)) &&
               memchr(invoked->scope_prefix, 0, sizeof(invoked->scope_prefix));
}

/* How a round is conducted under the job's distribution. A learner that computes the actions in rounds also
 * computes them in evaluations, since the settings tell actors to ask it. A learner that steps environments
 * itself is used only in a job that trains. */
static Traits traits_of(const Distribution *row, bool trains) {
        Traits traits = { .rolls_with = ORDER_NONE, .acting_phases = PHASES_ROLLING };

        if (distribution_serves(row))
                traits.rolls_with = ORDER_SERVE;
        if (distribution_fuses(row) && trains)
                traits.rolls_with = ORDER_ROLLOUT;
        traits.overlaps = distribution_overlaps(row);
        if (traits.overlaps)
                traits.acting_phases = PHASES_OVERLAPPING;
        return traits;
}

/* The vector width for actors, which are forked from here; a learner chooses its own. */
static int choose_width(const JobSettings *settings) {
        Width width = width_of_class(settings->kernel_class);

        if (!width_present(width))
                return invoker_complain(-ENODEV,
                                "this CPU lacks the instructions of KernelClass=; use KernelClass=auto");
        width_choose(width);
        return 0;
}

int setup_contracts(Placement *place) {
        const void *invoked, *settings;
        int r;

        r = map_contract(INVOKER_FD_INVOKED, sizeof(Invoked), &invoked);
        if (r < 0)
                return invoker_complain(r,
                                "this program is started by actord-spawn; descriptor 3 is not its sealed "
                                "message");
        place->invoked = invoked;
        if (!launch_is_sane(place->invoked))
                return invoker_complain(-EBADMSG,
                                "actord-spawn and actord-invoker are of different versions: install "
                                "both from one build");

        r = map_contract(INVOKER_FD_SETTINGS, sizeof(JobSettings), &settings);
        if (r < 0)
                return invoker_complain(r, "descriptor 4 does not hold sealed job settings");
        place->settings = settings;
        if (place->settings->abi != SETTINGS_ABI || place->settings->struct_bytes != sizeof(JobSettings))
                return invoker_complain(-EBADMSG,
                                "actord and actord-invoker are of different versions: install both from one "
                                "build");
        if (environment_is_job(place->settings->environment)) {
                r = map_contract(INVOKER_FD_SETTINGS, 2 * sizeof(JobSettings), &settings);
                if (r < 0)
                        return invoker_complain(r, "descriptor 4 does not hold an inner job's settings");
                place->inner = (const JobSettings *) settings + 1;
        }

        r = choose_width(place->settings);
        if (r < 0)
                return r;

        place->distribution = distribution_of(place->settings);
        if (!place->distribution)
                return invoker_complain(-ERANGE, "the job's distribution is unknown");
        place->n_cpus = cpu_count(1);
        place->n_learners = distribution_learners(place->distribution, place->settings);
        if (place->n_learners < 1 || place->n_learners > LEARNERS_MAX)
                return invoker_complain(-ERANGE, "the job's number of learners is impossible");
        place->n_actors = settings_actors_max(place->settings);
        place->n_containers = settings_processes(place->settings);
        place->traits = traits_of(place->distribution, place_trains(place));
        place->n_episodes = place->invoked->launch.n_episodes;
        if (place->invoked->launch.purpose == LAUNCH_TRAIN ||
                        place->invoked->launch.purpose == LAUNCH_NODE) {
                place->n_episodes = place->settings->evaluation_episodes;
                place->n_evaluators = settings_evaluators(place->settings);
        }
        if (place->n_actors == 0 || place->n_actors > ACTORS_MAX || place->n_containers == 0)
                return invoker_complain(-ERANGE, "the job's number of actors is impossible");
        return 0;
}

/* Makes INVOKER_FD_STDERR the standard output and error, also of the children. So their text, which may be
 * hostile, never passes through the invoker. */
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

/* Blocks SIGTERM, SIGINT, SIGHUP and SIGQUIT, each of which ends the job, and returns a descriptor from
 * which the loop reads them. */
int setup_signals(void) {
        sigset_t signals;
        int fd;

        (void) sigemptyset(&signals);
        (void) sigaddset(&signals, SIGTERM);
        (void) sigaddset(&signals, SIGINT);
        (void) sigaddset(&signals, SIGHUP);
        (void) sigaddset(&signals, SIGQUIT);
        if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
                return -errno;
        (void) signal(SIGPIPE, SIG_IGN);

        fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

/* Returns a descriptor of /proc of this PID namespace, or -EBADF. By it the invoker reads the peak memory of
 * workers, and their waits for a CPU, after it has left the host's file system. */
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

void setup_cgroup(Placement *place) {
        const JobSettings *s = place->settings;
        int r;

        if (place->invoked->cgroup != INVOKER_CGROUP_NONE) {
                place->cgroup.fd = INVOKER_FD_CGROUP;
                r = cgroup_enter(&place->cgroup);
                if (r < 0) {
                        (void) invoker_complain(r,
                                        "its cgroup cannot be used; CPU time is read from process clocks "
                                        "instead");
                        place->cgroup = (Cgroup){ .fd = -EBADF };
                }
        }

        if (place->cgroup.fd < 0)
                place->missing |= 1u << LIMIT_CGROUP;
        if (!(place->cgroup.controllers & CONTROLLER_MEMORY))
                place->missing |= 1u << LIMIT_MEMORY;
        if (!(place->cgroup.controllers & CONTROLLER_PIDS))
                place->missing |= 1u << LIMIT_TASKS;
        if (!(place->cgroup.controllers & CONTROLLER_CPU) && settings_present(s, SETTING_Actor_CPUQuota))
                place->missing |= 1u << LIMIT_CPU_QUOTA;
        if (!(place->cgroup.controllers & CONTROLLER_CPU) && s->shares.kind != SHARES_KIND_EQUAL &&
                        place->invoked->launch.purpose == LAUNCH_TRAIN)
                place->missing |= 1u << LIMIT_CPU_WEIGHT;
        if (!(place->cgroup.controllers & CONTROLLER_CPUSET) &&
                        settings_present(s, SETTING_Actor_AllowedCPUs))
                place->missing |= 1u << LIMIT_CPUS;
}

/* Numbers of descriptors. FILES_OWN: those of the invoker itself, and those that a fork needs for a moment.
 * FILES_PROCESS: each process's page, eventfd, pidfd and three files of /proc. FILES_LEAF: each cgroup's
 * directory and its cpu.stat. Each node of a cluster has one, the socket to its carrier. */
enum { FILES_OWN = 52, FILES_PROCESS = 6, FILES_LEAF = 2 };

int setup_files(const Placement *place, uint32_t *ret_needed, uint32_t *ret_limit) {
        uint32_t each = FILES_PROCESS, needed;
        struct rlimit limit;

        if (place->cgroup.fd >= 0)
                each += FILES_LEAF;
        if (place->invoked->launch.scope_each > 0)
                each++;
        if (distribution_serves(place->distribution))
                each++;
        needed = FILES_OWN + place->invoked->launch.n_mounts + place->n_actors +
                 each * (containers_all(place) + place->n_learners);
        if (place->invoked->launch.cluster)
                needed += place->settings->nodes.high;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
                return 0;
        *ret_needed = needed;
        *ret_limit = (uint32_t) limit.rlim_cur;
        return -EMFILE;
}
