/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* systemd is asked once per life of a job: one transient, delegated scope. The call only queues a job in the manager, and a bad property
 * fails there, later; so the signal that says how it ended is awaited, and the process is then looked up in the kernel. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>
#include "lib/cleanup.h"

#define SYSTEMD_NAME      "org.freedesktop.systemd1"
#define SYSTEMD_PATH      "/org/freedesktop/systemd1"
#define SYSTEMD_MANAGER   "org.freedesktop.systemd1.Manager"
#define STOP_TIMEOUT_USEC (10ull * 1000 * 1000)
#define WAIT_STEP_USEC    10000u

#define _cleanup_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_error_   _cleanup_(sd_bus_error_free)

typedef struct Awaited {
        char job[256];   /* object path; empty until the call has returned */
        char result[32]; /* of the job; empty: not yet */
        struct {
                char job[256], result[32];
        } early[16]; /* signals may overtake the answer */
        size_t n_early;
} Awaited;

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Awaited *awaited = userdata;
        const char *path, *unit, *result;
        uint32_t id;

        if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) < 0)
                return 0;
        if (awaited->job[0] == 0 && awaited->n_early < ELEMENTSOF(awaited->early)) {
                (void) snprintf(awaited->early[awaited->n_early].job, 256, "%s", path);
                (void) snprintf(awaited->early[awaited->n_early++].result, 32, "%s", result);
        } else if (strcmp(path, awaited->job) == 0)
                (void) snprintf(awaited->result, sizeof(awaited->result), "%s", result);
        return 0;
}

static void awaited_set_job(Awaited *awaited, const char *path) {
        (void) snprintf(awaited->job, sizeof(awaited->job), "%s", path);
        for (size_t i = 0; i < awaited->n_early; i++)
                if (strcmp(awaited->early[i].job, path) == 0)
                        strcpy(awaited->result, awaited->early[i].result);
}

static uint64_t now_usec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static int await_result(sd_bus *bus, Awaited *awaited, uint64_t deadline_usec) {
        while (awaited->result[0] == 0) {
                uint64_t now = now_usec();
                int r;

                if (now >= deadline_usec)
                        return -ETIMEDOUT;
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, deadline_usec - now);
                if (r < 0 && r != -EINTR)
                        return r;
        }
        return strcmp(awaited->result, "done") == 0 ? 0 : -EIO;
}

static int append_properties(sd_bus_message *m, const Launch *launch, pid_t pid) {
        bool system = launch->manager == LAUNCH_MANAGER_SYSTEM;
        char description[64];
        int r;

        (void) snprintf(description, sizeof(description), "actord job %" PRIu64, launch->job);
        r = sd_bus_message_open_container(m, 'a', "(sv)");
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)(sv)", "Description", "s", description,
                                "PIDs", "au", 1, (uint32_t) pid, "Slice", "s",
                                system ? "actord.slice" : "app-actord.slice", "Delegate", "b", 1,
                                "CollectMode", "s", "inactive-or-failed", "TasksMax", "t", UINT64_MAX,
                                "TimeoutStopUSec", "t", (uint64_t) STOP_TIMEOUT_USEC);
        /* At shutdown the job ends first, while the daemon can still read its last records. */
        if (r >= 0 && system && !launch->exit_with_daemon)
                r = sd_bus_message_append(m, "(sv)", "After", "as", 1, "actord.service");
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        if (r >= 0)
                r = sd_bus_message_append(m, "a(sa(sv))", 0);
        return r;
}

static int start_unit(sd_bus *bus, const Launch *launch, pid_t pid, const char *unit, Awaited *awaited,
                sd_bus_error *error) {
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        const char *job;
        int r;

        r = sd_bus_message_new_method_call(
                        bus, &call, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER, "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", unit, "fail");
        if (r >= 0)
                r = append_properties(call, launch, pid);
        if (r >= 0)
                r = sd_bus_call(bus, call, STEP_TIMEOUT_MSEC * 1000ull, error, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &job);
        if (r >= 0)
                awaited_set_job(awaited, job);
        return r;
}

