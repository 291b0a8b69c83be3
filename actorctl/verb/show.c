/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* show: prints every setting of a job as a job file, from the daemon or from a checkpoint file. */
#include <stdio.h>
#include <string.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/job-open.h"
#include "actorctl/job-settings.h"
#include "actorctl/job-status.h"
#include "actorctl/private.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static void print_setting(const JobSetting *row, const char *section_before, const JobStatus *job) {
        if (strcmp(row->section, section_before) != 0)
                printf("%s[%s]\n", section_before[0] ? "\n" : "", row->section);
        printf("%s=%s\n", row->key, row->value);
        if (strcmp(row->section, "Distribution") == 0 && strcmp(row->key, "Policy") == 0 &&
                        job->distribution_reason[0]) {
                g_autofree char *text =
                                g_strdup_printf("%s, since %s", job->distribution, job->distribution_reason);

                print_wrapped("# ", "# ", text);
        }
}

static void print_lines(const GArray *rows, const JobStatus *job) {
        const char *section = "";

        for (guint i = 0; i < rows->len; i++) {
                const JobSetting *row = &g_array_index(rows, JobSetting, i);

                print_setting(row, section, job);
                section = row->section;
        }
}

static void print_table(const GArray *rows, const Options *options, Table *table) {
        for (guint i = 0; i < rows->len; i++) {
                const JobSetting *row = &g_array_index(rows, JobSetting, i);

                table_string(table, row->section);
                table_string(table, row->key);
                table_string(table, row->value);
                table_bool(table, row->given);
        }
        table_print(table, options, NULL);
}

static void print_fact(const Checkpoint *checkpoint, const char *key, const char *words) {
        const char *value = safetensors_metadata(checkpoint->file, key);

        if (value)
                printf("# %s %s\n", words, value);
}

static void add_rows(const Checkpoint *checkpoint, Table *table) {
        size_t n;
        const MetadataRow *rows = safetensors_metadata_rows(checkpoint->file, &n);

        for (size_t i = 0; i < n; i++) {
                const char *dot = strchr(rows[i].key, '.');
                g_autofree char *section = dot ? g_strndup(rows[i].key, (gsize) (dot - rows[i].key)) : NULL;

                if (!dot)
                        continue;
                table_string(table, section);
                table_string(table, dot + 1);
                table_string(table, rows[i].value);
                table_bool(table, rows[i].value[0] != '\0');
        }
}

static void add_columns(Table *table) {
        table_column(table, "SECTION", "section", COLUMN_TEXT);
        table_column(table, "KEY", "key", COLUMN_TEXT);
        table_column(table, "VALUE", "value", COLUMN_TEXT);
        table_column(table, "GIVEN", "given", COLUMN_TEXT);
}

static ExitStatus show_file(const Options *options, const char *file) {
        g_autoptr(Table) table = table_new();
        NamedCheckpoint from;
        ExitStatus status;

        status = named_checkpoint_open(&from, options, file);
        if (status == STATUS_OK)
                status = job_needs_no_daemon(options, file, "a file");
        if (status == STATUS_OK) {
                pager_open(options);
                if (options->json != JSON_OFF) {
                        add_columns(table);
                        add_rows(&from.checkpoint, table);
                        table_print(table, options, NULL);
                } else {
                        print_fact(&from.checkpoint, METADATA_FORMAT, "format");
                        print_fact(&from.checkpoint, METADATA_ROUND, "round");
                        print_fact(&from.checkpoint, METADATA_POLICY_SHA256, "policy sha256");
                        printf("\n%s", from.text);
                }
                pager_close();
        }
        named_checkpoint_done(&from);
        return status;
}

ExitStatus verb_show(const Options *options, char **arguments, size_t n) {
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();
        g_autoptr(GArray) rows = NULL;
        g_autofree char *path = NULL, *called = job_called(arguments[0]);
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        ExitStatus status;

        if (strspn(arguments[0], "0123456789") != strlen(arguments[0]) && !word_names_run(arguments[0]))
                return show_file(options, arguments[0]);
        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        if (job_settings_fetch(connection, path, called, &rows) < 0)
                return STATUS_FAILED;
        if (job_status_fetch(&job, connection, path) < 0)
                return STATUS_FAILED;
        add_columns(table);
        pager_open(options);
        if (options->json != JSON_OFF)
                print_table(rows, options, table);
        else
                print_lines(rows, &job);
        pager_close();
        return STATUS_OK;
}
