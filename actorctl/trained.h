/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trained schedulers as files: the user's own, and those that came with actord. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "actorctl/actorctl.h"
#include "include/minions.h"

enum { TRAINED_NAME_MAX = 100 };

typedef struct Trained {
        char *name, *path;
        bool own;      /* the user's */
        bool replaced; /* of a list: the user's own one of that name stands before it */
        MinionsModel model;
        void *data; /* the whole file */
        size_t n;
} Trained;

Trained *trained_free(Trained *trained);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trained, trained_free)

/* Whether a file may have this name: letters, digits, '.', '_' and '-', not beginning with a point. */
bool trained_name_valid(const char *name);

/* By its name, the user's own first, or by a path, which has a slash. NULL after *ret_message, a sentence (g_free()). */
Trained *trained_open(const char *name, char **ret_message);

/* Of Trained, by name, first what the name means; a file that is none is left out after a warning. */
GPtrArray *trained_list(void);

/* What it was trained on, and what that cost (verb-scheduler.c). */
void trained_print(const Trained *trained, const Options *options);

/* Into a file, which appears whole or not at all. 0, or a negative errno. */
int trained_write(const char *path, const void *data, size_t n);
/* Whether that would be possible now; nothing is there afterwards that was not before. */
int trained_try_write(const char *path);
/* Where the user's own scheduler of this name lies; its directory is made. g_free(). */
char *trained_own_path(const char *name);
/* The file of this name that came with actord. NULL: there is none. g_free(). */
char *trained_shipped_path(const char *name);

/* Removes the user's own one, whole or damaged. STATUS_OK; else after having said why. */
ExitStatus trained_remove(const char *name, const Options *options);
