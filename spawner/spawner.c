/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Carries out a launch step by step. Sandbox levels are tried from strong to weak, as far as the job allows.
 * The first child that gets its user ids is used. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/message.h"
#include "lib/sibling.h"
#include "lib/string-tables.h"

static void request_done(Request *request) {
        for (size_t i = 0; i < request->n_fds; i++)
                (void) close_fd(request->fds[i]);
        request->n_fds = 0;
        request->cluster_fd = close_fd(request->cluster_fd);
}

static void programs_done(Programs *programs) {
        (void) close_fd(programs->invoker_fd);
        (void) close_fd(programs->learner_fd);
        (void) close_fd(programs->directory_fd);
}

static int program_open(const Programs *programs, const char *name, int *ret, LaunchAnswer *answer) {
        int fd = openat(programs->directory_fd, name, O_PATH | O_CLOEXEC);

        if (fd < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, -errno, "%s in %s cannot be opened: %s%s", name,
                                programs->directory, strerror(errno),
                                errno == ENOENT ? "; install it again" : "");
        *ret = fd;
        return 0;
}

/* Opens the programs in the spawner itself, since a child with the rights of the job's user may not be able
 * to reach their directory. */
static int programs_open(Programs *ret, LaunchAnswer *answer) {
        int r;

        r = sibling_directory(ret->directory);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, r,
                                "the programs' directory cannot be found: %s", strerror(-r));
        ret->directory_fd = open(ret->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (ret->directory_fd < 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, -errno,
                                "the programs' directory %s cannot be opened: %s", ret->directory,
                                strerror(errno));
        r = program_open(ret, "actord-invoker", &ret->invoker_fd, answer);
        return r < 0 ? r : program_open(ret, "actord-learner", &ret->learner_fd, answer);
}

/* What failed, if the step of a level failed with this error. */
static const char *level_words(int error) {
        return limit_is_momentary(error) ? "cannot be prepared now" : "is not available on this host";
}

/* Maps the child's user ids, and waits until the child has switched to them. */
static int identify_child(const Child *child, const Launch *launch, LaunchAnswer *answer) {
        int r;

        if (child->level >= SANDBOX_LEVEL_USERNS) {
                r = child_map(child, launch);
                if (r < 0)
                        return answer_fail(answer, LAUNCH_STEP_IDENTITY, r,
                                        "sandbox level %s %s: user ids cannot be mapped: %s",
                                        sandbox_level_to_string(child->level), level_words(r), strerror(-r));
        }
        r = child_tell(child);
        if (r < 0)
                return r;
        return child_hear(child, LAUNCH_STEP_MSEC, answer);
}

static int try_level(uint32_t level, const Request *request, const Programs *programs, const Cgroup *cgroup,
                Child *ret, LaunchAnswer *answer) {
        _cleanup_close_ int cgroup_fd = cgroup->fd >= 0 ? own_cgroup_leaf(cgroup) : -EBADF;
        Child child = CHILD_NONE;
        int r;

        r = child_start(level, request->launch.uid_first, cgroup_fd, &child);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_NAMESPACES, r, "sandbox level %s %s: %s",
                                sandbox_level_to_string(level), level_words(r), strerror(-r));
        if (child.pid == 0)
                handover_run(request, programs, &child);

        r = identify_child(&child, &request->launch, answer);
        if (r < 0) {
                child_done(&child, true);
                if (answer->error >= 0)
                        (void) answer_fail(answer, LAUNCH_STEP_NAMESPACES, r,
                                        "sandbox level %s: the child %s", sandbox_level_to_string(level),
                                        r == -ETIMEDOUT ? "did not answer in time" : "ended early");
                return r;
        }
        *ret = child;
        return 0;
}

/* A weaker level is tried only if the host does not allow the stronger one, and not because it lacked memory
 * for a moment: the daemon tries such a launch again. */
