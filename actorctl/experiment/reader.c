/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages about the text of an experiment. */
#include "actorctl/experiment/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/sanitise.h"

ExitStatus reader_refuse(char *line) {
        g_autofree char *safe = sanitise_text(line);

        g_free(line);
        (void) fflush(stdout);
        fprintf(stderr, "%s\n", safe);
        return STATUS_USAGE;
}

ExitStatus reader_wrong(
                const Reader *reader, const char *section, const char *key, const char *format, ...) {
        g_autofree char *value = key ? g_key_file_get_value(reader->file, section, key, NULL) : NULL,
                        *reason = NULL;
        unsigned line = settings_locate(reader->experiment->text, section, key ? key : "");
        va_list arguments;

        va_start(arguments, format);
        reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        if (line > 0)
                return reader_refuse(g_strdup_printf("%s:%u: [%s] %s=%s: %s", reader->experiment->file_name,
                                line, section, key, value ? value : "", reason));
        return reader_refuse(g_strdup_printf("%s: [%s]%s%s: %s", reader->experiment->file_name, section,
                        key ? " " : "", key ? key : "", reason));
}

ExitStatus reader_metric(const Reader *reader, const char *section, const char *word, Metric *ret) {
        const char *known[_METRIC_MAX + 1] = {}, *nearest;
        Metric metric = metric_from_string(word);

        if (metric >= 0) {
                *ret = metric;
                return STATUS_OK;
        }
        for (Metric i = 0; i < _METRIC_MAX; i++)
                known[i] = metric_to_string(i);
        nearest = nearest_word(word, known);
        return reader_wrong(reader, section, "Metric", "there is no metric %s%s%s%s", word,
                        nearest ? " (did you mean " : "; see actord-experiment(5)", nearest ? nearest : "",
                        nearest ? "?)" : "");
}
