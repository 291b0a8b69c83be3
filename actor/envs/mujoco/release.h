/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Differences between the releases 2.2.2 to 4.0 of MuJoCo that concern this module. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* mjVERSION_HEADER has three digits up to release 3.9.9, and later three digits for each part. */
#if mjVERSION_HEADER < 1000
#define RELEASE_MAJOR (mjVERSION_HEADER / 100)
#else
#define RELEASE_MAJOR (mjVERSION_HEADER / 1000000)
#endif

/* Adds a copy of the text under this file name. False: it did not fit. */
static inline bool release_vfs_add(mjVFS *vfs, const char *name, const char *text, size_t n) {
#if RELEASE_MAJOR < 3
        if (mj_makeEmptyFileVFS(vfs, name, (int) n) != 0)
                return false;
        memcpy(vfs->filedata[mj_findFileVFS(vfs, name)], text, n);
        return true;
#else
        return mj_addBufferVFS(vfs, name, text, (int) n) == 0;
#endif
}

/* Loads a model from a file; NULL, with a reason in `error`. From MuJoCo 3.3 on the model compiler would
 * start threads for meshes, which an actor must not do. */
static inline mjModel *release_load(const char *path, char *error, size_t n) {
#if mjVERSION_HEADER >= 330
        mjSpec *spec = mj_parseXML(path, NULL, error, (int) n);
        mjModel *model;

        if (!spec)
                return NULL;
        spec->compiler.usethread = 0;
        model = mj_compile(spec, NULL);
        if (!model)
                (void) snprintf(error, n, "%s", mjs_getError(spec));
        mj_deleteSpec(spec);
        return model;
#else
        return mj_loadXML(path, NULL, error, (int) n);
#endif
}

/* Whether a step depends on state that snapshots lack: of plugins, delays or sleeping bodies. */
static inline bool release_keeps_more(const mjModel *model) {
#if RELEASE_MAJOR >= 4
        if (model->nhistory > 0 || model->opt.enableflags & mjENBL_SLEEP)
                return true;
#endif
#if RELEASE_MAJOR >= 3
        return model->npluginstate > 0;
#else
        return false;
#endif
}
