/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the host a sandbox with `libraries` may see: programs' shared parts and the linker's tables.
 * One list for the mounts and for the Landlock rules. */
#pragma once

/* Linker tables; /etc/alternatives is what some libraries of Debian point through. Symbolic links among them (/lib
 * on a merged system) are made again as links. */
#define SANDBOX_LIBRARIES \
        "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"
#define SANDBOX_DEVICES "/dev/null", "/dev/zero", "/dev/urandom"
