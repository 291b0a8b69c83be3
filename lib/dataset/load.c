/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>

#include "lib/dataset/dataset.h"

int dataset_load(const char *path, const DatasetModule **ret) {
        const DatasetModule *module;
        void *handle;

        assert(path);
        assert(ret);

        /* The module stays loaded: its functions are called until this process ends. */
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
                return -ENOENT;
        module = dlsym(handle, DATASET_ENTRANCE);
        if (!module || module->abi != DATASET_ABI || module->struct_bytes != sizeof(DatasetModule))
                return -EPROTO;

        *ret = module;
        return 0;
}

uint64_t dataset_episode(const Dataset *dataset, uint64_t step) {
        uint64_t low = 0, high = dataset->n_episodes;

        assert(step < dataset->n_steps);

        while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;

                if (dataset->first[middle] <= step)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

const char *dataset_problem(int32_t detail, int64_t *ret_episode) {
        static const char *const words[_DATASET_PROBLEM_MAX] = {
#define X(name, word) [DATASET_##name] = (word),
                DATASET_PROBLEMS(X)
#undef X
        };
        uint32_t problem = (uint32_t) detail >> 24;

        if (problem == DATASET_NONE || problem >= _DATASET_PROBLEM_MAX)
                return NULL;
        *ret_episode = problem >= DATASET_LACKS ? (int64_t) ((uint32_t) detail & DATASET_EPISODES_MAX) : -1;
        return words[problem];
}
