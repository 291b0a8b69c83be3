/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/view/colour.h"

#include <glib.h>

#include "actorctl/view/screen.h"
#include "actorctl/view/streams.h"

bool colour_wanted(int fd) {
        const char *none = g_getenv("NO_COLOR");

        return terminal_obeys(fd) && (!none || !none[0]);
}

void colour_set(FILE *stream, Colour colour) {
        static const char *const codes[] = {
                [COLOUR_PLAIN] = "\033[0m",
                [COLOUR_STRONG] = "\033[1m",
                [COLOUR_FAINT] = "\033[2m",
                [COLOUR_GOOD] = "\033[32m",
                [COLOUR_WARNING] = "\033[33m",
        };

        stream_write_raw(stream, codes[colour]);
}
