/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon does not wait for polkit's answer: it keeps the message, and the message's handler runs a
 * second time when the answer has come. */
#include "daemon/access.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "daemon/audience.h"
#include "daemon/job.h"
#include "daemon/line.h"
#include "daemon/senders.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define QUERY_TIMEOUT_USEC (120ull * 1000 * 1000) /* a person may have to type a password */

typedef struct AccessQuery {
        Access *access;
        sd_bus_message *message;
        sd_bus_message_handler_t handler;
        sd_bus_slot *slot;
        uint32_t uid, owner;
        bool answered, allowed, challenge;
} AccessQuery;

static void query_free(void *p) {
        AccessQuery *query = p;

        query->slot = sd_bus_slot_unref(query->slot);
        query->message = sd_bus_message_unref(query->message);
        g_free(query);
}

void access_init(Access *access, const JobContext *context, Lines *lines) {
        assert(access);
        assert(context);
        assert(lines);

        *access = (Access){
                .context = context,
                .lines = lines,
                .senders = senders_new(),
                .queries = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, query_free),
        };
}

void access_done(Access *access) {
        assert(access);

        if (access->queries)
                g_hash_table_unref(access->queries);
        access->senders = senders_free(access->senders);
}

int access_uid(Access *access, sd_bus_message *message, uint32_t *ret, sd_bus_error *error) {
        const char *sender = sd_bus_message_get_sender(message);
        sd_bus_creds *creds = NULL;
        uid_t uid;
        int r;

        assert(access);
        assert(ret);

        if (access->context->mode == DAEMON_RUN) {
                *ret = getuid();
                return 0;
        }
        if (sender && senders_find(access->senders, sender, ret))
                return 0;
        r = sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID, &creds);
        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, &uid);
        (void) sd_bus_creds_unref(creds);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "The bus does not say who you are.");
        if (sender)
                senders_add(access->senders, sender, uid);
        *ret = uid;
        return 0;
}

/* Finds the user's name in /etc/passwd alone. Other sources may need a network, and the daemon must not wait
 * for one. */
static char *name_of(uint32_t uid) {
        _cleanup_fclose_ FILE *f = fopen("/etc/passwd", "re");
        const struct passwd *row;

        while (f && (row = fgetpwent(f)))
                if (row->pw_uid == uid)
                        return g_strdup(row->pw_name);
        return g_strdup_printf("user %" PRIu32, uid);
}

/* The number of the job that a call concerns; 0: none. */
static uint64_t job_of(sd_bus_message *message) {
        const char *path = sd_bus_message_get_path(message);
        uint64_t id = 0;

        if (path && sscanf(path, BUS_PATH_JOB_PREFIX "/%" SCNu64, &id) == 1)
                return id;
        if (sd_bus_message_has_signature(message, "t") > 0 && sd_bus_message_rewind(message, true) >= 0 &&
                        sd_bus_message_read(message, "t", &id) >= 0)
                return id;
        return 0;
}

static int refuse(sd_bus_message *message, const char *action, uint32_t owner, bool challenge,
                sd_bus_error *error) {
        const char *name = challenge ? SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED
                                     : SD_BUS_ERROR_ACCESS_DENIED;
        g_autofree char *whose = NULL;
        uint64_t job = job_of(message);

        if (g_str_equal(action, ACTION_SUBMIT))
                return sd_bus_error_setf(error, name,
                                "You may not submit jobs here: ask an administrator for an authorization "
                                "(polkit action " ACTION_SUBMIT ").");
        whose = name_of(owner);
        if (job == 0)
                return sd_bus_error_setf(error, name,
                                "Only %s may see this: ask them, or an administrator for an "
                                "authorization (polkit action " ACTION_MANAGE ").",
                                whose);
        return sd_bus_error_setf(error, name,
                        "Job %" PRIu64 " belongs to %s: ask them, or an administrator for an authorization "
                        "(polkit action " ACTION_MANAGE ").",
                        job, whose);
}

