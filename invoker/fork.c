/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forks actors and learners. This is the only file of the invoker that uses actor/ and sandbox/, whose code
 * is in the invoker's program, too. An actor is forked without exec, so an administrator's environment is
 * loaded once for all actors. Before its sandbox closes, the actor maps its own memory at new addresses, and
 * unmaps the invoker's job page and settings. A learner's child is confined here, and goes on in
 * learner.c.
 *
 * The invoker has nine descriptors for each actor. If each new actor got a copy of them all, a start would
 * take the longer the more actors there are. So from SHARING_FROM descriptors on, an actor begins by sharing
 * the invoker's table, in which it changes nothing. Its own table then gets only the low numbers
 * (step_descriptors() in sandbox/enter.c). The descriptors that it keeps are lent to it under such numbers.
 * Meanwhile the invoker waits, since it lends the same numbers to the next actor. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "actor/actor.h"
#include "actor/trial/trial.h"
#include "include/turn.h"
#include "invoker/address.h"
#include "invoker/fork.h"
#include "invoker/relay.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/fd.h"
#include "lib/patience.h"
#include "sandbox/sandbox.h"

#define ACTOR_SPIN_NSEC 20000u /* how long an actor spins for the learner's actions */
/* With fewer descriptors than this, copying them takes less time than the wait, above all on a busy host. */
#define SHARING_FROM 2048
/* The longest wait until an actor has descriptors of its own, for which it needs a tenth of a millisecond of
 * a CPU. Meanwhile the invoker answers neither the daemon nor the job's other processes. */
#define PARTING_MSEC 20000
static_assert(PARTING_MSEC + REAP_MSEC < INVOKER_PATIENCE_MSEC,
                "the daemon does not take an invoker for hung that waits for an actor");
/* Learner k has the user id LEARNER_UID - k: the kernel counts tasks by user id. */
#define LEARNER_UID 65533u

/* For a child, which does not allocate memory: it has only its stack and these buffers. */
static void *child_segments[ACTORS_MAX];
static ActorContext child_context;
static Trial child_trial;

/* The highest number of an actor's eventfd: the invoker has about as many descriptors. */
static int highest_fd;

/* Makes a second mapping of the settings, for a module that keeps the pointer: children unmap the invoker's
 * own mapping. The second mapping lasts as long as the module. NULL: the settings cannot be mapped. */
static const JobSettings *map_for_module(const Placement *place) {
        void *map;

        if (fd_map(INVOKER_FD_SETTINGS, (place->inner ? 2 : 1) * sizeof(JobSettings), false, &map) < 0)
                return NULL;
        return map;
}

static bool module_keeps_settings(const Placement *place) {
        const char *name = place->settings->environment;

        return place->inner || environment_loads_packages(name) || environment_is_mjcf(name);
}

bool fork_runs_foreign_code(const Placement *place) {
        return !place->env || environment_is_foreign(place->settings->environment);
}

int fork_load_environment(Placement *place) {
        const JobSettings *settings = module_keeps_settings(place) ? map_for_module(place) : place->settings;
        const char *directory = place->invoked->directory;

        if (!settings)
                return -ENOMEM;
        if (place->inner)
                return environment_load_job(settings + 1, directory, &place->env);
        if (environment_loads_packages(settings->environment))
                return environment_load_packages(settings, directory,
                                place_mount_fd(place, PYTHON_DIRECTORY),
                                place_mount_fd(place, PYTHON_PATH_DIRECTORY), &place->env);
        if (environment_is_mjcf(settings->environment))
                return environment_load_mjcf(
                                settings, directory, place_mount_fd(place, MODEL_DIRECTORY), &place->env);
        return environment_load_for(settings, directory, &place->env);
}

