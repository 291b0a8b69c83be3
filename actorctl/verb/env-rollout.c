/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* env rollout: prints the steps of an environment as JSON lines with all digits, for comparison with another
 * implementation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/file.h"
#include "actorctl/follow.h"
#include "actorctl/view/json.h"
#include "actorctl/recording/recording.h"
#include "actorctl/trial.h"
#include "lib/slot.h"

enum { ROLLOUT_STEPS = 1000 };
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

static void print_number(double x) {
        /* 17 digits restore a double exactly. JSON cannot express infinite numbers and NaN. */
        if (isfinite(x))
                printf("%.17g", x);
        else
                fputs("null", stdout);
}

static void print_numbers(const double *numbers, uint64_t n) {
        putchar('[');
        for (uint64_t i = 0; i < n; i++) {
                if (i > 0)
                        fputs(", ", stdout);
                print_number(numbers[i]);
        }
        putchar(']');
}

/* Prints an observation or an action. A single choice is a number, everything else is a list. With several
 * agents, this prints a list with an entry for each agent. */
static void print_value(
                const char *name, uint32_t n_agents, const ActordSpace *space, const double *numbers) {
        uint64_t n = space_numbers(space);

        printf("\"%s\": %s", name, n_agents > 1 ? "[" : "");
        for (uint32_t a = 0; a < n_agents; a++) {
                if (a > 0)
                        fputs(", ", stdout);
                if (space->kind == ACTORD_DISCRETE)
                        print_number(numbers[a]);
                else
                        print_numbers(numbers + a * n, n);
        }
        if (n_agents > 1)
                putchar(']');
}

/* Prints a state: with one part it is a list, with several parts an object of lists. */
static void print_state(const TrialSpec *spec, const double *numbers) {
        fputs("\"state\": ", stdout);
        if (spec->n_parts == 0)
                fputs("null", stdout);
        else if (spec->n_parts == 1)
                print_numbers(numbers, spec->parts[0].n_numbers);
        else
                for (uint32_t i = 0; i < spec->n_parts; i++) {
                        g_autofree char *name = json_quote(spec->parts[i].name);

                        printf("%s%s: ", i == 0 ? "{" : ", ", name);
                        print_numbers(numbers, spec->parts[i].n_numbers);
                        numbers += spec->parts[i].n_numbers;
                        if (i + 1 == spec->n_parts)
                                putchar('}');
                }
}

typedef struct Rollout {
        uint64_t n_steps, n_episodes;
        bool each_state;
        Recording *recording; /* NULL: there is none */
        bool ended;
} Rollout;

/* A picture comes after the row of the step or reset that led to its state. */
static void take_picture(const TrialRow *row, Rollout *rollout) {
        if (!rollout->recording)
                return;
        if (row->kind == TRIAL_FRAME)
                recording_frame(rollout->recording, row->head, row->pixels);
        else
                recording_state(rollout->recording, row->head, row->shapes);
        if (rollout->ended)
                recording_episode_end(rollout->recording);
        rollout->ended = false;
}

static void take_row(const TrialRow *row, void *userdata) {
        const TrialSpec *spec = row->spec;
        const TrialStep *step = row->head;
        Rollout *rollout = userdata;
        uint64_t n_action, n_observation;

        if (row->kind == TRIAL_PICTURE || row->kind == TRIAL_FRAME)
                take_picture(row, rollout);
        if (row->kind == TRIAL_RESET) {
                printf("{\"episode\": %" G_GUINT64_FORMAT ", ", rollout->n_episodes++);
                print_state(spec, row->numbers);
                fputs(", ", stdout);
                print_value("observation", spec->spec.n_agents, &spec->spec.observation,
                                row->numbers + trial_state_numbers(spec));
                puts("}");
                return;
        }
        if (row->kind != TRIAL_STEP)
                return;
        rollout->ended = step->terminated || step->truncated;
        n_action = spec->spec.n_agents * space_numbers(&spec->spec.action);
        n_observation = spec->spec.n_agents * space_numbers(&spec->spec.observation);
        printf("{\"step\": %" G_GUINT64_FORMAT ", ", rollout->n_steps++);
        print_value("action", spec->spec.n_agents, &spec->spec.action, row->numbers);
        fputs(", ", stdout);
        print_value("observation", spec->spec.n_agents, &spec->spec.observation, row->numbers + n_action);
        fputs(", \"reward\": ", stdout);
        print_number(step->reward);
        printf(", \"terminated\": %s, \"truncated\": %s", step->terminated ? "true" : "false",
                        step->truncated ? "true" : "false");
        if (rollout->each_state) {
                fputs(", ", stdout);
                print_state(spec, row->numbers + n_action + n_observation);
        }
        puts("}");
}

