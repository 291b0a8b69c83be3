/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.actord1.Manager and the tree of objects. The objects are the same on a bus, which has many callers,
 * and on a socket pair, which has one. */
#include "daemon/manager.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include <time.h>
#include "daemon/access.h"
#include "daemon/commit.h"
#include "daemon/copies.h"
#include "daemon/ended.h"
#include "daemon/gate.h"
#include "daemon/job-bus.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/listing.h"
#include "daemon/bill/price.h"
#include "daemon/quota.h"
#include "daemon/reply.h"
#include "daemon/rest.h"
#include "daemon/removals.h"
#include "daemon/submit.h"
#include "daemon/turns.h"
#include "include/bus.h"
#include "lib/bus-address.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/sheets.h"

static const sd_bus_error_map error_map[] = {
#define X(name, number) SD_BUS_ERROR_MAP(BUS_ERROR(name), number),
        BUS_ERRORS(X)
#undef X
                        SD_BUS_ERROR_MAP_END,
};

static int get_mode(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", daemon_mode_to_string(manager->context.mode));
}

static int get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", ACTORD_VERSION);
}

static void emit_job_new(Manager *manager, const Job *job) {
        (void) sd_bus_emit_object_added(manager->context.bus, job->path);
        (void) sd_bus_emit_signal(manager->context.bus, BUS_PATH, BUS_INTERFACE_MANAGER, "JobNew", "to",
                        job->row.id, job->path);
}

/* Refuses a call that would change something, if this daemon only shows the records of a run. */
static int refuse_inspecting(const Manager *manager, sd_bus_error *error) {
        if (!manager->inspects)
                return 0;
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                        "This daemon shows the records of a run: it accepts no jobs and changes none.");
}

/* Submits the job of a call. 1: the call was answered; 0: it continues later. */
static int submit_in_turn(sd_bus_message *m, Manager *manager, bool from_fd, uint32_t uid,
                sd_bus_message_handler_t again, sd_bus_error *error) {
        Job *job;
        int r;

        r = refuse_inspecting(manager, error);
        if (r < 0)
                return r;
        if (manager->stopping)
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED,
                                "actord is ending; submit the job again when it is back.");
        /* A caller whose files were copied, or whose groups were looked up, was authorised before that. */
        r = copies_has(manager, m) || quota_waits(manager, m)
                            ? 1
                            : access_check(&manager->access, m, ACTION_SUBMIT, uid, again, error);
        if (r <= 0)
                return r;
        r = quota_ask(manager, m, uid, uid, again, error);
        if (r <= 0)
                return r;

        r = submit_job(manager, m, uid, from_fd, again, &job, error);
        if (r <= 0)
                return r;
        emit_job_new(manager, job);
        jobs_schedule(&manager->context.jobs);
        r = sd_bus_reply_method_return(m, "to", job->row.id, job->path);
        return r < 0 ? r : 1;
}

