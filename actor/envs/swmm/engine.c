/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replacements for the library's malloc() and fopen(), and the turns of simulations.
 *
 * Memory is allocated in order and never freed: a simulation allocates while it reads its text, and hardly
 * afterwards. The memory region stays at one address as long as the process lives, so pointers in an image
 * stay valid. In another process they would not be valid, so an image cannot be a snapshot. */
#include "actor/envs/swmm/engine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "actor/envs/swmm/library.h"
#include "actor/envs/swmm/package.h"
#include "lib/cleanup.h"

#define INPUT_NAME "input"

enum { ALIGNMENT = 16, ERROR_MAX = 256, MSEC_PER_DAY = 24 * 60 * 60 * 1000 };

static struct {
        const char *python;
        int packages_fd;
        bool loaded;
        SwmmLibrary library;
        SwmmRange ranges[SWMM_RANGES_MAX];
        size_t n_ranges, variables_bytes;
        uint8_t *fresh;  /* the library's variables as they were after loading */
        uint8_t *region; /* the memory for the library's allocations */
        uint64_t region_bytes, allocated;
        FILE *input, *nowhere;
        const char *text;
        size_t n_text;
        EngineImage *turn; /* the image that the library works on; NULL: none */
} engine = { .packages_fd = -1 };

static void *engine_malloc(size_t n) {
        uint64_t bytes = (n + ALIGNMENT - 1) & ~(uint64_t) (ALIGNMENT - 1);
        void *memory = engine.region + engine.allocated;

        if (n > engine.region_bytes || bytes > engine.region_bytes - engine.allocated)
                return NULL;
        engine.allocated += bytes;
        return memory;
}

/* engine_malloc() gives memory that is already zero: everything in the region above `allocated` is. */
static void *engine_calloc(size_t n, size_t size) {
        size_t bytes;

        return __builtin_mul_overflow(n, size, &bytes) ? NULL : engine_malloc(bytes);
}

static void engine_free(void *memory) {
}

static ssize_t write_nowhere(void *cookie, const char *bytes, size_t n) {
        return (ssize_t) n;
}

static int seek_nowhere(void *cookie, off64_t *position, int whence) {
        *position = 0;
        return 0;
}

/* The input is a text in memory; the library's report and results are thrown away. */
static FILE *engine_fopen(const char *name, const char *mode) {
        const cookie_io_functions_t nowhere = { .write = write_nowhere, .seek = seek_nowhere };

        if (strcmp(name, INPUT_NAME) == 0)
                return engine.input = fmemopen((void *) engine.text, engine.n_text, "r");
        if (!engine.nowhere)
                engine.nowhere = fopencookie(NULL, "w", nowhere);
        return engine.nowhere;
}

static int engine_fclose(FILE *file) {
        return 0; /* engine_begin() closes the input. The file for the library's output stays open */
}

static uint8_t *image_bytes(EngineImage *image) {
        return (uint8_t *) (image + 1);
}

static void variables_save(uint8_t *to) {
        for (size_t i = 0; i < engine.n_ranges; to += engine.ranges[i++].n)
                memcpy(to, engine.ranges[i].at, engine.ranges[i].n);
}

static void variables_load(const uint8_t *from) {
        for (size_t i = 0; i < engine.n_ranges; from += engine.ranges[i++].n)
                memcpy(engine.ranges[i].at, from, engine.ranges[i].n);
}

static void *take_memory(size_t n) {
        /* cppcheck-suppress invalidFunctionArg ; anonymous memory is given -1 */
        void *memory = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return memory == MAP_FAILED ? NULL : memory;
}

static int load(void) {
        static const SwmmImport imports[] = {
                { "malloc", (void *) engine_malloc },
                { "calloc", (void *) engine_calloc },
                { "free", (void *) engine_free },
                { "fopen", (void *) engine_fopen },
                { "fclose", (void *) engine_fclose },
        };
        size_t bytes = 0;
        int r;

        if (engine.loaded)
                return 0;
        r = library_load(engine.python, engine.packages_fd, imports, ELEMENTSOF(imports), &engine.library,
                        engine.ranges, &engine.n_ranges);
        if (r < 0)
                return r;

        for (size_t i = 0; i < engine.n_ranges; i++)
                bytes += engine.ranges[i].n;
        if (bytes > ENGINE_IMAGE_MAX / 2) {
                (void) fprintf(stderr,
                                "This EPA SWMM has %zu bytes of variables, and actord allows %llu: use "
                                "another version of swmm-toolkit.\n",
                                bytes, (unsigned long long) ENGINE_IMAGE_MAX / 2);
                return -EFBIG;
        }
        engine.variables_bytes = bytes;
        engine.region_bytes = ENGINE_IMAGE_MAX - engine.variables_bytes;
        engine.region = take_memory(engine.region_bytes);
        engine.fresh = take_memory(engine.variables_bytes);
        if (!engine.region || !engine.fresh)
                return -ENOMEM;
        variables_save(engine.fresh);
        engine.loaded = true;
        return 0;
}

