/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A key file of one section. An unknown key is an error: a limit that was misspelt must not be believed to hold. */
#include "daemon/config.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>
#include "lib/settings.h"

void config_init(Config *config) {
        assert(config);

        *config = (Config){
#define X(key, type, member, fallback, ...) .member = fallback,
                DAEMON_SETTINGS(X)
#undef X
        };
}

static int parse_u32(const char *value, uint32_t *member, double lowest, double highest) {
        guint64 x;

        if (!g_ascii_string_to_unsigned(value, 10, (guint64) lowest, (guint64) highest, &x, NULL))
                return -EINVAL;
        *member = (uint32_t) x;
        return 0;
}

/* A time as in job files; also `infinity`, which other daemons' files say for 0. */
static int parse_usec(const char *value, uint64_t *member, double lowest, double highest) {
        if (strcmp(value, "infinity") != 0)
                return settings_parse_time(value, member);
        *member = 0;
        return 0;
}

static int parse_bool(const char *value, bool *member, double lowest, double highest) {
        bool yes = g_str_equal(value, "yes") || g_str_equal(value, "true") || g_str_equal(value, "1");

        if (!yes && !g_str_equal(value, "no") && !g_str_equal(value, "false") && !g_str_equal(value, "0"))
                return -EINVAL;
        *member = yes;
        return 0;
}

static int parse_string(
                const char *value, char member[sizeof(config_string)], double lowest, double highest) {
        if (g_strlcpy(member, value, sizeof(config_string)) >= sizeof(config_string))
                return -EINVAL;
        return 0;
}

static int config_set(Config *config, const char *key, const char *value) {
#define POINTER_u32(member)    &config->member
#define POINTER_usec(member)   &config->member
#define POINTER_bool(member)   &config->member
#define POINTER_string(member) config->member
#define X(name, type, member, fallback, lowest, highest) \
        if (strcmp(key, #name) == 0)                     \
                return parse_##type(value, POINTER_##type(member), lowest, highest);
        DAEMON_SETTINGS(X)
#undef X
        return -ENOENT;
}

int config_parse(Config *config, const char *text, const char *file_name, char **ret_message) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) groups = NULL, keys = NULL;

        assert(config);
        assert(text);
        assert(ret_message);

        if (!g_utf8_validate(text, -1, NULL)) {
                *ret_message = g_strdup_printf("%s: this is no UTF-8 text.", file_name);
                return -EINVAL;
        }
        if (!g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, &error)) {
                /* An empty file, or one of comments, is fine. */
                if (g_error_matches(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_NOT_FOUND))
                        return 0;
                *ret_message = g_strdup_printf("%s: %s", file_name, error->message);
                return -EINVAL;
        }

        groups = g_key_file_get_groups(file, NULL);
        for (char **g = groups; *g; g++)
                if (strcmp(*g, "Daemon") != 0) {
                        *ret_message = g_strdup_printf(
                                        "%s: there is no section [%s]; the only one is [Daemon].", file_name,
                                        *g);
                        return -EINVAL;
                }

        keys = g_key_file_get_keys(file, "Daemon", NULL, NULL);
        for (char **k = keys; k && *k; k++) {
                g_autofree char *value = g_key_file_get_string(file, "Daemon", *k, NULL);
                int r = config_set(config, *k, value ? value : "");

                if (r == -ENOENT)
                        *ret_message = g_strdup_printf("%s: [Daemon] has no key %s=.", file_name, *k);
                else if (r < 0)
                        *ret_message = g_strdup_printf(
                                        "%s: [Daemon] %s=%s is out of range or no such value.", file_name,
                                        *k, value ? value : "");
                if (r < 0)
                        return -EINVAL;
        }
        return 0;
}

static int read_file(Config *config, const char *path, char **ret_message) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        if (!g_file_get_contents(path, &text, NULL, &error)) {
                if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
                        return 0;
                *ret_message = g_strdup(error->message);
                return -EIO;
        }
        return config_parse(config, text, path, ret_message);
}

static int compare_names(const void *a, const void *b, void *userdata) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int config_read(Config *config, const char *directory, char **ret_message) {
        g_autofree char *main_path = g_build_filename(directory, "actord.conf", NULL);
        g_autofree char *drop_ins = g_build_filename(directory, "actord.conf.d", NULL);
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GDir) dir = NULL;
        const char *name;
        int r;

        assert(config);
        assert(ret_message);

        r = read_file(config, main_path, ret_message);
        if (r < 0)
                return r;

        dir = g_dir_open(drop_ins, 0, NULL);
        while (dir && (name = g_dir_read_name(dir)))
                if (g_str_has_suffix(name, ".conf"))
                        g_ptr_array_add(names, g_strdup(name));
        g_ptr_array_sort_with_data(names, (GCompareDataFunc) compare_names, NULL);

        for (guint i = 0; i < names->len; i++) {
                g_autofree char *path = g_build_filename(drop_ins, names->pdata[i], NULL);

                r = read_file(config, path, ret_message);
                if (r < 0)
                        return r;
        }
        return 0;
}
