/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks systemd for one transient, delegated scope for each life of a job (with ActorScope=each, also for
 * each container). The call only puts a job of systemd's own into a queue. A wrong property makes systemd's
 * job fail later. So this file waits for the signal that says how systemd's job ended, and then asks the
 * kernel for the cgroup of the process. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>
#include "lib/boottime.h"
#include "lib/bus-client.h"
#include "lib/cleanup.h"

#define SYSTEMD_NAME      "org.freedesktop.systemd1"
#define SYSTEMD_PATH      "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER   "org.freedesktop.systemd1.Manager"
#define STOP_TIMEOUT_USEC (10ull * 1000 * 1000)
#define WAIT_STEP_USEC    10000u

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_error_   _cleanup_(sd_bus_error_free)

static void strv_freep(char ***list) {
        for (char **one = *list; one && *one; one++)
                free(*one);
        free(*list);
}

typedef struct Asking {
        sd_bus *bus;
        const Launch *launch;
        LaunchAnswer *answer;
        unsigned timeout_msec;
        uint64_t deadline_usec;
        char slice[64];
        char job[256];   /* the object path of systemd's job (an entry of its queue) */
        char result[32]; /* how systemd's job ended; empty: it has not */
} Asking;

static uint64_t now_usec(void) {
        return clock_nsec(CLOCK_MONOTONIC) / 1000;
}

static Asking asking_new(const Launch *launch, LaunchAnswer *answer, unsigned timeout_msec) {
        return (Asking){
                .launch = launch,
                .answer = answer,
                .timeout_msec = timeout_msec,
                .deadline_usec = now_usec() + timeout_msec * 1000ull,
        };
}

/* Notes how systemd's job ended. A signal that arrives before the call's answer waits in the connection's
 * queue until await_result() looks. */
static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Asking *a = userdata;
        const char *path, *unit, *result;
        uint32_t id;

        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) >= 0 && strcmp(path, a->job) == 0)
                (void) snprintf(a->result, sizeof(a->result), "%s", result);
        return 0;
}

