/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the library from a Python package or, without Python=, from the system. A user chose the package, so
 * the library is loaded only inside the finished sandbox. The library's imports are a table with a pointer
 * for each function (System V ABI, "Dynamic Linking"). The linker fills in the table, and then this file
 * replaces some of the pointers. So SWMM, which works on files, needs no file system, and no system call
 * that plugins do not have. */
#include "actor/envs/swmm/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "actor/envs/swmm/package.h"
#include "lib/cleanup.h"

#define LIBRARY_NAME    "libswmm5.so"
#define LIBRARY_PACKAGE "swmm/toolkit/" LIBRARY_NAME

static int find_and_open(const char *python, int packages_fd, void **ret) {
        char path[512] = LIBRARY_NAME;
        const char *why;

        if (packages_fd >= 0 && package_find(packages_fd, LIBRARY_PACKAGE, path, sizeof(path)) < 0) {
                (void) fprintf(stderr,
                                "Python=%s: this virtual environment has no package swmm-toolkit, which "
                                "contains EPA SWMM: install it with `%s/bin/pip install swmm-toolkit`.\n",
                                python, python);
                return -ENOENT;
        }
        *ret = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (*ret)
                return 0;

        why = dlerror();
        if (packages_fd >= 0)
                (void) fprintf(stderr,
                                "Python=%s: EPA SWMM does not load: %s; install the package anew with "
                                "`%s/bin/pip install --force-reinstall swmm-toolkit`.\n",
                                python, why, python);
        else
                (void) fprintf(stderr,
                                "EPA SWMM is not installed: %s; make a virtual environment with `python3 "
                                "-m venv DIRECTORY` and `DIRECTORY/bin/pip install swmm-toolkit`, and "
                                "write Python=DIRECTORY in [Actor].\n",
                                why);
        return packages_fd >= 0 ? -ENOEXEC : -ENOENT;
}

static int find_functions(void *handle, SwmmLibrary *ret) {
        const struct {
                const char *name;
                void **at;
        } functions[] = {
                { "swmm_open", (void **) &ret->open },
                { "swmm_start", (void **) &ret->start },
                { "swmm_step", (void **) &ret->step },
                { "swmm_getIndex", (void **) &ret->get_index },
                { "swmm_getValue", (void **) &ret->get_value },
                { "swmm_setValue", (void **) &ret->set_value },
                { "swmm_getError", (void **) &ret->get_error },
        };

        for (size_t i = 0; i < ELEMENTSOF(functions); i++) {
                *functions[i].at = dlsym(handle, functions[i].name);
                if (!*functions[i].at) {
                        (void) fprintf(stderr,
                                        "This EPA SWMM is older than 5.2: it has no %s(); install a newer "
                                        "swmm-toolkit.\n",
                                        functions[i].name);
                        return -ENOEXEC;
                }
        }
        return 0;
}

/* On most kinds of machines, the linker has already added the load address. */
static const void *dynamic_address(const struct link_map *map, const ElfW(Dyn) * entry) {
        uintptr_t value = entry->d_un.d_ptr;

        return (const void *) (value < map->l_addr ? map->l_addr + value : value);
}

static int replace_in(const struct link_map *map, const ElfW(Rela) * relocations, size_t n,
                const ElfW(Sym) * symbols, const char *strings, const SwmmImport *import) {
        uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
        int n_replaced = 0;

        for (size_t i = 0; i < n; i++) {
                uintptr_t at = map->l_addr + relocations[i].r_offset;

                if (strcmp(strings + symbols[ELF64_R_SYM(relocations[i].r_info)].st_name, import->name) != 0)
                        continue;
                if (mprotect((void *) (at & ~(page - 1)), page, PROT_READ | PROT_WRITE) < 0)
                        return -errno;
                memcpy((void *) at, (const void *) &import->instead, sizeof(void *));
                n_replaced++;
        }
        return n_replaced;
}