/* The memory that the learner may use. A learner that also acts may use its actors' memory, too. */
uint64_t fork_learner_memory_bytes(const Placement *place) {
        uint64_t bytes;

        if (!place_fuses(place))
                return place->settings->learner_memory_max_bytes;
        if (__builtin_mul_overflow(place->settings->memory_max_bytes, (uint64_t) place->n_actors, &bytes) ||
                        __builtin_add_overflow(bytes, place->settings->learner_memory_max_bytes, &bytes))
                return UINT64_MAX / 2;
        return bytes;
}

static void end_lending(Placement *place) {
        for (unsigned i = 0; i < _LENT_MAX; i++)
                place->lent_fds[i] = close_fd(place->lent_fds[i]);
}

/* Takes the numbers that are lent. They are above the numbers of INVOKER_FD_, and must be low, so this comes
 * before the job has many descriptors. */
static int begin_lending(Placement *place) {
        const int floor = INVOKER_FD_MOUNTS + (int) place->invoked->launch.n_mounts;
        _cleanup_close_ int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

        if (fd < 0)
                return -errno;
        end_lending(place);
        for (unsigned i = 0; i < _LENT_MAX; i++) {
                place->lent_fds[i] = fd_lift(fd, floor);
                if (place->lent_fds[i] < 0)
                        return place->lent_fds[i];
        }
        return 0;
}

/* Makes the sandbox of a relay: an actor's sandbox, with the system calls of an actor that reads files,
 * since a relay reads from its node. */
static int make_relay_sandbox(Placement *place, SandboxSpec spec) {
        uint32_t missing;

        spec.n_mounts = 0;
        spec.libraries = true;
        spec.interpreter = false;
        return sandbox_new(&spec, &place->relay_sandbox, &missing);
}

int fork_make_sandboxes(Placement *place) {
        const Launch *l = &place->invoked->launch;
        SandboxSpec spec = {
                .kind = SANDBOX_ACTOR,
                .level = place->level,
                .n_uids = l->n_uids,
                .settings = place->settings,
                .mounts = l->mounts,
                .n_mounts = l->n_mounts,
                .libraries = fork_runs_foreign_code(place),
                .interpreter = environment_is_python(place->settings->environment),
                .memory_max_bytes = place->settings->memory_max_bytes,
                .memory_limited = place->cgroup.controllers & CONTROLLER_MEMORY,
                .executable_fd = -EBADF,
                .state_fd = -EBADF,
        };
        uint32_t missing;
        int r;

        r = begin_lending(place);
        if (r < 0)
                return r;
        r = sandbox_new(&spec, &place->actor_sandbox, &missing);
        if (r < 0)
                return r;
        place->missing |= missing;
        if (place->trial || l->purpose == LAUNCH_NODE)
                return 0; /* this job learns nothing */

        if (l->cluster) {
                r = make_relay_sandbox(place, spec);
                if (r < 0)
                        return r;
        }

        spec.kind = SANDBOX_LEARNER;
        spec.memory_max_bytes = fork_learner_memory_bytes(place);
        spec.n_mounts = 0;
        spec.libraries = true;
        spec.interpreter = false;
        spec.fd_floor = LEARNER_FD_SEGMENTS + (int) place->n_actors;
        spec.executable_fd = INVOKER_FD_LEARNER;
        spec.state_fd = INVOKER_FD_STATE;
        r = sandbox_new(&spec, &place->learner_sandbox, &missing);
        if (r < 0)
                return r;
        place->missing |= missing;
        return 0;
}

void fork_free_sandboxes(Placement *place) {
        place->actor_sandbox = sandbox_free(place->actor_sandbox);
        place->learner_sandbox = sandbox_free(place->learner_sandbox);
        place->relay_sandbox = sandbox_free(place->relay_sandbox);
        end_lending(place);
}

int fork_confine_ourselves(void) {
        return sandbox_confine_parent();
}

int fork_leave_host(void) {
        return sandbox_leave_host();
}

pid_t fork_learner(const Placement *place, Worker *learner) {
        return worker_fork(learner, sandbox_clone_flags(place->learner_sandbox), place->proc_fd);
}

