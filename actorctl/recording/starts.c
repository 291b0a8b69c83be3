/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plays episodes from given states (eval --state, --grid). They show from which states a policy keeps a
 * system in bounds. For an envelope (lib/regulation.h), a grid shows which starts inside the envelope stay
 * inside. */
#include "actorctl/recording/starts.h"

#include <stdio.h>

#include "actorctl/recording/policy.h"
#include "actorctl/view/table.h"
#include "lib/regulation.h"
#include "lib/settings/settings.h"

/* Evenly spaced numbers from low to high; n = 1: only low. */
typedef struct Range {
        double low, high;
        uint64_t n;
} Range;

static bool real_parse(const char *text, double *ret) {
        return settings_parse_real(text, -G_MAXDOUBLE, G_MAXDOUBLE, ret) >= 0;
}

/* Parses "V" or, in a grid, "LOW:HIGH:N". */
static bool range_parse(const char *text, bool grid, Range *ret) {
        g_auto(GStrv) words = g_strsplit(text, ":", 4);
        guint n = g_strv_length(words);

        *ret = (Range){ .n = 1 };
        if (n == 1)
                return real_parse(words[0], &ret->low);
        return grid && n == 3 && real_parse(words[0], &ret->low) && real_parse(words[1], &ret->high) &&
               ret->low < ret->high &&
               g_ascii_string_to_unsigned(words[2], 10, 2, STARTS_MAX, &ret->n, NULL);
}

static double range_at(const Range *range, uint64_t i) {
        return range->n == 1 ? range->low
                             : range->low + (range->high - range->low) * (double) i /
                                                               (double) (range->n - 1);
}

/* All combinations of one number from each range; the last number changes fastest. */
static GArray *ranges_multiply(const GArray *ranges, uint64_t n) {
        GArray *states = g_array_new(FALSE, FALSE, sizeof(double));

        for (uint64_t i = 0; i < n; i++) {
                uint64_t every = n;

                for (guint k = 0; k < ranges->len; k++) {
                        const Range *range = &g_array_index(ranges, Range, k);
                        double x;

                        every /= range->n;
                        x = range_at(range, i / every % range->n);
                        g_array_append_val(states, x);
                }
        }
        return states;
}

ExitStatus starts_read(const Options *options, GArray **ret, uint64_t *ret_n) {
        const char *text = options->grid ? options->grid : options->state_file;
        const char *option = options->grid ? "grid" : "state";
        g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(Range));
        g_auto(GStrv) words = NULL;
        uint64_t n = 1;

        if (!starts_wanted(options)) {
                *ret = NULL;
                return STATUS_OK;
        }
        if (options->grid && options->state_file) {
                complain("--state and --grid cannot be used together");
                return STATUS_USAGE;
        }
        words = g_strsplit(text, ",", 0);
        for (char **word = words; *word; word++) {
                Range range;

                if (!range_parse(*word, options->grid, &range)) {
                        complain("--%s=%s: \"%s\" is not a number%s", option, text, *word,
                                        options->grid ? ", nor LOW:HIGH:N with LOW < HIGH and N of at "
                                                        "least 2"
                                                      : "; --grid takes ranges");
                        return STATUS_USAGE;
                }
                g_array_append_val(ranges, range);
                if (range.n > STARTS_MAX / n) {
                        complain("--grid=%s: it has more than %u states", text, STARTS_MAX);
                        return STATUS_USAGE;
                }
                n *= range.n;
        }
        *ret = ranges_multiply(ranges, n);
        *ret_n = n;
        return STATUS_OK;
}

typedef struct Starts {
        const Options *options;
        const char *environment;
        const GArray *states;
        uint64_t n, n_played, n_inside, n_kept, n_terminated;
        bool enveloped;
        double mean;
        JsonArray *rows; /* NULL: JSON is not wanted */
} Starts;

static bool is_kept(const TrialEpisode *episode) {
        return episode->began_inside && episode->n_outside == 0 && !episode->terminated;
}

