/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* top: shows the present usage of the jobs that have not ended, or of the processes of one job. Rates and
 * CPU shares are differences between two readings, so the first table appears after a second. */
#include <assert.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "actorctl/job-open.h"
#include "actorctl/job-status.h"
#include "actorctl/private.h"
#include "actorctl/signals.h"
#include "actorctl/usage.h"
#include "actorctl/view/keys.h"
#include "actorctl/view/screen.h"
#include "actorctl/view/sort.h"
#include "actorctl/view/streams.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define LOOK_MSEC 1000

/* A job, or a process of a job. A share or rate that is not known is NaN. */
typedef struct Row {
        uint64_t id, n_env_steps, cpu_usec, memory_bytes;
        uint32_t uid, n_actors, n_actors_max, n_nodes;
        char *name, *state, *currency; /* name of a process: its part in the job, "actor-3" */
        double cost, cpu_share, steps_rate, cost_rate;
        gint64 looked_usec;
        bool metered;
} Row;

/* Which rows are shown, and the note below the table. */
typedef struct Look {
        Connection *connection;
        const char *path, *job; /* the job whose processes are shown; NULL: all jobs */
        char *note;             /* NULL: there is none */
        bool ended;
} Look;

typedef enum Ending { ENDING_NONE, ENDING_KEY, ENDING_SIGNAL } Ending;

static void row_clear(gpointer data) {
        Row *row = data;

        g_free(row->name);
        g_free(row->state);
        g_free(row->currency);
}

static GArray *rows_new(void) {
        GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));

        g_array_set_clear_func(rows, row_clear);
        return rows;
}

static void add_job(GArray *rows, const JobStatus *status) {
        Row row = {
                .id = status->id,
                .uid = status->uid,
                .name = g_strdup(status->environment),
                .state = g_strdup(status->state),
                .currency = g_strdup(status->currency),
                .n_env_steps = status->n_env_steps,
                .n_actors = strcmp(status->state, "running") == 0 ? status->n_actors : 0,
                .n_actors_max = status->n_actors_max,
                .n_nodes = status->n_nodes_up,
                .cost = status->cost_full,
                .looked_usec = g_get_monotonic_time(),
        };

        row.metered = usage_of(status->control_group, &row.cpu_usec, &row.memory_bytes);
        g_array_append_val(rows, row);
}

static void add_parts(GArray *rows, const JobStatus *status) {
        g_autoptr(GArray) parts = usage_parts(status->control_group);

        for (guint i = 0; i < parts->len; i++) {
                const UsagePart *part = &g_array_index(parts, UsagePart, i);
                Row row = {
                        .id = (uint64_t) part->pid,
                        .name = g_strdup(part->name),
                        .cpu_usec = part->cpu_usec,
                        .memory_bytes = part->memory_bytes,
                        .looked_usec = g_get_monotonic_time(),
                        .metered = true,
                };

                g_array_append_val(rows, row);
        }
}

/* Appends a row for each job that has not ended. 0; or a negative errno, with a message. */
static int look_at_jobs(Connection *connection, GArray *rows) {
        g_autoptr(GArray) jobs = NULL;
        int r;

        r = jobs_fetch(connection, &jobs);
        if (r < 0)
                return r;
        for (guint i = 0; i < jobs->len; i++) {
                _cleanup_(job_status_done) JobStatus status = job_status_empty();
                const JobListed *job = &g_array_index(jobs, JobListed, i);

                if (job->ended)
                        continue;
                r = job_status_fetch_listed(&status, connection, job->path);
                if (r < 0)
                        return r;
                if (r > 0)
                        add_job(rows, &status);
        }
        return 0;
}

/* Says why the table of a job's processes is empty; g_free(). NULL: no reason is known. */
static char *job_note(const char *job, const JobStatus *status) {
        if (job_has_ended(status))
                return g_strdup_printf(
                                "job %s has ended (%s), and uses nothing any more", job, status->result);
        if (strcmp(status->state, "queued") == 0 || strcmp(status->state, "frozen") == 0)
                return g_strdup_printf("job %s is %s, and has no processes now", job, status->state);
        if (!status->control_group[0])
                return g_strdup_printf(
                                "job %s has no cgroup, so the usage of its processes is unknown", job);
        return NULL;
}