/* The scope of the life before may take a moment to be forgotten. */
static int start_unit_retried(sd_bus *bus, const Launch *launch, pid_t pid, const char *unit,
                Awaited *awaited, uint64_t deadline_usec, LaunchAnswer *answer) {
        for (;;) {
                _cleanup_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
                int r = start_unit(bus, launch, pid, unit, awaited, &error);

                if (r >= 0)
                        return 0;
                if (!sd_bus_error_has_name(&error, "org.freedesktop.systemd1.UnitExists") ||
                                now_usec() >= deadline_usec)
                        return answer_fail(answer, LAUNCH_STEP_SCOPE, r, "systemd did not start %s: %s",
                                        unit, error.message ?: strerror(-r));
                (void) usleep(WAIT_STEP_USEC);
        }
}

/* systemd 252 may report a scope as started whose process is not in it, or not any more. The kernel's word counts. */
static int find_directory(
                sd_bus *bus, const char *unit, const Child *child, uint64_t deadline_usec, Cgroup *cgroup) {
        _cleanup_free_ char *path = NULL;
        char at[256], is[256] = "";
        int r;

        r = sd_bus_path_encode(SYSTEMD_PATH "/unit", unit, &path);
        if (r < 0)
                return r;
        r = cgroup_mount(at);
        if (r < 0)
                return r;
        do {
                _cleanup_free_ char *wanted = NULL, *full = NULL;

                r = sd_bus_get_property_string(bus, SYSTEMD_NAME, path, "org.freedesktop.systemd1.Scope",
                                "ControlGroup", NULL, &wanted);
                if (r >= 0 && wanted[0] == '/' && strlen(wanted) < sizeof(cgroup->path) &&
                                cgroup_of(child->pid, is) >= 0 && strcmp(is, wanted) == 0) {
                        if (asprintf(&full, "%s%s", at, wanted) < 0)
                                return -ENOMEM;
                        cgroup->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                        if (cgroup->fd < 0)
                                return -errno;
                        strcpy(cgroup->path, wanted);
                        return 0;
                }
                (void) usleep(WAIT_STEP_USEC);
        } while (now_usec() < deadline_usec);
        return -ESRCH;
}

static int bus_open(const Launch *launch, sd_bus **ret) {
        int r = launch->manager == LAUNCH_MANAGER_SYSTEM ? sd_bus_open_system(ret) : sd_bus_open_user(ret);

        if (r < 0)
                *ret = NULL;
        return r;
}

int scope_make(const Launch *launch, const Child *child, uid_t owner, Cgroup *ret, LaunchAnswer *answer) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        uint64_t deadline_usec = now_usec() + STEP_TIMEOUT_MSEC * 1000ull;
        Cgroup cgroup = { .metering = INVOKER_CGROUP_SCOPE, .fd = -EBADF };
        Awaited awaited = {};
        int r;

        if (launch->exit_with_daemon)
                (void) snprintf(cgroup.unit, sizeof(cgroup.unit), "actord-run-%d.scope", (int) child->pid);
        else
                (void) snprintf(cgroup.unit, sizeof(cgroup.unit), "actord-job-%" PRIu64 ".scope",
                                launch->job);

        r = bus_open(launch, &bus);
        if (r >= 0)
                r = sd_bus_match_signal(bus, &slot, SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_MANAGER,
                                "JobRemoved", on_job_removed, &awaited);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_SCOPE, r,
                                "systemd cannot be asked for %s over its bus: %s", cgroup.unit,
                                strerror(-r));
        r = start_unit_retried(bus, launch, child->pid, cgroup.unit, &awaited, deadline_usec, answer);
        if (r < 0)
                return r;
        r = await_result(bus, &awaited, deadline_usec);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_SCOPE, r,
                                "systemd did not start %s: the job ended as \"%s\"", cgroup.unit,
                                awaited.result[0] ? awaited.result : "not within 10 s");

        r = find_directory(bus, cgroup.unit, child, deadline_usec, &cgroup);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_SCOPE, r,
                                "systemd started %s, but the invoker's process is not in its cgroup",
                                cgroup.unit);
        r = cgroup_delegate(cgroup.fd, owner);
        if (r < 0) {
                cgroup.fd = close_fd(cgroup.fd);
                return answer_fail(answer, LAUNCH_STEP_DELEGATION, r, "%s cannot be handed to the job: %s",
                                cgroup.unit, strerror(-r));
        }
        *ret = cgroup;
        return 0;
}