static int await_result(Asking *a) {
        while (a->result[0] == 0) {
                uint64_t now = now_usec();
                int r;

                if (now >= a->deadline_usec)
                        return -ETIMEDOUT;
                r = sd_bus_process(a->bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(a->bus, a->deadline_usec - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        return strcmp(a->result, "done") == 0 ? 0 : -EIO;
}

static int append_properties(sd_bus_message *m, const Asking *a, pid_t pid) {
        char description[64];
        int r;

        (void) snprintf(description, sizeof(description), "actord job %" PRIu64, a->launch->job);
        r = sd_bus_message_open_container(m, 'a', "(sv)");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s", description, "PIDs",
                        "au", 1, (uint32_t) pid, "Slice", "s", a->slice, "Delegate", "b", 1, "CollectMode",
                        "s", "inactive-or-failed", "TasksMax", "t", UINT64_MAX, "TimeoutStopUSec", "t",
                        (uint64_t) STOP_TIMEOUT_USEC);
        if (r < 0)
                return r;
        /* At shutdown the job ends before the daemon, which can still read the job's last records. */
        if (a->launch->manager == LAUNCH_MANAGER_SYSTEM && !a->launch->exit_with_daemon) {
                r = sd_bus_message_append(m, "(sv)", "After", "as", 1, "actord.service");
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

/* Makes a call that systemd answers with the path of a job in its queue. */
static int call_for_job(Asking *a, sd_bus_message *call, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        const char *job;
        int r;

        r = sd_bus_call(a->bus, call, LAUNCH_STEP_MSEC * 1000ull, error, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "o", &job);
        if (r < 0)
                return r;
        (void) snprintf(a->job, sizeof(a->job), "%s", job);
        a->result[0] = 0;
        return 0;
}

static int start_unit(Asking *a, const char *unit, pid_t pid, sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                        a->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "ss", unit, "fail");
        if (r < 0)
                return r;
        r = append_properties(call, a, pid);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "a(sa(sv))", 0);
        if (r < 0)
                return r;
        return call_for_job(a, call, error);
}

/* Starts a unit, and tries again for a while: systemd may need a moment to forget the scope of the job's
 * last life. */
static int start_unit_retried(Asking *a, const char *unit, pid_t pid) {
        for (;;) {
                _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
                int r = start_unit(a, unit, pid, &error);

                if (r >= 0)
                        return 0;
                if (!sd_bus_error_has_name(&error, "org.freedesktop.systemd1.UnitExists") ||
                                now_usec() >= a->deadline_usec)
                        return answer_fail(a->answer, LAUNCH_STEP_SCOPE, r, "systemd did not start %s: %s",
                                        unit, error.message ?: strerror(-r));
                (void) usleep(WAIT_STEP_USEC);
        }
}

/* systemd 252 may report a scope as started although its process is not in it yet, or is no longer in it. So
 * this asks the kernel in which cgroup the process is. */
static int find_directory(const Asking *a, const char *unit, pid_t pid, char ret_path[256]) {
        _cleanup_free_ char *object = NULL;
        char at[256], full[512];
        int r;

        if (cgroup_mount(at) < 0)
                return -ENOENT;
        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &object);
        if (r < 0)
                return r;
        do {
                _cleanup_free_ char *group = NULL;
                _cleanup_close_ int fd = -EBADF;

                r = sd_bus_get_property_string(a->bus, SYSTEMD_NAME, object,
                                "org.freedesktop.systemd1.Scope", "ControlGroup", NULL, &group);
                if (r >= 0 && group[0] == '/' && snprintf(full, sizeof(full), "%s%s", at, group) > 0)
                        fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (fd >= 0 && cgroup_holds(fd, pid)) {
                        (void) snprintf(ret_path, 256, "%s", group);
                        return TAKE_FD(fd);
                }
                (void) usleep(WAIT_STEP_USEC);
        } while (now_usec() < a->deadline_usec);
        return -ESRCH;
}

/* Makes one delegated scope with process `pid` in it. Returns the directory of the scope's cgroup. */
static int start_scope(Asking *a, const char *unit, pid_t pid, gid_t group, char ret_path[256]) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = start_unit_retried(a, unit, pid);
        if (r < 0)
                return r;
        r = await_result(a);
        if (r < 0 && a->result[0] == 0)
                return answer_fail(a->answer, LAUNCH_STEP_SCOPE, r, "systemd did not start %s within %u s",
                                unit, a->timeout_msec / 1000);
        if (r < 0)
                return answer_fail(a->answer, LAUNCH_STEP_SCOPE, r,
                                "systemd did not start %s: its job ended as \"%s\"", unit, a->result);
        fd = find_directory(a, unit, pid, ret_path);
        if (fd < 0)
                return answer_fail(a->answer, LAUNCH_STEP_SCOPE, fd,
                                "systemd started %s, but its process is not in its cgroup", unit);
        r = cgroup_delegate(fd, group);
        if (r < 0)
                return answer_fail(a->answer, LAUNCH_STEP_DELEGATION, r,
                                "%s cannot be handed to the job: %s", unit, strerror(-r));
        return TAKE_FD(fd);
}

/* Finds the child's anchors, which keep scopes alive. The child started them in its own scope, where no
 * other processes are. */
static int find_anchors(Asking *a, const Child *child, const Cgroup *cgroup, pid_t ret[]) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_fclose_ FILE *f = NULL;
        uint32_t n = 0;
        int pid, r;

        r = child_tell(child);
        if (r < 0)
                return r;
        r = child_hear(child, LAUNCH_SCOPES_MSEC(a->launch->scope_each), a->answer);
        if (r < 0)
                return r;
        fd = openat(cgroup->fd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        f = fd < 0 ? NULL : fdopen(fd, "re");
        if (!f)
                return -errno;
        (void) TAKE_FD(fd);
        while (n < a->launch->scope_each && fscanf(f, "%d", &pid) == 1)
                if (pid != child->pid)
                        ret[n++] = pid;
        if (n == a->launch->scope_each)
                return 0;
        return answer_fail(a->answer, LAUNCH_STEP_SCOPE, -ECHILD,
                        "only %u of %u processes for the actors' scopes could be made", n,
                        a->launch->scope_each);
}

/* Gives the slice's cgroup.procs to the job's group: to move processes between two scopes, the invoker needs
 * write access to the cgroup above both. */
static int hand_slice(gid_t group, Cgroup *cgroup) {
        cgroup->slice_fd = openat(cgroup->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroup->slice_fd < 0)
                return -errno;
        if (group == UINT32_MAX)
                return 0;
        return cgroup_give(cgroup->slice_fd, "cgroup.procs", group);
}

/* ActorScope=each: makes one more scope for each of the child's anchors, which are processes that only keep
 * a scope alive. */
