/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Jobs are sorted by their groups, so that the jobs of one row are adjacent. A job belongs to the month of
 * its end, in UTC, as in `actorctl totals`. Amounts in different currencies are never added. */
#include "actorctl/view/bill-sums.h"

#include <string.h>

#include "actorctl/job-list.h"
#include "actorctl/job-status.h"
#include "actorctl/view/table.h"

#define MONTH_MAX sizeof("2026-11")

typedef struct Sum {
        const ListedJob *first;
        char month[MONTH_MAX];
        uint64_t n_jobs, n_running, n_env_steps;
        double cost;
} Sum;

typedef struct Grouping {
        unsigned by;
        uint64_t now_usec;
} Grouping;

static const struct {
        const char *word;
        BillBy bit;
} bys[] = {
        { "owner", BILL_BY_OWNER },
        { "tag", BILL_BY_TAG },
        { "month", BILL_BY_MONTH },
        { "job", BILL_BY_JOB },
};

static unsigned by_of(const char *word) {
        for (size_t i = 0; i < G_N_ELEMENTS(bys); i++)
                if (strcmp(bys[i].word, word) == 0)
                        return bys[i].bit;
        return 0;
}

unsigned bill_by_parse(const char *words) {
        g_auto(GStrv) list = g_strsplit(words, ",", 0);
        unsigned by = 0;

        for (char **word = list; *word; word++) {
                unsigned bit = by_of(*word);

                if (!bit) {
                        complain("--by=%s: write owner, tag, month or job, or several, separated by commas, "
                                 "such as owner,month",
                                        words);
                        return 0;
                }
                by |= bit;
        }
        if (!by)
                complain("--by= needs a word: owner, tag, month or job");
        return by;
}

static void month_of(const ListedJob *job, uint64_t now_usec, char ret[MONTH_MAX]) {
        uint64_t usec = job->ended_usec > 0 ? job->ended_usec : now_usec;
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc((int64_t) (usec / 1000000));
        g_autofree char *text = g_date_time_format(time, "%Y-%m");

        (void) g_strlcpy(ret, text, MONTH_MAX);
}

/* Compares the groups of two jobs. 0: both jobs belong to one row of the bill. */
static int compare_groups(const ListedJob *a, const ListedJob *b, const Grouping *grouping) {
        char month_a[MONTH_MAX], month_b[MONTH_MAX];
        int r = 0;

        if (grouping->by & BILL_BY_MONTH) {
                month_of(a, grouping->now_usec, month_a);
                month_of(b, grouping->now_usec, month_b);
                r = strcmp(month_a, month_b);
        }
        if (r == 0 && (grouping->by & BILL_BY_OWNER))
                r = (a->uid > b->uid) - (a->uid < b->uid);
        if (r == 0 && (grouping->by & BILL_BY_TAG))
                r = strcmp(a->tag, b->tag);
        if (r == 0 && (grouping->by & BILL_BY_JOB))
                r = (a->id > b->id) - (a->id < b->id);
        return r != 0 ? r : strcmp(a->currency, b->currency);
}

static gint compare_jobs(gconstpointer a, gconstpointer b, gpointer grouping) {
        return compare_groups(a, b, grouping);
}

static GArray *sums_make(GArray *jobs, Grouping *grouping) {
        GArray *sums = g_array_new(FALSE, FALSE, sizeof(Sum));
        Sum *sum = NULL;

        g_array_sort_with_data(jobs, compare_jobs, grouping);
        for (guint i = 0; i < jobs->len; i++) {
                const ListedJob *job = &g_array_index(jobs, ListedJob, i);

                if (!sum || compare_groups(sum->first, job, grouping) != 0) {
                        Sum new = { .first = job };

                        month_of(job, grouping->now_usec, new.month);
                        g_array_append_val(sums, new);
                        sum = &g_array_index(sums, Sum, sums->len - 1);
                }
                sum->n_jobs++;
                sum->n_running += strcmp(job->state, "ended") != 0;
                sum->n_env_steps += job->n_env_steps;
                sum->cost += job->cost;
        }
        return sums;
}

static Table *sums_table(unsigned by) {
        Table *table = table_new();

        if (by & BILL_BY_MONTH)
                table_column(table, "MONTH", "month", COLUMN_TEXT);
        if (by & BILL_BY_OWNER) {
                table_column(table, "OWNER", "owner", COLUMN_TEXT);
                table_column(table, "UID", "uid", COLUMN_JSON);
        }
        if (by & BILL_BY_TAG)
                table_column(table, "TAG", "tag", COLUMN_TEXT);
        if (by & BILL_BY_JOB)
                table_column(table, "JOB", "job", COLUMN_NUMBER);
        table_column(table, "JOBS", "jobs", COLUMN_NUMBER);
        table_column(table, "NOT ENDED", "not_ended", COLUMN_NUMBER);
        table_column(table, "STEPS", "env_steps", COLUMN_NUMBER);
        table_column(table, "COST", "cost_full", COLUMN_NUMBER);
        table_column(table, "CURRENCY", "currency", COLUMN_JSON);
        table_spare(table, "not_ended");
        table_spare(table, "env_steps");
        return table;
}

static void add_row(Table *table, unsigned by, const Sum *sum) {
        char count[32], money[48];

        if (by & BILL_BY_MONTH)
                table_string(table, sum->month);
        if (by & BILL_BY_OWNER) {
                table_user(table, sum->first->uid);
                table_unsigned(table, sum->first->uid);
        }
        if (by & BILL_BY_TAG)
                table_string(table, sum->first->tag);
        if (by & BILL_BY_JOB)
                table_unsigned(table, sum->first->id);
        table_unsigned(table, sum->n_jobs);
        table_unsigned(table, sum->n_running);
        table_shown(table, format_count(sum->n_env_steps, count), json_unsigned(sum->n_env_steps));
        table_shown(table, format_money(sum->cost, sum->first->currency, money), json_real(sum->cost));
        table_shown(table, "", json_word(sum->first->currency));
}

/* "0.3000 EUR and 1.20 USD", for all jobs; g_free(). */
static char *total_text(GArray *jobs) {
        Grouping nothing = {};
        g_autoptr(GArray) sums = sums_make(jobs, &nothing);
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < sums->len; i++) {
                const Sum *sum = &g_array_index(sums, Sum, i);
                char money[48];

                g_string_append_printf(text, "%s%s", i > 0 ? " and " : "",
                                format_money(sum->cost, sum->first->currency, money));
        }
        return g_string_free(text, FALSE);
}

void bill_sums_print(GArray *jobs, unsigned by, uint64_t now_usec, const Options *options) {
        Grouping grouping = { by, now_usec };
        g_autoptr(GArray) sums = sums_make(jobs, &grouping);
        g_autoptr(Table) table = sums_table(by);

        for (guint i = 0; i < sums->len; i++)
                add_row(table, by, &g_array_index(sums, Sum, i));
        table_print(table, options, "row");
        if (options->json == JSON_OFF && !options->no_legend && jobs->len > 0) {
                g_autofree char *total = total_text(jobs);

                print_line(2, "full total: %s", total);
        }
}
