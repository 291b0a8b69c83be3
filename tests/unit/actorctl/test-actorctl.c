/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of actorctl that need no daemon: pictures, numbers for people, exit statuses, the header of a
 * checkpoint. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "actorctl/checkpoint.h"
#include "actorctl/view/display.h"
#include "actorctl/view/table.h"
#include "actorctl/view/sanitise-lines.h"
#include "lib/sanitise.h"
#include "actorctl/job-status.h"
#include "include/plan.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/string-tables.h"

static void test_bar(void) {
        static const double fractions[] = { -1, 0, 0.01, 0.5, 0.999, 1, 7, NAN, INFINITY };

        for (size_t i = 0; i < G_N_ELEMENTS(fractions); i++)
                for (int utf8 = 0; utf8 < 2; utf8++) {
                        g_autofree char *bar = bar_draw(fractions[i], 20, utf8);

                        g_assert_true(g_utf8_validate(bar, -1, NULL));
                        g_assert_cmpint(g_utf8_strlen(bar, -1), ==, 22);
                }

        g_autofree char *half = bar_draw(0.5, 4, false), *full = bar_draw(1, 2, true);
        g_assert_cmpstr(half, ==, "[##  ]");
        g_assert_cmpstr(full, ==, "[██]");
}

static void check_fit(unsigned screen, const unsigned want[4]) {
        /* a name; a number that is the first to be left out; two texts */
        FitColumn columns[] = { { 8, 8, 0, true }, { 6, 6, 1, true }, { 20, 8, 0, true },
                { 30, 8, 0, true } };

        columns_fit(columns, G_N_ELEMENTS(columns), screen);
        for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
                g_assert_cmpuint(columns[i].shown ? columns[i].width : 0, ==, want[i]);
}

/* A narrow screen first shortens the texts, beginning with the widest. Then it leaves columns out, which
 * gives the texts room again. */
static void test_fit(void) {
        check_fit(100, (const unsigned[]){ 8, 6, 20, 30 });
        check_fit(67, (const unsigned[]){ 8, 6, 20, 30 });
        check_fit(60, (const unsigned[]){ 8, 6, 20, 23 });
        check_fit(49, (const unsigned[]){ 8, 6, 16, 16 });
        check_fit(33, (const unsigned[]){ 8, 6, 8, 8 });
        check_fit(32, (const unsigned[]){ 8, 0, 11, 11 });
        check_fit(25, (const unsigned[]){ 8, 0, 16, 0 });
        check_fit(10, (const unsigned[]){ 8, 0, 0, 0 });
        check_fit(1, (const unsigned[]){ 8, 0, 0, 0 });
}

/* A plot always has the same size, whatever its points. */
static void check_shape(const double *x, const double *y, size_t n, bool utf8) {
        g_autofree char *curve = curve_draw(x, y, n, 30, 5, utf8);
        g_auto(GStrv) lines = g_strsplit(curve, "\n", -1);

        g_assert_cmpuint(g_strv_length(lines), ==, 6);
        for (int i = 0; i < 5; i++)
                g_assert_cmpint(g_utf8_strlen(lines[i], -1), ==, 30);
        g_assert_cmpstr(lines[5], ==, "");
}

static void test_curve(void) {
        double x[100], y[100];
        g_autofree char *rising = NULL;

        for (int utf8 = 0; utf8 < 2; utf8++) {
                check_shape(NULL, NULL, 0, utf8);
                for (int i = 0; i < 100; i++) {
                        x[i] = i;
                        y[i] = i % 10 == 3 ? NAN : g_test_rand_double_range(-1e9, 1e9);
                        check_shape(x, y, (size_t) i + 1, utf8);
                }
        }
        for (int i = 0; i < 5; i++)
                x[i] = y[i] = i;
        rising = curve_draw(x, y, 5, 5, 5, false);
        g_assert_cmpstr(rising, ==, "    *\n   * \n  *  \n *   \n*    \n");
}

static void test_numbers(void) {
        char text[48];

        g_assert_cmpstr(format_count(0, text), ==, "0");
        g_assert_cmpstr(format_count(999, text), ==, "999");
        g_assert_cmpstr(format_count(1000, text), ==, "1,000");
        g_assert_cmpstr(format_count(UINT64_MAX, text), ==, "18,446,744,073,709,551,615");
        g_assert_cmpstr(format_duration(1234567890, text), ==, "1.235 s");
        g_assert_cmpstr(format_duration(75000000000, text), ==, "1min 15s");
        g_assert_cmpstr(format_duration(7260000000000, text), ==, "2h 1min");
        g_assert_cmpstr(format_money(0.000152, "USD", text), ==, "0.000152 USD");
        g_assert_cmpstr(format_money(12.345, "EUR", text), ==, "12.35 EUR");
        g_assert_cmpstr(format_money(1e-7, "USD", text), ==, "0.000000100 USD");
}

