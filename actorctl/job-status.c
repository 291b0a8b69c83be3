/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reader, the JSON writer and the destructor are made from the list of properties, so a new property
 * needs only a row there. */
#include "actorctl/job-status.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "actorctl/view/table.h"
#include "include/bus.h"
#include "include/record.h"
#include "lib/cleanup.h"
#include "lib/string-tables.h"

#define INIT_t(value)  (void) (value)
#define INIT_u(value)  (void) (value)
#define INIT_b(value)  (void) (value)
#define INIT_d(value)  *(value) = NAN
#define INIT_s(value)  *(value) = g_strdup("")
#define INIT_as(value) *(value) = g_new0(char *, 1)
#define INIT_ad(value) (void) (value)

#define DONE_t(value)  (void) (value)
#define DONE_u(value)  (void) (value)
#define DONE_b(value)  (void) (value)
#define DONE_d(value)  (void) (value)
#define DONE_s(value)  g_free(*(value))
#define DONE_as(value) g_strfreev(*(value))
#define DONE_ad(value) g_free((value)->values)

JobStatus job_status_empty(void) {
        JobStatus status = {};

#define X(type, property, member, changes) INIT_##type(&status.member);
        JOB_PROPERTIES(X)
#undef X
        return status;
}

void job_status_done(JobStatus *status) {
#define X(type, property, member, changes) DONE_##type(&status->member);
        JOB_PROPERTIES(X)
#undef X
        *status = (JobStatus){};
}

static int read_t(sd_bus_message *m, property_t *ret) {
        return sd_bus_message_read(m, "t", ret);
}

static int read_u(sd_bus_message *m, property_u *ret) {
        return sd_bus_message_read(m, "u", ret);
}

static int read_b(sd_bus_message *m, property_b *ret) {
        return sd_bus_message_read(m, "b", ret);
}

static int read_d(sd_bus_message *m, property_d *ret) {
        return sd_bus_message_read(m, "d", ret);
}

static int read_s(sd_bus_message *m, property_s *ret) {
        const char *value;
        int r;

        r = sd_bus_message_read(m, "s", &value);
        if (r < 0)
                return r;
        g_free(*ret);
        *ret = g_strdup(value);
        return 0;
}

static int read_as(sd_bus_message *m, property_as *ret) {
        char **value = NULL;
        int r;

        r = sd_bus_message_read_strv(m, &value);
        if (r < 0)
                return r;
        g_strfreev(*ret);
        *ret = value ? value : g_new0(char *, 1);
        return 0;
}

static int read_ad(sd_bus_message *m, property_ad *ret) {
        const void *values;
        size_t bytes;
        int r;

        r = sd_bus_message_read_array(m, 'd', &values, &bytes);
        if (r < 0)
                return r;
        g_free(ret->values);
        ret->values = g_memdup2(values, bytes);
        ret->n = bytes / sizeof(double);
        return 0;
}

static int read_property(JobStatus *status, const char *name, sd_bus_message *m) {
#define X(type, property, member, changes)                           \
        if (strcmp(name, #property) == 0) {                          \
                int r;                                               \
                                                                     \
                r = sd_bus_message_enter_container(m, 'v', #type);   \
                if (r < 0)                                           \
                        return r;                                    \
                r = read_##type(m, &status->member);                 \
                return r < 0 ? r : sd_bus_message_exit_container(m); \
        }
        JOB_PROPERTIES(X)
#undef X
        /* A newer daemon may have more properties. */
        return sd_bus_message_skip(m, "v");
}

int job_status_read(JobStatus *status, sd_bus_message *message) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                const char *name;

                r = sd_bus_message_read(message, "s", &name);
                if (r < 0)
                        return r;
                r = read_property(status, name, message);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(message);
}

static int read_answer(JobStatus *status, sd_bus_message *reply, const char *path) {
        int r;

        r = job_status_read(status, reply);
        if (r < 0)
                complain("the daemon's answer about %s cannot be read: %s", path, g_strerror(-r));
        return r;
}

int job_status_fetch(JobStatus *status, Connection *connection, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = connection_call(connection, path, "org.freedesktop.DBus.Properties", "GetAll", &reply, "s",
                        BUS_INTERFACE_JOB);
        if (r < 0)
                return r;
        return read_answer(status, reply, path);
}

int job_status_fetch_listed(JobStatus *status, Connection *connection, const char *path) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_call_method(connection->bus, connection->destination, path,
                        "org.freedesktop.DBus.Properties", "GetAll", &error, &reply, "s", BUS_INTERFACE_JOB);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT))
                return 0;
        /* After other errors, such as a busy daemon, the call is repeated. If the error stays, it is
         * reported. */
        if (r < 0) {
                r = job_status_fetch(status, connection, path);
                return r < 0 ? r : 1;
        }
        r = read_answer(status, reply, path);
        return r < 0 ? r : 1;
}

static void listed_clear(gpointer listed) {
        g_free(((JobListed *) listed)->path);
}

