/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job file that an import writes from a file of another program, the source. The source has values under
 * keys. A comment above a setting says from which key its value comes. A list at the head of the job file
 * has the keys that became no setting, so that readers see that the job is not the whole source. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#define IMPORT_BYTES_MAX (1u << 20)

enum { DRAFT_SECTIONS = 3 };

typedef struct DraftSource {
        const char *program;     /* the other program, as comments call it */
        const char *defaults_of; /* the program that defines the default values; NULL: there are none */
        const char *between;     /* stands between key and value above a setting */
        const char *between_listed;
} DraftSource;

typedef struct Draft {
        const DraftSource *source;
        const char *file;     /* the source's name */
        GHashTable *values;   /* key -> text of its value */
        GHashTable *defaults; /* keys with default values, which the source lacks */
        GHashTable *told;     /* keys that became settings */
        GString *parts[DRAFT_SECTIONS];
        char *reason; /* why the source is refused; NULL: it is not */
} Draft;

void draft_init(Draft *draft, const DraftSource *source, const char *file);
void draft_done(Draft *draft);

/* Keeps the reason, after the file's name; of several, the first. Returns false. */
__attribute__((format(printf, 2, 3))) bool draft_refuse(Draft *draft, const char *format, ...);

/* The text of a key's value; NULL: there is none. */
const char *draft_get(const Draft *draft, const char *key);
/* Adds a key that the source lacks, with its default value. */
void draft_add_default(Draft *draft, const char *key, const char *value);
/* Marks a key as one that became a setting. */
void draft_tell(Draft *draft, const char *key);

/* Adds a setting. key: the one from which the value comes; NULL: none. */
void draft_put(Draft *draft, const char *section, const char *setting, const char *key, const char *value);
/* The same with a number. If the number is not finite, nothing is added, and the key is listed. */
void draft_put_number(Draft *draft, const char *section, const char *setting, const char *key, double value);
/* Adds whole lines, which come from no key. */
void draft_put_lines(Draft *draft, const char *section, const char *lines);

/* The text as one line of printable characters, for a comment; g_free(). */
char *draft_comment(const char *text);

/* The job file; g_free(). head: its first comment. listed: whether a key belongs in the list if it became no
 * setting; NULL: each does. */
char *draft_compose(const Draft *draft, const char *head, bool (*listed)(const char *key, const char *text));
