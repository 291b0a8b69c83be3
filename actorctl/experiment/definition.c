/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A cell's definition is a hash of the inputs on which its result depends; of large inputs, only names,
 * versions, sizes or times are hashed. So a finished cell runs again when one of these has changed. Files to
 * which a model refers are not read. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actorctl/experiment/experiment.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/settings/print.h"
#include "lib/sheets.h"

/* A folder of modules has few files. For files beyond this number, and for long files such as data sets,
 * only size and time are hashed. */
enum {
        FILES_MAX = 1000,
        FILE_BYTES_MAX = 1 << 20,
        DEPTH_MAX = 16,
};

/* Adds the bytes of a plugin, a model or a module to the hash, since the result depends on them. */
static void hash_file(GChecksum *checksum, int fd) {
        guchar buffer[65536];
        off_t at = 0;
        ssize_t n;

        while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
                g_checksum_update(checksum, buffer, n);
                at += n;
        }
}

/* Adds the bytes of a file in the model's folder. If the name is not that of a regular file, nothing is
 * added; the actor refuses such a job. */
static void hash_beside_model(GChecksum *checksum, const JobFile *job_file, const char *name) {
        _cleanup_close_ int fd = openat(job_file->directories.fds[DIRECTORY_MODEL], name,
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) >= 0 && S_ISREG(st.st_mode))
                hash_file(checksum, fd);
}