static int submit(sd_bus_message *m, Manager *manager, bool from_fd, sd_bus_message_handler_t again,
                sd_bus_error *error) {
        uint32_t uid;
        int r;

        r = access_uid(&manager->access, m, &uid, error);
        if (r < 0)
                return r;
        r = line_enter(manager->lines, LINE_SUBMISSIONS, m, uid, again, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        r = submit_in_turn(m, manager, from_fd, uid, again, error);
        if (r != 0)
                line_leave(manager->lines, LINE_SUBMISSIONS, m);
        return r < 0 ? r : 1;
}

static int method_submit_job(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return submit(m, userdata, false, method_submit_job, error);
}

static int method_submit_job_file(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return submit(m, userdata, true, method_submit_job_file, error);
}

static int no_such_job(sd_bus_error *error, uint64_t id) {
        return sd_bus_error_setf(error, BUS_ERROR(NoSuchJob), "There is no job %" PRIu64 ".", id);
}

static int find_job(sd_bus_message *m, Manager *manager, Job **ret, sd_bus_error *error) {
        uint64_t id;
        int r;

        r = sd_bus_message_read(m, "t", &id);
        if (r < 0)
                return r;
        *ret = ended_find(manager, id);
        if (!*ret)
                return no_such_job(error, id);
        return 0;
}

static int method_stop_job(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        Job *job;
        int r;

        r = refuse_inspecting(manager, error);
        if (r < 0)
                return r;
        r = find_job(m, manager, &job, error);
        if (r < 0)
                return r;
        r = access_check(&manager->access, m, ACTION_MANAGE, job->row.uid, method_stop_job, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        return job_stop_for(m, job, error);
}

/* Looks in the ledger, since jobs that are not listed any more may still have files. */
static int method_remove_job_files(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        uint64_t id, ended_usec;
        uint32_t owner;
        int r;

        r = refuse_inspecting(manager, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(m, "t", &id);
        if (r < 0)
                return r;
        r = ledger_job_ended(manager->context.ledger, id, &owner, &ended_usec);
        if (r == -ENOENT)
                return no_such_job(error, id);
        if (r < 0)
                return r;
        r = access_check(&manager->access, m, ACTION_MANAGE, owner, method_remove_job_files, error);
        if (r <= 0)
                return r < 0 ? r : 1;
        if (ended_usec == 0)
                return sd_bus_error_setf(error, BUS_ERROR(NotEnded),
                                "Job %" PRIu64 " has not ended, and needs its files: stop it first.", id);
        r = files_remove(manager, id, "a user asked for it");
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "The files of job %" PRIu64 " in %s cannot be removed: %s.", id,
                                manager->context.state_directory, g_strerror(-r));
        return sd_bus_reply_method_return(m, NULL);
}

static int method_keep_rest(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        g_autofree char *path = NULL;
        int r;

        if (manager->context.mode != DAEMON_RUN)
                return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "Only the daemon of a run (actorctl run) keeps records aside; this daemon "
                                "waits until it can write them to its ledger.");
        r = refuse_inspecting(manager, error);
        if (r < 0)
                return r;
        r = rest_keep(manager, &path);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r,
                                "The records that the ledger in %s lacks could not be kept anywhere: %s. "
                                "Set TMPDIR= to a directory with free space.",
                                manager->context.state_directory, g_strerror(-r));
        return sd_bus_reply_method_return(m, "s", path ? path : "");
}

static int method_get_job(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job;
        int r;

        r = find_job(m, userdata, &job, error);
        return r < 0 ? r : sd_bus_reply_method_return(m, "o", job->path);
}

static int append_sheet(sd_bus_message *reply, const char *name) {
        g_autofree char *text = NULL, *message = NULL;
        PriceSheet *sheet = NULL;
        int r;

        /* A sheet that cannot be read is listed by its name only, so that the others are still listed. */
        if (sheets_read(name, &text) < 0 || price_sheet_parse(text, name, &sheet, &message) < 0)
                return sd_bus_message_append(
                                reply, "(sssss)", name, "", "", "", message ? message : "cannot be read");
        r = sd_bus_message_append(reply, "(sssss)", name, price_sheet_date(sheet), price_sheet_source(sheet),
                        price_sheet_currency(sheet), price_sheet_description(sheet));
        (void) price_sheet_free(sheet);
        return r;
}

static int method_list_price_sheets(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        g_auto(GStrv) names = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sheets_list(&names);
        if (r < 0)
                return reply_no_sheets(error, r);
        r = reply_list(m, "(sssss)", &reply);
        if (r < 0)
                return r;
        for (char **name = names; *name; name++) {
                r = append_sheet(reply, *name);
                if (r < 0)
                        return r;
        }
        return reply_send(reply);
}

static int method_get_price_sheet(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        g_autofree char *text = NULL;
        const char *name;
        int r;

        r = sd_bus_message_read(m, "s", &name);
        if (r < 0)
                return r;
        r = sheets_read(name, &text);
        if (r < 0)
                return reply_no_sheet(error, name, r);
        return sd_bus_reply_method_return(m, "s", text);
}

#define ANYBODY SD_BUS_VTABLE_UNPRIVILEGED /* a method that is not for all users checks its caller */
#define SUBMIT_ARGS(type) \
        SD_BUS_ARGS(type, text, "s", file_name, "a(ss)", overrides, "a{sh}", files, "a{sv}", options)
#define CONST_(name, type, getter, member) \
        SD_BUS_PROPERTY(name, type, getter, member, SD_BUS_VTABLE_PROPERTY_CONST)