/* Copies the library's state into the image that had the turn. */
static void turn_end(void) {
        EngineImage *image = engine.turn;

        if (!image)
                return;
        image->allocated = engine.allocated;
        variables_save(image_bytes(image));
        memcpy(image_bytes(image) + engine.variables_bytes, engine.region, engine.allocated);
        engine.turn = NULL;
}

void engine_turn(EngineImage *image) {
        if (engine.turn == image)
                return;
        turn_end();
        variables_load(image_bytes(image));
        memcpy(engine.region, image_bytes(image) + engine.variables_bytes, image->allocated);
        if (engine.allocated > image->allocated)
                memset(engine.region + image->allocated, 0, engine.allocated - image->allocated);
        engine.allocated = image->allocated;
        engine.turn = image;
}

void engine_forget(EngineImage *image) {
        if (engine.turn == image)
                engine.turn = NULL;
        image->live = false;
}

/* Prints the library's message, without the line break at its beginning. Returns -EIO. */
static int complain(void) {
        char text[ERROR_MAX] = "";

        (void) engine.library.get_error(text, sizeof(text) - 1);
        (void) fprintf(stderr, "EPA SWMM stops: %s\n", text + strspn(text, " \n"));
        return -EIO;
}

static int find_parts(EngineImage *image, const EngineNames *names) {
        for (size_t i = 0; i < ENGINE_NAMES_MAX; i++) {
                image->nodes[i] = names->nodes[i] ? engine.library.get_index(SWMM_NODE, names->nodes[i]) : 0;
                image->links[i] = names->links[i] ? engine.library.get_index(SWMM_LINK, names->links[i]) : 0;
                if (image->nodes[i] < 0 || image->links[i] < 0)
                        return -ENXIO;
        }
        return 0;
}

void engine_packages(const char *python, int fd) {
        engine.python = python;
        engine.packages_fd = fd;
}

int engine_read(const char *task, const char *package, const char *file, char *ret, size_t n) {
        int r;

        if (engine.packages_fd < 0) {
                (void) fprintf(stderr,
                                "%s reads its network from the Python package %s: make a virtual "
                                "environment with `python3 -m venv DIRECTORY` and `DIRECTORY/bin/pip "
                                "install swmm-toolkit %s`, and write Python=DIRECTORY in [Actor].\n",
                                task, package, package);
                return -ENOENT;
        }
        r = package_read(engine.packages_fd, file, ret, n);
        if (r == -ENOENT)
                (void) fprintf(stderr,
                                "Python=%s: this virtual environment has no package %s, which has the "
                                "network of %s: install it with `%s/bin/pip install %s`.\n",
                                engine.python, package, task, engine.python, package);
        else if (r < 0)
                (void) fprintf(stderr, "Python=%s: %s cannot be read: %s.\n", engine.python, file,
                                strerror(-r));
        return r;
}

int engine_begin(EngineImage *image, const char *text, size_t n_text, const EngineNames *names) {
        int r;

        r = load();
        if (r < 0)
                return r;

        engine_forget(image);
        turn_end();
        variables_load(engine.fresh);
        memset(engine.region, 0, engine.allocated);
        engine.allocated = 0;

        engine.text = text;
        engine.n_text = n_text;
        r = engine.library.open(INPUT_NAME, "report", "results") == 0 && engine.library.start(0) == 0
                            ? find_parts(image, names)
                            : complain();
        if (engine.input)
                (void) fclose(engine.input);
        engine.input = NULL;
        if (r < 0)
                return r;

        image->live = true;
        engine.turn = image;
        return 0;
}

int engine_advance(int64_t *ret_msec) {
        double elapsed_days;

        if (engine.library.step(&elapsed_days) != 0)
                return complain();
        *ret_msec = llround(elapsed_days * MSEC_PER_DAY); /* SWMM counts in milliseconds */
        return 0;
}

double engine_depth(int node) {
        return engine.library.get_value(SWMM_NODE_DEPTH, node);
}

double engine_overflow(int node) {
        return engine.library.get_value(SWMM_NODE_OVERFLOW, node);
}

double engine_flow(int link) {
        return engine.library.get_value(SWMM_LINK_FLOW, link);
}

void engine_set_opening(int link, double opening) {
        engine.library.set_value(SWMM_LINK_SETTING, link, opening);
}
