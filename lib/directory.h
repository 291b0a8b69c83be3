/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which directories of a user may be mounted into actors. Code that no one trusts can read everything below
 * such a directory, so it must be one that was made for that: a virtual environment, which is recognised by
 * its content, or the folder of a model, which cannot be recognised and so must not be a system directory or
 * a home.
 *
 * actorctl asks, so that the user gets a message, and each program behind a trust boundary asks again
 * when the descriptor arrives. The directory may be served and changed by a stranger: the answer may take
 * for ever, and it holds only for the moment of the question. */
#pragma once

typedef enum DirectoryKind { DIRECTORY_PYTHON, DIRECTORY_MODEL } DirectoryKind;

/* 0; -EMEDIUMTYPE: it must not be mounted, with the reason, "this directory is …"; a negative errno. The
 * descriptor, which may be O_PATH, stays the caller's. */
int directory_check(int fd, DirectoryKind kind, const char **ret_reason);