static int start_child(const Request *request, const Programs *programs, const Cgroup *cgroup, Child *ret,
                LaunchAnswer *answer) {
        const Launch *launch = &request->launch;
        uint32_t strongest, weakest;

        strongest = weakest = sandbox_choice_level(launch->sandbox);
        if (launch->sandbox == SANDBOX_CHOICE_AUTO) {
                strongest = launch->n_uids > 1 ? SANDBOX_LEVEL_FULL : SANDBOX_LEVEL_USERNS;
                weakest = request->least > SANDBOX_LEVEL_PROCESS ? request->least : SANDBOX_LEVEL_PROCESS;
        }
        if (strongest == SANDBOX_LEVEL_FULL && launch->n_uids == 1)
                return answer_fail(answer, LAUNCH_STEP_NAMESPACES, -EPERM,
                                "[Actor] Sandbox=full needs a range of user ids, which only root can give: "
                                "use Sandbox=auto, or the system's actord");

        if (strongest < weakest)
                return answer_fail(answer, LAUNCH_STEP_NAMESPACES, -EPERM,
                                "sandbox level %s, the least that actord-spawn.service allows "
                                "(--least-sandbox=), needs a range of user ids, which is not mapped here",
                                sandbox_level_to_string(weakest));

        for (uint32_t level = strongest;; level--) {
                int r = try_level(level, request, programs, cgroup, ret, answer);

                if (r >= 0 || level == weakest || limit_is_momentary(r))
                        return r;
                *answer = (LaunchAnswer){ .abi = LAUNCH_ABI };
        }
}

static gid_t job_group(const Launch *launch) {
        return geteuid() == 0 ? launch->uid_first : UINT32_MAX;
}

/* Before there is a child. */
static int make_cgroup(const Launch *launch, Cgroup *ret) {
        if (launch->purpose == LAUNCH_TRIAL || launch->manager != LAUNCH_MANAGER_NONE)
                return 0; /* nothing is metered, or systemd makes a scope around the child */
        return own_cgroup_make(launch, job_group(launch), ret);
}

static int enter_cgroup(const Launch *launch, const Child *child, Cgroup *cgroup, LaunchAnswer *answer) {
        if (launch->purpose == LAUNCH_TRIAL)
                return 0;
        switch ((LaunchManager) launch->manager) {
        case LAUNCH_MANAGER_SYSTEM:
        case LAUNCH_MANAGER_USER: return scope_make(launch, child, job_group(launch), cgroup, answer);
        case LAUNCH_MANAGER_NONE:
                if (cgroup->fd >= 0 && !child->is_placed)
                        own_cgroup_enter(child, cgroup);
                return 0;
        }
        return -EBADMSG;
}

typedef struct Mounts {
        int fds[LAUNCH_MOUNTS_MAX];
        size_t n;
} Mounts;

static void mounts_done(Mounts *mounts) {
        while (mounts->n > 0)
                (void) close_fd(mounts->fds[--mounts->n]);
}

static int clone_mounts(const Request *request, const Child *child, Mounts *mounts, LaunchAnswer *answer) {
        const Launch *launch = &request->launch;

        if (geteuid() != 0 || child->level < SANDBOX_LEVEL_USERNS)
                return 0;
        for (; mounts->n < launch->n_mounts; mounts->n++) {
                const LaunchMount *mount = launch->mounts + mounts->n;
                int r = mount_clone(request->fds[_LAUNCH_FD_FIXED + mounts->n], request->peer,
                                mount->read_only, mounts->fds + mounts->n);

                if (r < 0)
                        return answer_fail(answer, LAUNCH_STEP_MOUNTS, r,
                                        "%s of the job cannot be mounted: %s", mount->at, strerror(-r));
        }
        return 0;
}

/* Sends the child all that it waits for. If the child cannot go on, it reports this. When the child becomes
 * the invoker, its end of the channel is closed. */
static int give_all(const Request *request, const Child *child, Cgroup *cgroup, LaunchAnswer *answer) {
        _cleanup_(mounts_done) Mounts mounts = {};
        int r;

        r = enter_cgroup(&request->launch, child, cgroup, answer);
        if (r < 0)
                return r;
        r = clone_mounts(request, child, &mounts, answer);
        if (r < 0)
                return r;
        r = handover_go(child, cgroup, mounts.fds, mounts.n);
        if (r < 0)
                return r;
        r = child_hear(child, LAUNCH_STEP_MSEC, answer);
        if (r == -EPIPE)
                return 0;
        return r < 0 ? r : -EBADMSG;
}

static int hand_over(const Request *request, const Child *child, Cgroup *cgroup, LaunchAnswer *answer) {
        int r = give_all(request, child, cgroup, answer);

        if (r < 0 && answer->error >= 0)
                return answer_fail(answer, LAUNCH_STEP_EXEC, r, "the invoker was not started: %s",
                                strerror(-r));
        return r;
}

