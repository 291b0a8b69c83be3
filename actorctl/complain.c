/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints messages to standard error. The newest one is kept, for verbs that also print it in their JSON. */
#include <glib.h>
#include <stdarg.h>
#include <stdio.h>

#include "actorctl/actorctl.h"

static char *last_complaint;

void complain(const char *format, ...) {
        g_autofree char *sentence = NULL;
        va_list arguments;

        va_start(arguments, format);
        sentence = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        (void) fflush(stdout);
        fprintf(stderr, "actorctl: %s\n", sentence);
        g_free(last_complaint);
        last_complaint = g_steal_pointer(&sentence);
}

void complain_bare(const char *sentences) {
        (void) fflush(stdout);
        fprintf(stderr, "%s\n", sentences);
        g_free(last_complaint);
        last_complaint = g_strdup(sentences);
}

const char *complaint_last(void) {
        return last_complaint ?: "";
}