static int replace(const struct link_map *map, const SwmmImport *import) {
        const ElfW(Rela) * tables[2] = {};
        const ElfW(Sym) *symbols = NULL;
        const char *strings = NULL;
        size_t bytes[2] = {};
        int n_replaced = 0;

        for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
                switch (entry->d_tag) {
                case DT_JMPREL: tables[0] = dynamic_address(map, entry); break;
                case DT_PLTRELSZ: bytes[0] = entry->d_un.d_val; break;
                case DT_RELA: tables[1] = dynamic_address(map, entry); break;
                case DT_RELASZ: bytes[1] = entry->d_un.d_val; break;
                case DT_SYMTAB: symbols = dynamic_address(map, entry); break;
                case DT_STRTAB: strings = dynamic_address(map, entry); break;
                }
        for (size_t i = 0; i < 2 && symbols && strings; i++) {
                int r;

                if (!tables[i])
                        continue;
                r = replace_in(map, tables[i], bytes[i] / sizeof(ElfW(Rela)), symbols, strings, import);
                if (r < 0)
                        return r;
                n_replaced += r;
        }
        return n_replaced > 0 ? 0 : -ENOEXEC;
}

typedef struct RangeSearch {
        const struct link_map *map;
        SwmmRange *ranges;
        size_t n;
} RangeSearch;

static void add_range(RangeSearch *search, uintptr_t from, uintptr_t to) {
        if (from >= to)
                return;
        if (search->n < SWMM_RANGES_MAX)
                search->ranges[search->n] = (SwmmRange){ (void *) from, to - from };
        search->n++;
}

/* Finds the library's writable segments, without the part that the linker made read-only after loading. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *userdata) {
        uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE), closed_from = 0, closed_to = 0;
        RangeSearch *search = userdata;

        if (info->dlpi_addr != search->map->l_addr || strcmp(info->dlpi_name, search->map->l_name) != 0)
                return 0;
        for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
                        closed_from = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~(page - 1);
                        closed_to = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
                                                    info->dlpi_phdr[i].p_memsz) &
                                    ~(page - 1);
                }
        for (int i = 0; i < info->dlpi_phnum; i++) {
                const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
                uintptr_t from = info->dlpi_addr + segment->p_vaddr, to = from + segment->p_memsz;

                if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
                        continue;
                add_range(search, from, closed_from < to && closed_from > from ? closed_from : from);
                add_range(search, closed_to > from && closed_to < to ? closed_to : from, to);
        }
        return 1;
}

int library_load(const char *python, int packages_fd, const SwmmImport *imports, size_t n_imports,
                SwmmLibrary *ret, SwmmRange ret_ranges[SWMM_RANGES_MAX], size_t *ret_n_ranges) {
        RangeSearch search = { .ranges = ret_ranges };
        SwmmLibrary library = {};
        struct link_map *map;
        void *handle;
        int r;

        r = find_and_open(python, packages_fd, &handle);
        if (r < 0)
                return r;
        r = find_functions(handle, &library);
        if (r < 0)
                return r;

        r = dlinfo(handle, RTLD_DI_LINKMAP, (void *) &map) == 0 ? 0 : -ENOEXEC;
        for (size_t i = 0; i < n_imports && r >= 0; i++)
                r = replace(map, &imports[i]);
        if (r < 0) {
                (void) fprintf(stderr,
                                "actord cannot keep %s from opening files: its table of imports has an "
                                "unknown form; install another version of swmm-toolkit.\n",
                                map->l_name);
                return r;
        }

        search.map = map;
        (void) dl_iterate_phdr(look_at_object, &search);
        /* A variable that is not restored would carry over from one episode to the next. */
        if (search.n == 0 || search.n > SWMM_RANGES_MAX) {
                (void) fprintf(stderr,
                                "actord cannot reset %s: it is not a known release of EPA SWMM; "
                                "install another version of swmm-toolkit.\n",
                                map->l_name);
                return -ENOEXEC;
        }
        *ret = library;
        *ret_n_ranges = search.n;
        return 0;
}