static int launch(Request *request, Child *child, Cgroup *cgroup, LaunchAnswer *answer) {
        _cleanup_(programs_done) Programs programs = { -EBADF, -EBADF, -EBADF, "" };
        int r;

        r = launch_check_fds(&request->launch, request->fds, answer);
        if (r < 0)
                return r;
        r = programs_open(&programs, answer);
        if (r < 0)
                return r;
        if (request->launch.cluster) {
                r = cluster_start(request, &programs, &request->cluster_fd, answer);
                if (r < 0)
                        return r;
        }
        r = make_cgroup(&request->launch, cgroup);
        if (r < 0)
                return r;
        r = start_child(request, &programs, cgroup, child, answer);
        if (r < 0) {
                own_cgroup_discard(cgroup);
                return r;
        }
        r = hand_over(request, child, cgroup, answer);
        if (r < 0) {
                child_done(child, true);
                return r;
        }

        answer->level = child->level;
        answer->metering = cgroup->metering;
        answer->pid = child->pid;
        answer->cpu_nsec = cgroup->cpu_nsec;
        answer->owner = request->launch.owner;
        answer->life = request->launch.life;
        memcpy(answer->unit, cgroup->unit, sizeof(answer->unit));
        memcpy(answer->control_group, cgroup->path, sizeof(answer->control_group));
        return 0;
}

/* In system mode every user who may enter the socket's directory can connect; only the daemon and root are
 * served. */
static int check_peer(int fd, const Terms *terms, uid_t *ret, LaunchAnswer *answer) {
        struct ucred peer;
        socklen_t n = sizeof(peer);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
                return answer_fail(answer, LAUNCH_STEP_MESSAGE, -errno, "the caller cannot be identified");
        if (peer.uid == 0 || peer.uid == (terms->system ? terms->daemon_uid : getuid())) {
                *ret = peer.uid;
                return 0;
        }
        return answer_fail(answer, LAUNCH_STEP_MESSAGE, -EPERM,
                        "user %u may not launch jobs directly: submit them to actord", (unsigned) peer.uid);
}

/* Stays until this life of the job has ended, to remove the life's cgroup: systemd does not remove a cgroup
 * that the spawner made. */
static void stay(const Launch *launch, const Child *child, const Cgroup *cgroup) {
        struct pollfd p = { .fd = child->pid_fd, .events = POLLIN };

        while (poll(&p, 1, -1) < 0 && errno == EINTR)
                ;
        (void) waitpid(child->pid, NULL, 0);
        own_cgroup_remove(launch, cgroup);
}

/* Removes only this life's cgroup. The cgroup around it is the job's: it has counted the use of earlier
 * lives, and of this life before it failed. A daemon will ask for this count, and then for the removal of
 * the job's cgroup. The daemon of a run does not come back, so its cgroups are removed at once. */
static void clean_up(const Launch *launch, const Child *child, const Cgroup *cgroup, bool started) {
        LaunchAnswer unheard = {};

        if (cgroup->metering == INVOKER_CGROUP_OWN && started)
                stay(launch, child, cgroup);
        else if (cgroup->metering == INVOKER_CGROUP_OWN)
                own_cgroup_remove(launch, cgroup);
        else if (cgroup->unit[0] && !started && run_is_over(launch))
                (void) scope_clear(launch, &unheard);
}

/* Refuses the launch if its user has too many launches in progress. From here on a launch may hang in a file
 * system that the user serves. */
static int take_seat(const Launch *launch, const Terms *terms, LaunchAnswer *answer) {
        unsigned n = 0;

        /* SETTLE, REMOVE and WEIGH need no seat: they use no file system of a user, and many lives may end
         * at once. */
        if (!terms->seats || launch->purpose >= LAUNCH_SETTLE)
                return 0;
        __atomic_store_n(&terms->seat->submitter, launch->submitter, __ATOMIC_SEQ_CST);
        for (size_t i = 0; i < LAUNCHES_MAX; i++) {
                const Seat *seat = terms->seats + i;

                n += __atomic_load_n(&seat->pid, __ATOMIC_SEQ_CST) > 0 &&
                     __atomic_load_n(&seat->submitter, __ATOMIC_SEQ_CST) == launch->submitter &&
                     !__atomic_load_n(&seat->answered, __ATOMIC_SEQ_CST);
        }
        if (n <= LAUNCHES_USER_MAX)
                return 0;
        return answer_fail(answer, LAUNCH_STEP_MESSAGE, -EAGAIN,
                        "%u launches of user %u are under way, which is the limit: if they hang, the file "
                        "systems of their directories do not answer",
                        n - 1, (unsigned) launch->submitter);
}

