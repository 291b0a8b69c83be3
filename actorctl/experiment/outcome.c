/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A finished cell is a file. It has the object that `run --json` prints, and the columns of all rounds. The
 * file gets its name when all of it is on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/experiment/experiment.h"
#include "actorctl/view/json.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/sanitise.h"

/* The version of the file's layout; a file of another version is not read. */
#define OUTCOME_FORMAT 1

Outcome *outcome_free(Outcome *outcome) {
        if (!outcome)
                return NULL;
        if (outcome->result)
                json_node_unref(outcome->result);
        if (outcome->bills)
                json_node_unref(outcome->bills);
        if (outcome->series.names)
                g_ptr_array_unref(outcome->series.names);
        if (outcome->series.values)
                g_ptr_array_unref(outcome->series.values);
        g_free(outcome);
        return NULL;
}

static int write_synced(int directory, const char *name, const char *text, size_t n) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0)
                return -errno;
        r = write_full(fd, text, n);
        if (r < 0)
                return r;
        return fsync(fd) < 0 ? -errno : 0;
}

static int replace_file(const char *directory, const char *name, const char *text, size_t n) {
        _cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autofree char *temporary = g_strdup_printf(".%s.new", name);
        int r;

        if (fd < 0)
                return -errno;
        r = write_synced(fd, temporary, text, n);
        if (r >= 0 && renameat(fd, temporary, fd, name) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(fd, temporary, 0);
                return r;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

int result_file_write(const char *directory, const char *name, const char *text, size_t n) {
        int r;

        r = replace_file(directory, name, text, n);
        if (r < 0)
                complain("%s/%s cannot be written: %s", directory, name, g_strerror(-r));
        return r;
}

static JsonObject *levels_to_json(const Experiment *experiment, const Cell *cell) {
        JsonObject *object = json_object_new();

        for (guint i = 0; i < experiment->factors->len; i++)
                json_object_set_string_member(object, experiment_factor(experiment, i)->name,
                                experiment_level(experiment, cell, i)->name);
        return object;
}

static JsonObject *series_to_json(const Series *series) {
        JsonObject *object = json_object_new();

        for (guint i = 0; series->names && i < series->names->len; i++) {
                const double *column = series->values->pdata[i];
                JsonArray *array = json_array_sized_new((guint) series->n_rounds);

                for (size_t k = 0; k < series->n_rounds; k++)
                        json_array_add_element(array, json_real(column[k]));
                json_object_set_array_member(object, series->names->pdata[i], array);
        }
        return object;
}

static char *file_name(const Cell *cell) {
        return g_strconcat(cell->name, ".json", NULL);
}

int outcome_write(const Experiment *experiment, const Cell *cell, const char *directory) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
        g_autofree char *text = NULL, *name = file_name(cell),
                        *base = g_path_get_basename(experiment->file_name);
        size_t n;

        json_object_set_int_member(object, "format", OUTCOME_FORMAT);
        json_object_set_string_member(object, "experiment", base);
        json_object_set_string_member(object, "cell", cell->name);
        json_object_set_string_member(object, "arm", experiment_arm(experiment, cell->arm)->name);
        json_object_set_object_member(object, "levels", levels_to_json(experiment, cell));
        json_object_set_member(object, "seed", json_unsigned(cell->seed));
        json_object_set_string_member(object, "definition", cell->definition);
        if (cell->fault)
                json_object_set_string_member(object, "fault", cell->fault);
        if (cell->fault && cell->cap_nano > 0)
                json_object_set_member(object, "cap_nano", json_unsigned(cell->cap_nano));
        json_object_set_member(object, "result", json_node_copy(cell->outcome->result));
        if (cell->outcome->bills)
                json_object_set_member(object, "bills", json_node_copy(cell->outcome->bills));
        json_object_set_object_member(object, "rounds", series_to_json(&cell->outcome->series));
        json_object_unref(object);
        text = json_text(node, false, &n);
        return result_file_write(directory, name, text, n);
}

static bool is_number(JsonNode *node) {
        GType type = node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_INVALID;

        return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE;
}

/* The text in a member. NULL: the member is missing or has another type. */
static const char *string_member(JsonObject *object, const char *name) {
        JsonNode *node = json_object_get_member(object, name);

        return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING
                               ? json_node_get_string(node)
                               : NULL;
}

/* Reads the columns of a series. false: they differ in length, or have something other than numbers and
 * nulls. */
static bool series_from_json(JsonObject *object, Series *ret) {
        g_autoptr(GList) names = json_object_get_members(object);

        for (GList *name = names; name; name = name->next) {
                JsonNode *node = json_object_get_member(object, name->data);
                JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
                double *column;

                if (!array || (ret->names && json_array_get_length(array) != ret->n_rounds))
                        return false;
                ret->n_rounds = json_array_get_length(array);
                column = series_add(ret, name->data);
                for (guint i = 0; i < ret->n_rounds; i++) {
                        JsonNode *value = json_array_get_element(array, i);

                        if (is_number(value))
                                column[i] = json_node_get_double(value);
                        else if (!JSON_NODE_HOLDS_NULL(value))
                                return false;
                }
        }
        return true;
}

static JsonObject *object_member(JsonObject *object, const char *name) {
        JsonNode *node = json_object_get_member(object, name);

        return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool has_all(JsonObject *object, const char *const *numbers, const char *const *strings) {
        for (; *numbers; numbers++)
                if (!is_number(json_object_get_member(object, *numbers)))
                        return false;
        for (; *strings; strings++)
                if (!string_member(object, *strings))
                        return false;
        return true;
}

/* Whether the object has all members that a report needs, with the right types. */
static bool result_is_whole(JsonObject *result) {
        static const char *const time[] = { "emulated_s", NULL },
                                 *const totals[] = { "full", "paper", NULL },
                                 *const training[] = { "full", "paper", "episodes", NULL },
                                 *const none[] = { NULL }, *const currency[] = { "currency", NULL },
                                 *const words[] = { "currency", "job", NULL };
        JsonObject *cost = object_member(result, "cost"),
                   *scheduler = cost ? object_member(cost, "scheduler_training") : NULL;

        return cost && has_all(result, time, none) && has_all(cost, totals, currency) &&
               (!scheduler || has_all(scheduler, training, words));
}

static bool series_is_whole(const Series *series) {
        static const char *const needed[] = { "round", "env_steps", "actors", "emulated_s", "cost_full" };
        const double *rounds = series_column(series, "round");

        for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
                if (!series_column(series, needed[i]))
                        return false;
        for (size_t i = 0; i < series->n_rounds; i++)
                if (!(rounds[i] > (i > 0 ? rounds[i - 1] : 0)))
                        return false;
        return true;
}

/* Why the file is not a complete cell. NULL: it is complete; then *ret is NULL if the cell has another
 * definition, or the file another format. */
static const char *outcome_from_json(JsonNode *root, const Cell *cell, Outcome **ret) {
        g_autoptr(Outcome) outcome = g_new0(Outcome, 1);
        JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
        JsonObject *rounds = object ? object_member(object, "rounds") : NULL,
                   *result = object ? object_member(object, "result") : NULL;
        JsonNode *format = object ? json_object_get_member(object, "format") : NULL;
        const char *definition = object ? string_member(object, "definition") : NULL;

        *ret = NULL;
        if (!is_number(format) || !definition)
                return "its format or its definition";
        if (json_node_get_int(format) != OUTCOME_FORMAT || strcmp(definition, cell->definition) != 0)
                return NULL;
        if (!result || !result_is_whole(result))
                return "its result";
        /* A job that failed may have no round. */
        if (!rounds || !series_from_json(rounds, &outcome->series) ||
                        (!string_member(object, "fault") && !series_is_whole(&outcome->series)))
                return "its rounds";
        outcome->result = json_node_copy(json_object_get_member(object, "result"));
        if (object_member(object, "bills"))
                outcome->bills = json_node_copy(json_object_get_member(object, "bills"));
        series_complete(&outcome->series);
        *ret = g_steal_pointer(&outcome);
        return NULL;
}

/* The other experiment to which the file belongs; NULL: it belongs to this one. This experiment's own files
 * may be replaced when a cell's definition changes. Another experiment's result must not be lost. */
static const char *foreign_owner(JsonNode *root, const char *own) {
        JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
        const char *owner = object ? string_member(object, "experiment") : NULL;

        return !owner || strcmp(owner, own) == 0 ? NULL : owner;
}

static int complain_foreign(const char *path, const char *owner) {
        g_autofree char *safe = sanitise_text(owner);

        complain("%s is a cell of %s, whose results would be overwritten: name another directory with "
                 "--output",
                        path, safe);
        return -EEXIST;
}

int outcome_check_owner(const Experiment *experiment, const char *path) {
        g_autofree char *base = g_path_get_basename(experiment->file_name), *reason = NULL;
        g_autoptr(JsonNode) root = NULL;
        const char *owner;

        if (json_read(path, &root, &reason) < 0)
                return 0;
        owner = foreign_owner(root, base);
        return owner ? complain_foreign(path, owner) : 0;
}

/* In a sweep a failed cell counts as finished, unless a limit ended it and that limit has changed since. */
static int take_failure(const Experiment *experiment, Cell *cell, JsonObject *object, Outcome *outcome) {
        g_autoptr(Outcome) failed = outcome;
        JsonNode *cap = json_object_get_member(object, "cap_nano");

        if (!experiment->sweep || (is_number(cap) && json_get_unsigned(cap) != cell->cap_nano))
                return 0;
        cell->state = CELL_FAILED;
        cell->fault = sanitise_text(string_member(object, "fault"));
        cell->cost = outcome_full(failed);
        return 1;
}

int outcome_read(const Experiment *experiment, Cell *cell, const char *directory) {
        g_autofree char *name = file_name(cell), *path = g_build_filename(directory, name, NULL),
                        *base = g_path_get_basename(experiment->file_name);
        g_autoptr(JsonNode) root = NULL;
        g_autofree char *reason = NULL;
        const char *owner, *wrong;
        Outcome *outcome;
        int r;

        r = json_read(path, &root, &reason);
        if (r < 0) {
                if (r != -ENOENT)
                        complain("the file of cell %s cannot be read, so the cell is run again: %s",
                                        cell->name, reason);
                return 0;
        }
        wrong = outcome_from_json(root, cell, &outcome);
        owner = outcome ? NULL : foreign_owner(root, base);
        if (owner)
                return complain_foreign(path, owner);
        if (wrong)
                complain("the file of cell %s is incomplete (%s), so the cell is run again", cell->name,
                                wrong);
        if (!outcome)
                return 0;
        if (string_member(json_node_get_object(root), "fault"))
                return take_failure(experiment, cell, json_node_get_object(root), outcome);
        cell->outcome = outcome;
        cell->state = CELL_DONE;
        return 1;
}
