/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads arbitrary messages as SubmitJob. The daemon must refuse a message with a sentence, or read it within
 * the limits. The settings that the message has besides the job file (overrides) must survive being stored
 * in the ledger. The fuzzer's bytes say how to build the message, one part a line. After an empty line comes
 * the job's text:
 *   o KEY=VALUE           a setting
 *   f KEY                 a file
 *   s, t, b, d KEY=VALUE  an option of that type
 *   m                     text in a memfd
 *   e                     the daemon may take the caller's stderr
 */
#include <glib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/submission.h"
#include "include/bus.h"
#include "include/launch.h"
#include "lib/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARTS_MAX 400u

typedef struct Recipe {
        char *parts[PARTS_MAX], *text;
        size_t n_parts, text_bytes;
        bool memfd, may_stderr;
} Recipe;

/* A bus without a reader: messages are made for it and never sent. */
static sd_bus *bus_new(void) {
        sd_bus *bus = NULL;
        int pair[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), ==, 0);
        g_assert_cmpint(sd_bus_new(&bus), >=, 0);
        g_assert_cmpint(sd_bus_set_fd(bus, pair[0], pair[0]), >=, 0);
        g_assert_cmpint(sd_bus_negotiate_fds(bus, true), >=, 0);
        g_assert_cmpint(sd_bus_start(bus), >=, 0);
        return bus;
}

static void recipe_parse(char *bytes, size_t size, Recipe *ret) {
        char *line = bytes, *end = bytes + size;

        *ret = (Recipe){};
        while (line < end && ret->n_parts < PARTS_MAX) {
                char *next = memchr(line, '\n', (size_t) (end - line));

                if (!next)
                        next = end;
                *next = '\0';
                if (next == line) {
                        line = MIN(next + 1, end);
                        break;
                }
                ret->memfd |= *line == 'm';
                ret->may_stderr |= *line == 'e';
                ret->parts[ret->n_parts++] = line;
                line = MIN(next + 1, end);
        }
        ret->text = line;
        ret->text_bytes = (size_t) (end - line);
}

/* Cuts a part "x KEY=VALUE" into its key and value if the letter x is one of `kinds`. false: the part is of
 * another kind. */
static bool part_is(char *part, const char *kinds, char **ret_key, char **ret_value) {
        char *equals;

        if (!strchr(kinds, *part) || part[1] != ' ')
                return false;
        equals = strchr(part + 2, '=');
        if (equals)
                *equals = '\0';
        *ret_key = part + 2;
        *ret_value = equals ? equals + 1 : part + strlen(part);
        return true;
}

static int append_option(sd_bus_message *m, char kind, const char *key, const char *value, int fd) {
        (void) fd;
        switch (kind) {
        case 's': return sd_bus_message_append(m, "{sv}", key, "s", value);
        case 't':
                return sd_bus_message_append(
                                m, "{sv}", key, "t", (uint64_t) g_ascii_strtoull(value, NULL, 10));
        case 'b': return sd_bus_message_append(m, "{sv}", key, "b", *value == '1');
        default: return sd_bus_message_append(m, "{sv}", key, "d", g_ascii_strtod(value, NULL));
        }
}

typedef int (*AppendPart)(sd_bus_message *m, char kind, const char *key, const char *value, int fd);

static int append_setting(sd_bus_message *m, char kind, const char *key, const char *value, int fd) {
        (void) kind;
        (void) fd;
        return sd_bus_message_append(m, "(ss)", key, value);
}

static int append_file(sd_bus_message *m, char kind, const char *key, const char *value, int fd) {
        (void) kind;
        (void) value;
        return sd_bus_message_append(m, "{sh}", key, fd);
}

/* Appends an array of those parts of the recipe whose letter is one of `kinds`. */
static int append_parts(sd_bus_message *m, Recipe *recipe, const char *kinds, const char *type,
                AppendPart append, int fd) {
        char *key, *value;
        int r;

        r = sd_bus_message_open_container(m, 'a', type);
        if (r < 0)
                return r;
        for (size_t i = 0; i < recipe->n_parts; i++) {
                if (!part_is(recipe->parts[i], kinds, &key, &value))
                        continue;
                r = append(m, *recipe->parts[i], key, value, fd);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

/* Fills a message from the recipe. Returns 0, or libsystemd's error for a string that no message can
 * hold. */
static int message_fill(sd_bus_message *m, Recipe *recipe, int fd) {
        int r;

        r = recipe->memfd ? sd_bus_message_append(m, "hs", fd, "a.conf")
                          : sd_bus_message_append(m, "ss", recipe->text, "a.conf");
        if (r < 0)
                return r;
        r = append_parts(m, recipe, "o", "(ss)", append_setting, fd);
        if (r < 0)
                return r;
        r = append_parts(m, recipe, "f", "{sh}", append_file, fd);
        if (r < 0)
                return r;
        r = append_parts(m, recipe, "stbd", "{sv}", append_option, fd);
        if (r < 0)
                return r;
        return sd_bus_message_seal(m, 1, 0);
}

static void check_overrides(const GArray *overrides) {
        g_autoptr(GArray) again = g_array_new(FALSE, FALSE, sizeof(SettingOverride));
        g_autofree char *lines = overrides_print(overrides);

        g_assert_cmpuint(overrides->len, <=, OVERRIDES_MAX);
        overrides_parse(lines, again);
        g_assert_cmpuint(again->len, ==, overrides->len);
        for (guint i = 0; i < again->len; i++) {
                const SettingOverride *a = &g_array_index(overrides, SettingOverride, i),
                                      *b = &g_array_index(again, SettingOverride, i);

                g_assert_cmpstr(a->key, ==, b->key);
                g_assert_cmpstr(a->value, ==, b->value);
        }
}

static void check_read(const Submission *s, const Recipe *recipe) {
        g_autofree char *message = NULL;
        JobSettings settings;

        g_assert(s->text && s->file_name && g_utf8_validate(s->text, -1, NULL));
        g_assert_cmpuint(strlen(s->text), <=, JOB_TEXT_MAX);
        g_assert(s->purpose <= LAUNCH_EVALUATE);
        g_assert(s->n_episodes >= 1 && s->n_episodes <= EPISODES_MAX);
        g_assert(s->stderr_fd < 0 || recipe->may_stderr);
        check_overrides(s->overrides);

        if (settings_parse(s->text, s->file_name, (const SettingOverride *) (void *) s->overrides->data,
                            s->overrides->len, NULL, &settings, &message) < 0)
                g_assert(message && g_utf8_validate(message, -1, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static sd_bus *bus;
        g_autofree char *bytes = g_malloc(size + 1);
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *m = NULL;
        Submission s;
        Recipe recipe;
        int fd;

        if (!bus)
                bus = bus_new();
        memcpy(bytes, data, size);
        bytes[size] = '\0';
        recipe_parse(bytes, size, &recipe);
        fd = memfd_make_sealed("text", recipe.text, recipe.text_bytes);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(sd_bus_message_new_method_call(
                                        bus, &m, NULL, BUS_PATH, BUS_INTERFACE_MANAGER, "SubmitJob"),
                        >=, 0);
        if (message_fill(m, &recipe, fd) >= 0) {
                if (submission_read(m, recipe.memfd, recipe.may_stderr, &s, &error) < 0)
                        /* a sentence, never a number alone */
                        g_assert(error.name && g_utf8_validate(error.message, -1, NULL) &&
                                        strlen(error.message) > 10);
                else
                        check_read(&s, &recipe);
                submission_done(&s);
        }
        sd_bus_error_free(&error);
        (void) sd_bus_message_unref(m);
        (void) close(fd);
        return 0;
}
