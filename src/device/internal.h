/* internal.h - the structs behind device.h and stream.h; inside device/ only. */
#ifndef CMI_DEVICE_INTERNAL_H
#define CMI_DEVICE_INTERNAL_H

#include <pthread.h>
#include <string.h>
#include "base/thread.h"
#include "device/choice.h"
#include "device/cl.h"
#include "device/stream.h"

typedef struct cmi_program {
    const char *source, *defines; /* borrowed; compared by content */
    bool exact;
    cl_program handle;
    struct cmi_program *next;
} cmi_program;

struct cmi_device {
    cmi_device_facts facts;
    cl_device_id id;
    cl_context context;
    cmi_program *programs; /* used by the owner of the device's stream only */
    bool subdevice;
    _Atomic uint64_t bytes; /* in buffers, for messages */
    bool clblast_used;
    char epilogue[400];  /* formula of the first activation in a packed product; empty: none yet */
    cmi_choices choices; /* likewise */
    void (*build_hook)(void *user, bool building);
    void *build_user;
};

struct cmi_buffer {
    cl_mem handle;
    cmi_device *device;
    size_t bytes;
    uint64_t id; /* never used twice: addresses are */
    bool slice;
};

/* A place in a track: a kernel object and the arguments that were set last. */
typedef struct cmi_site {
    cmi_kernel kernel;
    cl_kernel handle;
    size_t group_limit;
    bool warm; /* it ran once: whatever there was to compile is compiled */
    int count;
    cmi_arg args[CMI_MAX_ARGS];
    uint64_t buffer_ids[CMI_MAX_ARGS];
} cmi_site;

typedef struct cmi_track {
    cmi_site *sites;
    size_t count, capacity, cursor;
} cmi_track;

/* What wakes an owner that sleeps until a command is done. */
typedef struct cmi_bell {
    cmi_mutex mutex; /* guards `rung` */
    cmi_cond cond;
    uint64_t asked, rung; /* callbacks registered (by the owner), and called so far */
} cmi_bell;

struct cmi_stream {
    cmi_device *device;
    cl_command_queue queue;
    pthread_t owner;
    bool owned;
    int64_t timeout_ms;
    cmi_track tracks[CMI_TRACK_COUNT];
    int track;
    cmi_buffer *workspace;
    cmi_bell bell;
    uint64_t launches;
    _Atomic uint64_t *heartbeat;
    _Atomic bool abandoned, stopped, silent;
};

/* Texts of kernels by content; NULL is the empty text. */
static inline bool cmi_same_text(const char *a, const char *b)
{
    return a == b || !strcmp(a ? a : "", b ? b : "");
}

void cmi_stream_assert_owner(const cmi_stream *stream);
/* After every call into the driver that may block, before anything else is touched. */
void cmi_stream_beat(cmi_stream *stream);

/* event.c: flushes, waits for the event with the stream's deadline, releases it.  `what` names the
 * command. */
cm_status cmi_event_wait(cmi_stream *stream, cl_event event, const char *what);

/* program.c: a new kernel object of the program, which is built at its first use.  *kernel is
 * changed to name texts that live as long as the device. */
cm_status cmi_program_kernel(cmi_device *device, cmi_kernel *kernel, cl_kernel *out);
void cmi_program_free_all(cmi_device *device);
/* Text of a kernel file: the built-in one or that of CLMIRROR_CL_DIR; *owned is freed with
 * cmi_free. */
cm_status cmi_kernel_text(const char *name, char **owned, size_t *bytes);

/* binary.c: programs from and to the cache folder.  `hash` is that of the whole text. */
enum { CMI_BINARY_KEY_BYTES = 5 * CM_DEVICE_TEXT_BYTES + 1024 };
/* Whether to try at all: not where the driver keeps what it compiles. */
bool cmi_binary_wanted(const cmi_device *device, const char *options);
/* True: *out is built, and the caller counts it.  False: compile the source; the error record is as
 * it was. */
bool cmi_binary_load(cmi_device *device, const char *options, uint64_t hash, cl_program *out);
void cmi_binary_save(cmi_device *device, const char *options, uint64_t hash, cl_program program);
/* For tests: as if no driver kept anything; the key of an entry; what was taken from the cache and
 * put there so far. */
void cmi_binary_force(bool always);
cm_status cmi_binary_key(const cmi_device *device, const char *options, uint64_t hash,
                         char key[CMI_BINARY_KEY_BYTES]);
uint64_t cmi_binary_loads(void);
uint64_t cmi_binary_saves(void);

/* device.c: tells the hook, if there is one. */
void cmi_device_building(cmi_device *device, bool building);
/* device.c: counts of OpenCL objects. */
void cmi_count_object(int change);

#endif