static int on_polkit(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        AccessQuery *query = userdata;
        sd_bus_message *message = query->message;
        Access *access = query->access;
        const sd_bus_error *e = sd_bus_message_get_error(reply);
        int allowed = 0, challenge = 0;

        assert(access);

        if (!e)
                (void) sd_bus_message_read(reply, "(bba{ss})", &allowed, &challenge, 0);
        else if (sd_bus_error_has_name(e, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
                        sd_bus_error_has_name(e, SD_BUS_ERROR_NAME_HAS_NO_OWNER) ||
                        sd_bus_error_has_name(e, "org.freedesktop.systemd1.LoadFailed"))
                allowed = query->uid == query->owner;
        query->answered = true;
        query->allowed = allowed;
        query->challenge = challenge;

        line_leave(access->lines, LINE_QUERIES, message);
        call_again(access->lines, message, query->handler);
        (void) g_hash_table_remove(access->queries, message);
        return 1;
}

static int ask(Access *access, sd_bus_message *message, const char *action, uint32_t uid, uint32_t owner,
                sd_bus_message_handler_t handler, sd_bus_error *error) {
        AccessQuery *query;
        sd_bus_message *m = NULL;
        int r, interactive;

        interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0;
        r = sd_bus_message_new_method_call(access->context->bus, &m, "org.freedesktop.PolicyKit1",
                        "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority",
                        "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(m, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
                                sd_bus_message_get_sender(message), action, 0, interactive, "");

        query = g_new0(AccessQuery, 1);
        *query = (AccessQuery){
                .access = access,
                .message = sd_bus_message_ref(message),
                .handler = handler,
                .uid = uid,
                .owner = owner,
        };
        if (r >= 0)
                r = sd_bus_call_async(
                                access->context->bus, &query->slot, m, on_polkit, query, QUERY_TIMEOUT_USEC);
        (void) sd_bus_message_unref(m);
        if (r < 0) {
                query_free(query);
                return sd_bus_error_set_errnof(error, r, "polkit could not be asked.");
        }
        (void) g_hash_table_insert(access->queries, message, query);
        return 0;
}

int access_check(Access *access, sd_bus_message *message, const char *action, uint32_t owner,
                sd_bus_message_handler_t handler, sd_bus_error *error) {
        const AccessQuery *query;
        uint32_t uid;
        int r;

        assert(access);
        assert(message);

        query = g_hash_table_lookup(access->queries, message);
        if (query && query->answered)
                return query->allowed ? 1 : refuse(message, action, owner, query->challenge, error);

        r = access_uid(access, message, &uid, error);
        if (r < 0)
                return r;
        if (access->context->mode == DAEMON_RUN || uid == 0)
                return 1;
        if (access->context->mode == DAEMON_USER)
                return uid == getuid() ? 1 : refuse(message, action, owner, false, error);
        if (g_str_equal(action, ACTION_MANAGE) && uid == owner)
                return 1;
        r = line_enter(access->lines, LINE_QUERIES, message, uid, handler, error);
        if (r <= 0)
                return r;
        r = ask(access, message, action, uid, owner, handler, error);
        if (r < 0)
                line_leave(access->lines, LINE_QUERIES, message);
        return r;
}

int access_job(Job *job, sd_bus_message *message, sd_bus_message_handler_t handler, sd_bus_error *error) {
        assert(job);

        if (audience_of_method(sd_bus_message_get_member(message)) != AUDIENCE_OWN)
                return 1;
        return access_check(job->context->access, message, ACTION_MANAGE, job->row.uid, handler, error);
}

int access_owns(Job *job, sd_bus_message *message, sd_bus_error *error) {
        uint32_t uid;
        int r;

        assert(job);

        if (job->context->mode != DAEMON_SYSTEM)
                return 1;
        r = access_uid(job->context->access, message, &uid, error);
        return r < 0 ? r : uid == 0 || uid == job->row.uid;
}