int jobs_fetch(Connection *connection, GArray **ret) {
        g_autoptr(GArray) jobs = g_array_new(FALSE, FALSE, sizeof(JobListed));
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *state, *path;
        int r;

        g_array_set_clear_func(jobs, listed_clear);
        r = connection_call(connection, BUS_PATH, BUS_INTERFACE_MANAGER, "ListJobs", &reply, NULL);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(reply, 'a', "(tusssso)");
        while (r > 0 && (r = sd_bus_message_read(reply, "(tusssso)", NULL, NULL, &state, NULL, NULL, NULL,
                                         &path)) > 0) {
                JobListed job = { .path = g_strdup(path), .ended = strcmp(state, "ended") == 0 };

                g_array_append_val(jobs, job);
        }
        if (r < 0) {
                complain("the list of jobs cannot be read: %s", g_strerror(-r));
                return r;
        }
        *ret = g_steal_pointer(&jobs);
        return 0;
}

bool job_has_ended(const JobStatus *status) {
        return strcmp(status->state, "ended") == 0;
}

ExitStatus job_exit_status(const JobStatus *status) {
        static const struct {
                const char *result;
                ExitStatus status;
        } rows[] = {
                { "finished", STATUS_OK },
                { "target-reached", STATUS_OK },
                { "runtime-exceeded", STATUS_OK },
                { "budget-exhausted", STATUS_BUDGET },
                { "interrupted", STATUS_INTERRUPTED },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (strcmp(status->result, rows[i].result) == 0)
                        return rows[i].status;
        return STATUS_FAILED;
}

/* Whether the daemon's sentence contains the fault's sentence up to its first bracket or conversion. */
static bool says_fault(const char *sentence, uint32_t fault) {
        const char *pattern = fault_sentence(fault);
        g_autofree char *words = g_strndup(pattern, strcspn(pattern, "(%"));

        return strstr(sentence, g_strchomp(words));
}

bool job_environment_failed(const JobStatus *status) {
        return status->n_env_steps == 0 && strcmp(status->result, "failed") == 0 &&
               (says_fault(status->fault, FAULT_LOAD) || says_fault(status->fault, FAULT_SPEC));
}

#define JSON_NAME_MAX 64u

/* Writes the property's name into `ret` as run --json has it: in snake_case, with "_s" for nanoseconds,
 * which become seconds. Returns `ret`, or a constant. */
static const char *json_name(const char *property, char ret[JSON_NAME_MAX]) {
        static const char *const others[][2] = { { "id", "job" }, { "user_id", "uid" },
                { "round", "rounds" }, { "evaluation_deviation", "evaluation_sd" } };
        size_t length = strlen(property), n = 0;
        const char *unit = "";

        if (g_str_has_suffix(property, "USec"))
                unit = "_usec";
        if (g_str_has_suffix(property, "NSec"))
                unit = "_s";
        length -= *unit ? strlen("USec") : 0;
        for (size_t i = 0; i < length && n + 2 < JSON_NAME_MAX; i++) {
                bool upper = g_ascii_isupper(property[i]),
                     begins = i + 1 < length && g_ascii_islower(property[i + 1]);

                if (i > 0 && upper && (begins || g_ascii_islower(property[i - 1])))
                        ret[n++] = '_';
                ret[n++] = g_ascii_tolower(property[i]);
        }
        ret[n] = '\0';
        (void) g_strlcat(ret, unit, JSON_NAME_MAX);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                if (strcmp(ret, others[i][0]) == 0)
                        return others[i][1];
        return ret;
}

static JsonNode *json_t(const char *property, property_t value) {
        if (g_str_has_suffix(property, "NSec"))
                return json_real((double) value / 1e9);
        return g_str_has_suffix(property, "USec") ? json_usec(value) : json_unsigned(value);
}

static JsonNode *json_u(const char *property, property_u value) {
        return json_unsigned(value);
}

static JsonNode *json_b(const char *property, property_b value) {
        return json_node_init_boolean(json_node_alloc(), value);
}

static JsonNode *json_d(const char *property, property_d value) {
        return json_real(value);
}

static JsonNode *json_s(const char *property, const char *value) {
        return json_word(value);
}

static JsonNode *json_as(const char *property, char **value) {
        JsonArray *array = json_array_new();
        JsonNode *node = json_node_init_array(json_node_alloc(), array);

        for (; *value; value++)
                json_array_add_string_element(array, *value);
        json_array_unref(array);
        return node;
}

static JsonNode *json_ad(const char *property, property_ad value) {
        JsonArray *array = json_array_new();
        JsonNode *node = json_node_init_array(json_node_alloc(), array);

        for (size_t i = 0; i < value.n; i++)
                json_array_add_element(array, json_real(value.values[i]));
        json_array_unref(array);
        return node;
}

double job_metric(const JobStatus *status, const property_ad *means, size_t i) {
        return i < means->n && i < g_strv_length(status->metric_names) ? means->values[i] : NAN;
}

JsonNode *job_metrics_to_json(const JobStatus *status, const property_ad *means) {
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);

        for (size_t i = 0; status->metric_names[i]; i++)
                json_object_set_member(
                                object, status->metric_names[i], json_real(job_metric(status, means, i)));
        json_object_unref(object);
        return node;
}

JsonNode *job_status_to_json(const JobStatus *status) {
        JsonObject *object = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);
        char name[JSON_NAME_MAX];

#define X(type, property, member, changes) \
        json_object_set_member(object, json_name(#property, name), json_##type(#property, status->member));
        JOB_PROPERTIES(X)
#undef X
        if (!status->target_reached) {
                json_object_set_null_member(object, "target_env_steps");
                json_object_set_null_member(object, "target_wall_s");
        }
        json_object_unref(object);
        return node;
}
