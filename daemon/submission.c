/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the message's text, settings, files and options. The list of settings has a limit, and files and
 * options are accepted only under known names. The text and its name are copied; descriptors, settings and
 * the values of options are borrowed from the message. */
#include "daemon/submission.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include "include/bus.h"
#include "include/launch.h"
#include "lib/fd.h"

#define EPISODES_DEFAULT 20u

void submission_done(Submission *s) {
        g_free(s->text);
        g_free(s->file_name);
        g_free(s->sheet);
        g_free(s->currency);
        if (s->overrides)
                g_array_unref(s->overrides);
        s->overrides = NULL;
}

static int invalid(sd_bus_error *error, const char *sentence) {
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, sentence);
}

static int too_long(sd_bus_error *error) {
        return sd_bus_error_set(error, BUS_ERROR(BadJobFile), "A job file has at most 256 KiB.");
}

/* Reads a text from a descriptor. This must be a sealed memfd, so that no process can change the text
 * between the check and the parsing. */
static int read_text_fd(int fd, char **ret, sd_bus_error *error) {
        g_autofree char *text = NULL;
        uint64_t bytes;
        int r;

        r = memfd_check_sealed(fd);
        if (r >= 0)
                r = fd_size(fd, &bytes);
        if (r < 0)
                return invalid(error,
                                "The job's text must be in a memfd that is sealed against writing, growing "
                                "and shrinking.");
        if (bytes > JOB_TEXT_MAX)
                return too_long(error);

        text = g_malloc0(bytes + 1);
        r = pread_full(fd, text, bytes, 0);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "The job's text could not be read.");
        if (strlen(text) != bytes || !g_utf8_validate(text, (gssize) bytes, NULL))
                return sd_bus_error_set(error, BUS_ERROR(BadJobFile), "The job file is not UTF-8 text.");
        *ret = g_steal_pointer(&text);
        return 0;
}

static int read_text(sd_bus_message *m, bool from_fd, Submission *s, sd_bus_error *error) {
        const char *text, *file_name;
        int r, fd;

        r = from_fd ? sd_bus_message_read(m, "hs", &fd, &file_name)
                    : sd_bus_message_read(m, "ss", &text, &file_name);
        if (r < 0)
                return r;
        if (from_fd) {
                r = read_text_fd(fd, &s->text, error);
                if (r < 0)
                        return r;
        } else if (strlen(text) > JOB_TEXT_MAX)
                return too_long(error);
        else
                s->text = g_strdup(text);

        if (strlen(file_name) > OVERRIDE_BYTES_MAX)
                return invalid(error, "The job file's name is too long.");
        /* The name begins messages that reach terminals and the journal. */
        for (const char *p = file_name; *p; p++)
                if (g_ascii_iscntrl(*p))
                        return invalid(error, "The job file's name holds a control character.");
        s->file_name = g_strdup(*file_name ? file_name : "job.conf");
        return 0;
}