void fork_confine_learner(const Placement *place, const Worker *learner, uint32_t k, const int *keep_fds,
                size_t n_keep_fds, uint64_t mapped_bytes) {
        const SandboxEntry entry = {
                .uid = LEARNER_UID - k,
                .keep_fds = keep_fds,
                .n_keep_fds = n_keep_fds,
                .apart_fd = -EBADF,
                .cgroup_fd = worker_leaf_to_enter(learner),
                .mapped_bytes = mapped_bytes,
                .name = "actord-learner",
                .verdict = learner->verdict,
        };

        sandbox_enter(place->learner_sandbox, &entry);
}

/* Reserves addresses for a container's page and segments. 0: they are too large, or the address space has no
 * room. Then the sandbox allows futexes at any address. */
static uint64_t reserve_words(const Placement *place) {
        uint64_t bytes = ACTOR_PAGE_BYTES, n = place->n_actors / place->n_containers + 1;

        if (place->page && __builtin_mul_overflow(n, place->page->segment.segment_bytes, &bytes))
                return 0;
        return bytes < SANDBOX_WORDS_BYTES / 4 && sandbox_has_high_addresses() ? address_reserve() : 0;
}

/* Maps only the segments of this container's actors: through another segment the container could reach
 * another actor. */
static int child_map_segments(const Placement *place, const Container *c, uint64_t *at, uint64_t *bytes) {
        if (c->index >= place->n_containers)
                return 0; /* this job only evaluates */
        for (uint32_t a = c->index; a < place->n_actors; a += place->n_containers) {
                child_segments[a] = address_map(place->segment_fds[a], place->page->segment.segment_bytes,
                                PROT_READ | PROT_WRITE, at);
                if (child_segments[a] == MAP_FAILED)
                        return -errno;
                *bytes += place->page->segment.segment_bytes;
        }
        return 0;
}

/* Maps settings, job page and policy for reading. child_forget() unmaps the invoker's own mappings. An
 * environment that keeps its settings uses the mapping of map_for_module(). */
static int child_map_contracts(const Placement *place, ActorContext *x, uint64_t *bytes) {
        const void *settings, *page, *policy;

        settings = address_map(INVOKER_FD_SETTINGS, sizeof(JobSettings), PROT_READ, NULL);
        if (settings == MAP_FAILED)
                return -errno;
        x->settings = settings;
        *bytes += sizeof(JobSettings);
        if (!place->page)
                return 0;

        page = address_map(place->page_fd, sizeof(JobPage), PROT_READ, NULL);
        if (page == MAP_FAILED)
                return -errno;
        policy = address_map(place->policy_read_fd, place->page->policy.segment_bytes, PROT_READ, NULL);
        if (policy == MAP_FAILED)
                return -errno;
        x->page = page;
        x->policy = policy;
        *bytes += sizeof(JobPage) + place->page->policy.segment_bytes;
        return 0;
}

/* All actors of a job are sandboxed. A benchmark also runs an administrator's environment without a sandbox,
 * for comparison. */
static bool child_is_sandboxed(const Placement *place) {
        return !place->trial || place->trial->inside;
}

/* Whether an actor begins with the invoker's own table of descriptors. Without a sandbox it would keep
 * it. */
static bool shares_descriptors(const Placement *place) {
        return child_is_sandboxed(place) && highest_fd >= SHARING_FROM;
}

/* The number under which an actor has the invoker's descriptor `fd`. */
static int lent(const Placement *place, Lent number, int fd) {
        return fd >= 0 && child_is_sandboxed(place) ? place->lent_fds[number] : fd;
}

