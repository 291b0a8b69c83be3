/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What releases of MuJoCo do differently, as far as this module calls them: 2.2.2 up to 4.0. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <string.h>

/* Three digits up to 3.9.9, then three for each part. */
#if mjVERSION_HEADER < 1000
#define RELEASE_MAJOR (mjVERSION_HEADER / 100)
#else
#define RELEASE_MAJOR (mjVERSION_HEADER / 1000000)
#endif

/* A copy of the text as a file of this name. False: it did not fit. */
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
