/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints a trained scheduler as lines or as JSON: its training, and the training's cost. */
#include <stdio.h>

#include "actorctl/job-status.h"
#include "actorctl/scheduler/trained.h"
#include "actorctl/view/table.h"

static JsonObject *start_to_json(const MinionsModel *m) {
        JsonObject *object = json_object_new();

        json_object_set_string_member(object, "name", m->start);
        json_object_set_string_member(object, "environment", m->start_environment);
        json_object_set_member(object, "episodes", json_unsigned(m->start_episodes));
        json_object_set_member(object, "wall_s", json_real((double) m->start_wall_nsec / 1e9));
        json_object_set_member(object, "paper", json_real(m->start_paper));
        json_object_set_member(object, "full", json_real(m->start_full));
        return object;
}

static JsonNode *trained_to_json(const Trained *trained) {
        const MinionsModel *m = &trained->model;
        JsonObject *object = json_object_new(), *training = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);

        json_object_set_string_member(object, "name", trained->name);
        json_object_set_string_member(object, "file", trained->path);
        json_object_set_string_member(object, "job", m->job);
        json_object_set_string_member(object, "environment", m->environment);
        json_object_set_member(object, "actors_max", json_unsigned(m->n_choices));
        json_object_set_member(object, "target", json_real(m->target));
        json_object_set_member(training, "seed", json_unsigned(m->seed));
        json_object_set_member(training, "episodes", json_unsigned(m->n_episodes));
        json_object_set_boolean_member(training, "finished", m->n_asked == 0);
        if (m->n_asked > 0)
                json_object_set_member(training, "episodes_asked", json_unsigned(m->n_asked));
        json_object_set_member(training, "rounds", json_unsigned(m->n_rounds));
        json_object_set_member(training, "beta", json_real(m->beta));
        json_object_set_member(training, "wall_s", json_real((double) m->wall_nsec / 1e9));
        json_object_set_member(training, "emulated_s", json_real((double) m->emulated_nsec / 1e9));
        json_object_set_member(training, "trained_usec", json_unsigned(m->trained_usec));
        json_object_set_string_member(training, "currency", m->currency);
        json_object_set_string_member(training, "price_sheet", m->price_sheet);
        json_object_set_member(training, "paper", json_real(m->cost_paper));
        json_object_set_member(training, "full", json_real(m->cost_full));
        json_object_set_object_member(object, "training", training);
        if (*m->start)
                json_object_set_object_member(object, "from", start_to_json(m));
        json_object_unref(object);
        return node;
}

void trained_print(const Trained *trained, const Options *options) {
        const MinionsModel *m = &trained->model;
        char rounds[32], runs[32], wall[32], emulated[32], paper[48], full[48];

        if (options->json != JSON_OFF) {
                g_autoptr(JsonNode) node = trained_to_json(trained);

                json_print(node, options->json);
                return;
        }
        print_line(14, "scheduler     %s", trained->name);
        print_line(14, "file          %s", trained->path);
        print_line(14, "trained on    %s (%s), 1 to %u actors, seed %" G_GUINT64_FORMAT "", m->job,
                        m->environment, m->n_choices, m->seed);
        print_line(14, "target        a return of %g", m->target);
        print_line(14,
                        "reward        less %g for each second on the emulated clock, and less the share of "
                        "the target that a run missed",
                        m->beta);
        printf("training      %s runs, %s rounds", format_count(m->n_episodes, runs),
                        format_count(m->n_rounds, rounds));
        if (m->n_asked > 0)
                printf("; unfinished: interrupted, of at least %s runs", format_count(m->n_asked, runs));
        printf("\n");
        print_line(14, "time          %s on its host; %s on the emulated fleet",
                        format_duration(m->wall_nsec, wall), format_duration(m->emulated_nsec, emulated));
        print_line(14, "its bill      paper total %s, full total %s (prices: %s)",
                        format_money(m->cost_paper, m->currency, paper),
                        format_money(m->cost_full, m->currency, full), m->price_sheet);
        if (!*m->start)
                return;
        print_line(14, "begun with    %s (%s), %s runs, which took %s", m->start, m->start_environment,
                        format_count(m->start_episodes, runs), format_duration(m->start_wall_nsec, wall));
        print_line(14, "its bill      paper total %s, full total %s",
                        format_money(m->start_paper, m->currency, paper),
                        format_money(m->start_full, m->currency, full));
        print_line(14, "together      paper total %s, full total %s",
                        format_money(m->start_paper + m->cost_paper, m->currency, paper),
                        format_money(m->start_full + m->cost_full, m->currency, full));
}