/* Adds the bytes of a model's file and of its RewardPlugin=, but not the files to which the model refers. */
static void hash_model(GChecksum *checksum, const JobFile *job_file) {
        const JobSettings *settings = &job_file->settings;
        g_autofree char *name = g_path_get_basename(settings->environment);

        hash_beside_model(checksum, job_file, name);
        for (uint32_t i = 0; i < settings->n_options; i++)
                if (strcmp(settings->options[i].key, MJCF_PLUGIN_KEY) == 0)
                        hash_beside_model(checksum, job_file, settings->options[i].value);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* The names in a directory, in ascending order, without hidden files and Python's compiled files; NULL: it
 * cannot be read. */
static GPtrArray *names_in(int fd) {
        int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;
        GPtrArray *names;
        struct dirent *entry;

        if (!directory) {
                if (copy >= 0)
                        close(copy);
                return NULL;
        }
        names = g_ptr_array_new_with_free_func(g_free);
        while ((entry = readdir(directory)))
                if (entry->d_name[0] != '.' && strcmp(entry->d_name, "__pycache__") != 0)
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        g_ptr_array_sort(names, compare_names);
        return names;
}

/* Adds the bytes of a file. If it is long, or more than FILES_MAX files were added, only its size and time
 * are added. */
static void hash_or_size(GChecksum *checksum, int fd, const struct stat *st, unsigned *n_files) {
        g_autofree char *line = NULL;

        if (st->st_size <= FILE_BYTES_MAX && ++*n_files <= FILES_MAX) {
                hash_file(checksum, fd);
                return;
        }
        line = g_strdup_printf("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT ".%09ld\n", (gint64) st->st_size,
                        (gint64) st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        g_checksum_update(checksum, (const guchar *) line, -1);
}

/* Adds the modules of PythonPath=: names and bytes of the files in this folder and in the folders below.
 * Links to folders are not followed, since they may form a circle. */
static void hash_modules(GChecksum *checksum, int directory, unsigned depth, unsigned *n_files) {
        g_autoptr(GPtrArray) names = names_in(directory);

        for (guint i = 0; names && i < names->len; i++) {
                const char *name = names->pdata[i];
                _cleanup_close_ int fd =
                                openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
                struct stat st, link;

                if (fd < 0 || fstat(fd, &st) < 0 || fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                g_checksum_update(checksum, (const guchar *) name, (gssize) strlen(name) + 1);
                if (S_ISREG(st.st_mode))
                        hash_or_size(checksum, fd, &st, n_files);
                else if (S_ISDIR(link.st_mode) && depth < DEPTH_MAX)
                        hash_modules(checksum, fd, depth + 1, n_files);
        }
}

/* Adds the packages of a virtual environment, which are too many to read. Each has a folder whose name
 * contains its name and version. */
static void hash_packages(GChecksum *checksum, int environment) {
        _cleanup_close_ int lib = openat(environment, "lib", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        g_autoptr(GPtrArray) versions = lib >= 0 ? names_in(lib) : NULL;

        for (guint i = 0; versions && i < versions->len; i++) {
                g_autofree char *path = g_build_filename(versions->pdata[i], "site-packages", NULL);
                _cleanup_close_ int fd = openat(lib, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                g_autoptr(GPtrArray) names = fd >= 0 ? names_in(fd) : NULL;

                for (guint k = 0; names && k < names->len; k++)
                        if (g_str_has_suffix(names->pdata[k], ".dist-info"))
                                g_checksum_update(checksum, names->pdata[k],
                                                (gssize) strlen(names->pdata[k]) + 1);
        }
}

static void hash_python(GChecksum *checksum, const Directories *directories) {
        unsigned n_files = 0;

        if (directories->fds[DIRECTORY_PYTHON] >= 0)
                hash_packages(checksum, directories->fds[DIRECTORY_PYTHON]);
        if (directories->fds[DIRECTORY_PYTHON_PATH] >= 0)
                hash_modules(checksum, directories->fds[DIRECTORY_PYTHON_PATH], 0, &n_files);
}

/* Adds the data set of Dataset=. If it is missing, the cell's job is refused later. */
static void hash_dataset(GChecksum *checksum, const JobFile *job_file) {
        g_autofree char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        unsigned n_files = 0;
        struct stat st;

        if (!job_file->settings.dataset[0])
                return;
        path = job_file_path(job_file, "Learner.Dataset", job_file->settings.dataset);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 && fstat(fd, &st) >= 0 && S_ISREG(st.st_mode))
                hash_or_size(checksum, fd, &st, &n_files);
}

/* Settings that equal their defaults are left out, so that writing a default into a file does not change the
 * definition; so are Description= and Tag=. */
static void hash_settings(GChecksum *checksum, const JobSettings *settings) {
        const SettingRow *row;

        for (Setting i = 0; (row = setting_row(i)); i++) {
                char value[SETTING_TEXT_MAX];
                g_autofree char *line = NULL;

                if (setting_print(settings, i, value) == 0 || strcmp(value, row->fallback) == 0 ||
                                i == SETTING_Job_Description || i == SETTING_Job_Tag)
                        continue;
                line = g_strdup_printf("%s.%s=%s\n", row->section, row->key, value);
                g_checksum_update(checksum, (const guchar *) line, -1);
        }
        for (uint32_t i = 0; i < settings->n_options; i++) {
                g_autofree char *line = g_strdup_printf(
                                "Environment.%s=%s\n", settings->options[i].key, settings->options[i].value);

                g_checksum_update(checksum, (const guchar *) line, -1);
        }
}

/* Adds the price sheet, which decides the cost of a result. If the sheet is missing, the daemon refuses the
 * job later. */
static void hash_sheet(GChecksum *checksum, const char *name) {
        g_autofree char *text = NULL;

        if (sheets_read(name, &text) >= 0)
                g_checksum_update(checksum, (const guchar *) text, -1);
}

char *cell_define(const Experiment *experiment, const JobFile *job_file, const Cell *after) {
        g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);

        /* Results and defaults depend on the version. */
        g_checksum_update(checksum, (const guchar *) "actord " ACTORD_VERSION "\n", -1);
        hash_settings(checksum, &job_file->settings);
        if (job_file->sheet)
                g_checksum_update(checksum, (const guchar *) job_file->sheet, -1);
        else
                hash_sheet(checksum, job_file->settings.price_sheet);
        for (char **sheet = experiment->prices; sheet && *sheet; sheet++)
                hash_sheet(checksum, *sheet);
        if (job_file->environment_fd >= 0)
                hash_file(checksum, job_file->environment_fd);
        if (environment_is_mjcf(job_file->settings.environment))
                hash_model(checksum, job_file);
        hash_python(checksum, &job_file->directories);
        hash_dataset(checksum, job_file);
        /* The bytes of a trained scheduler, or of a file of decisions, are part of the definition, too. */
        if (job_file->scheduler_data)
                g_checksum_update(checksum, (const guchar *) job_file->scheduler_data->data,
                                (gssize) job_file->scheduler_data->len *
                                                g_array_get_element_size(job_file->scheduler_data));
        /* With Environment=job:FILE the inner job's settings follow the outer job's text. */
        g_checksum_update(checksum, (const guchar *) job_file->text + strlen(experiment->job_text), -1);
        if (after)
                g_checksum_update(checksum, (const guchar *) after->definition, -1);
        return g_strdup(g_checksum_get_string(checksum));
}
