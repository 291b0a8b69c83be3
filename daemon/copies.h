/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of callers are copied by a process of their own: a caller's file may be large, lie on a slow disk, or on a file system that
 * somebody serves (or stacked on one) who never answers. Meanwhile the daemon goes on; the method's handler runs once more when the copy
 * is there, as after a question to polkit. */
#pragma once

#include "daemon/job.h"

void copies_init(Manager *manager);

/* Whether the handler has been here before: its call waits for its copy, or the copy is there. */
bool copies_has(const Manager *manager, sd_bus_message *message);

/* Into a new directory of the state directory. 1: they are there, *ret_name is the directory's name and the caller's to commit or discard;
 * 0: under way, and the handler will be called again; negative: an error is set. A descriptor below 0: there is no such file. */
int copies_fetch(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                int environment_fd, int checkpoint_fd, char **ret_name, sd_bus_error *error);
