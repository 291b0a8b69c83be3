/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sanitises a stream of lines in four ways: it replaces characters that must not be shown, limits the length
 * of lines, counts repetitions of a line, and limits the number of lines. Lines in the middle are left out:
 * the first lines show what an environment is, and the last lines show why it ended. */
#include "actorctl/view/sanitise-lines.h"

#include <stdint.h>
#include <string.h>

#include "lib/sanitise.h"

struct SanitisedLines {
        bool utf8, limited;
        GString *line;   /* the line that is not complete yet, unchanged, up to the limit */
        uint64_t n_cut;  /* how many of its bytes were beyond the limit */
        bool returned;   /* a carriage return ended the last line, and a line feed now belongs to that end */
        GString *before; /* the last line, as it was shown */
        bool has_before;
        uint64_t n_again; /* how often it was repeated */
        unsigned n_shown, n_ours;
        /* Since the last flush: lines beyond the limit; `last` has the newest of them. */
        uint64_t n_kept;
        GQueue last; /* char * */
};

SanitisedLines *sanitised_lines_new(bool utf8, bool limited) {
        SanitisedLines *h = g_new0(SanitisedLines, 1);

        h->utf8 = utf8;
        h->limited = limited;
        h->line = g_string_new(NULL);
        h->before = g_string_new(NULL);
        g_queue_init(&h->last);
        return h;
}

SanitisedLines *sanitised_lines_free(SanitisedLines *h) {
        if (!h)
                return NULL;
        g_queue_clear_full(&h->last, g_free);
        (void) g_string_free(h->before, TRUE);
        (void) g_string_free(h->line, TRUE);
        g_free(h);
        return NULL;
}

/* Lines of the learner or the invoker must not be lost among other lines, so they have a limit of their own.
 * An environment that imitates them gets only a few more lines. */
static bool may_show(SanitisedLines *h, const char *line) {
        if (!h->limited)
                return true;
        if ((g_str_has_prefix(line, "actord-") || g_str_has_prefix(line, "actord: ")) &&
                        h->n_ours < SANITISED_OURS_LINES) {
                h->n_ours++;
                return true;
        }
        if (h->n_shown >= SANITISED_FIRST_LINES)
                return false;
        h->n_shown++;
        return true;
}

static void show(SanitisedLines *h, const char *line, GString *to) {
        if (may_show(h, line)) {
                g_string_append_printf(to, "%s\n", line);
                return;
        }
        if (h->n_kept++ == 0)
                g_string_append_printf(to,
                                "actorctl: the environment writes a lot; from now on only the last %d "
                                "lines are shown\n",
                                SANITISED_LAST_LINES);
        if (h->last.length == SANITISED_LAST_LINES)
                g_free(g_queue_pop_head(&h->last));
        g_queue_push_tail(&h->last, g_strdup(line));
}

static void show_again(SanitisedLines *h, GString *to) {
        g_autofree char *line = NULL;

        if (h->n_again > 0 && h->before->len > 0) {
                line = g_strdup_printf("(the same %" G_GUINT64_FORMAT " more time%s)", h->n_again,
                                h->n_again == 1 ? "" : "s");
                show(h, line, to);
        }
        h->n_again = 0;
}

static void end_line(SanitisedLines *h, GString *to) {
        GString *safe = g_string_new(NULL), *before = h->before;

        sanitise_append(safe, h->line->str, h->line->len, h->utf8);
        if (h->n_cut > 0)
                g_string_append_printf(safe, " [and %" G_GUINT64_FORMAT " bytes]", h->n_cut);
        g_string_truncate(h->line, 0);
        h->n_cut = 0;
        if (h->has_before && g_string_equal(safe, before)) {
                h->n_again++;
                (void) g_string_free(safe, TRUE);
                return;
        }
        show_again(h, to);
        show(h, safe->str, to);
        h->before = safe;
        h->has_before = true;
        (void) g_string_free(before, TRUE);
}

/* Takes the next byte. A progress bar ends its line with only a carriage return, and may begin with one. */
static void put_byte(SanitisedLines *h, char byte, GString *to) {
        bool returned = h->returned;

        h->returned = byte == '\r' && h->line->len > 0;
        if (byte == '\n' && returned)
                return;
        if (byte == '\n' || h->returned)
                end_line(h, to);
        else if (byte != '\r' && h->line->len < SANITISED_LINE_BYTES)
                g_string_append_c(h->line, byte);
        else if (byte != '\r')
                h->n_cut++;
}

void sanitised_lines_put(SanitisedLines *h, const char *bytes, size_t n, GString *to) {
        for (size_t i = 0; i < n; i++)
                put_byte(h, bytes[i], to);
}

void sanitised_lines_flush(SanitisedLines *h, GString *to) {
        uint64_t n_left_out;

        if (h->line->len > 0)
                end_line(h, to);
        show_again(h, to);
        h->has_before = false;
        n_left_out = h->n_kept - h->last.length;
        if (n_left_out > 0)
                g_string_append_printf(to,
                                "actorctl: %" G_GUINT64_FORMAT
                                " lines of the environment's output are left out here; a file (`2>FILE`) "
                                "gets all of them\n",
                                n_left_out);
        for (char *line; (line = g_queue_pop_head(&h->last)); g_free(line))
                g_string_append_printf(to, "%s\n", line);
        h->n_kept = 0;
}
