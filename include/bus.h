/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names on the bus. The interface itself is in units/org.actord1.xml. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#define BUS_NAME "org.actord1"
#define BUS_PATH "/org/actord1"
#define BUS_PATH_JOB_PREFIX "/org/actord1/job"
#define BUS_INTERFACE_MANAGER "org.actord1.Manager"
#define BUS_INTERFACE_JOB "org.actord1.Job"

/* X(name, errno): the names of errors. The 1 of org.actord1 is also the version of these names. */
#define BUS_ERRORS(X)                                                                                    \
        X(NoSuchJob, ENXIO) X(BadJobFile, EINVAL) X(BadPriceSheet, EBADMSG) X(TooManyJobs, EDQUOT)       \
        X(NotRunning, ESRCH) X(NotEnded, EBUSY) X(NoCheckpoint, ENODATA) X(SandboxRefused, EPERM)        \
        X(NoSuchPriceSheet, ENOENT) X(Busy, EAGAIN) X(RecordsRemoved, ENOMEDIUM)                         \
        X(CannotFreeze, EOPNOTSUPP)
#define BUS_ERROR(name) "org.actord1.Error." #name

/* Keys of SubmitJob's `files`: descriptors that the client opened, since the daemon opens no path of a
 * user. */
#define BUS_FILE_ENVIRONMENT "environment"      /* the plugin of Environment=./FILE.so */
#define BUS_FILE_PYTHON "python"                /* the directory of Python= */
#define BUS_FILE_PYTHON_PATH "python-path"      /* the directory of PythonPath= */
#define BUS_FILE_MODEL "model"                  /* the directory of Environment=mujoco:FILE */
#define BUS_FILE_DATASET "dataset"              /* the file of Dataset= */
#define BUS_FILE_CHECKPOINT "checkpoint"        /* the checkpoint to evaluate */
#define BUS_FILE_STDERR "stderr"                /* run mode: the destination of actors' own messages */

/* Keys of SubmitJob's `options`, each with its D-Bus type. */
#define BUS_OPTION_PURPOSE "purpose"            /* s: train (default), verify, evaluate */
#define BUS_OPTION_PRICE_SHEET "price-sheet"    /* s: the text of PriceSheet=./FILE */
#define BUS_OPTION_EPISODES "episodes"          /* t: for evaluate */
/* ay: data for the scheduler that Policy= names; at most 1 MiB */
#define BUS_OPTION_SCHEDULER_DATA "scheduler-data"
