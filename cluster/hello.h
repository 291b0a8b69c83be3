/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The messages between a node and the head before the stream begins.
 *
 * 1. The node makes a key. munge puts the key into a credential that only this user can open, and only
 *    within minutes. The node sends a Hello and this credential without encryption.
 * 2. The head opens the credential. This proves that a process of the same user made it, on a host with the
 *    same munge key. The head and the node make a TLS 1.3 handshake with the key of the credential. A
 *    stranger who sees the credential cannot read this key. So the handshake proves to the node that its
 *    peer could open the credential.
 * 3. Inside TLS the node sends NodeFacts. The head sends Work, the settings, the launch and the file of
 *    Environment=FILE. The node sends NodeReady. The stream's bytes follow.
 *
 * No secret is ever in a command line, an environment variable or a batch script. */
#pragma once

/* Layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_MAGIC "actord\n"
#define HELLO_ABI 2u
#define HELLO_CREDENTIAL_MAX 4096u
#define HELLO_SETTINGS_MAX (4u << 20)
#define HELLO_LAUNCH_MAX (64u << 10)
/* How long the messages inside TLS may take, until the stream begins. In this time the node also starts its
 * invoker. */
#define HELLO_SECONDS 60u
/* How long a node may take to send its Hello and its credential. */
#define HELLO_CREDENTIAL_SECONDS 10u

enum { TOKEN_BYTES = 16, KEY_BYTES = 32, DIGEST_BYTES = 32 };

typedef struct Hello {
        char magic[8];
        uint32_t abi;
        uint32_t n_credential;          /* the number of bytes that follow */
        char version[32];               /* the product's version on the node */
        uint8_t token[TOKEN_BYTES];     /* tells the heads of different jobs apart; it is not secret */
        uint32_t node;
        uint32_t contracts;             /* the ABIs that the node and the head must share, as one number */
} Hello;
static_assert(sizeof(Hello) == 72, "ABI");

typedef struct Sealed {                 /* the content of a credential */
        char magic[8];
        uint8_t token[TOKEN_BYTES];
        uint8_t key[KEY_BYTES];
        uint32_t node, reserved;
} Sealed;
static_assert(sizeof(Sealed) == 64, "ABI");

typedef struct NodeFacts {
        uint32_t abi, n_cpus;
        uint64_t memory_bytes;
        char name[64];
} NodeFacts;

typedef struct Work {
        uint32_t abi, n_settings, n_launch;
        uint32_t n_plugin;              /* 0: Environment= names no file */
        uint8_t plugin_digest[DIGEST_BYTES];    /* SHA-256 */
} Work;
static_assert(sizeof(Work) == 48, "ABI");

typedef struct NodeReady {
        uint32_t abi;
        int32_t error;                  /* 0; or a negative errno, with words */
        char words[256];
} NodeReady;

/* clang-format on */

/* Checks all but the credential and the build (hello_is_ours()). Returns why the hello is refused; NULL: it
 * is not. */
const char *hello_check(const Hello *hello, const uint8_t token[TOKEN_BYTES]);
/* Whether the node has the same version and the same ABIs as this program. */
bool hello_is_ours(const Hello *hello);
/* Whether the content of a credential belongs to this hello. */
bool sealed_check(const void *content, size_t n, const Hello *hello);
/* Whether the message has this ABI, and lengths for which the node may allocate memory. */
bool work_check(const Work *work);
/* Cleans and terminates the texts that a node sent about itself. False: its facts are impossible. */
bool node_facts_check(NodeFacts *facts);
bool node_ready_check(NodeReady *ready);
void hello_make(const uint8_t token[TOKEN_BYTES], uint32_t node, uint32_t n_credential, Hello *ret);

/* A token as text: 32 hexadecimal digits, as on a node's command line. */
enum { TOKEN_TEXT_BYTES = 2 * TOKEN_BYTES + 1 };
void token_to_string(const uint8_t token[TOKEN_BYTES], char ret[TOKEN_TEXT_BYTES]);
bool token_from_string(const char *text, uint8_t ret[TOKEN_BYTES]);
