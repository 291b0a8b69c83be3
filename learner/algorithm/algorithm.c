/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds an algorithm by its number. */
#include "learner/algorithm/algorithm.h"

#include <stddef.h>

const Algorithm *algorithm_find(uint32_t algorithm) {
        static const Algorithm *const table[_ALGORITHM_MAX] = {
#define X(name, word) [ALGORITHM_##name] = &algorithm_##name,
                ALGORITHMS(X)
#undef X
        };

        return algorithm < _ALGORITHM_MAX ? table[algorithm] : NULL;
}