static int start_actor_scopes(Asking *a, const Child *child, gid_t group, Cgroup *cgroup) {
        char path[256], unit[160], prefix[128];
        pid_t anchors[ACTORS_MAX];
        int r;

        r = find_anchors(a, child, cgroup, anchors);
        if (r < 0)
                return r;
        (void) snprintf(prefix, sizeof(prefix), "%.*s", (int) strcspn(cgroup->unit, "."), cgroup->unit);
        for (uint32_t i = 0; i < a->launch->scope_each; i++) {
                (void) snprintf(unit, sizeof(unit), ACTOR_SCOPE_NAME, prefix, i);
                r = start_scope(a, unit, anchors[i], group, path);
                if (r < 0)
                        return r;
                (void) close_fd(r);
        }
        r = hand_slice(group, cgroup);
        if (r < 0)
                return answer_fail(a->answer, LAUNCH_STEP_DELEGATION, r,
                                "%s cannot be handed to the job: %s", a->slice, strerror(-r));
        return 0;
}

/* Chooses the names of the job's slice and scope. A slice outlives its last scope, and keeps its counters
 * until it is stopped. systemd reads a slice's parents from the dashes: actord-job7.slice is in
 * actord.slice. */
static void choose_names(Asking *a, char ret_unit[128]) {
        const char *above = a->launch->manager == LAUNCH_MANAGER_SYSTEM ? "actord" : "app-actord";
        const char *kind = a->launch->exit_with_daemon ? "run" : "job";
        uint64_t number = a->launch->exit_with_daemon ? a->launch->owner : a->launch->job;

        (void) snprintf(ret_unit, 128, "actord-%s-%" PRIu64 ".scope", kind, number);
        (void) snprintf(a->slice, sizeof(a->slice), "%s-%s%" PRIu64 ".slice", above, kind, number);
}

static int open_bus(Asking *a, const char *unit, sd_bus **ret, sd_bus_slot **ret_slot) {
        int r;

        r = bus_client_open(a->launch->manager == LAUNCH_MANAGER_SYSTEM, ret);
        if (r >= 0)
                r = sd_bus_match_signal(*ret, ret_slot, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "JobRemoved", on_job_removed, a);
        if (r < 0)
                return answer_fail(a->answer, LAUNCH_STEP_SCOPE, r,
                                "systemd cannot be asked for %s over its bus: %s", unit, strerror(-r));
        a->bus = *ret;
        return 0;
}

/* Reads the counter of the job's slice, which is the cgroup above the job's scope. */
static int read_slice(int scope_fd, uint64_t *ret_nsec) {
        _cleanup_close_ int fd = openat(scope_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : cgroup_usage(fd, ret_nsec);
}

int scope_make(const Launch *launch, const Child *child, gid_t group, Cgroup *ret, LaunchAnswer *answer) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        Asking a = asking_new(launch, answer, LAUNCH_SCOPES_MSEC(launch->scope_each));
        int r;

        *ret = CGROUP_NONE;
        choose_names(&a, ret->unit);
        r = open_bus(&a, ret->unit, &bus, &slot);
        if (r < 0)
                return r;

        ret->fd = start_scope(&a, ret->unit, child->pid, group, ret->path);
        if (ret->fd < 0)
                return ret->fd;
        ret->metering = INVOKER_CGROUP_SCOPE;
        (void) read_slice(ret->fd, &ret->cpu_nsec);
        return launch->scope_each > 0 ? start_actor_scopes(&a, child, group, ret) : 0;
}

static int open_slice(const Asking *a) {
        _cleanup_free_ char *object = NULL, *group = NULL, *full = NULL;
        char at[256];
        int r;

        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", a->slice, &object);
        if (r < 0)
                return r;
        r = sd_bus_get_property_string(a->bus, SYSTEMD_NAME, object, "org.freedesktop.systemd1.Slice",
                        "ControlGroup", NULL, &group);
        if (r < 0)
                return r;
        /* the property is empty while the slice does not run */
        if (group[0] == 0 || cgroup_mount(at) < 0)
                return -ENOENT;
        if (asprintf(&full, "%s%s", at, group) < 0)
                return -ENOMEM;
        r = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return r < 0 ? -errno : r;
}

static int stop_slice(Asking *a) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                        a->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StopUnit");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "ss", a->slice, "replace");
        if (r < 0)
                return r;
        r = call_for_job(a, call, NULL);
        if (r < 0)
                return r;
        return await_result(a);
}

