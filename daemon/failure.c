/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/failure.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <systemd/sd-daemon.h>

#include "daemon/log.h"

int failure_exit_status(int error) {
        assert(error < 0);

        switch (-error) {
        case EBUSY:
        case EEXIST: return FAILURE_SECOND;
        case EACCES:
        case EPERM:
        case EROFS:
        case ENOTDIR:
        case EINVAL:
        case EBADMSG:
        case EUCLEAN: return FAILURE_CONFIG;
        default: return FAILURE_OTHER; /* not an enum of ours */
        }
}

void failure_notify(int error) {
        assert(error < 0);

        (void) sd_notifyf(false, "STATUS=%s\nERRNO=%d", log_last_error(), -error);
}
