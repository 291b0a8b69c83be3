/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that the readers of an experiment's sections share. */
#pragma once

#include "actorctl/experiment/experiment.h"

#define SEEDS_ARE "seeds are those of [Experiment] Seeds="

typedef struct Reader {
        Experiment *experiment;
        GKeyFile *file;
} Reader;

/* Prints a line, which may quote the file, and frees it. Returns STATUS_USAGE. */
ExitStatus reader_refuse(char *line);
/* Prints a message with file, line, section and key. key NULL: it concerns the whole section, and no line is
 * named. STATUS_USAGE. */
ExitStatus reader_wrong(const Reader *reader, const char *section, const char *key, const char *format, ...)
                __attribute__((format(printf, 4, 5)));
/* Parses the word of a key Metric=. STATUS_OK; or another status, with a message. */
ExitStatus reader_metric(const Reader *reader, const char *section, const char *word, Metric *ret);

/* Reads the sections of a sweep. When all sections are known, makes an arm of each trial, and a factor of
 * the rungs. STATUS_OK; or another status, with a message. */
ExitStatus sweep_read(const Reader *reader);
ExitStatus ranges_read(const Reader *reader);
ExitStatus sweep_complete(const Reader *reader);