static void row_add(const Starts *s, const TrialEpisode *episode) {
        guint n = s->states->len / (guint) s->n;
        JsonObject *row = json_object_new();
        JsonArray *state = json_array_new();

        for (guint i = 0; i < n; i++)
                json_array_add_element(
                                state, json_real(g_array_index(s->states, double, s->n_played *n + i)));
        json_object_set_array_member(row, "state", state);
        json_object_set_member(row, "return", json_real(episode->episode_return));
        json_object_set_member(row, "steps", json_unsigned(episode->n_steps));
        json_object_set_boolean_member(row, "terminated", episode->terminated != 0);
        if (s->enveloped) {
                json_object_set_boolean_member(row, "began_inside", episode->began_inside != 0);
                json_object_set_member(row, "steps_outside", json_unsigned(episode->n_outside));
                json_object_set_member(row, "violations", json_unsigned(episode->n_violations));
                json_object_set_boolean_member(row, "kept", is_kept(episode));
        }
        json_array_add_object_element(s->rows, row);
}

static void take_row(const TrialRow *row, void *userdata) {
        const TrialEpisode *episode = row->head;
        Starts *s = userdata;

        if (row->kind != TRIAL_EPISODE || s->n_played == s->n)
                return;
        if (s->rows)
                row_add(s, episode);
        s->n_played++;
        s->mean += (episode->episode_return - s->mean) / (double) s->n_played;
        s->n_terminated += episode->terminated != 0;
        s->n_inside += episode->began_inside != 0;
        s->n_kept += is_kept(episode);
        if (s->options->json == JSON_OFF && s->n == 1)
                printf("%s: return %.2f, %" G_GUINT64_FORMAT " steps%s\n", s->environment,
                                episode->episode_return, episode->n_steps,
                                episode->terminated ? ", terminated" : "");
}

static void print(const Starts *s) {
        if (s->n > 1)
                printf("%s: mean return %.2f of %" G_GUINT64_FORMAT " starts; %" G_GUINT64_FORMAT
                       " episodes were terminated\n",
                                s->environment, s->mean, s->n_played, s->n_terminated);
        if (s->enveloped)
                printf("  %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                       " starts inside the envelope stayed inside\n",
                                s->n_kept, s->n_inside);
}

static void print_json(Starts *s) {
        JsonObject *object = json_object_new();
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "environment", s->environment);
        json_object_set_member(object, "starts", json_unsigned(s->n_played));
        json_object_set_member(object, "return_mean", json_real(s->mean));
        json_object_set_member(object, "terminated", json_unsigned(s->n_terminated));
        if (s->enveloped) {
                json_object_set_member(object, "began_inside", json_unsigned(s->n_inside));
                json_object_set_member(object, "kept", json_unsigned(s->n_kept));
        }
        json_object_set_array_member(object, "episodes", json_array_ref(s->rows));
        json_print(node, s->options->json);
        json_object_unref(object);
}

static ExitStatus play(Starts *s, const JobFile *job_file, const NamedCheckpoint *from) {
        const TrialRequest request = {
                .kind = TRIAL_PLAY_EPISODES,
                .n_episodes = s->n,
                .n_steps = s->options->n_steps,
        };
        ExitStatus status;

        s->environment = job_file->settings.environment;
        s->enveloped = regulation_asked(&job_file->settings);
        status = policy_play(from, job_file, &request, s->states, take_row, s);
        if (status != STATUS_OK)
                return status;
        if (s->options->json == JSON_OFF)
                print(s);
        else
                print_json(s);
        return STATUS_OK;
}

ExitStatus starts_play(const Options *options, const NamedCheckpoint *from) {
        g_autoptr(JsonArray) rows = options->json == JSON_OFF ? NULL : json_array_new();
        g_autoptr(GArray) states = NULL;
        Starts s = { .options = options, .rows = rows };
        JobFile job_file;
        ExitStatus status;

        status = starts_read(options, &states, &s.n);
        if (status != STATUS_OK)
                return status;
        s.states = states;
        status = job_file_load_text(&job_file, from->name, from->text, options->sets);
        if (status == STATUS_OK)
                status = play(&s, &job_file, from);
        job_file_done(&job_file);
        return status;
}
