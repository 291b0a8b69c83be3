/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a key file. An unknown key is an error: otherwise an administrator would rely on a misspelt
 * limit. */
#include "daemon/config.h"

#include <assert.h>
#include <errno.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "lib/settings/settings.h"

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

/* A time as in job files, or `infinity`, which means 0: other daemons' files say `infinity` for no limit. */
static int parse_usec(const char *value, uint64_t *member, double lowest, double highest) {
        if (strcmp(value, "infinity") != 0)
                return settings_parse_time(value, member);
        *member = 0;
        return 0;
}

static int parse_bytes(const char *value, uint64_t *member, double lowest, double highest) {
        return settings_parse_bytes(value, member);
}

/* Parses "5USD", or 0 for no limit. A sum without its currency is refused. */
static int parse_money(const char *value, setting_money *member, double lowest, double highest) {
        setting_money money = {};
        int r;

        if (strcmp(value, "0") == 0) {
                *member = money;
                return 0;
        }
        r = settings_parse_money(value, &money);
        if (r < 0 || !money.currency[0])
                return -EINVAL;
        *member = money;
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
#define POINTER_bytes(member)  &config->member
#define POINTER_money(member)  &config->member
#define POINTER_bool(member)   &config->member
#define POINTER_string(member) config->member
#define X(name, type, member, fallback, lowest, highest) \
        if (strcmp(key, #name) == 0)                     \
                return parse_##type(value, POINTER_##type(member), lowest, highest);
        DAEMON_SETTINGS(X)
#undef X
        return -ENOENT;
}

typedef struct ConfigReader {
        Config *config;
        GKeyFile *file;
        const char *text, *file_name;
} ConfigReader;

/* The number of the line with this key or, if key is NULL, with this section. 0: there is none. */
static unsigned line_of(const char *text, const char *section, const char *key) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *head = g_strdup_printf("[%s]", section);
        bool inside = false;

        for (unsigned i = 0; lines[i]; i++) {
                const char *line = g_strstrip(lines[i]);

                if (*line == '[') {
                        inside = g_str_equal(line, head);
                        if (inside && !key)
                                return i + 1;
                } else if (inside && key && g_str_has_prefix(line, key) && strchr("= \t", line[strlen(key)]))
                        return i + 1;
        }
        return 0;
}

static int complain(const ConfigReader *reader, const char *section, const char *key, char **ret_message,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
static int complain(const ConfigReader *reader, const char *section, const char *key, char **ret_message,
                const char *format, ...) {
        g_autofree char *sentence = NULL;
        va_list arguments;

        va_start(arguments, format);
        sentence = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        *ret_message = g_strdup_printf("%s:%u: [%s] %s", reader->file_name,
                        line_of(reader->text, section, key), section, sentence);
        return -EINVAL;
}

/* Parses the name of a section, "User alice" or "Group students"; a number may stand for the name. 0: the
 * section is neither. */
static int parse_owner(const char *section, ConfigRule *ret, const char **ret_name) {
        const struct passwd *user;
        const struct group *group;
        guint64 id;

        ret->group = g_str_has_prefix(section, "Group ");
        if (!ret->group && !g_str_has_prefix(section, "User "))
                return 0;
        *ret_name = strchr(section, ' ') + 1;
        if (g_ascii_string_to_unsigned(*ret_name, 10, 0, UINT32_MAX - 1, &id, NULL)) {
                ret->id = (uint32_t) id;
                return 1;
        }
        user = ret->group ? NULL : getpwnam(*ret_name);
        group = ret->group ? getgrnam(*ret_name) : NULL;
        if (!user && !group)
                return -ENOENT;
        ret->id = user ? user->pw_uid : group->gr_gid;
        return 1;
}

static int set_key(const ConfigReader *reader, const char *section, const char *key, const ConfigRule *owner,
                char **ret_message) {
        g_autofree char *value = g_key_file_get_string(reader->file, section, key, NULL);
        Config *config = reader->config;
        g_autofree Config *tried = NULL;
        int r;

        if (owner && !g_str_has_suffix(key, "PerUser"))
                return complain(reader, section, key, ret_message,
                                "has no key %s=; the keys of users and groups end in PerUser=.", key);
        if (owner)
                tried = g_new0(Config, 1);
        r = config_set(tried ?: config, key, value ? value : "");
        if (r == -ENOENT)
                return complain(reader, section, key, ret_message, "has no key %s=.", key);
        if (r < 0 || (owner && strlen(value) >= sizeof(owner->value)))
                return complain(reader, section, key, ret_message,
                                "%s=%s is out of range, or not a value of this key.", key,
                                value ? value : "");
        if (!owner)
                return 0;
        if (config->n_rules >= CONFIG_RULES_MAX)
                return complain(reader, section, key, ret_message,
                                "%s= is one too many: there may be %u settings of users and groups.", key,
                                CONFIG_RULES_MAX);
        config->rules[config->n_rules] = *owner;
        (void) g_strlcpy(config->rules[config->n_rules].key, key, sizeof(owner->key));
        (void) g_strlcpy(config->rules[config->n_rules].value, value, sizeof(owner->value));
        config->n_rules++;
        return 0;
}

static int parse_section(const ConfigReader *reader, const char *section, char **ret_message) {
        g_auto(GStrv) keys = g_key_file_get_keys(reader->file, section, NULL, NULL);
        ConfigRule owner = {};
        const char *name = NULL;
        int r;

        r = parse_owner(section, &owner, &name);
        if (r < 0)
                return complain(reader, section, NULL, ret_message, "names no %s of this host: %s.",
                                owner.group ? "group" : "user", name);
        if (r == 0 && !g_str_equal(section, "Daemon"))
                return complain(reader, section, NULL, ret_message,
                                "is not a section; known: [Daemon], [User NAME], [Group NAME].");
        for (char **k = keys; k && *k; k++) {
                int q = set_key(reader, section, *k, r > 0 ? &owner : NULL, ret_message);

                if (q < 0)
                        return q;
        }
        return 0;
}

bool config_is_member(uint32_t id, const gid_t *groups, size_t n) {
        assert(groups || n == 0);

        for (size_t i = 0; i < n; i++)
                if (groups[i] == id)
                        return true;
        return false;
}

void config_for_user(const Config *config, uint32_t uid, const gid_t *groups, size_t n_groups, Config *ret) {
        assert(config);
        assert(groups || n_groups == 0);
        assert(ret);

        *ret = *config;
        for (int own = 0; own <= 1; own++)
                for (size_t i = 0; i < config->n_rules; i++) {
                        const ConfigRule *rule = &config->rules[i];

                        if (rule->group == (own == 1))
                                continue;
                        if (rule->group ? config_is_member(rule->id, groups, n_groups) : rule->id == uid)
                                (void) config_set(ret, rule->key, rule->value);
                }
}

int config_parse(Config *config, const char *text, const char *file_name, char **ret_message) {
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) groups = NULL;
        int r;

        assert(config);
        assert(text);
        assert(ret_message);

        if (!g_utf8_validate(text, -1, NULL)) {
                *ret_message = g_strdup_printf("%s: the file is not UTF-8 text.", file_name);
                return -EINVAL;
        }
        if (!g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, &error)) {
                /* An empty file, or one that has only comments, is valid. */
                if (g_error_matches(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_NOT_FOUND))
                        return 0;
                *ret_message = g_strdup_printf("%s: %s", file_name, error->message);
                return -EINVAL;
        }

        r = settings_refuse_repeated(text, file_name, ret_message);
        if (r < 0)
                return r;
        groups = g_key_file_get_groups(file, NULL);
        for (char **g = groups; *g; g++) {
                r = parse_section(&(ConfigReader){ config, file, text, file_name }, *g, ret_message);
                if (r < 0)
                        return r;
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
