/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Removes a directory whose content may be hostile. Everything is reached through descriptors, no link is
 * followed, and the work can be done in small steps. */
#pragma once

#define TREE_DEPTH_MAX 16u

/* Removes the entry of this name in at_fd (AT_FDCWD: a path) with its content, at most `most` entries in
 * this call. 0: it is gone; 1: call again; negative: an entry cannot be removed, and all others are gone. */
int tree_remove(int at_fd, const char *name, unsigned most);
