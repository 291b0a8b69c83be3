/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frames of the stream between a job's invoker (the head) and the invoker of a node. Each frame begins
 * with a FrameHead. The kind of a frame limits its length. The length is checked before memory is allocated
 * or the body is read. An unexpected frame ends the stream, and so the node.
 *
 *   node ▶ head   HELLO, then ANSWER and ENDED as they come, and a PONG for each PING
 *   head ▶ node   ORDER and KILL for processes, a POLICY before the first order that names its version, PING
 *
 * Both sides use the same numbers for containers. Each process of a container on the node has a number of
 * its own, `birth`. So a frame about a process that has ended is never mistaken for a frame about the next
 * process. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/slot.h"
#include "include/turn.h"

#define STREAM_ABI  2u
#define FRAME_MAGIC 0x6e646361u

typedef enum FrameKind {
        FRAME_NONE,
        FRAME_HELLO,  /* with a NodeHello */
        FRAME_ANSWER, /* with a FrameAnswer; after a rollout also its rows and new snapshots */
        FRAME_ENDED,  /* with a FrameEnded: the process is gone, and its order has failed */
        FRAME_PONG,
        FRAME_POLICY, /* with a FramePolicy, then the bank */
        FRAME_ORDER,  /* with an Order; for a rollout also the snapshots. Order PROBE: start a new process */
        FRAME_KILL,   /* kill the process whose number is `birth`, if it still exists */
        FRAME_PING,
        _FRAME_KIND_MAX,
} FrameKind;

typedef enum FrameSide { FRAME_SIDE_NODE, FRAME_SIDE_HEAD } FrameSide; /* the sender */

typedef struct FrameHead {
        uint32_t magic, kind;
        uint32_t container, birth;
        uint64_t sequence; /* the number of the frame, from 0 for each sender */
        uint64_t n_bytes;  /* the length of the body */
} FrameHead;
static_assert(sizeof(FrameHead) == 32, "ABI");

typedef struct NodeHello {
        uint32_t abi, struct_bytes;
        char release[32];
        char words[128]; /* why the node cannot begin; "": it can */
        JobPage page;    /* as computed by the node */
} NodeHello;

/* What a process has used since the last frame about it. */
typedef struct FrameUse {
        uint64_t cpu_nsec, memory_peak_bytes;
} FrameUse;

typedef struct FrameAnswer {
        Answer answer;
        FrameUse use;
        uint64_t n_finals; /* truncated episodes in the rows that follow */
} FrameAnswer;

typedef struct FrameEnded {
        FrameUse use;
        uint32_t fault;
        int32_t detail;
} FrameEnded;

typedef struct FramePolicy {
        uint64_t version, bank;
} FramePolicy;

/* The allowed lengths of the bodies of each kind of frame. They follow from the JobPage (include/slot.h). If
 * `sent` is false, this side does not send frames of this kind. */
typedef struct FrameLimits {
        struct {
                bool sent;
                uint64_t least, most;
        } kinds[_FRAME_KIND_MAX];
        uint32_t n_containers;
        uint64_t most; /* the longest of all */
} FrameLimits;

uint64_t frame_bank_bytes(const SegmentLayout *l); /* the size of a bank of snapshots */
/* The size of the rows that a rollout wrote, from the segment's start. n_finals: its truncated episodes. */
uint64_t frame_rows_bytes(const SegmentLayout *l, uint64_t n_finals);

void frame_limits(const JobPage *page, uint32_t n_containers, FrameSide sender, FrameLimits *ret);
/* Checks a frame's header. 0; -EBADMSG: this frame may not come now. */
int frame_expected(const FrameHead *head, const FrameLimits *limits, uint64_t sequence);
/* Each finds the parts of a body whose length frame_expected() has checked. -EBADMSG: the parts do not fit
 * each other or the job. frame_order() copies the order into *ret. */
int frame_order(const FrameHead *head, const void *body, const JobPage *page, uint32_t n_actors,
                uint32_t n_containers, Order *ret);
int frame_policy(const FrameHead *head, const void *body, const JobPage *page, FramePolicy *ret);
int frame_answer(const FrameHead *head, const void *body, const JobPage *page, FrameAnswer *ret);

/* Reads the frames of one sender, and returns each as a whole. */
typedef struct FrameReader {
        const FrameLimits *limits;
        FrameHead head;
        uint8_t *body; /* of limits->most bytes; only the part that frames fill is ever used */
        uint64_t n;    /* how many bytes of the frame were read, with its head */
        uint64_t sequence;
} FrameReader;

int frame_reader_init(const FrameLimits *limits, FrameReader *ret);
void frame_reader_done(FrameReader *reader);
/* Reads without waiting. 1: head and body have a whole frame, until the next call. 0: there is no whole
 * frame yet; *ret_heard: whether any bytes came. -EPIPE: the stream has ended. -EBADMSG: this is not a valid
 * frame. */
int frame_read(FrameReader *reader, int fd, bool *ret_heard);
