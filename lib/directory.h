/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directories of a user that may be mounted into actors. Untrusted code can read everything in such a
 * directory, so the user must have made it for that purpose. A virtual environment is recognised by its
 * content. Other folders cannot be recognised, and so must be neither a system directory nor a home.
 *
 * actorctl checks this first, so that the user gets a message. Each program behind a trust boundary checks
 * again when the descriptor arrives. A hostile user may own the file system (FUSE) and change the directory.
 * So a check may never return, and its result holds only at that moment. */
#pragma once

#include <errno.h>

typedef enum DirectoryKind {
        DIRECTORY_PYTHON,      /* the virtual environment of Python= */
        DIRECTORY_PYTHON_PATH, /* a user's own modules */
        DIRECTORY_MODEL,       /* the folder of Environment=mujoco:FILE */
        _DIRECTORY_KIND_MAX,
} DirectoryKind;

typedef struct DirectoryRow {
        const char *at;            /* its place in an actor's root */
        const char *file;          /* the key under which SubmitJob receives its descriptor */
        const char *section, *key; /* the setting that names the directory */
} DirectoryRow;

/* The job's directories, one of each kind; negative: the job has none. */
typedef struct Directories {
        int fds[_DIRECTORY_KIND_MAX];
} Directories;
#define DIRECTORIES_NONE ((Directories){ { [0 ... _DIRECTORY_KIND_MAX - 1] = -EBADF } })

const DirectoryRow *directory_row(DirectoryKind kind);

/* The kind of the directory at this place of an actor's root; _DIRECTORY_KIND_MAX: there is none. */
DirectoryKind directory_kind_at(const char *at);

/* The kind of the directory that SubmitJob receives under this key; _DIRECTORY_KIND_MAX: the key names no
 * directory. */
DirectoryKind directory_kind_of_file(const char *file);

/* Checks whether fd may be mounted as a directory of this kind. 0; -EMEDIUMTYPE: it must not be, for the
 * reason "this directory is …"; another negative errno. The descriptor stays the caller's, and may be
 * O_PATH. */
int directory_check(int fd, DirectoryKind kind, const char **ret_reason);