static ExitStatus read_file(const char *file, char **ret) {
        int r;

        r = file_read(file, FILE_BYTES_MAX, ret, NULL);
        if (r < 0) {
                complain("%s cannot be read: %s", file, file_reason(r));
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

/* Parses a text as JSON. NULL: the text is not JSON, or is empty. */
static JsonNode *parse(const char *text) {
        g_autofree char *reason = NULL;
        JsonNode *node = NULL;

        return json_parse(text, strlen(text), &node, &reason) < 0 ? NULL : node;
}

static bool append_number(JsonNode *node, GArray *numbers) {
        double x;

        if (!node || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) == G_TYPE_STRING ||
                        json_node_get_value_type(node) == G_TYPE_BOOLEAN)
                return false;
        x = json_node_get_double(node);
        if (json_node_get_value_type(node) == G_TYPE_INT64)
                x = (double) json_node_get_int(node);
        g_array_append_val(numbers, x);
        return true;
}

/* Appends a number, or a list of numbers. */
static bool append_value(JsonNode *node, GArray *numbers) {
        JsonArray *array;

        if (!node || !JSON_NODE_HOLDS_ARRAY(node))
                return append_number(node, numbers);
        array = json_node_get_array(node);
        for (guint i = 0; i < json_array_get_length(array); i++)
                if (!append_number(json_array_get_element(array, i), numbers))
                        return false;
        return true;
}

static JsonNode *member(JsonNode *node, const char *name) {
        return node && JSON_NODE_HOLDS_OBJECT(node)
                               ? json_object_get_member(json_node_get_object(node), name)
                               : NULL;
}

/* Reads one action from each line. Lines of a rollout without an action (those of resets) are skipped. */
static ExitStatus read_actions(const char *file, TrialRequest *request, GArray *numbers) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        guint before = numbers->len;
        ExitStatus status;

        status = read_file(file, &text);
        if (status != STATUS_OK)
                return status;
        lines = g_strsplit(text, "\n", -1);
        for (size_t i = 0; lines[i]; i++) {
                g_autoptr(JsonNode) node = NULL;
                guint from = numbers->len;

                if (!*g_strchug(lines[i]))
                        continue;
                node = parse(lines[i]);
                if (node && JSON_NODE_HOLDS_OBJECT(node) && !member(node, "action"))
                        continue;
                if (!append_value(member(node, "action") ?: node, numbers) ||
                                (request->n_actions > 0 && numbers->len - from != request->action_numbers)) {
                        complain("%s:%zu: write an action as a number, a list of as many numbers as before, "
                                 "or an object with \"action\"",
                                        file, i + 1);
                        return STATUS_USAGE;
                }
                request->action_numbers = numbers->len - from;
                request->n_actions++;
        }
        if (request->n_actions == 0 || numbers->len == before) {
                complain("%s holds no action", file);
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

/* Reads a state: a list, an object of the parts, or an object with such a list or object as "state". */
static bool append_state(JsonNode *node, const TrialSpec *spec, GArray *numbers) {
        JsonNode *state = member(node, "state") ?: node;
        guint from = numbers->len;

        if (!node)
                return false;
        if (JSON_NODE_HOLDS_OBJECT(state)) {
                for (uint32_t i = 0; i < spec->n_parts; i++)
                        if (!append_value(member(state, spec->parts[i].name), numbers))
                                return false;
        } else if (!append_value(state, numbers))
                return false;
        return numbers->len - from == trial_state_numbers(spec) && spec->n_parts > 0;
}

static ExitStatus read_state(const char *file, const TrialSpec *spec, GArray *numbers) {
        g_autoptr(JsonNode) node = NULL;
        g_autoptr(GString) wanted = g_string_new(NULL);
        g_autofree char *text = NULL;
        ExitStatus status;

        if (spec->n_parts == 0) {
                complain("%s does not show its physical state, so none can be set", spec->spec.name);
                return STATUS_USAGE;
        }
        status = read_file(file, &text);
        if (status != STATUS_OK)
                return status;
        node = parse(text);
        if (!node) {
                text[strcspn(text, "\n")] = '\0';
                node = parse(text);
        }
        if (append_state(node, spec, numbers))
                return STATUS_OK;
        for (uint32_t i = 0; i < spec->n_parts; i++)
                g_string_append_printf(wanted, "%s%s of %u numbers", i > 0 ? " and " : "",
                                spec->parts[i].name, spec->parts[i].n_numbers);
        complain("%s: the first line must be a state of %s: %s, as `env rollout` prints it", file,
                        spec->spec.name, wanted->str);
        return STATUS_USAGE;
}

static ExitStatus fill(
                const Options *options, const JobFile *job_file, TrialRequest *request, GArray *numbers) {
        ExitStatus status = STATUS_OK;
        TrialSpec spec;

        if (options->state_file) {
                status = trial_spec(job_file, &spec);
                if (status == STATUS_OK)
                        status = read_state(options->state_file, &spec, numbers);
                request->n_state = numbers->len;
        }
        if (status != STATUS_OK)
                return status;

        if (!options->actions || strcmp(options->actions, "random") == 0)
                request->actions = TRIAL_ACTIONS_RANDOM;
        else if (strcmp(options->actions, "zero") == 0)
                request->actions = TRIAL_ACTIONS_ZERO;
        else {
                request->actions = TRIAL_ACTIONS_GIVEN;
                status = read_actions(options->actions, request, numbers);
                request->n_steps = options->n_steps > 0 ? options->n_steps : request->n_actions;
                if (status == STATUS_OK && request->n_steps > request->n_actions) {
                        complain("--steps=%" G_GUINT64_FORMAT ": %s holds %" G_GUINT64_FORMAT " actions",
                                        request->n_steps, options->actions, request->n_actions);
                        status = STATUS_USAGE;
                }
        }
        return status;
}

static ExitStatus end_recording(const Options *options, Recording *recording) {
        RecordingFacts facts;
        ExitStatus status;

        status = recording_end(recording, &facts);
        if (status == STATUS_OK && !options->quiet)
                recording_print(&facts);
        return status;
}

ExitStatus env_rollout(const Options *options, const char *environment) {
        g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(double));
        TrialRequest request = {
                .kind = TRIAL_ROLLOUT,
                .n_steps = options->n_steps > 0 ? options->n_steps : ROLLOUT_STEPS,
                .each_state = options->states,
                .each_picture = recording_wanted(options),
        };
        g_autoptr(Recording) recording = NULL;
        Rollout rollout = { .each_state = options->states, .n_episodes = 1 };
        TrialVerdict verdict;
        JobFile job_file;
        ExitStatus status;

        status = trial_submission(options, environment, &job_file);
        if (status == STATUS_OK && recording_wanted(options))
                job_file_want_pictures(&job_file);
        if (status == STATUS_OK)
                status = fill(options, &job_file, &request, numbers);
        if (status == STATUS_OK && recording_wanted(options)) {
                /* Ctrl-C must leave no part of a recording behind. Earlier, while this program reads actions
                 * from a pipe, Ctrl-C must end it. */
                follow_prepare();
                status = recording_new(options, &recording);
                rollout.recording = recording;
        }
        if (status == STATUS_OK)
                status = trial_call(&request, &job_file, numbers, take_row, &rollout, &verdict);
        if (status == STATUS_OK)
                status = trial_judge(environment, &verdict);
        job_file_done(&job_file);
        return status == STATUS_OK && recording ? end_recording(options, recording) : status;
}