/* Calls ask(), which asks systemd about the slice of the actord job, and returns its result. */
static int with_slice(const Launch *launch, LaunchAnswer *answer, int (*ask)(Asking *a, uint64_t *ret_nsec),
                uint64_t *ret_nsec) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        Asking a = asking_new(launch, answer, LAUNCH_STEP_MSEC);
        char unit[128];
        int r;

        choose_names(&a, unit);
        r = open_bus(&a, a.slice, &bus, &slot);
        return r < 0 ? r : ask(&a, ret_nsec);
}

static int read_usage(Asking *a, uint64_t *ret_nsec) {
        _cleanup_close_ int fd = open_slice(a);

        if (fd < 0)
                return fd;
        (void) cgroup_empty(fd);
        return cgroup_usage(fd, ret_nsec);
}

/* Calls a method of systemd whose answer has no content, and waits for the answer. types, ...: as in
 * sd_bus_message_append() */
static int call_manager(Asking *a, const char *method, const char *types, ...) {
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        r = sd_bus_message_new_method_call(
                        a->bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, method);
        if (r < 0)
                return r;
        va_start(ap, types);
        r = sd_bus_message_appendv(call, types, ap);
        va_end(ap);
        return r < 0 ? r : sd_bus_call(a->bus, call, LAUNCH_STEP_MSEC * 1000ull, NULL, NULL);
}

/* Whether systemd stores a property of the slice: in a drop-in file, which SetUnitProperties wrote. */
static int has_note(Asking *a) {
        _cleanup_free_ char *object = NULL;
        _cleanup_(strv_freep) char **files = NULL;
        int r;

        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", a->slice, &object);
        if (r < 0)
                return r;
        r = sd_bus_get_property_strv(a->bus, SYSTEMD_NAME, object, "org.freedesktop.systemd1.Unit",
                        "DropInPaths", NULL, &files);
        if (r < 0)
                return r;
        for (char **file = files; file && *file; file++)
                if (strstr(*file, ".control/"))
                        return 1;
        return 0;
}

/* Makes systemd forget the stored properties of the slice. systemd stores a unit's properties until the
 * machine restarts, unless the unit is transient. The slice is not transient: systemd made it itself. */
static int forget_properties(Asking *a) {
        int r;

        r = has_note(a);
        if (r <= 0)
                return r;
        r = call_manager(a, "RevertUnitFiles", "as", 1, a->slice);
        return r < 0 ? r : 0;
}

static int set_weight(Asking *a) {
        return call_manager(a, "SetUnitProperties", "sba(sv)", a->slice, 1, 1, "CPUWeight", "t",
                        (uint64_t) a->launch->cpu_weight);
}

/* Sets the CPU weight of the job's slice, and reads it back. systemd answers before it writes the weight to
 * the kernel, so this function waits until the kernel has the new weight. */
static int weigh(Asking *a, uint64_t *ret_weight) {
        _cleanup_close_ int fd = open_slice(a);
        int r;

        if (fd < 0)
                return fd;
        r = cgroup_weight(fd, ret_weight);
        if (r < 0 || a->launch->cpu_weight == 0 || *ret_weight == a->launch->cpu_weight)
                return r;
        r = set_weight(a);
        if (r < 0)
                return r;
        for (;;) {
                r = cgroup_weight(fd, ret_weight);
                if (r < 0 || *ret_weight == a->launch->cpu_weight)
                        return r;
                if (now_usec() >= a->deadline_usec)
                        return -ETIMEDOUT;
                (void) usleep(WAIT_STEP_USEC);
        }
}

/* Makes systemd forget the slice's properties, and then removes the slice. If systemd still stores one, the
 * daemon asks again; by then the slice may be gone. */
static int clear(Asking *a, uint64_t *unused) {
        _cleanup_close_ int fd = -EBADF;
        int forgotten = a->launch->cpu_weight > 0 ? forget_properties(a) : 0, r;

        fd = open_slice(a);
        if (fd < 0)
                return fd == -ENOENT && forgotten < 0 ? forgotten : fd;
        (void) cgroup_empty(fd);
        r = stop_slice(a);
        return r < 0 ? r : forgotten;
}

int scope_settle(const Launch *launch, uint64_t *ret_nsec, LaunchAnswer *answer) {
        return with_slice(launch, answer, read_usage, ret_nsec);
}

int scope_weigh(const Launch *launch, uint64_t *ret_weight, LaunchAnswer *answer) {
        return with_slice(launch, answer, weigh, ret_weight);
}

int scope_clear(const Launch *launch, LaunchAnswer *answer) {
        return with_slice(launch, answer, clear, NULL);
}
