/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* show: prints every setting of a job as a job file, from the daemon or from a checkpoint file. */
#include <stdio.h>
#include <string.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/job-open.h"
#include "actorctl/job-status.h"
#include "actorctl/private.h"
#include "actorctl/view/pager.h"
#include "actorctl/view/table.h"
#include "include/bus.h"
#include "lib/cleanup.h"

typedef struct Row {
        const char *section, *key, *value;
        int given;
} Row;

static void print_file(const Row *row, const char *section_before, const JobStatus *job) {
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

static int read_rows(sd_bus_message *m, const Options *options, const JobStatus *job, Table *table) {
        const char *section = "";
        Row row;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(sssb)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(sssb)", &row.section, &row.key, &row.value, &row.given)) > 0) {
                if (options->json == JSON_OFF)
                        print_file(&row, section, job);
                section = row.section;
                table_string(table, row.section);
                table_string(table, row.key);
                table_string(table, row.value);
                table_bool(table, row.given);
        }
        return r;
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

static int print_rows(sd_bus_message *reply, const Options *options, const JobStatus *job, Table *table) {
        int r;

        r = read_rows(reply, options, job, table);
        if (r < 0)
                return r;
        if (options->json != JSON_OFF)
                table_print(table, options, NULL);
        return 0;
}

ExitStatus verb_show(const Options *options, char **arguments, size_t n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        g_autoptr(Connection) connection = NULL;
        g_autoptr(Table) table = table_new();
        g_autofree char *path = NULL, *called = job_called(arguments[0]);
        _cleanup_(job_status_done) JobStatus job = job_status_empty();
        int r;
        ExitStatus status;

        if (strspn(arguments[0], "0123456789") != strlen(arguments[0]) && !word_names_run(arguments[0]))
                return show_file(options, arguments[0]);
        status = job_open(options, arguments[0], &connection, &path);
        if (status != STATUS_OK)
                return status;
        if (connection_call(connection, path, BUS_INTERFACE_JOB, "GetSettings", &reply, NULL) < 0)
                return STATUS_FAILED;
        if (job_status_fetch(&job, connection, path) < 0)
                return STATUS_FAILED;
        add_columns(table);
        pager_open(options);
        r = print_rows(reply, options, &job, table);
        pager_close();
        if (r < 0) {
                complain("the settings of %s cannot be read: %s", called, g_strerror(-r));
                return STATUS_FAILED;
        }
        return STATUS_OK;
}