/* Prints only ASCII: a file's name may have control sequences for a terminal. */
static void say_failed(const Launch *launch, const LaunchAnswer *answer) {
        char safe[sizeof(answer->message)] = "";

        for (size_t i = 0; i + 1 < sizeof(safe) && answer->message[i]; i++)
                safe[i] = answer->message[i] >= 0x20 && answer->message[i] < 0x7f ? answer->message[i] : '?';
        (void) fprintf(stderr, "<3>job %llu: %s.\n", (unsigned long long) launch->job, safe);
}

/* Lets SIGALRM end this process if the launch hangs. A process that hangs inside the kernel cannot be
 * ended. */
static void limit_time(uint32_t scope_each) {
        (void) alarm(LAUNCH_MSEC(scope_each) / 1000);
}

/* Checks a request and carries it out. ret_settles: the request has passed the checks, and is one of
 * spawner/settle.c (SETTLE, REMOVE or WEIGH). */
static int handle(int fd, const Terms *terms, Request *request, size_t n_bytes, Child *child, Cgroup *cgroup,
                bool *ret_settles, LaunchAnswer *answer) {
        int r;

        *ret_settles = false;
        r = check_peer(fd, terms, &request->peer, answer);
        if (r < 0)
                return r;
        r = launch_check(&request->launch, n_bytes, request->n_fds, geteuid(), answer);
        if (r < 0)
                return r;
        r = launch_check_terms(&request->launch, terms, answer);
        if (r < 0)
                return r;
        limit_time(request->launch.scope_each);
        r = take_seat(&request->launch, terms, answer);
        if (r < 0)
                return r;
        *ret_settles = request->launch.purpose >= LAUNCH_SETTLE;
        if (*ret_settles)
                return settle(&request->launch, answer);

        /* In a container that lacks the user ids that actord reserves, root is not the host's root. Like any
         * other user, it can only give actors its own id. */
        if (!ids_are_mapped(request->launch.uid_first, request->launch.n_uids)) {
                request->launch.uid_first = geteuid();
                request->launch.n_uids = 1;
        }
        return launch(request, child, cgroup, answer);
}

int spawner_serve(int fd, const Terms *terms) {
        _cleanup_(request_done) Request request = { .least = terms->least_sandbox, .cluster_fd = -EBADF };
        LaunchAnswer answer = { .abi = LAUNCH_ABI };
        Cgroup cgroup = CGROUP_NONE;
        Child child = CHILD_NONE;
        bool settles = false;
        size_t n_bytes;
        int r, sent;

        limit_time(0);
        r = message_receive(fd, LAUNCH_STEP_MSEC, &request.launch, sizeof(request.launch), &n_bytes,
                        request.fds, LAUNCH_FDS_MAX, &request.n_fds);
        if (r == -EPIPE || r == -ETIMEDOUT)
                return r;
        if (r < 0)
                (void) answer_fail(&answer, LAUNCH_STEP_MESSAGE, r,
                                "the daemon's launch record cannot be read: %s", strerror(-r));
        else
                r = handle(fd, terms, &request, n_bytes, &child, &cgroup, &settles, &answer);

        sent = message_send(fd, &answer, sizeof(answer), &child.pid_fd, child.pid_fd >= 0);
        /* The answer could not be sent: the daemon has gone and will never know of this job, so the job must
         * not run. */
        if (sent < 0 && r >= 0) {
                child_done(&child, true);
                r = sent;
        }
        if (terms->seat)
                __atomic_store_n(&terms->seat->answered, 1, __ATOMIC_SEQ_CST);
        (void) alarm(0);
        request_done(&request);
        clean_up(&request.launch, &child, &cgroup, child.pid > 0);
        (void) close_fd(cgroup.fd);
        (void) close_fd(cgroup.slice_fd);
        child_done(&child, false);

        /* The caller reports the error. The spawner reports it as well only if its stderr is the journal,
         * and not for requests of spawner/settle.c: a caller repeats these, and reports an error once. */
        if (answer.error < 0 && !settles && getenv("JOURNAL_STREAM"))
                say_failed(&request.launch, &answer);
        return r;
}