#define CHANGES(name, type, member) \
        SD_BUS_PROPERTY(name, type, NULL, member, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        CONST_("Version", "s", get_version, 0),
        CONST_("Mode", "s", get_mode, 0),
        CONST_("StateDirectory", "s", NULL, offsetof(Manager, context.state_directory)),
        CONST_("MaxJobs", "u", NULL, offsetof(Manager, context.config.max_jobs)),
        CHANGES("NQueued", "u", offsetof(Manager, context.jobs.n_queued)),
        CHANGES("NRunning", "u", offsetof(Manager, context.jobs.n_running)),
        SD_BUS_METHOD_WITH_ARGS("SubmitJob", SUBMIT_ARGS("s"), SD_BUS_RESULT("t", id, "o", job),
                        method_submit_job, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("SubmitJobFile", SUBMIT_ARGS("h"), SD_BUS_RESULT("t", id, "o", job),
                        method_submit_job_file, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetTotals", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(ussssddttt)", totals),
                        method_get_totals, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("KeepRest", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", directory), method_keep_rest,
                        ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("StopJob", SD_BUS_ARGS("t", id), SD_BUS_NO_RESULT, method_stop_job, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("RemoveJobFiles", SD_BUS_ARGS("t", id), SD_BUS_NO_RESULT,
                        method_remove_job_files, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS(
                        "GetJob", SD_BUS_ARGS("t", id), SD_BUS_RESULT("o", job), method_get_job, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("ListJobs", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(tusssso)", jobs),
                        method_list_jobs, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("ListJobsFiltered", SD_BUS_ARGS("a{sv}", filter, "t", after, "u", most),
                        SD_BUS_RESULT("a(tussssstttttddso)", jobs, "t", next), method_list_jobs_filtered,
                        ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetQuota", SD_BUS_ARGS("u", uid), SD_BUS_RESULT("a(sstt)", quotas),
                        method_get_quota, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("ListPriceSheets", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sssss)", sheets),
                        method_list_price_sheets, ANYBODY),
        SD_BUS_METHOD_WITH_ARGS("GetPriceSheet", SD_BUS_ARGS("s", name), SD_BUS_RESULT("s", text),
                        method_get_price_sheet, ANYBODY),
        SD_BUS_SIGNAL_WITH_ARGS("JobNew", SD_BUS_ARGS("t", id, "o", job), 0),
        SD_BUS_SIGNAL_WITH_ARGS("JobRemoved", SD_BUS_ARGS("t", id, "o", job, "s", result), 0),
        SD_BUS_VTABLE_END,
};

/* Finds the Job of a path /org/actord1/job/N, also if the job has ended. */
static int find_object(sd_bus *bus, const char *path, const char *interface, void *userdata,
                void **ret_found, sd_bus_error *error) {
        const char *number = path + strlen(BUS_PATH_JOB_PREFIX "/");
        guint64 id;
        Job *job;

        if (!g_str_has_prefix(path, BUS_PATH_JOB_PREFIX "/") ||
                        !g_ascii_string_to_unsigned(number, 10, 1, G_MAXUINT64, &id, NULL))
                return 0;
        job = ended_find(userdata, id);
        if (!job)
                return 0;
        (void) job_load_summary(job);
        *ret_found = job;
        return 1;
}

/* Lists the jobs that have not ended. ListJobs() and ListJobsFiltered() also list ended ones. */
static int enumerate(
                sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes, sd_bus_error *error) {
        const Manager *manager = userdata;
        char **nodes;
        size_t n = 0;

        nodes = calloc(manager->context.jobs.all->len + 1, sizeof(char *));
        if (!nodes)
                return -ENOMEM;
        JOBS_FOREACH (job, &manager->context.jobs)
                nodes[n++] = strdup(job->path);
        *ret_nodes = nodes;
        return 0;
}

/* Sees every message before its handler. Only calls count as use of the daemon. */
static int on_traffic(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;

        if (sd_bus_message_is_method_call(m, NULL, NULL) <= 0)
                return 0;
        manager_idle_again(manager);
        return turns_take(manager->turns, m);
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        LogEntry entry;

        if (manager->context.mode == DAEMON_RUN) {
                manager->caller_gone = true;
                jobs_schedule(&manager->context.jobs);
                return 0;
        }
        log_begin(&entry, MESSAGE_BUS_LOST);
        log_send(&entry, LOG_ERR, "The connection to the bus is lost; actord ends, running jobs go on.");
        (void) commit_now(&manager->context);
        return sd_event_exit(manager->context.event, EXIT_FAILURE);
}

static int open_pair(Manager *manager, int run_fd) {
        sd_id128_t id;
        int r;

        r = sd_bus_new(&manager->context.bus);
        if (r < 0) {
                (void) close_fd(run_fd);
                return r;
        }
        r = sd_bus_set_fd(manager->context.bus, run_fd, run_fd);
        if (r < 0)
                return r;
        r = sd_id128_randomize(&id);
        if (r < 0)
                return r;
        r = sd_bus_set_server(manager->context.bus, true, id);
        if (r < 0)
                return r;
        r = sd_bus_set_anonymous(manager->context.bus, true);
        if (r < 0)
                return r;
        return sd_bus_negotiate_fds(manager->context.bus, true);
}

static int open_bus(Manager *manager) {
        _cleanup_close_ int in_fd = -EBADF, out_fd = -EBADF;
        _cleanup_free_ char *address = NULL;
        int r;

        r = bus_address(manager->context.mode == DAEMON_SYSTEM, &address);
        if (r < 0)
                return r;
        r = gate_start(address, &in_fd, &out_fd);
        if (r < 0)
                return r;
        r = sd_bus_new(&manager->context.bus);
        if (r < 0)
                return r;
        r = sd_bus_set_fd(manager->context.bus, in_fd, out_fd);
        if (r < 0)
                return r;
        (void) TAKE_FD(in_fd);
        (void) TAKE_FD(out_fd);
        r = sd_bus_set_description(manager->context.bus, "actord");
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(manager->context.bus, true);
        if (r < 0)
                return r;
        r = sd_bus_negotiate_fds(manager->context.bus, true);
        return r < 0 ? r : sd_bus_start(manager->context.bus);
}

int manager_bus_new(Manager *manager, int run_fd) {
        int r;

        assert(manager);

        /* Run mode needs no gate (daemon/gate.c): a caller can only block a daemon of its own. */
        r = manager->context.mode == DAEMON_RUN ? open_pair(manager, run_fd) : open_bus(manager);
        if (r < 0)
                log_line(LOG_ERR, "The %s bus cannot be reached: %s%s.",
                                manager->context.mode == DAEMON_SYSTEM ? "system" : "session",
                                g_strerror(-r), limit_advice(r));
        return r;
}

static int add_objects(Manager *manager) {
        sd_bus *bus = manager->context.bus;
        int r;

        r = sd_bus_add_filter(bus, NULL, on_traffic, manager);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(bus, NULL, BUS_PATH, BUS_INTERFACE_MANAGER, manager_vtable, manager);
        if (r < 0)
                return r;
        r = sd_bus_add_fallback_vtable(
                        bus, NULL, BUS_PATH_JOB_PREFIX, BUS_INTERFACE_JOB, job_vtable, find_object, manager);
        if (r < 0)
                return r;
        r = sd_bus_add_node_enumerator(bus, NULL, BUS_PATH_JOB_PREFIX, enumerate, manager);
        if (r < 0)
                return r;
        r = sd_bus_add_object_manager(bus, NULL, BUS_PATH);
        if (r < 0)
                return r;
        return sd_bus_match_signal(bus, NULL, "org.freedesktop.DBus.Local", "/org/freedesktop/DBus/Local",
                        "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, manager);
}

/* Begins to serve callers. In run mode the caller is connected already; on a bus, callers find the daemon by
 * its name. */
static int serve(Manager *manager) {
        bool has_name = manager->context.mode != DAEMON_RUN;
        int r;

        r = add_objects(manager);
        if (r < 0)
                return r;
        if (!has_name) {
                r = sd_bus_start(manager->context.bus);
                if (r < 0)
                        return r;
        }
        r = sd_bus_attach_event(manager->context.bus, manager->context.event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0 || !has_name)
                return r;
        return manager_name_request(manager);
}

int manager_bus_start(Manager *manager) {
        int r;

        assert(manager);

        manager->turns = turns_new(manager);
        (void) sd_bus_error_add_map(error_map);
        r = serve(manager);
        if (r < 0)
                log_line(LOG_ERR, "The bus cannot be served: %s%s.", g_strerror(-r), limit_advice(r));
        manager_idle_again(manager);
        return r;
}

void manager_emit_counts(Manager *manager) {
        if (manager->said_queued == manager->context.jobs.n_queued &&
                        manager->said_running == manager->context.jobs.n_running)
                return;
        manager->said_queued = manager->context.jobs.n_queued;
        manager->said_running = manager->context.jobs.n_running;
        (void) sd_bus_emit_properties_changed(
                        manager->context.bus, BUS_PATH, BUS_INTERFACE_MANAGER, "NQueued", "NRunning", NULL);
}
