/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sheet's name comes from a stranger: it never leaves its two directories. */
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

static void list_into(GPtrArray *names, const char *directory) {
        g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir)))
                if (g_str_has_suffix(name, SHEET_SUFFIX)) {
                        g_autofree char *bare = g_strndup(name, strlen(name) - strlen(SHEET_SUFFIX));

                        if (!g_ptr_array_find_with_equal_func(names, bare, g_str_equal, NULL))
                                g_ptr_array_add(names, g_steal_pointer(&bare));
                }
}

GStrv sheets_list(void) {
        GPtrArray *names = g_ptr_array_new();
        char path[DATA_PATH_MAX];

        if (data_path("price", path) >= 0)
                list_into(names, path);
        list_into(names, SHEETS_LOCAL);
        qsort(names->pdata, names->len, sizeof(names->pdata[0]), by_name);
        g_ptr_array_add(names, NULL);
        return (GStrv) g_ptr_array_free(names, FALSE);
}

static int read_sheet(const char *directory, const char *name, char **ret_text) {
        g_autofree char *file_name = g_strconcat(name, SHEET_SUFFIX, NULL);
        g_autofree char *path = g_build_filename(directory, file_name, NULL);
        g_autoptr(GError) error = NULL;
        gsize n;

        if (!g_file_get_contents(path, ret_text, &n, &error))
                return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? -ENOENT : -EIO;
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
