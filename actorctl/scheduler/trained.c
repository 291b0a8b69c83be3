/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of trained schedulers. The daemon's own code checks them, so that a bad file is reported before a
 * job is submitted. */
#include "actorctl/scheduler/trained.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "actorctl/actorctl.h"
#include "actorctl/file.h"
#include "lib/cleanup.h"
#include "lib/minions.h"
#include "lib/sibling.h"

#define FOLDER "schedulers"

Trained *trained_free(Trained *trained) {
        if (!trained)
                return NULL;

        g_free(trained->name);
        g_free(trained->path);
        free(trained->data);
        g_free(trained);
        return NULL;
}

bool trained_name_valid(const char *name) {
        size_t n = strlen(name);

        if (n == 0 || n > TRAINED_NAME_MAX || name[0] == '.')
                return false;
        for (const char *p = name; *p; p++)
                if (!g_ascii_isalnum(*p) && !strchr("._-", *p))
                        return false;
        return true;
}

static char *own_folder(void) {
        return g_build_filename(g_get_user_data_dir(), "actord", FOLDER, NULL);
}

static char *shared_folder(void) {
        char path[DATA_PATH_MAX];

        return data_path(FOLDER, path) < 0 ? g_strdup("") : g_strdup(path);
}

/* Reads a trained scheduler. -ENOENT, without a message: there is no such file, and the caller may look
 * elsewhere. */
static int trained_read(const char *name, const char *path, bool own, Trained **ret, char **ret_message) {
        g_autoptr(Trained) trained = g_new0(Trained, 1);
        const char *reason = NULL;
        char *data = NULL;
        int r;

        r = file_read(path, MINIONS_BYTES_MAX, &data, &trained->n);
        if (r == -ENOENT)
                return r;
        trained->data = data;
        if (r == -EFBIG)
                reason = "it is too long to be a trained scheduler";
        else if (r < 0)
                reason = file_reason(r);
        else
                r = minions_check(trained->data, trained->n, &reason);
        if (r < 0) {
                *ret_message = g_strdup_printf("%s: %s", path, reason);
                return r;
        }

        trained->name = g_strdup(name);
        trained->path = g_strdup(path);
        trained->own = own;
        memcpy(&trained->model, trained->data, sizeof(trained->model));
        *ret = g_steal_pointer(&trained);
        return 0;
}

static char *file_of(const char *folder, const char *name) {
        g_autofree char *file = g_strconcat(name, MINIONS_SUFFIX, NULL);

        return g_build_filename(folder, file, NULL);
}

Trained *trained_open(const char *name, char **ret_message) {
        g_autofree char *own = own_folder(), *shared = shared_folder(), *path = NULL, *other = NULL;
        Trained *trained = NULL;
        int r;

        g_assert(name);
        g_assert(ret_message);

        if (strchr(name, '/')) {
                r = trained_read(name, name, true, &trained, ret_message);
                if (r == -ENOENT)
                        *ret_message = g_strdup_printf("%s: there is no such file", name);
                return r < 0 ? NULL : trained;
        }
        if (!trained_name_valid(name)) {
                *ret_message = g_strdup_printf(
                                "%s: a scheduler's name may have only letters, digits, '.', '_' and '-'; "
                                "write a file's name with a slash, such as ./FILE",
                                name);
                return NULL;
        }

        path = file_of(own, name);
        r = trained_read(name, path, true, &trained, ret_message);
        if (r == -ENOENT) {
                other = file_of(shared, name);
                r = trained_read(name, other, false, &trained, ret_message);
        }
        if (r == -ENOENT)
                *ret_message = g_strdup_printf(
                                "there is no trained scheduler %s; `actorctl scheduler list` lists "
                                "them, `actorctl scheduler train FILE` makes one",
                                name);
        return r < 0 ? NULL : trained;
}

static void trained_destroy(gpointer data) {
        (void) trained_free(data);
}

static void list_folder(const char *folder, bool own, GPtrArray *list, GHashTable *seen) {
        g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
        const char *file;

        while (dir && (file = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(folder, file, NULL), *message = NULL, *name = NULL;
                Trained *trained;

                if (!g_str_has_suffix(file, MINIONS_SUFFIX))
                        continue;
                name = g_strndup(file, strlen(file) - strlen(MINIONS_SUFFIX));
                if (!trained_name_valid(name))
                        continue;
                if (trained_read(name, path, own, &trained, &message) < 0) {
                        complain("left out: %s", message ? message : path);
                        continue;
                }
                trained->replaced = !g_hash_table_add(seen, g_steal_pointer(&name));
                g_ptr_array_add(list, trained);
        }
}

static gint compare(gconstpointer a, gconstpointer b) {
        const Trained *x = *(const Trained *const *) a, *y = *(const Trained *const *) b;
        int order = strcmp(x->name, y->name);

        return order != 0 ? order : (int) x->replaced - (int) y->replaced;
}

GPtrArray *trained_list(void) {
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GPtrArray *list = g_ptr_array_new_with_free_func(trained_destroy);
        g_autofree char *own = own_folder(), *shared = shared_folder();

        list_folder(own, true, list, seen);
        list_folder(shared, false, list, seen);
        g_ptr_array_sort(list, compare);
        return list;
}

int trained_try_write(const char *path) {
        _cleanup_(aside_done) Aside aside = ASIDE_EMPTY;
        int r;

        r = aside_open(path, 0644, &aside);
        if (r < 0)
                return r;
        return g_file_test(path, G_FILE_TEST_IS_DIR) ? -EISDIR : 0;
}

char *trained_own_path(const char *name) {
        g_autofree char *folder = own_folder();

        (void) g_mkdir_with_parents(folder, 0755);
        return file_of(folder, name);
}

char *trained_shipped_path(const char *name) {
        g_autofree char *folder = shared_folder(), *path = file_of(folder, name);

        return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

ExitStatus trained_remove(const char *name, const Options *options) {
        g_autofree char *folder = own_folder(), *path = NULL, *shipped = NULL;

        if (!trained_name_valid(name)) {
                complain("%s is not the name of a scheduler; `actorctl scheduler list` shows them", name);
                return STATUS_USAGE;
        }
        path = file_of(folder, name);
        shipped = trained_shipped_path(name);
        if (unlink(path) >= 0) {
                if (shipped && !options->quiet)
                        complain("minions:%s now means %s again, which came with actord", name, shipped);
                return STATUS_OK;
        }
        if (errno != ENOENT) {
                complain("%s cannot be removed: %s", path, g_strerror(errno));
                return STATUS_FAILED;
        }
        if (shipped)
                complain("%s came with actord (%s), and only schedulers of your own are removed", name,
                                shipped);
        else
                complain("there is no trained scheduler %s of your own; `actorctl scheduler list` lists "
                         "them",
                                name);
        return STATUS_USAGE;
}