static int look_at(Look *look, GArray *rows) {
        _cleanup_(job_status_done) JobStatus status = job_status_empty();
        int r;

        if (!look->path)
                return look_at_jobs(look->connection, rows);
        r = job_status_fetch(&status, look->connection, look->path);
        if (r < 0)
                return r;
        add_parts(rows, &status);
        g_free(look->note);
        look->note = job_note(look->job, &status);
        look->ended = job_has_ended(&status);
        return 0;
}

static const Row *find_before(const GArray *before, const Row *row) {
        for (guint i = 0; i < before->len; i++) {
                const Row *other = &g_array_index(before, Row, i);

                if (other->id == row->id && strcmp(other->name, row->name) == 0)
                        return other;
        }
        return NULL;
}

/* If a count has fallen, as that of a cgroup does when the job's processes start again, there is no rate
 * yet. */
static double rate(double now, double before, double sec) {
        return now >= before && sec > 0 ? (now - before) / sec : NAN;
}

static void compare_looks(GArray *rows, const GArray *before) {
        for (guint i = 0; i < rows->len; i++) {
                Row *row = &g_array_index(rows, Row, i);
                const Row *old = find_before(before, row);
                double sec = old ? (double) (row->looked_usec - old->looked_usec) / 1e6 : 0;

                row->cpu_share = row->steps_rate = row->cost_rate = NAN;
                if (!old)
                        continue;
                if (row->metered && old->metered)
                        row->cpu_share = rate((double) row->cpu_usec, (double) old->cpu_usec, 1e6 * sec);
                row->steps_rate = rate((double) row->n_env_steps, (double) old->n_env_steps, sec);
                row->cost_rate = 3600 * rate(row->cost, old->cost, sec);
        }
}

/* The largest comes first; unknown values come last. */
static gint compare_values(double a, double b) {
        if (isnan(a) || isnan(b))
                return isnan(a) - isnan(b);
        return (a < b) - (a > b);
}

#define COMPARE(name, member)                                                                            \
        static gint compare_##name(gconstpointer a, gconstpointer b) {                                   \
                return compare_values(                                                                   \
                                (double) ((const Row *) a)->member, (double) ((const Row *) b)->member); \
        }
COMPARE(cpu, cpu_share)
COMPARE(memory, memory_bytes)
COMPARE(steps, steps_rate)
COMPARE(cost, cost_rate)
#undef COMPARE

/* The job with the lowest number comes first. */
static gint compare_job(gconstpointer a, gconstpointer b) {
        uint64_t x = ((const Row *) a)->id, y = ((const Row *) b)->id;

        return (x > y) - (x < y);
}

/* The orders of rows. */
static const SortKey sorts[] = {
        { "cpu", compare_cpu },
        { "memory", compare_memory },
        { "steps", compare_steps },
        { "cost", compare_cost, "dollars" },
        { "job", compare_job },
};

/* The keys by which the user chooses one of these. */
static const char sort_letters[] = { 'c', 'm', 's', 'd', 'j' };
static_assert(G_N_ELEMENTS(sort_letters) == G_N_ELEMENTS(sorts), "a key for each order");

static gint compare_rows(gconstpointer a, gconstpointer b, gpointer data) {
        const size_t *sort = data;

        return sorts[*sort].compare(a, b);
}

static void add_common(Table *table, const Row *row) {
        g_autofree char *memory =
                        row->metered ? g_strdup_printf("%.1f MiB", (double) row->memory_bytes / 1048576)
                                     : g_strdup("");
        g_autofree char *cpu = isfinite(row->cpu_share) ? g_strdup_printf("%.0f %%", 100 * row->cpu_share)
                                                        : g_strdup("");

        table_shown(table, cpu, json_real(row->cpu_share));
        table_shown(table, memory,
                        row->metered ? json_unsigned(row->memory_bytes)
                                     : json_node_init_null(json_node_alloc()));
}