/* Each end of a job has an exit status, and only the ends that are a success have STATUS_OK. */
static void test_exit_statuses(void) {
        static const ExitStatus expected[] = {
                [PLAN_END_NOT] = STATUS_FAILED,
                [PLAN_END_FINISHED] = STATUS_OK,
                [PLAN_END_TARGET] = STATUS_OK,
                [PLAN_END_BUDGET] = STATUS_BUDGET,
                [PLAN_END_RUNTIME] = STATUS_OK,
                [PLAN_END_INTERRUPTED] = STATUS_INTERRUPTED,
                [PLAN_END_FAILED] = STATUS_FAILED,
                [PLAN_END_PREEMPTED] = STATUS_FAILED,     /* a life may end so, but never a job */
                [PLAN_END_REDISTRIBUTED] = STATUS_FAILED, /* a life may end so, but never a job */
        };

        g_assert_cmpuint(G_N_ELEMENTS(expected), ==, _PLAN_END_MAX);
        for (uint32_t i = 0; i < _PLAN_END_MAX; i++) {
                JobStatus status = { .result = (char *) plan_end_to_string(i) };

                g_assert_cmpint(job_exit_status(&status), ==, expected[i]);
        }
}

/* Makes a checkpoint with this header and returns its job file's text; or NULL with the sentence in
 * *ret_message. */
static char *job_text(const char *header, size_t data_bytes, char **ret_message) {
        uint64_t n = strlen(header), size = sizeof(n) + n + data_bytes;
        _cleanup_(checkpoint_close) Checkpoint checkpoint = {};
        g_autofree char *bytes = g_malloc0(size);
        _cleanup_close_ int fd = -EBADF;
        char *text = NULL;

        memcpy(bytes, &n, sizeof(n));
        memcpy(bytes + sizeof(n), header, n);
        fd = memfd_make_sealed("checkpoint", bytes, size);
        g_assert_cmpint(fd, >=, 0);
        if (checkpoint_load(fd, "NAME", &checkpoint, ret_message) < 0)
                return NULL;
        return checkpoint_job_text(&checkpoint, "NAME", &text, ret_message) < 0 ? NULL : text;
}

#define TENSOR "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define FORMAT "\"format\":\"actord-checkpoint-1\""

static void test_checkpoint(void) {
        static const struct {
                const char *header, *says;
        } wrong[] = {
                { "{}", "is not that of a safetensors file" },
                { "[]", "is not that of a safetensors file" },
                { "{" TENSOR "}", "not a checkpoint of actord" },
                { "{" TENSOR ",\"__metadata__\":[]}", "is not that of a safetensors file" },
                { "{" TENSOR ",\"__metadata__\":{}}", "not a checkpoint of actord" },
                { "{" TENSOR ",\"__metadata__\":{" FORMAT "}}", "which job wrote it" },
                { "{" TENSOR ",\"__metadata__\":{\"format\":\"actord-checkpoint-2\"}}",
                                "digest is missing" },
                { "{" TENSOR ",\"__metadata__\":{\"format\":\"actord-checkpoint-3\"}}",
                                "it is of a newer format, actord-checkpoint-3, and this actord "
                                "reads up to 2" },
                { "{\"w\":3,\"__metadata__\":{" FORMAT "}}", "is not that of a safetensors file" },
        };
        g_autofree char *message = NULL, *text = NULL;

        text = job_text("{" TENSOR ",\"__metadata__\":{" FORMAT
                        ",\"Learner.Gamma\":\"0.9\",\"Job.Seed\":\"3\",\"Job.Budget\":\"\","
                        "\"Environment.Engine\":\"mujoco\",\"Job.Environment\":\"Hopper-v4\","
                        "\"round\":\"7\"}}",
                        8, &message);
        g_assert_nonnull(text);
        g_assert_nonnull(strstr(text, "[Job]\n"));
        g_assert_nonnull(strstr(text, "Environment=Hopper-v4\n"));
        g_assert_nonnull(strstr(text, "Seed=3\n"));
        g_assert_nonnull(strstr(text, "[Learner]\nGamma=0.9\n"));
        g_assert_nonnull(strstr(text, "[Environment]\nEngine=mujoco\n"));
        g_assert_null(strstr(text, "Budget"));
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree char *why = NULL;

                g_assert_null(job_text(wrong[i].header, 8, &why));
                g_assert_true(g_str_has_prefix(why, "NAME: "));
                if (!strstr(why, wrong[i].says))
                        g_error("%s: \"%s\" is said, not \"%s\"", wrong[i].header, why, wrong[i].says);
        }
}

