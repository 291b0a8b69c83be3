/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories of a user may be mounted into actors. Everything below such a directory is there for
 * code that no one trusts, so it is to be a directory that was made for that: a virtual environment,
 * which says so by what lies in it, or the folder of a model, which says nothing and must therefore be no
 * directory of the system's and no home.
 *
 * Asked by actorctl, which has the words, and again behind each trust boundary that the descriptor
 * passes. It looks into a directory that a stranger may serve and change: it can take for ever, and an
 * answer is good for what the directory was. */
#pragma once

typedef enum DirectoryKind { DIRECTORY_PYTHON, DIRECTORY_MODEL } DirectoryKind;

/* 0; -EMEDIUMTYPE: it must not be mounted, with the reason, "this directory is …"; a negative errno. The
 * descriptor, which may be O_PATH, stays the caller's. */
int directory_check(int fd, DirectoryKind kind, const char **ret_reason);
