/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of trained schedulers: the user's own, and those that come with actord. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "actorctl/actorctl.h"
#include "include/minions.h"

enum { TRAINED_NAME_MAX = 100 };

typedef struct Trained {
        char *name, *path;
        bool own;      /* the scheduler is the user's own, or was named by its path */
        bool replaced; /* in a list: the user's own scheduler of this name hides it */
        MinionsModel model;
        void *data; /* the content of the file */
        size_t n;
} Trained;

Trained *trained_free(Trained *trained);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trained, trained_free)

/* Whether this is a valid name: 1 to TRAINED_NAME_MAX letters, digits, '.', '_' and '-', with no '.' at its
 * beginning. */
bool trained_name_valid(const char *name);

/* Opens a scheduler by name or by path. A path has a slash. For a name, the user's own scheduler comes
 * first. NULL with *ret_message, a sentence (g_free()). */
Trained *trained_open(const char *name, char **ret_message);

/* All schedulers, as Trained, sorted by name. If two have the same name, the one that jobs use comes first.
 * A damaged file is left out with a warning. */
GPtrArray *trained_list(void);

/* Prints the training and its cost (print.c). */
void trained_print(const Trained *trained, const Options *options);

/* Whether file_write() would succeed now; no file remains. 0, or a negative errno. */
int trained_try_write(const char *path);
/* The path of the user's own scheduler of this name; makes its directory. g_free(). */
char *trained_own_path(const char *name);
/* The path of the scheduler of this name that came with actord; g_free(). NULL: there is none. */
char *trained_shipped_path(const char *name);

/* Removes the user's own scheduler, even a damaged one. STATUS_OK; or another status, with a message. */
ExitStatus trained_remove(const char *name, const Options *options);
