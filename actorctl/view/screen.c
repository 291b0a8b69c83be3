/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* screen_columns() keeps its first answer: pager_open() asks before a pager replaces standard output. */
#include "actorctl/view/screen.h"

#include <glib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_LEAST 20u
#define COLUMNS_USUAL 80u
#define LINES_USUAL   24u

bool terminal_obeys(int fd) {
        return isatty(fd) && g_strcmp0(g_getenv("TERM"), "dumb") != 0;
}

unsigned terminal_columns(int fd) {
        struct winsize size;

        if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
                return COLUMNS_USUAL;
        return MAX(size.ws_col, COLUMNS_LEAST);
}

unsigned terminal_lines(int fd) {
        struct winsize size;

        return ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ? LINES_USUAL : size.ws_row;
}

static unsigned measure(void) {
        const char *said = g_getenv("COLUMNS");
        guint64 columns = said ? g_ascii_strtoull(said, NULL, 10) : 0;

        if (!isatty(STDOUT_FILENO))
                return 0;
        if (columns >= COLUMNS_LEAST && columns <= G_MAXUINT16)
                return (unsigned) columns;
        return terminal_columns(STDOUT_FILENO);
}

unsigned screen_columns(void) {
        static unsigned columns;
        static bool known;

        if (!known)
                columns = measure();
        known = true;
        return columns;
}