static int read_overrides(sd_bus_message *m, Submission *s, sd_bus_error *error) {
        const char *key, *value;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(ss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "(ss)", &key, &value)) > 0) {
                if (s->overrides->len >= OVERRIDES_MAX || strlen(key) + strlen(value) > OVERRIDE_BYTES_MAX)
                        return invalid(error,
                                        "A job file can have at most 256 settings beside it, of at most "
                                        "4096 bytes each.");
                if (strchr(key, '=') || strpbrk(key, "\r\n") || strpbrk(value, "\r\n"))
                        return invalid(error, "A setting given beside the job file must be one line, "
                                              "and its key must have no \"=\".");
                g_array_append_val(s->overrides, ((SettingOverride){ key, value }));
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_files(sd_bus_message *m, bool may_stderr, Submission *s, sd_bus_error *error) {
        const char *key;
        int r, fd;

        r = sd_bus_message_enter_container(m, 'a', "{sh}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(m, "{sh}", &key, &fd)) > 0)
                if (g_str_equal(key, BUS_FILE_ENVIRONMENT))
                        s->environment_fd = fd;
                else if (directory_kind_of_file(key) < _DIRECTORY_KIND_MAX)
                        s->directories.fds[directory_kind_of_file(key)] = fd;
                else if (g_str_equal(key, BUS_FILE_DATASET))
                        s->dataset_fd = fd;
                else if (g_str_equal(key, BUS_FILE_CHECKPOINT))
                        s->checkpoint_fd = fd;
                else if (g_str_equal(key, BUS_FILE_STDERR) && may_stderr)
                        s->stderr_fd = fd;
                else
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "A job takes no file named `%s` here.", key);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_purpose(const char *word, Submission *s, sd_bus_error *error) {
        static const char *const words[] = { "train", "verify", "evaluate" }; /* in LaunchPurpose's order */

        for (uint32_t i = 0; i < G_N_ELEMENTS(words); i++)
                if (g_str_equal(word, words[i])) {
                        s->purpose = i;
                        return 0;
                }
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                        "Unknown purpose `%s`; known: train, verify, evaluate.", word);
}

static int read_bytes(sd_bus_message *m, const char *type, const void **ret, size_t *ret_n) {
        int r;

        r = sd_bus_message_enter_container(m, 'v', type);
        if (r < 0)
                return r;
        r = sd_bus_message_read_array(m, 'y', ret, ret_n);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* A value of another type is the caller's mistake, too, so the caller gets a sentence about it. */
static int read_option(sd_bus_message *m, const char *key, Submission *s, sd_bus_error *error) {
        const char *word, *type;
        int r;

        if (g_str_equal(key, BUS_OPTION_PURPOSE)) {
                r = sd_bus_message_read(m, "v", type = "s", &word);
                if (r >= 0)
                        r = read_purpose(word, s, error);
        } else if (g_str_equal(key, BUS_OPTION_EPISODES))
                r = sd_bus_message_read(m, "v", type = "t", &s->n_episodes);
        else if (g_str_equal(key, BUS_OPTION_PRICE_SHEET))
                r = sd_bus_message_read(m, "v", type = "s", &s->sheet_text);
        else if (g_str_equal(key, BUS_OPTION_SCHEDULER_DATA))
                r = read_bytes(m, type = "ay", &s->scheduler_data, &s->n_scheduler_data);
        else
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "Unknown option `%s`.", key);
        if (r == -ENXIO)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The value of option `%s` is of another type than `%s`.", key, type);
        return r;
}

static int read_options(sd_bus_message *m, Submission *s, sd_bus_error *error) {
        const char *key;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = sd_bus_message_read(m, "s", &key);
                if (r < 0)
                        return r;
                r = read_option(m, key, s, error);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(m);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        if (s->n_episodes == 0 || s->n_episodes > EPISODES_MAX)
                return invalid(error, "The number of episodes is between 1 and 1000000.");
        return sd_bus_message_exit_container(m);
}

int submission_read(sd_bus_message *m, bool from_fd, bool may_stderr, Submission *ret, sd_bus_error *error) {
        int r;

        assert(m);
        assert(ret);

        *ret = (Submission){
                .overrides = g_array_new(FALSE, FALSE, sizeof(SettingOverride)),
                .environment_fd = -EBADF,
                .directories = DIRECTORIES_NONE,
                .dataset_fd = -EBADF,
                .checkpoint_fd = -EBADF,
                .stderr_fd = -EBADF,
                .purpose = LAUNCH_TRAIN,
                .n_episodes = EPISODES_DEFAULT,
        };
        r = read_text(m, from_fd, ret, error);
        if (r < 0)
                return r;
        r = read_overrides(m, ret, error);
        if (r < 0)
                return r;
        r = read_files(m, may_stderr, ret, error);
        if (r < 0)
                return r;
        return read_options(m, ret, error);
}

char *overrides_print(const GArray *overrides) {
        GString *lines = g_string_new(NULL);

        for (guint i = 0; i < overrides->len; i++) {
                const SettingOverride *o = &g_array_index(overrides, SettingOverride, i);

                g_string_append_printf(lines, "%s=%s\n", o->key, o->value);
        }
        return g_string_free(lines, FALSE);
}

void overrides_parse(char *lines, GArray *overrides) {
        for (char *line = lines, *end; *line; line = end + 1) {
                char *equals = strchr(line, '=');

                end = strchr(line, '\n');
                if (!end || !equals || equals > end)
                        return;
                *equals = *end = '\0';
                g_array_append_val(overrides, ((SettingOverride){ line, equals + 1 }));
        }
}