static int child_map(const Placement *place, const Container *c, SandboxEntry *entry) {
        uint64_t at = entry->words_at = reserve_words(place);
        bool spins = place->asks_fd >= 0 && place->n_containers < place->n_cpus;
        ActorContext *x = &child_context;
        void *page;
        int r;

        page = address_map(c->worker.page_fd, c->worker.page_bytes, PROT_READ | PROT_WRITE, &at);
        if (page == MAP_FAILED)
                return -errno;
        *x = (ActorContext){
                .worker = page,
                .env = place->env,
                .plugin_path = place->plugin_path,
                .n_containers = place->n_containers,
                .segments = child_segments,
                .bell_fd = lent(place, LENT_BELL, c->worker.bell_fd),
                .ask_fd = lent(place, LENT_ASK, c->ask_fd),
                .spin_nsec = spins ? ACTOR_SPIN_NSEC : 0,
                .dataset_module = place->dataset_module,
                .dataset = place->dataset,
                .dataset_bytes = place->dataset_bytes,
        };
        entry->mapped_bytes = c->worker.page_bytes + (entry->words_at ? SANDBOX_WORDS_BYTES : 0);
        entry->mapped_bytes += place->dataset_bytes;

        r = child_map_contracts(place, x, &entry->mapped_bytes);
        if (r < 0)
                return r;
        return place->page ? child_map_segments(place, c, &at, &entry->mapped_bytes) : 0;
}

/* Unmaps the invoker's own mappings of page and settings, after their last use. */
static void child_forget(const Placement *place) {
        fd_unmap((void *) place->page, sizeof(JobPage));
        fd_unmap((void *) place->settings, sizeof(JobSettings));
}

/* ps shows the arguments with which a program was started. After a fork these are still the invoker's
 * arguments, so this overwrites them. */
static void take_name(char *words, const char *name) {
        size_t n = strlen(words);

        for (size_t k = 0; k < n; k++)
                words[k] = k < strlen(name) ? name[k] : 0;
}

static void fill_trial(const Placement *place) {
        const TrialOrder *order = place->trial;

        child_trial = (Trial){
                .context = &child_context,
                .settings = child_context.settings,
                .request = order->request,
                .numbers = (const double *) (order->request + 1),
                .page = &child_context.worker->trial,
                .directory = place->invoked->directory,
                .level = place->level,
                .point = order->point,
        };
}

/* Inserts a descriptor in ascending order, as sandbox.h requires. */
static void keep(int fds[], size_t *n, int fd) {
        size_t i;

        if (fd < 0)
                return;
        for (i = (*n)++; i > 0 && fds[i - 1] > fd; i--)
                fds[i] = fds[i - 1];
        fds[i] = fd;
}

/* Whether an actor writes the rows of its trial itself. In checks and benchmarks only the invoker writes
 * rows, since an actor could forge rows that look like the invoker's. */
static bool child_says_rows(const Placement *place) {
        return place->trial && place->trial->request->kind != TRIAL_CHECK &&
               place->trial->request->kind != TRIAL_BENCH;
}

