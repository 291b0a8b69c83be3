/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directories of a user that are mounted into actors, and which ones may be. Code that no one trusts
 * can read everything below such a directory, so it must be one that was made for that: a virtual
 * environment, which is recognised by its content, or another folder, which cannot be recognised and so must
 * not be a system directory or a home.
 *
 * actorctl asks, so that the user gets a message, and each program behind a trust boundary asks again
 * when the descriptor arrives. The directory may be served and changed by a stranger: the answer may take
 * for ever, and it holds only for the moment of the question. */
#pragma once

#include <errno.h>

typedef enum DirectoryKind {
        DIRECTORY_PYTHON,      /* the virtual environment of Python= */
        DIRECTORY_PYTHON_PATH, /* a user's own modules */
        DIRECTORY_MODEL,       /* the folder of Environment=mujoco:FILE */
        _DIRECTORY_KIND_MAX,
} DirectoryKind;

typedef struct DirectoryRow {
        const char *at;            /* where it lies in an actor's root */
        const char *file;          /* its key among the files of a submission */
        const char *section, *key; /* the setting that names it */
} DirectoryRow;

/* One of each kind that a job has; below 0: it has none. */
typedef struct Directories {
        int fds[_DIRECTORY_KIND_MAX];
} Directories;
#define DIRECTORIES_NONE ((Directories){ { [0 ... _DIRECTORY_KIND_MAX - 1] = -EBADF } })

const DirectoryRow *directory_row(DirectoryKind kind);

/* The kind that lies at this place of an actor's root; _DIRECTORY_KIND_MAX: none does. */
DirectoryKind directory_kind_at(const char *at);

/* The kind with this key among the files of a submission; _DIRECTORY_KIND_MAX: none has it. */
DirectoryKind directory_kind_of_file(const char *file);

/* 0; -EMEDIUMTYPE: it must not be mounted, with the reason, "this directory is …"; a negative errno. The
 * descriptor, which may be O_PATH, stays the caller's. */
int directory_check(int fd, DirectoryKind kind, const char **ret_reason);