/* Sanitises n bytes, which arrive in pieces of `piece` bytes, and flushes. Returns the output. */
static char *sanitised(const char *bytes, size_t n, size_t piece, bool utf8, bool limited) {
        g_autoptr(SanitisedLines) lines = sanitised_lines_new(utf8, limited);
        GString *text = g_string_new(NULL);

        for (size_t i = 0; i < n; i += piece)
                sanitised_lines_put(lines, bytes + i, MIN(piece, n - i), text);
        sanitised_lines_flush(lines, text);
        return g_string_free(text, FALSE);
}

static void test_sanitise_letters(void) {
        static const struct {
                const char *bytes;
                bool utf8;
                const char *want;
        } cases[] = {
                { "tab\there\n", true, "tab\there\n" },
                { "\033]0;title\007\033[2J\n", true, "\\x1b]0;title\\x07\\x1b[2J\n" },
                { "gr\u00f6\u00dfer \u2588\n", true, "gr\u00f6\u00dfer \u2588\n" },
                { "\u00f6\n", false, "\\xc3\\xb6\n" },
                { "\xc2\x9b"
                  "31m\n",
                                true, "\\xc2\\x9b31m\n" }, /* CSI in one letter */
                { "\u202e"
                  "turned\n",
                                true, "\\xe2\\x80\\xaeturned\n" },
                { "\xc0\x9b\xff\xe2\x96\n", true, "\\xc0\\x9b\\xff\\xe2\\x96\n" },
                { "no end", true, "no end\n" },
                { "10%\r\r20%\r30%\n", true, "10%\n20%\n30%\n" },
                { "dos\r\nlines\r\n\r\nend\n", true, "dos\nlines\n\nend\n" },
                { "a\na\na\nb\n\n\n\nb\nb\n", true,
                                "a\n(the same 2 more times)\nb\n\nb\n(the same 1 more time)\n" },
                { "", true, "" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                for (size_t piece = 1; piece < 8; piece++) {
                        g_autofree char *got = sanitised(
                                        cases[i].bytes, strlen(cases[i].bytes), piece, cases[i].utf8, true);

                        g_assert_cmpstr(got, ==, cases[i].want);
                }

        g_autofree char *zero = sanitised("a\0b\n", 4, 4, true, true);
        g_assert_cmpstr(zero, ==, "a\\x00b\n");
}

static void test_sanitise_amount(void) {
        g_autoptr(GString) words = g_string_new(NULL);
        g_autofree char *all = NULL, *some = NULL, *cut = NULL;
        g_auto(GStrv) lines = NULL;
        guint n;

        for (unsigned i = 0; i < 5000; i++)
                g_string_append_printf(words, i == 2500 ? "actord-learner: refused\n" : "line %u\n", i);
        all = sanitised(words->str, words->len, 1000, true, false);
        g_assert_cmpstr(all, ==, words->str);

        some = sanitised(words->str, words->len, 1000, true, true);
        lines = g_strsplit(some, "\n", -1);
        n = g_strv_length(lines) - 1;
        /* Three more lines: a sentence where lines are first left out, actord's own message, and the
         * number of lines that were left out. */
        g_assert_cmpuint(n, ==, SANITISED_FIRST_LINES + SANITISED_LAST_LINES + 3);
        g_assert_cmpstr(lines[SANITISED_FIRST_LINES - 1], ==, "line 399");
        g_assert_cmpstr(lines[SANITISED_FIRST_LINES + 1], ==, "actord-learner: refused");
        g_assert_true(g_str_has_prefix(lines[SANITISED_FIRST_LINES + 2], "actorctl: 4579 lines "));
        g_assert_cmpstr(lines[n - 1], ==, "line 4999");

        g_string_truncate(words, 0);
        for (unsigned i = 0; i < 3000; i++)
                g_string_append_c(words, 'x');
        cut = sanitised(words->str, words->len, 1000, true, false);
        g_assert_cmpuint(strlen(cut), ==, SANITISED_LINE_BYTES + strlen(" [and 1976 bytes]\n"));
        g_assert_true(g_str_has_suffix(cut, "x [and 1976 bytes]\n"));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/actorctl/bar", test_bar);
        g_test_add_func("/actorctl/fit", test_fit);
        g_test_add_func("/actorctl/curve", test_curve);
        g_test_add_func("/actorctl/numbers", test_numbers);
        g_test_add_func("/actorctl/exit-statuses", test_exit_statuses);
        g_test_add_func("/actorctl/checkpoint", test_checkpoint);
        g_test_add_func("/actorctl/sanitise/letters", test_sanitise_letters);
        g_test_add_func("/actorctl/sanitise/amount", test_sanitise_amount);
        return g_test_run();
}