static void add_row(Table *table, const Row *row, bool parts) {
        char count[32], money[48];

        if (parts) {
                table_string(table, row->name);
                table_unsigned(table, row->id);
                add_common(table, row);
                return;
        }
        table_unsigned(table, row->id);
        table_user(table, row->uid);
        table_string(table, row->state);
        table_string(table, row->name);
        add_common(table, row);
        table_shown(table, isfinite(row->steps_rate) ? format_count((uint64_t) row->steps_rate, count) : "",
                        json_real(row->steps_rate));
        table_shown(table,
                        isfinite(row->cost_rate) ? format_money(row->cost_rate, row->currency, money) : "",
                        json_real(row->cost_rate));
        table_shown(table, "", json_word(row->currency));
        snprintf(money, sizeof(money), "%u of %u", row->n_actors, row->n_actors_max);
        table_shown(table, money, json_unsigned(row->n_actors));
        table_unsigned(table, row->n_nodes);
}

/* Whether any job has nodes. If not, the text has no column NODES, since terminals are narrow. */
static bool some_have_nodes(const GArray *rows) {
        for (guint i = 0; i < rows->len; i++)
                if (g_array_index(rows, Row, i).n_nodes > 0)
                        return true;
        return false;
}

static Table *make_table(const GArray *rows, bool parts, guint n) {
        Table *table = table_new();

        if (parts) {
                table_column(table, "PART", "part", COLUMN_TEXT);
                table_column(table, "PROCESS", "pid", COLUMN_NUMBER);
        } else {
                table_column(table, "JOB", "job", COLUMN_NUMBER);
                table_column(table, "USER", "user", COLUMN_TEXT);
                table_column(table, "STATE", "state", COLUMN_TEXT);
                table_column(table, "ENVIRONMENT", "environment", COLUMN_TEXT);
        }
        table_column(table, "CPU", "cpu_cores", COLUMN_NUMBER);
        table_column(table, "MEMORY", "memory_bytes", COLUMN_NUMBER);
        if (!parts) {
                table_column(table, "STEPS/S", "env_steps_per_s", COLUMN_NUMBER);
                table_column(table, "COST/H", "cost_per_hour", COLUMN_NUMBER);
                table_column(table, "CURRENCY", "currency", COLUMN_JSON);
                table_column(table, "ACTORS", "actors", COLUMN_NUMBER);
                table_column(table, "NODES", "nodes", some_have_nodes(rows) ? COLUMN_NUMBER : COLUMN_JSON);
                table_spare(table, "user");
                table_spare(table, "state");
        }
        for (guint i = 0; i < n; i++)
                add_row(table, &g_array_index(rows, Row, i), parts);
        return table;
}

/* most: print at most this many rows, and no footer; 0: print all rows and a footer. */
static void print_rows(const Options *options, GArray *rows, const Look *look, size_t sort, guint most) {
        g_autoptr(Table) table = NULL;
        const char *noun = look->path ? "part" : "job";

        g_array_sort_with_data(rows, compare_rows, &sort);
        table = make_table(rows, look->path, most > 0 ? MIN(rows->len, most) : rows->len);
        table_print(table, options, most > 0 ? NULL : noun);
}

static Ending sort_by(char key, size_t *sort) {
        for (size_t i = 0; i < G_N_ELEMENTS(sorts); i++)
                if (key == sort_letters[i])
                        *sort = i;
        return key == 'q' ? ENDING_KEY : ENDING_NONE;
}

/* Waits a second for a key or a signal. In the background, keys belong to another program. */
static Ending wait_a_look(int keys_fd, int signals_fd, size_t *sort) {
        struct pollfd p[] = {
                { keys_are_lent() ? -EBADF : keys_fd, POLLIN, 0 },
                { signals_fd, POLLIN, 0 },
        };
        char key;

        if (poll(p, G_N_ELEMENTS(p), LOOK_MSEC) <= 0)
                return ENDING_NONE;
        if (p[1].revents)
                return ENDING_SIGNAL;
        if (read(keys_fd, &key, 1) == 1)
                return sort_by(key, sort);
        return keys_are_lent() ? ENDING_NONE : ENDING_KEY;
}

