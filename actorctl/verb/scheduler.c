/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* scheduler: trains, lists, shows, exports and removes trained schedulers. */
#include <stdio.h>
#include <string.h>

#include "actorctl/file.h"
#include "actorctl/job-status.h"
#include "actorctl/view/table.h"
#include "actorctl/scheduler/train.h"
#include "actorctl/scheduler/trained.h"

/* Says where a scheduler comes from. "replaced": the user has a scheduler of the same name, which is used
 * instead. */
static const char *origin_of(const Trained *trained) {
        if (trained->own)
                return "own";
        return trained->replaced ? "shipped, replaced" : "shipped";
}

static ExitStatus list(const Options *options) {
        g_autoptr(GPtrArray) all = trained_list();
        g_autoptr(Table) table = table_new();
        char full[48];

        table_column(table, "SCHEDULER", "name", COLUMN_TEXT);
        table_column(table, "ORIGIN", "origin", COLUMN_TEXT);
        table_column(table, "JOB", "job", COLUMN_TEXT);
        table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        table_column(table, "ACTORS", "actors_max", COLUMN_NUMBER);
        table_column(table, "TARGET", "target", COLUMN_NUMBER);
        table_column(table, "RUNS", "episodes", COLUMN_NUMBER);
        table_column(table, "BILL", "full", COLUMN_NUMBER);
        table_column(table, "CURRENCY", "currency", COLUMN_JSON);
        table_column(table, "FILE", "file", COLUMN_JSON);
        table_spare(table, "job");
        table_spare(table, "origin");
        for (guint i = 0; i < all->len; i++) {
                const Trained *t = all->pdata[i];
                double total = t->model.start_full + t->model.cost_full;

                table_string(table, t->name);
                table_string(table, origin_of(t));
                table_string(table, t->model.job);
                table_string(table, t->model.environment);
                table_unsigned(table, t->model.n_choices);
                table_real(table, t->model.target, "%g");
                table_unsigned(table, t->model.n_episodes);
                table_shown(table, format_money(total, t->model.currency, full), json_real(total));
                table_shown(table, "", json_word(t->model.currency));
                table_string(table, t->path);
        }
        table_page(table, options, "trained scheduler");
        return STATUS_OK;
}

static ExitStatus show_or_export(const Options *options, const char *name, const char *to) {
        g_autofree char *message = NULL;
        g_autoptr(Trained) trained = trained_open(name, &message);
        int r;

        if (!trained) {
                complain("%s", message);
                return STATUS_USAGE;
        }
        if (!to) {
                trained_print(trained, options);
                return STATUS_OK;
        }
        if (!may_replace(to))
                return STATUS_USAGE;
        r = file_write(to, trained->data, trained->n);
        if (r < 0)
                complain("scheduler %s cannot be written to %s: %s", name, to, g_strerror(-r));
        return r < 0 ? STATUS_FAILED : STATUS_OK;
}

ExitStatus verb_scheduler(const Options *options, char **arguments, size_t n) {
        static const char *const of_training[] = { "set", "seed", "episodes", "rounds", "target", "name",
                "from", NULL };
        const char *word = n > 0 ? arguments[0] : "list";
        g_autofree char *words = g_strconcat("scheduler ", word, NULL);

        if (strcmp(word, "train") != 0 && options_refuse(options, words, of_training) != STATUS_OK)
                return STATUS_USAGE;
        if (n <= 1 && strcmp(word, "list") == 0)
                return list(options);
        if (n == 2 && strcmp(word, "show") == 0)
                return show_or_export(options, arguments[1], NULL);
        if (n == 3 && strcmp(word, "export") == 0)
                return show_or_export(options, arguments[1], arguments[2]);
        if (n == 2 && strcmp(word, "train") == 0)
                return train(options, arguments[1]);
        if (n == 2 && strcmp(word, "remove") == 0)
                return trained_remove(arguments[1], options);
        complain("scheduler takes one of: list, show NAME, train FILE, export NAME FILE, remove NAME");
        return STATUS_USAGE;
}
