/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What passes through the stream between a job's invoker and that of a node: frames with a head of one size.
 * A frame's kind says how long it may be, and that is checked before memory is taken or a byte of its body
 * is believed. Whatever is not expected ends the stream, and with it the node.
 *
 *   node ▶ head   HELLO, then ANSWER and ENDED as they come, and a PONG for each PING
 *   head ▶ node   ORDER and KILL for processes, a POLICY before the first order that names its version, PING
 *
 * A container is the same one on both sides. Its process on the node has a number, `birth`, so that a frame
 * about a process that is gone is never taken for one about the next. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/slot.h"
#include "include/turn.h"

#define STREAM_ABI  1u
#define FRAME_MAGIC 0x6e646361u

typedef enum FrameKind {
        FRAME_NONE,
        FRAME_HELLO,  /* NodeHello */
        FRAME_ANSWER, /* FrameAnswer; of a rollout also its rows and the snapshots that it wrote */
        FRAME_ENDED,  /* FrameEnded: the process is gone, and what it was ordered has failed */
        FRAME_PONG,
        FRAME_POLICY, /* FramePolicy, then the bank */
        FRAME_ORDER,  /* Order; of a rollout also the snapshots that it reads. PROBE: a new process */
        FRAME_KILL,   /* the process `birth`, if it still is */
        FRAME_PING,
        _FRAME_KIND_MAX,
} FrameKind;

typedef enum FrameSide { FRAME_SIDE_NODE, FRAME_SIDE_HEAD } FrameSide; /* who sends */

typedef struct FrameHead {
        uint32_t magic, kind;
        uint32_t container, birth;
        uint64_t sequence; /* of the sender's frames, from 0 */
        uint64_t n_bytes;  /* of the body */
} FrameHead;
static_assert(sizeof(FrameHead) == 32, "ABI");

typedef struct NodeHello {
        uint32_t abi, struct_bytes;
        char release[32];
        JobPage page; /* as the node computes it */
} NodeHello;

/* What a process has used since the last frame about it. */
typedef struct FrameUse {
        uint64_t cpu_nsec, memory_peak_bytes;
} FrameUse;

typedef struct FrameAnswer {
        Answer answer;
        FrameUse use;
        uint64_t n_finals; /* truncated episodes among the rows that follow */
} FrameAnswer;

typedef struct FrameEnded {
        FrameUse use;
        uint32_t fault;
        int32_t detail;
} FrameEnded;

typedef struct FramePolicy {
        uint64_t version, bank;
} FramePolicy;

/* How long a body of each kind may be; 0, 0 in `sent`: this side sends none. Follows from the job's page. */
typedef struct FrameLimits {
        struct {
                bool sent;
                uint64_t least, most;
        } kinds[_FRAME_KIND_MAX];
        uint32_t n_containers;
        uint64_t most; /* of all */
} FrameLimits;

uint64_t frame_bank_bytes(const SegmentLayout *l); /* of a bank of snapshots */
/* Of the rows from the segment's start that a rollout with so many truncated episodes wrote. */
uint64_t frame_rows_bytes(const SegmentLayout *l, uint64_t n_finals);

void frame_limits(const JobPage *page, uint32_t n_containers, FrameSide sender, FrameLimits *ret);
/* 0; -EBADMSG: it is not the frame that may come now. */
int frame_expected(const FrameHead *head, const FrameLimits *limits, uint64_t sequence);
/* The parts of a body, whose length frame_expected() has seen. -EBADMSG: they do not fit each other, or the
 * job. The order is a copy. */
int frame_order(const FrameHead *head, const void *body, const JobPage *page, uint32_t n_actors,
                uint32_t n_containers, Order *ret);
int frame_policy(const FrameHead *head, const void *body, const JobPage *page, FramePolicy *ret);
int frame_answer(const FrameHead *head, const void *body, const JobPage *page, FrameAnswer *ret);

/* Reads frames of one sender, each as a whole. */
typedef struct FrameReader {
        const FrameLimits *limits;
        FrameHead head;
        uint8_t *body; /* limits->most, and used only as far as frames are long */
        uint64_t n;    /* bytes of the frame that are read, its head among them */
        uint64_t sequence;
} FrameReader;

int frame_reader_init(const FrameLimits *limits, FrameReader *ret);
void frame_reader_done(FrameReader *reader);
/* Never waits. 1: a whole frame lies in head and body, until the next call; 0: there is none yet,
 * *ret_heard: but some bytes came; -EPIPE: the stream has ended; -EBADMSG. */
int frame_read(FrameReader *reader, int fd, bool *ret_heard);