/* Makes a descriptor that reads signals: if a signal ended this program at once, the terminal would stay
 * without echo. */
static int open_signals(void) {
        int fd = ending_signals_open(SFD_NONBLOCK);

        if (fd >= 0)
                ending_signals_block();
        return fd;
}

/* Lines besides the rows: the heading, the number of rows that are left out, the job's note, the keys in two
 * lines of a narrow terminal, and the line of the cursor. */
#define OTHER_LINES 6u

/* Draws as much of the table as fits the terminal. */
static void draw(const Options *options, GArray *rows, const Look *look, size_t sort) {
        unsigned lines = terminal_lines(STDOUT_FILENO), most = lines > OTHER_LINES ? lines - OTHER_LINES : 1;
        unsigned n_more = rows->len > most ? rows->len - most : 0;

        stream_write_raw(stdout, "\033[H\033[J");
        print_rows(options, rows, look, sort, most);
        if (n_more > 0)
                printf("%u more", n_more);
        printf("\n");
        if (look->note)
                print_line(0, "%s", look->note);
        printf("by %s; keys: c CPU, m memory, s steps, d cost, j number, q quits\n", sorts[sort].word);
        (void) fflush(stdout);
}

static void print_once(const Options *options, GArray *rows, const Look *look, size_t sort) {
        print_rows(options, rows, look, sort, 0);
        if (look->note)
                complain("%s", look->note);
}

/* Shows the table again and again until the user, a signal or the job's end stops it. signals_fd negative:
 * shows it once. 0; or a negative errno, with a message. */
static int follow(const Options *options, Look *look, int signals_fd, size_t sort, Ending *ret) {
        bool once = signals_fd < 0;
        int keys_fd = once ? -EBADF : keys_open(), r;
        g_autoptr(GArray) before = rows_new();

        *ret = ENDING_NONE;
        r = look_at(look, before);
        while (r >= 0 && *ret == ENDING_NONE) {
                g_autoptr(GArray) rows = rows_new();

                if (!look->ended)
                        *ret = wait_a_look(keys_fd, signals_fd, &sort);
                if (*ret != ENDING_NONE)
                        break;
                r = look_at(look, rows);
                if (r < 0)
                        break;
                compare_looks(rows, before);
                if (once)
                        print_once(options, rows, look, sort);
                else if (look->ended)
                        complain("%s", look->note);
                if (once || look->ended)
                        break;
                draw(options, rows, look, sort);
                g_clear_pointer(&before, g_array_unref);
                before = g_steal_pointer(&rows);
        }
        keys_close();
        return r;
}

static ExitStatus show(const Options *options, Look *look, size_t sort) {
        bool once = options->once || options->json != JSON_OFF || !terminal_obeys(STDOUT_FILENO);
        _cleanup_close_ int signals_fd = once ? -EBADF : open_signals();
        Ending ending;
        int r;

        r = follow(options, look, signals_fd, sort, &ending);
        g_free(look->note);
        if (r < 0)
                return status_of_error(r);
        return ending == ENDING_SIGNAL ? STATUS_INTERRUPTED : STATUS_OK;
}

ExitStatus verb_top(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autofree char *path = NULL;
        ExitStatus status = STATUS_OK;
        Look look = {};
        size_t sort;

        if (!sort_key_find(sorts, G_N_ELEMENTS(sorts), options->sort, &sort))
                return STATUS_USAGE;
        if (n > 0 && word_names_run(arguments[0]))
                return job_path(arguments[0], NULL, &path) < 0 ? STATUS_USAGE : STATUS_OK;
        if (n > 0)
                status = job_open(options, arguments[0], &connection, &path);
        else if (connection_open(options, &connection) < 0)
                status = STATUS_FAILED;
        look.connection = connection;
        look.path = path;
        look.job = arguments[0];
        return status == STATUS_OK ? show(options, &look, sort) : status;
}
