/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/audience.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "lib/cleanup.h"

typedef enum Part { PART_NAME, PART_NOTHING } Part;

Audience audience_of_method(const char *name) {
        static const struct {
                const char *name;
                Audience audience;
        } rows[] = {
#define X(method, who) { #method, AUDIENCE_##who },
                AUDIENCE_METHODS(X)
#undef X
        };

        assert(name);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (strcmp(rows[i].name, name) == 0)
                        return rows[i].audience;
        return AUDIENCE_OWN;
}

const char *audience_name(const char *text, char ret[SETTING_TEXT_MAX]) {
        const char *slash, *colon;

        assert(text);

        slash = strrchr(text, '/');
        colon = strchr(text, ':');
        if (!slash)
                (void) snprintf(ret, SETTING_TEXT_MAX, "%s", text);
        else if (colon && colon < strchr(text, '/'))
                (void) snprintf(ret, SETTING_TEXT_MAX, "%.*s%s", (int) (colon + 1 - text), text, slash + 1);
        else
                (void) snprintf(ret, SETTING_TEXT_MAX, "./%s", slash + 1);
        return ret;
}

void audience_print(const JobSettings *settings, Setting i, char ret[SETTING_TEXT_MAX]) {
        static const struct {
                Setting setting;
                Part part;
        } rows[] = {
#define X(setting, part) { SETTING_##setting, PART_##part },
                AUDIENCE_SETTINGS(X)
#undef X
        };
        char whole[SETTING_TEXT_MAX];

        assert(settings);

        (void) setting_print(settings, i, ret);
        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                if (rows[k].setting != i)
                        continue;
                (void) snprintf(whole, sizeof(whole), "%s", rows[k].part == PART_NAME ? ret : "");
                (void) audience_name(whole, ret);
        }
}
