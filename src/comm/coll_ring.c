/* coll_ring.c - all-reduce on a ring.
 *
 * Words.  With n ranks the span is cut into n CHUNKS, chunk c being owned by rank c; the first
 * count % n chunks are one element longer, and chunks may be empty.  A chunk is cut into SEGMENTS,
 * the unit that travels.  A TURN is: lend one segment to the right, take one segment from the left,
 * wait until the right is done; so each rank adds one segment while another of its segments is
 * being read.
 *
 * Phase 1 (reduce-scatter), n-1 steps: in step k rank r sends chunk r-1-k and adds what comes from
 * its left to chunk r-2-k.  Chunk c starts at rank c+1 and after n-1 steps ends, complete, at its
 * owner c. Phase 2 (all-gather), n-1 steps: in step k rank r sends chunk r-k and copies chunk r-1-k
 * from its left. Both phases are one numbering: turn t = 0 ... 2n-3 sends chunk r-1-t and takes
 * chunk r-2-t (mod n). Each rank sends 2(n-1)/n of the span, hardly more than twice.
 *
 * Order.  Element i of chunk c is ((x[c+1] + x[c+2]) + ... + x[c-1]) + x[c] on every rank, indices
 * mod n: a run with the same ranks gives the same bits, and all ranks end with the same bits
 * because phase 2 only copies.  With two ranks these are the bits of `naive`, since a + b = b + a.
 *
 * The turns of the first segments of all chunks come first, then those of the second segments, and
 * so on: what a rank has just summed is still in its cache when its neighbour comes for it.
 *
 * Called on the thread of each rank, all ranks at once.  Allocates nothing. */
#include "comm/collective.h"

typedef struct ring_config {
    int64_t segment; /* bytes */
} ring_config;

typedef struct ring_run {
    float *span;
    size_t count;
    size_t segment; /* elements */
    int rank, ranks;
    cmi_edge *left, *right;
    const cmi_link *left_link, *right_link;
} ring_run;

/* Where segment s of chunk `chunk` (any number >= -2n, taken mod n) begins, and its elements, 0
 * behind its end. */
static float *segment_of(const ring_run *ring, int chunk, size_t s, size_t *count)
{
    size_t n = (size_t)ring->ranks;
    size_t c = (size_t)(chunk + 2 * ring->ranks) % n;
    size_t even = ring->count / n, longer = ring->count % n;
    size_t begin = c * even + (c < longer ? c : longer);
    size_t length = even + (c < longer);
    size_t at = s * ring->segment;

    *count = at >= length ? 0 : length - at;
    if (*count > ring->segment) *count = ring->segment;
    return ring->span + begin + (at < length ? at : length);
}

static cm_status take_turn(const ring_run *ring, int t, size_t s)
{
    size_t send_count, recv_count;
    const float *out = segment_of(ring, ring->rank - 1 - t, s, &send_count);
    float *in = segment_of(ring, ring->rank - 2 - t, s, &recv_count);
    cmi_recv_op op = t < ring->ranks - 1 ? CMI_RECV_ADD : CMI_RECV_COPY;

    /* Both ends know which segments are empty, so those are not sent at all. */
    if (send_count) CM_TRY(ring->right_link->send(ring->right, out, send_count * sizeof *out));
    if (recv_count) CM_TRY(ring->left_link->recv(ring->left, in, recv_count * sizeof *in, op));
    return send_count ? ring->right_link->wait(ring->right) : CM_OK;
}

static cm_status all_reduce(cmi_comm *comm, int rank, const void *config, float *span, size_t count)
{
    int n = cmi_comm_ranks(comm);
    ring_run ring = {.span = span, .count = count, .rank = rank, .ranks = n};
    ring.segment = (size_t)((const ring_config *)config)->segment / sizeof *span;
    ring.left = cmi_comm_edge(comm, (rank + n - 1) % n, rank, &ring.left_link);
    ring.right = cmi_comm_edge(comm, rank, (rank + 1) % n, &ring.right_link);

    size_t longest = count / (size_t)n + (count % (size_t)n != 0);
    for (size_t s = 0; s * ring.segment < longest; s++)
        for (int t = 0; t < 2 * (n - 1); t++)
            CM_TRY(take_turn(&ring, t, s));
    return CM_OK;
}

/* 2(n-1) turns of a chunk each; rounded up to whole bytes. */
static void traffic(int ranks, size_t bytes, size_t *wire, int *steps)
{
    size_t n = (size_t)ranks;
    *wire = 2 * (n - 1) * (bytes / n) + (2 * (n - 1) * (bytes % n) + n - 1) / n;
    *steps = 2 * (ranks - 1);
}

/* The default is what was fastest for 1 MB to 25 MB over 2 and 4 ranks: smaller segments meet more
 * often than they gain, larger ones leave the cache before the neighbour comes for them. */
static const cmi_field fields[] = {{.key = "segment",
                                    .type = CMI_FIELD_INT,
                                    .offset = offsetof(ring_config, segment),
                                    .fallback = "262144",
                                    .min = 4,
                                    .max = 1 << 30,
                                    .help = "bytes that travel at a time"},
                                   {.key = NULL}};

const cmi_collective cmi_collective_ring = {
    .entry = {.name = "ring",
              .doc = "each rank adds its left neighbour's chunks, then the sums go once round",
              .config_size = sizeof(ring_config),
              .fields = fields},
    .all_reduce = all_reduce,
    .traffic = traffic,
};
