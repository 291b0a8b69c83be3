/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernels of lib/normals.h, as a template for lib/each-width.h. Each lane does the operations of
 * philox4x32(), double_log(), sqrt() and double_cos_turn() in their order, without branches. The numbers
 * that reach these functions here are never special: the logarithm's are in (0, 1] and normal, and the
 * cosine's in [0, 1). The file has no include guard, on purpose. */

enum { KERNEL(LANES) = KERNEL_WIDTH / 2 };

typedef uint64_t KERNEL(Words) __attribute__((vector_size(4 * KERNEL_WIDTH))); /* also of 32 bits each */
typedef double KERNEL(Doubles) __attribute__((vector_size(4 * KERNEL_WIDTH)));
typedef float KERNEL(Floats) __attribute__((vector_size(2 * KERNEL_WIDTH)));

#define KERNEL_INLINE KERNEL_TARGET static inline __attribute__((always_inline))

/* A whole number below 2^52 as a double: the low bits of 2^52 hold it. */
KERNEL_INLINE KERNEL(Doubles) KERNEL(double_of)(KERNEL(Words) n) {
        return (KERNEL(Doubles))(n | UINT64_C(0x4330000000000000)) - 0x1p52;
}

/* As random_fraction() of lib/rng.c. */
KERNEL_INLINE KERNEL(Doubles) KERNEL(fraction)(KERNEL(Words) high, KERNEL(Words) low) {
        return (KERNEL(double_of)(high >> 5) * 0x1p26 + KERNEL(double_of)(low >> 6)) * 0x1p-53;
}

/* As philox4x32(). */
KERNEL_INLINE void KERNEL(philox)(KERNEL(Words) * c, const uint32_t key[2]) {
        const KERNEL(Words) none = {}, m0 = none + UINT64_C(0xD2511F53), m1 = none + UINT64_C(0xCD9E8D57);
        uint32_t k0 = key[0], k1 = key[1];

        for (int i = 0; i < 10; i++) {
                KERNEL(Words)
                p0 = (KERNEL(Words)) KERNEL_PRODUCT(c[0], m0), p1 = (KERNEL(Words)) KERNEL_PRODUCT(c[2], m1);

                c[0] = (p1 >> 32) ^ c[1] ^ k0;
                c[1] = p1 & UINT32_MAX;
                c[2] = (p0 >> 32) ^ c[3] ^ k1;
                c[3] = p0 & UINT32_MAX;
                k0 += UINT32_C(0x9E3779B9);
                k1 += UINT32_C(0xBB67AE85);
        }
}

/* As double_log() of lib/doubles.c. */
KERNEL_INLINE KERNEL(Doubles) KERNEL(log)(KERNEL(Doubles) x) {
        const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
        KERNEL(Words) bits = (KERNEL(Words)) x;
        /* 1,024 more than the exponent, so that a shift without sign serves */
        KERNEL(Words) exponent = (bits - UINT64_C(0x3FE6A09E667F3BCD) + (UINT64_C(1024) << 52)) >> 52;
        KERNEL(Doubles) f = (KERNEL(Doubles))(bits - ((exponent - 1024) << 52)) - 1.0;
        KERNEL(Doubles) e = KERNEL(double_of)(exponent) - 1024.0;
        KERNEL(Doubles) s = f / (2.0 + f), z = s * s, z2 = z * z, z4 = z2 * z2;
        KERNEL(Doubles) a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
        KERNEL(Doubles) b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
        KERNEL(Doubles) c = (2.0 / 19 + z * (2.0 / 21)) + z2 * (2.0 / 23);
        KERNEL(Doubles) series = z * (a + z4 * (b + z4 * c));

        return e * ln2_high + (f - (s * (f - series) - e * ln2_low));
}

