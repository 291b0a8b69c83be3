/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes the text that describes a drainage network to SWMM, with a storm in it. */
#include "actor/envs/swmm/drainage.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "actor/envs/swmm/engine.h"

#define SECTION   "[TIMESERIES]"
#define RAIN_NEAR 1e-6

enum { LINE_MAX_BYTES = 256, ENTRY_MAX = 160 };

/* An entry of a series: a name, the time since the beginning (hours:minutes:seconds), and the rain until the
 * next entry. */
typedef struct Entry {
        char name[64];
        unsigned hour, minute;
        double rain;
} Entry;

static bool parse_entry(const char *line, size_t n, Entry *ret) {
        char text[LINE_MAX_BYTES];
        unsigned second;

        if (n >= sizeof(text))
                return false;
        memcpy(text, line, n);
        text[n] = '\0';
        return text[0] != ';' && sscanf(text, "%63s %u:%u:%u %lf", ret->name, &ret->hour, &ret->minute,
                                                 &second, &ret->rain) == 5;
}

/* Writes the entry, scaled to the storm's rain in that hour. */
static size_t write_entry(const Entry *entry, const StormFamily *family, const Storm *storm, char *ret) {
        double was = family->profile[entry->hour], by = was > 0 ? storm->rain[entry->hour] / was : 0;

        return (size_t) snprintf(ret, ENTRY_MAX, "%s %u:%02u %.17g\n", entry->name, entry->hour,
                        entry->minute, entry->rain * by);
}

static bool is_profile(const double rain[STORM_HOURS], const StormFamily *family) {
        for (int h = 0; h < STORM_HOURS; h++)
                if (!(fabs(rain[h] - family->profile[h]) < RAIN_NEAR))
                        return false;
        return true;
}

int drainage_scale(const Drainage *drainage, const char *file, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]) {
        double rain[STORM_HOURS] = {};
        bool in_section = false;
        uint32_t n_entries = 0;
        size_t n = 0;

        for (const char *line = file, *end; *line; line = end) {
                Entry entry;

                end = strchrnul(line, '\n');
                end += *end == '\n';
                if ((size_t) (end - line) + ENTRY_MAX > DRAINAGE_MAX - n)
                        return -EINVAL;

                if (*line == '[')
                        in_section = strncmp(line, SECTION, strlen(SECTION)) == 0;
                if (!in_section || !parse_entry(line, (size_t) (end - line), &entry)) {
                        memcpy(ret + n, line, (size_t) (end - line));
                        n += (size_t) (end - line);
                        continue;
                }
                if (entry.hour >= STORM_HOURS)
                        return -EINVAL;
                rain[entry.hour] += entry.rain;
                n += write_entry(&entry, family, storm, ret + n);
                n_entries++;
        }
        return n_entries == drainage->n_entries && is_profile(rain, family) ? (int) n : -EINVAL;
}

static int write_packaged(const Drainage *drainage, const char *task, const StormFamily *family,
                const Storm *storm, char ret[DRAINAGE_MAX]) {
        static char file[DRAINAGE_MAX]; /* the package's file; empty: not read yet */
        int n;

        if (!file[0]) {
                n = engine_read(task, drainage->package, drainage->file, file, sizeof(file));
                if (n < 0) {
                        file[0] = '\0';
                        return n;
                }
        }
        n = drainage_scale(drainage, file, family, storm, ret);
        if (n < 0) {
                file[0] = '\0';
                (void) fprintf(stderr,
                                "%s in the Python package %s is not the network of %s: version %s of the "
                                "package has that network; install it with `pip install %s==%s`.\n",
                                drainage->file, drainage->package, task, drainage->version,
                                drainage->package, drainage->version);
        }
        return n;
}

int drainage_write(const Drainage *drainage, const char *task, const StormFamily *family, const Storm *storm,
                char ret[DRAINAGE_MAX]) {
        size_t n;

        if (!drainage->text)
                return write_packaged(drainage, task, family, storm, ret);
        n = (size_t) (drainage->text_end - drainage->text);
        if (n >= DRAINAGE_MAX)
                return -EFBIG;
        memcpy(ret, drainage->text, n);
        n += storm_write(storm, drainage->first_hour, drainage->tide_hours, ret + n, DRAINAGE_MAX - n);
        return (int) n;
}
