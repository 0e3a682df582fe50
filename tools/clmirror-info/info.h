/* info.h - what the files of clmirror-info share.  The program uses the library's public headers
 * only. */
#ifndef CLMIRROR_INFO_H
#define CLMIRROR_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <clmirror/device.h>
#include <clmirror/knobs.h>
#include <clmirror/layers.h>
#include <clmirror/log.h>
#include <clmirror/status.h>
#include <clmirror/version.h>

typedef struct info_options {
    const char *devices; /* --devices; NULL: the default */
    bool json, knobs, layers, probe;
} info_options;

/* A selection that was tried: either choices or an error. */
typedef struct info_selection {
    char text[256];     /* "" for the default */
    const char *source; /* "--devices", "CLMIRROR_DEVICES", "default" */
    cm_device_choice choices[CM_MAX_DEVICES];
    int count;
    cm_status status;
    char error[CM_MESSAGE_BYTES];
    const char *why; /* of the default: which rule decided */
} info_selection;

/* A variable of the loader or of a driver that decides which devices there are. */
typedef struct info_variable {
    const char *name, *help;
} info_variable;
extern const info_variable info_variables[]; /* ends with a NULL name */

/* probe.c: what one driver did in a process of its own. */
typedef struct info_driver {
    char file[512];
    int platforms, devices; /* usable ones */
    bool ended;             /* false: it crashed or hung, `problem` says how */
    char problem[512];
} info_driver;

typedef struct info_probe {
    info_driver drivers[32];
    int count, dead;
} info_probe;

/* Asks every driver that the loader would open, each in a child process; before any OpenCL call. */
void info_probe_run(const char *self, info_probe *probe);

/* `list` is NULL when a driver died and OpenCL was therefore not touched. */
void info_print(const info_options *options, const cm_device_list *list,
                const info_selection *selection, const info_probe *probe);
void info_print_knobs(void);
void info_print_layers(void);
/* 0, or 1 without memory. */
int info_print_json(const info_options *options, const cm_device_list *list,
                    const info_selection *selection, const info_probe *probe);

/* "CPU + GPU": all bits of a device type; used by both printers. */
void info_type_bits(uint64_t bits, char *text, size_t bytes);

#endif