/* As double_cos_turn() of lib/doubles.c: quarters 1 and 3 have the sine; 1 and 2 are negative. */
KERNEL_INLINE KERNEL(Doubles) KERNEL(cos_turn)(KERNEL(Doubles) turn) {
        const double round = 0x1.8p52, whole_turn = 0x1.921fb54442d18p+2;
        KERNEL(Doubles) rounded = 4.0 * turn + round;
        KERNEL(Words)
        quarter = (KERNEL(Words)) rounded & 3, is_sine = -(quarter & 1), sign = ((quarter + 1) & 2) << 62;
        KERNEL(Doubles) y = (turn - 0.25 * (rounded - round)) * whole_turn, y2 = y * y, y4 = y2 * y2;
        KERNEL(Doubles) sine3 = 1.0 / 6 - y2 * (1.0 / 120);
        KERNEL(Doubles) sine7 = 1.0 / 5040 - y2 * (1.0 / 362880);
        KERNEL(Doubles) sine11 = 1.0 / 39916800 - y2 * (1.0 / 6227020800);
        KERNEL(Doubles)
        sine = y - y * y2 * (sine3 + y4 * (sine7 + y4 * (sine11 + y4 * (1.0 / 1307674368000))));
        KERNEL(Doubles) cosine4 = 1.0 / 24 - y2 * (1.0 / 720);
        KERNEL(Doubles) cosine8 = 1.0 / 40320 - y2 * (1.0 / 3628800);
        KERNEL(Doubles) cosine12 = 1.0 / 479001600 - y2 * (1.0 / 87178291200) + y4 * (1.0 / 20922789888000);
        KERNEL(Doubles) cosine = 1.0 - (0.5 * y2 - y4 * (cosine4 + y4 * (cosine8 + y4 * cosine12)));

        return (KERNEL(Doubles))(
                        (((KERNEL(Words)) sine & is_sine) | ((KERNEL(Words)) cosine & ~is_sine)) ^ sign);
}

/* As actord_random_normal(), from the blocks with the counters c. */
KERNEL_INLINE KERNEL(Floats) KERNEL(normal)(KERNEL(Words) * c, const uint32_t key[2]) {
        enum { LANES = KERNEL(LANES) };
        KERNEL(Doubles) radius;

        KERNEL(philox)(c, key);
        radius = -2.0 * KERNEL(log)(1.0 - KERNEL(fraction)(c[0], c[1]));
        for (uint32_t l = 0; l < LANES; l++)
                radius[l] = sqrt(radius[l]);
        return __builtin_convertvector(
                        radius * KERNEL(cos_turn)(KERNEL(fraction)(c[2], c[3])), KERNEL(Floats));
}

/* A lane is a stream. */
KERNEL_TARGET static void KERNEL(normals)(const ActordRandom *first, const uint32_t *slots, uint32_t n_rows,
                uint32_t n, float *ret, size_t stride) {
        enum { LANES = KERNEL(LANES) };

        for (uint32_t i = 0; i < n_rows; i += LANES) {
                uint32_t n_lanes = n_rows - i < LANES ? n_rows - i : LANES;
                KERNEL(Words) streams = {};

                for (uint32_t l = 0; l < n_lanes; l++) {
                        assert(slots[i + l] <= RANDOM_SLOT_MAX);
                        streams[l] = slots[i + l];
                }
                for (uint32_t k = 0; k < n; k++) {
                        KERNEL(Words)
                        none = {}, c[4] = { none + k, none + first->counter[1], streams | first->counter[2],
                                none + first->counter[3] };
                        KERNEL(Floats) numbers = KERNEL(normal)(c, first->key);

                        memcpy(ret + k * stride + i, &numbers, n_lanes * sizeof(float));
                }
        }
}

/* A lane is a block of one stream. */
KERNEL_TARGET static void KERNEL(sequence)(const ActordRandom *random, uint32_t n, float *ret) {
        enum { LANES = KERNEL(LANES) };
        KERNEL(Words) none = {}, blocks = {};

        for (uint32_t l = 0; l < LANES; l++)
                blocks[l] = (uint64_t) random->counter[0] + l;
        for (uint32_t k = 0; k < n; k += LANES) {
                KERNEL(Words)
                c[4] = { blocks + k, none + random->counter[1], none + random->counter[2],
                        none + random->counter[3] };
                KERNEL(Floats) numbers = KERNEL(normal)(c, random->key);

                memcpy(ret + k, &numbers, (n - k < LANES ? n - k : LANES) * sizeof(float));
        }
}

#undef KERNEL_INLINE

static const Kernels KERNEL(table) = { KERNEL(normals), KERNEL(sequence) };
