/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks of a job file that only a submission makes. The CPUs of AllowedCPUs= must exist on this host. The
 * data set is opened here; later an actor parses it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "actorctl/job-file.h"
#include "lib/cleanup.h"
#include "lib/settings/cpus.h"
#include "lib/settings/print.h"

/* Only a submission checks AllowedCPUs=: a job file may be meant for another host. */
ExitStatus job_file_check_cpus(const JobFile *job_file) {
        g_autofree char *reason = cpus_reason(&job_file->settings);
        char value[SETTING_TEXT_MAX];

        if (!reason)
                return STATUS_OK;
        setting_print(&job_file->settings, SETTING_Actor_AllowedCPUs, value);
        job_file_complain(job_file, "Actor", "AllowedCPUs", value, reason);
        return STATUS_USAGE;
}

ExitStatus job_file_open_dataset(const JobFile *job_file, int *ret) {
        const char *name = job_file->settings.dataset;
        g_autofree char *path = NULL, *reason = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!name[0] || g_strcmp0(job_file->purpose, "evaluate") == 0)
                return STATUS_OK;
        path = job_file_path(job_file, "Learner.Dataset", name);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                reason = g_strdup_printf("the data set %s cannot be opened: %s; if it is elsewhere, use "
                                         "--set Learner.Dataset=FILE",
                                path, g_strerror(errno));
        else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                reason = g_strdup("it is not a regular file: name main_data.hdf5 itself, not its directory");
        if (reason) {
                job_file_complain(job_file, "Learner", "Dataset", name, reason);
                return STATUS_USAGE;
        }
        *ret = TAKE_FD(fd);
        return STATUS_OK;
}
