/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends a job file by SubmitJob: its text, further settings, descriptors and options. */
#include "actorctl/job-file.h"

#include <errno.h>
#include <inttypes.h>

#include "actorctl/view/relay.h"
#include "include/bus.h"
#include "lib/cleanup.h"

static int append_overrides(const JobFile *job_file, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "(ss)");
        if (r < 0)
                return r;
        for (guint i = 0; i < job_file->overrides->len; i++) {
                const SettingOverride *o = &g_array_index(job_file->overrides, SettingOverride, i);

                r = sd_bus_message_append(m, "(ss)", o->key, o->value);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

static int append_file(sd_bus_message *m, const char *key, int fd) {
        return fd < 0 ? 0 : sd_bus_message_append(m, "{sh}", key, fd);
}

static int append_files(
                const JobFile *job_file, int dataset_fd, const Connection *connection, sd_bus_message *m) {
        const struct {
                const char *key;
                int fd;
        } files[] = {
                { BUS_FILE_ENVIRONMENT, job_file->environment_fd },
                { BUS_FILE_DATASET, dataset_fd },
                { BUS_FILE_CHECKPOINT, job_file->checkpoint_fd },
                { BUS_FILE_STDERR, job_file->with_stderr ? relay_fd(connection->relay) : -EBADF },
        };
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sh}");
        for (size_t i = 0; i < ELEMENTSOF(files) && r >= 0; i++)
                r = append_file(m, files[i].key, files[i].fd);
        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX && r >= 0; kind++)
                r = append_file(m, directory_row(kind)->file, job_file->directories.fds[kind]);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

/* Appends the data by hand: sd_bus_message_append() would need each byte as an argument. */
static int append_scheduler_data(const GArray *array, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "s", BUS_OPTION_SCHEDULER_DATA);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(m, 'v', "ay");
        if (r < 0)
                return r;
        r = sd_bus_message_append_array(
                        m, 'y', array->data, array->len * g_array_get_element_size((GArray *) array));
        if (r < 0)
                return r;
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_options(const JobFile *job_file, sd_bus_message *m) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        if (job_file->purpose) {
                r = sd_bus_message_append(m, "{sv}", BUS_OPTION_PURPOSE, "s", job_file->purpose);
                if (r < 0)
                        return r;
        }
        if (job_file->n_episodes > 0) {
                r = sd_bus_message_append(m, "{sv}", BUS_OPTION_EPISODES, "t", job_file->n_episodes);
                if (r < 0)
                        return r;
        }
        if (job_file->sheet) {
                r = sd_bus_message_append(m, "{sv}", BUS_OPTION_PRICE_SHEET, "s", job_file->sheet);
                if (r < 0)
                        return r;
        }
        if (job_file->scheduler_data) {
                r = append_scheduler_data(job_file->scheduler_data, m);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

static int fill(const JobFile *job_file, int dataset_fd, const Connection *connection, sd_bus_message *m) {
        int r;

        r = sd_bus_message_append(m, "ss", job_file->text, job_file->file_name);
        if (r < 0)
                return r;
        r = append_overrides(job_file, m);
        if (r < 0)
                return r;
        r = append_files(job_file, dataset_fd, connection, m);
        return r < 0 ? r : append_options(job_file, m);
}

static int compose(const JobFile *job_file, int dataset_fd, const Connection *connection,
                sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(connection->bus, &message, connection->destination, BUS_PATH,
                        BUS_INTERFACE_MANAGER, "SubmitJob");
        if (r < 0)
                return r;
        r = fill(job_file, dataset_fd, connection, message);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(message);
        return 0;
}

ExitStatus job_file_send(
                const JobFile *job_file, Connection *connection, uint64_t *ret_id, char **ret_path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL, *reply = NULL;
        _cleanup_close_ int dataset_fd = -EBADF;
        ExitStatus status = connection->remote ? STATUS_OK : job_file_check_cpus(job_file);
        const char *path;
        int r;

        if (status == STATUS_OK)
                status = job_file_open_dataset(job_file, &dataset_fd);
        if (status != STATUS_OK)
                return status;
        r = compose(job_file, dataset_fd, connection, &message);
        if (r < 0) {
                complain("%s cannot be sent to the daemon: %s", job_file->file_name, g_strerror(-r));
                return STATUS_FAILED;
        }
        r = connection_send(connection, message, &reply);
        if (r < 0)
                return status_of_error(r);
        r = sd_bus_message_read(reply, "to", ret_id, &path);
        if (r < 0) {
                complain("the daemon's answer to %s cannot be read: %s", job_file->file_name,
                                g_strerror(-r));
                return STATUS_FAILED;
        }
        *ret_path = g_strdup(path);
        return STATUS_OK;
}
