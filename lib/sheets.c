/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds and reads price sheets. The name of a sheet may be hostile, so it must never lead out of the two
 * directories of sheets: the administrator's, and that of the programs. */
#include "lib/sheets.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include "lib/sibling.h"

#define SHEETS_LOCAL "/etc/actord/price"
#define SHEET_SUFFIX ".sheet"

static int by_name(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* GLib's error codes as errnos. Errors of limits get their own, since messages give advice about them. */
static int file_error(const GError *error) {
        static const struct {
                int code, error;
        } rows[] = { { G_FILE_ERROR_NOENT, ENOENT }, { G_FILE_ERROR_MFILE, EMFILE },
                { G_FILE_ERROR_NFILE, ENFILE }, { G_FILE_ERROR_NOMEM, ENOMEM },
                { G_FILE_ERROR_ACCES, EACCES } };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (error->domain == G_FILE_ERROR && error->code == rows[i].code)
                        return -rows[i].error;
        return -EIO;
}

/* Adds the names of the sheets of a directory. A missing directory has none. */
static int list_into(GPtrArray *names, const char *directory) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GDir) dir = g_dir_open(directory, 0, &error);
        const char *name;

        if (!dir)
                return file_error(error) == -ENOENT ? 0 : file_error(error);
        while ((name = g_dir_read_name(dir)))
                if (g_str_has_suffix(name, SHEET_SUFFIX)) {
                        g_autofree char *bare = g_strndup(name, strlen(name) - strlen(SHEET_SUFFIX));

                        if (!g_ptr_array_find_with_equal_func(names, bare, g_str_equal, NULL))
                                g_ptr_array_add(names, g_steal_pointer(&bare));
                }
        return 0;
}

int sheets_list(GStrv *ret) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        char path[DATA_PATH_MAX];
        int r;

        assert(ret);

        r = data_path("price", path);
        if (r < 0)
                return r;
        r = list_into(names, path);
        if (r < 0)
                return r;
        r = list_into(names, SHEETS_LOCAL);
        if (r < 0)
                return r;
        qsort(names->pdata, names->len, sizeof(names->pdata[0]), by_name);
        g_ptr_array_add(names, NULL);
        *ret = (GStrv) g_ptr_array_steal(names, NULL);
        return 0;
}

static int read_sheet(const char *directory, const char *name, char **ret_text) {
        g_autofree char *file_name = g_strconcat(name, SHEET_SUFFIX, NULL);
        g_autofree char *path = g_build_filename(directory, file_name, NULL);
        g_autoptr(GError) error = NULL;
        gsize n;

        if (!g_file_get_contents(path, ret_text, &n, &error))
                return file_error(error);
        if (n > SHEET_BYTES_MAX) {
                g_clear_pointer(ret_text, g_free);
                return -EFBIG;
        }
        return 0;
}

int sheets_read(const char *name, char **ret_text) {
        char path[DATA_PATH_MAX];
        int r;

        assert(name);
        assert(ret_text);

        if (!*name || *name == '.' || strlen(name) > 64 || strchr(name, '/'))
                return -ENOENT;

        r = read_sheet(SHEETS_LOCAL, name, ret_text);
        if (r != -ENOENT)
                return r;
        r = data_path("price", path);
        return r < 0 ? r : read_sheet(path, name, ret_text);
}
