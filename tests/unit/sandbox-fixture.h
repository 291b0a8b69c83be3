/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Forks a child, prepares it as the spawner and the invoker would, lets it enter a sandbox, and then runs
 * one function of the test in it. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/step.h"

enum { REFUSED = 0, WORKED = 1, TABLE_CHANGED = 98, CANNOT_PREPARE = 99, TEST_UID = 7, FD_FLOOR = 32 };
#define MEMORY_AT PLUGIN_DIRECTORY "mine.so"

typedef struct Case {
        uint32_t level, kind;
        bool libraries, interpreter;
        int (*act)(void);
        int keep_fd;
        int cgroup_fd;
        bool bad_keep; /* the list of descriptors to keep is not in ascending order */
        /* The child begins with its parent's table of descriptors. It ends with TABLE_CHANGED if it does not
         * signal that it has its own, or if the parent's has changed when the child has ended. */
        bool shares;
        int memory_fd; /* a file of the job in sealed memory, for MEMORY_AT; 0: there is none */
} Case;

extern JobSettings case_settings;

/* The page that an actor shares with another process, at a low address. NULL: the kernel of this machine
 * uses low addresses for other memory, too, so the sandbox has no such page. */
extern char *shared_words;

/* The wait status of a child that entered the sandbox and acted; -1: this machine cannot give this level. */
int enter_and_act(const Case *c);
