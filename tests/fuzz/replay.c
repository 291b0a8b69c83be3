/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in for the fuzzing engine in the ordinary build: gives a fuzzer its seeds, one test point each. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the fuzz target on one file. The buffer is exactly as large as the file, so that valgrind and the
 * sanitizers see a read beyond it. */
static void replay(const char *path) {
        FILE *file = fopen(path, "re");
        uint8_t *data;
        long size;

        if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
                fprintf(stderr, "%s: cannot be read\n", path);
                exit(EXIT_FAILURE);
        }
        rewind(file);
        data = malloc((size_t) size);
        if ((!data && size > 0) || fread(data, 1, (size_t) size, file) != (size_t) size) {
                fprintf(stderr, "%s: cannot be read\n", path);
                exit(EXIT_FAILURE);
        }
        fclose(file);
        LLVMFuzzerTestOneInput(data, (size_t) size);
        free(data);
}

static int is_seed(const struct dirent *entry) {
        return entry->d_name[0] != '.';
}

/* Seeds of build/fuzz/fuzz-x are the files of tests/fuzz/fuzz-x/. */
int main(int argc, char *argv[]) {
        const char *name = strrchr(argv[0], '/');
        struct dirent **seeds;
        char directory[512], path[1024];
        int n;

        (void) argc;
        snprintf(directory, sizeof(directory), "tests/fuzz/%s", name ? name + 1 : argv[0]);
        n = scandir(directory, &seeds, is_seed, alphasort);
        if (n <= 0) {
                printf("Bail out! %s holds no seeds.\n", directory);
                return EXIT_FAILURE;
        }

        printf("1..%d\n", n);
        for (int i = 0; i < n; i++) {
                snprintf(path, sizeof(path), "%s/%s", directory, seeds[i]->d_name);
                replay(path);
                printf("ok %d - %s\n", i + 1, seeds[i]->d_name);
                fflush(stdout);
                free(seeds[i]);
        }
        free(seeds);
        return EXIT_SUCCESS;
}
