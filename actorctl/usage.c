/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actorctl/usage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the hierarchy of cgroup v2 may be mounted; the usual place comes first. */
static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static char *find_directory(const char *control_group) {
        for (size_t i = 0; control_group[0] == '/' && i < G_N_ELEMENTS(roots); i++) {
                g_autofree char *path = g_strconcat(roots[i], control_group, NULL),
                                *file = g_build_filename(path, "cgroup.procs", NULL);

                if (g_file_test(file, G_FILE_TEST_EXISTS))
                        return g_steal_pointer(&path);
        }
        return NULL;
}

static uint64_t read_cpu(const char *directory) {
        g_autofree char *path = g_build_filename(directory, "cpu.stat", NULL), *text = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL) || !g_str_has_prefix(text, "usage_usec "))
                return 0;
        return g_ascii_strtoull(text + strlen("usage_usec "), NULL, 10);
}

/* Reads resident memory. Actors of a job share some pages, so a sum counts these several times. */
static uint64_t read_memory(pid_t pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/statm", (int) pid), *text = NULL;
        const char *resident;

        if (!g_file_get_contents(path, &text, NULL, NULL) || !(resident = strchr(text, ' ')))
                return 0;
        return g_ascii_strtoull(resident, NULL, 10) * (uint64_t) sysconf(_SC_PAGESIZE);
}

static void add_part(GArray *parts, const char *directory, const char *name) {
        g_autofree char *path = g_build_filename(directory, "cgroup.procs", NULL), *text = NULL;
        UsagePart part = { .cpu_usec = read_cpu(directory) };
        g_auto(GStrv) pids = NULL;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return;
        pids = g_strsplit(text, "\n", -1);
        for (char **word = pids; *word && **word; word++) {
                pid_t pid = (pid_t) g_ascii_strtoll(*word, NULL, 10);

                part.pid = part.pid > 0 ? part.pid : pid;
                part.memory_bytes += read_memory(pid);
        }
        if (part.pid == 0)
                return;
        part.name = g_strdup(name);
        g_array_append_val(parts, part);
}

static void part_clear(gpointer data) {
        g_free(((UsagePart *) data)->name);
}

/* Sorts actor-10 after actor-9. */
static gint compare_parts(gconstpointer a, gconstpointer b) {
        const char *x = ((const UsagePart *) a)->name, *y = ((const UsagePart *) b)->name;
        size_t n = strlen(x), m = strlen(y);

        if (g_str_has_prefix(x, "actor-") && g_str_has_prefix(y, "actor-") && n != m)
                return n < m ? -1 : 1;
        return strcmp(x, y);
}

GArray *usage_parts(const char *control_group) {
        GArray *parts = g_array_new(FALSE, FALSE, sizeof(UsagePart));
        g_autofree char *directory = find_directory(control_group);
        g_autoptr(GDir) entries = directory ? g_dir_open(directory, 0, NULL) : NULL;
        const char *name;

        g_array_set_clear_func(parts, part_clear);
        while (entries && (name = g_dir_read_name(entries))) {
                g_autofree char *path = g_build_filename(directory, name, NULL);

                if (g_file_test(path, G_FILE_TEST_IS_DIR))
                        add_part(parts, path, name);
        }
        g_array_sort(parts, compare_parts);
        return parts;
}

gboolean usage_of(const char *control_group, uint64_t *ret_cpu_usec, uint64_t *ret_memory_bytes) {
        g_autofree char *directory = find_directory(control_group);
        g_autoptr(GArray) parts = NULL;

        if (!directory)
                return FALSE;
        parts = usage_parts(control_group);
        *ret_cpu_usec = read_cpu(directory);
        *ret_memory_bytes = 0;
        for (guint i = 0; i < parts->len; i++)
                *ret_memory_bytes += g_array_index(parts, UsagePart, i).memory_bytes;
        return TRUE;
}