static _Noreturn void child_run(const Placement *place, const Container *c) {
        bool relays = c->worker.node > 0;
        int kept[4 + LAUNCH_MOUNTS_MAX];
        SandboxEntry entry = {
                .uid = 1 + c->index,
                .keep_fds = kept,
                .apart_fd = shares_descriptors(place) ? place->lent_fds[LENT_APART] : -EBADF,
                .cgroup_fd = worker_leaf_to_enter(&c->worker),
                .name = relays ? "actord-relay" : "actord-actor",
                .verdict = c->worker.verdict,
        };
        int r;

        take_name(program_invocation_name, entry.name);
        r = child_map(place, c, &entry);
        if (r < 0) {
                dprintf(STDERR_FILENO, "actord-actor: its memory cannot be mapped: %s\n", strerror(-r));
                _exit(EXIT_FAILURE);
        }

        /* An actor without a root of its own reaches the job's files through their descriptors. */
        for (uint32_t i = 0; place->level < SANDBOX_LEVEL_USERNS && i < place->invoked->launch.n_mounts; i++)
                keep(kept, &entry.n_keep_fds, INVOKER_FD_MOUNTS + (int) i);
        keep(kept, &entry.n_keep_fds, child_context.bell_fd);
        keep(kept, &entry.n_keep_fds, child_context.ask_fd);
        keep(kept, &entry.n_keep_fds, relays ? lent(place, LENT_RELAY, c->relay_fd) : -EBADF);
        if (child_says_rows(place))
                keep(kept, &entry.n_keep_fds, TRIAL_FD_ROWS);

        child_forget(place);
        if (child_is_sandboxed(place))
                sandbox_enter(relays ? place->relay_sandbox : place->actor_sandbox, &entry);
        else
                (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        if (relays)
                relay_main(&(RelayContext){ child_context.page, child_context.worker, child_segments,
                                           child_context.bell_fd },
                                c->index, lent(place, LENT_RELAY, c->relay_fd));
        if (!place->trial)
                actor_main(&child_context);
        fill_trial(place);
        trial_main(&child_trial);
}

/* Lends `fd` under a low number; -EBADF: takes back what is lent under it. An actor without a sandbox has
 * the invoker's own numbers. */
static int lend(const Placement *place, Lent number, int fd) {
        if (!child_is_sandboxed(place))
                return 0;
        if (fd < 0)
                fd = place->lent_fds[LENT_APART];
        return dup3(fd, place->lent_fds[number], O_CLOEXEC) < 0 ? -errno : 0;
}

static int lend_all(const Placement *place, const Container *c) {
        uint64_t stale;
        int r;

        /* An actor that was killed after PARTING_MSEC may have signalled nevertheless. */
        (void) !read(place->lent_fds[LENT_APART], &stale, sizeof(stale));
        r = lend(place, LENT_BELL, c->worker.bell_fd);
        if (r >= 0 && c->ask_fd >= 0)
                r = lend(place, LENT_ASK, c->ask_fd);
        if (r >= 0 && c->worker.node > 0)
                r = lend(place, LENT_RELAY, c->relay_fd);
        return r;
}

/* Descriptors that stayed lent would keep the bell in epoll, and the relay's socket open. */
static void take_all_back(const Placement *place, const Container *c) {
        (void) lend(place, LENT_BELL, -EBADF);
        if (c->ask_fd >= 0)
                (void) lend(place, LENT_ASK, -EBADF);
        if (c->worker.node > 0)
                (void) lend(place, LENT_RELAY, -EBADF);
}

/* Waits until the actor has descriptors of its own, or has ended. An actor that does neither is stopped or
 * hangs, so it is killed, and its start counts as failed. After SIGKILL it runs no code any more, so what is
 * lent may be taken back even if it is not gone yet. */
static void await_parting(const Placement *place, Worker *worker) {
        struct pollfd fds[] = {
                { .fd = place->lent_fds[LENT_APART], .events = POLLIN },
                { .fd = worker->pid_fd, .events = POLLIN },
        };
        uint64_t begun_nsec = clock_boottime();
        int r;

        do
                r = poll(fds, ELEMENTSOF(fds), PARTING_MSEC);
        while (r < 0 && errno == EINTR);
        if (r <= 0) {
                worker_kill(worker);
                (void) poll(&fds[1], 1, REAP_MSEC);
        }
        worker->parting_nsec = clock_boottime() - begun_nsec;
}

pid_t fork_actor(const Placement *place, Container *c) {
        uint64_t flags = child_is_sandboxed(place) ? sandbox_clone_flags(place->actor_sandbox) : 0;
        pid_t pid;
        int r;

        if (c->worker.bell_fd > highest_fd)
                highest_fd = c->worker.bell_fd;
        c->worker.parting_nsec = 0;
        r = lend_all(place, c);
        if (r < 0) {
                take_all_back(place, c);
                return r;
        }
        pid = worker_fork(&c->worker, flags | (shares_descriptors(place) ? CLONE_FILES : 0), place->proc_fd);
        if (pid == 0)
                child_run(place, c);
        if (pid > 0 && shares_descriptors(place))
                await_parting(place, &c->worker);
        take_all_back(place, c);
        return pid;
}
