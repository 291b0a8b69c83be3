/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The metadata of a checkpoint has the job's settings, so its policy can be played without the job file. */
#include "actorctl/checkpoint.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lib/settings/print.h"

static int refuse(int r, char **ret_message, const char *name, const char *reason) {
        *ret_message = g_strdup_printf("%s: %s", name, reason);
        return r;
}

int checkpoint_load(int fd, const char *name, Checkpoint *ret, char **ret_message) {
        char reason[SAFETENSORS_REASON_MAX];
        int r;

        r = checkpoint_open(fd, ret, reason);
        return r < 0 ? refuse(r, ret_message, name, reason) : 0;
}

static void append_section(const Checkpoint *checkpoint, const char *section, GString *text) {
        size_t n_section = strlen(section), n_rows;
        const MetadataRow *rows = safetensors_metadata_rows(checkpoint->file, &n_rows);
        bool any = false;

        for (size_t i = 0; i < n_rows; i++) {
                const char *key = rows[i].key, *value = rows[i].value;

                if (strncmp(key, section, n_section) != 0 || key[n_section] != '.' || value[0] == '\0' ||
                                strpbrk(key, "\r\n") || strpbrk(value, "\r\n"))
                        continue;
                if (!any)
                        g_string_append_printf(text, "[%s]\n", section);
                g_string_append_printf(text, "%s=%s\n", key + n_section + 1, value);
                any = true;
        }
}

int checkpoint_job_text(
                const Checkpoint *checkpoint, const char *name, char **ret_text, char **ret_message) {
        GString *text;
        const char *before = "";

        if (!safetensors_metadata(checkpoint->file, "Job.Environment"))
                return refuse(-EBADMSG, ret_message, name,
                                "it does not say which job wrote it, so it is not a checkpoint of actord");

        text = g_string_new(NULL);
        for (int i = 0; i < _SETTING_MAX; i++) {
                const char *section = setting_row(i)->section;

                if (strcmp(section, before) != 0)
                        append_section(checkpoint, section, text);
                before = section;
        }
        append_section(checkpoint, "Environment", text);
        *ret_text = g_string_free(text, FALSE);
        return 0;
}

int checkpoint_tensor(
                const Checkpoint *checkpoint, const char *name, const TensorRow *row, char **ret_message) {
        char reason[SAFETENSORS_REASON_MAX];
        int r;

        r = checkpoint_read(checkpoint, row, reason);
        return r < 0 ? refuse(r, ret_message, name, reason) : 0;
}

int checkpoint_network(const Checkpoint *checkpoint, const char *name, const char *of,
                const Network *network, float *ret, char **ret_message) {
        TensorRow rows[2 * LAYERS_MAX];
        size_t n = checkpoint_network_rows(checkpoint->format, of, network, ret, rows);

        for (size_t i = 0; i < n; i++) {
                int r = checkpoint_tensor(checkpoint, name, &rows[i], ret_message);

                if (r < 0)
                        return r;
        }
        return 0;
}
