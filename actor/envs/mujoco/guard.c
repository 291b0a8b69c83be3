/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MuJoCo reports errors through a callback, which must not return. Without a callback it prints a message
 * and exits. An actor must answer its order instead, so the callback jumps back into mujoco_guard(). */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "actor/envs/mujoco/engine.h"

/* The guarded call in which this thread is; NULL: none. It is a variable, since MuJoCo's callback has no
 * argument for it. */
static _Thread_local jmp_buf *guard;

static _Thread_local char said[512];

static void on_error(const char *message) {
        (void) snprintf(said, sizeof(said), "%s", message);
        if (!guard)
                abort(); /* outside of mujoco_guard() there is no place to jump to */
        longjmp(*guard, 1);
}

/* MuJoCo counts warnings in mjData, where mujoco_step() looks. The default handler would write a file. */
static void on_warning(const char *message) {
}

const char *mujoco_guard_message(void) {
        return said;
}

int mujoco_guard(void (*f)(void *userdata), void *userdata) {
        jmp_buf here;

        mju_user_error = on_error;
        mju_user_warning = on_warning;

        if (setjmp(here) != 0) {
                guard = NULL;
                return -EIO;
        }

        guard = &here;
        f(userdata);
        guard = NULL;
        return 0;
}
