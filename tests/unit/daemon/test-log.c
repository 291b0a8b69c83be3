/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The catalog has exactly one entry for each message id, and its text is readable. A flood of messages is
 * counted and not written. */
#include <glib.h>
#include <string.h>

#include "daemon/log.h"

static const char *const ids[] = {
#define X(name, id) id,
        MESSAGES(X)
#undef X
};

static char *entry_of(const char *catalog, const char *id) {
        g_autofree char *head = g_strdup_printf("-- %s\n", id);
        const char *begin = strstr(catalog, head), *end;

        if (!begin)
                return NULL;
        begin += strlen(head);
        end = strstr(begin, "\n-- ");
        return end ? g_strndup(begin, (gsize) (end - begin)) : g_strdup(begin);
}

static void test_catalog(void) {
        g_autofree char *catalog = NULL;
        size_t n_entries = 0;

        g_assert_true(g_file_get_contents("units/actord.catalog", &catalog, NULL, NULL));
        for (const char *p = catalog; (p = strstr(p, "\n-- ")); p++)
                n_entries++;
        g_assert_cmpuint(n_entries, ==, G_N_ELEMENTS(ids));

        for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
                g_autofree char *entry = entry_of(catalog, ids[i]);

                g_assert_cmpstr(message_id((Message) i), ==, ids[i]);
                g_assert_cmpuint(strlen(ids[i]), ==, 32);
                g_assert_cmpuint(strspn(ids[i], "0123456789abcdef"), ==, 32);
                g_assert_nonnull(entry);
                g_assert_true(g_str_has_prefix(entry, "Subject: "));
                g_assert_nonnull(strstr(entry, "\nDefined-By: actord\n\n"));
                for (size_t j = 0; j < i; j++)
                        g_assert_cmpstr(ids[i], !=, ids[j]);
        }
}

static char *daemon_sources(void) {
        g_autofree char *sources = g_strdup("");
        g_autoptr(GDir) dir = g_dir_open("daemon", 0, NULL);
        const char *name;

        g_assert_nonnull(dir);
        while ((name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename("daemon", name, NULL), *text = NULL, *all = NULL;

                if (!g_str_has_suffix(name, ".c"))
                        continue;
                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                all = g_strconcat(sources, text, NULL);
                g_free(sources);
                sources = g_steal_pointer(&all);
        }
        return g_steal_pointer(&sources);
}

/* Every message and field of the catalog is sent by some code. */
static void test_fields(void) {
        static const char *const names[] = {
#define X(name, id) "MESSAGE_" #name,
                MESSAGES(X)
#undef X
        };
        g_autofree char *catalog = NULL, *sources = daemon_sources();
        g_autoptr(GRegex) field = g_regex_new("@(ACTORD_[A-Z_]+)@", 0, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *pattern = g_strdup_printf("\\b%s\\b", names[i]);

                if (!g_regex_match_simple(pattern, sources, 0, 0))
                        g_error("%s stands in the catalog, but no code sends it", names[i]);
        }
        g_assert_true(g_file_get_contents("units/actord.catalog", &catalog, NULL, NULL));
        for (gboolean more = g_regex_match(field, catalog, 0, &match); more;
                        more = g_match_info_next(match, NULL)) {
                g_autofree char *word = g_match_info_fetch(match, 1), *sent = g_strdup_printf("\"%s=", word);

                if (!strstr(sources, sent))
                        g_error("%s stands in the catalog, but no event carries it", word);
        }
}

static void test_bucket(void) {
        LogBucket bucket = {};
        unsigned n, passed = 0;

        for (unsigned i = 0; i < LOG_BURST + 40; i++)
                passed += log_bucket_pass(&bucket, 1000, &n);
        g_assert_cmpuint(passed, ==, LOG_BURST);
        g_assert_false(log_bucket_pass(&bucket, 1000 + LOG_INTERVAL_SEC - 1, &n));

        g_assert_true(log_bucket_pass(&bucket, 1000 + LOG_INTERVAL_SEC, &n));
        g_assert_cmpuint(n, ==, 41);
        g_assert_true(log_bucket_pass(&bucket, 1000 + LOG_INTERVAL_SEC, &n));
        g_assert_cmpuint(n, ==, 0);
}

static void test_entry(void) {
        g_autofree char *longer = g_strnfill(2 * LOG_TEXT_MAX, 'x');
        LogEntry entry;

        log_begin(&entry, MESSAGE_JOB_ENDED);
        g_assert_cmpuint(entry.n_fields, ==, 1);
        log_field(&entry, "ACTORD_JOB=%d", 7);
        g_assert_cmpstr(entry.text + entry.starts[1], ==, "ACTORD_JOB=7");

        /* A long text is cut, fields beyond LOG_FIELDS_MAX are left out, and nothing is written out of
         * bounds. */
        log_field(&entry, "ACTORD_REASON=%s", longer);
        g_assert_cmpuint(entry.n_text, <=, LOG_TEXT_MAX);
        g_assert_cmpuint(strlen(entry.text + entry.starts[2]), <, LOG_TEXT_MAX);
        for (unsigned i = 0; i < 2 * LOG_FIELDS_MAX; i++)
                log_field(&entry, "ACTORD_N=%u", i);
        g_assert_cmpuint(entry.n_fields, <=, LOG_FIELDS_MAX);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/log/catalog", test_catalog);
        g_test_add_func("/log/fields", test_fields);
        g_test_add_func("/log/bucket", test_bucket);
        g_test_add_func("/log/entry", test_entry);
        return g_test_run();
}
