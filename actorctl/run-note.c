/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The note is a JSON object. Without notes, a list of some forty runs would start as many daemons to read
 * their ledgers, and a run in progress could not be shown at all. */
#include "actorctl/run-note.h"

#include <stdio.h>

#include "actorctl/file.h"
#include "actorctl/view/json.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/fd.h"

#define NOTE_NAME      "run.json"
#define NOTE_BYTES_MAX (1u << 16)

/* X(kind, name in the note, member of JobStatus) */
#define NOTE_ROWS(X)                                \
        X(text, "state", state)                     \
        X(text, "result", result)                   \
        X(text, "fault", fault)                     \
        X(text, "environment", environment)         \
        X(text, "algorithm", algorithm)             \
        X(text, "currency", currency)               \
        X(whole, "seed", seed)                      \
        X(whole, "rounds", round)                   \
        X(whole, "env_steps", n_env_steps)          \
        X(whole, "stop_steps", stop_steps)          \
        X(whole, "submitted_usec", submitted_usec)  \
        X(whole, "ended_usec", ended_usec)          \
        X(real, "return_mean", return_mean)         \
        X(real, "evaluation_mean", evaluation_mean) \
        X(real, "cost", cost_full)

static JsonNode *from_text(const char *value) {
        return json_node_init_string(json_node_alloc(), value);
}

static JsonNode *from_whole(uint64_t value) {
        return json_unsigned(value);
}

static JsonNode *from_real(double value) {
        return json_real(value);
}

/* Writes without aside_commit(), which would wait for the disk each second. */
static void write_text(const char *path, const char *text, size_t n) {
        _cleanup_(aside_done) Aside aside = ASIDE_EMPTY;

        if (aside_open(path, 0600, &aside) >= 0 && write_full(aside.fd, text, n) >= 0 &&
                        rename(aside.path, path) == 0)
                g_clear_pointer(&aside.path, g_free);
}

void run_note_write(const char *directory, const char *job_file, const JobStatus *status) {
        g_autofree char *path = g_build_filename(directory, NOTE_NAME, NULL), *text = NULL,
                        *valid = g_utf8_make_valid(job_file, -1);
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        size_t n;

        json_object_set_string_member(object, "job_file", valid);
#define X(kind, name, member) json_object_set_member(object, name, from_##kind(status->member));
        NOTE_ROWS(X)
#undef X
        json_object_unref(object);
        text = json_text(node, false, &n);
        write_text(path, text, n);
}

static JsonNode *scalar(JsonObject *object, const char *name) {
        JsonNode *node = json_object_get_member(object, name);

        return node && JSON_NODE_HOLDS_VALUE(node) ? node : NULL;
}

static void read_text(JsonObject *object, const char *name, char **ret) {
        JsonNode *node = scalar(object, name);

        if (!node || json_node_get_value_type(node) != G_TYPE_STRING)
                return;
        g_free(*ret);
        *ret = g_strdup(json_node_get_string(node));
}

static void read_whole(JsonObject *object, const char *name, uint64_t *ret) {
        JsonNode *node = scalar(object, name);

        if (node && json_node_get_value_type(node) == G_TYPE_INT64)
                *ret = json_get_unsigned(node);
}

static void read_real(JsonObject *object, const char *name, double *ret) {
        JsonNode *node = scalar(object, name);

        if (node && json_node_get_value_type(node) != G_TYPE_STRING)
                *ret = json_node_get_double(node);
}

bool run_note_read(const char *directory, RunNote *ret) {
        g_autofree char *path = g_build_filename(directory, NOTE_NAME, NULL), *text = NULL, *reason = NULL;
        g_autoptr(JsonNode) node = NULL;
        JsonObject *object;
        size_t n;

        if (file_read(path, NOTE_BYTES_MAX, &text, &n) < 0 || json_parse(text, n, &node, &reason) < 0 ||
                        !node || !JSON_NODE_HOLDS_OBJECT(node))
                return false;
        object = json_node_get_object(node);
        read_text(object, "job_file", &ret->job_file);
#define X(kind, name, member) read_##kind(object, name, &ret->status.member);
        NOTE_ROWS(X)
#undef X
        return true;
}

bool run_ledger_read(const char *directory, JobStatus *status) {
        g_autoptr(Connection) connection = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        return connection_open_run(directory, &connection) >= 0 &&
               sd_bus_call_method(connection->bus, NULL, BUS_PATH_JOB_PREFIX "/1",
                               "org.freedesktop.DBus.Properties", "GetAll", NULL, &reply, "s",
                               BUS_INTERFACE_JOB) >= 0 &&
               job_status_read(status, reply) >= 0;
}

void run_note_renew(const char *directory, RunNote *note) {
        JobStatus status = job_status_empty();

        if (job_has_ended(&note->status))
                return;
        if (run_ledger_read(directory, &status) && job_has_ended(&status)) {
                run_note_write(directory, note->job_file, &status);
                job_status_done(&note->status);
                note->status = status;
        } else
                job_status_done(&status);
}

void run_note_done(RunNote *note) {
        job_status_done(&note->status);
        g_clear_pointer(&note->job_file, g_free);
}
