/* probe.h - lets a test look at the device list of a fresh process in an environment of its own.
 *
 * Drivers and the loader read their variables once, so every case needs a process.  The test
 * program starts itself again as `test_device --probe ...` (main() hands that to device_probe_main
 * before anything else) and reads what the child prints.  Main thread only. */
#ifndef TESTS_DEVICE_PROBE_H
#define TESTS_DEVICE_PROBE_H

#include <stdbool.h>

/* True, with the exit status in *status, when the arguments ask for the probe:
 *   --probe list          platforms, devices and the problem
 *   --probe select TEXT   the choices, or the error; exit 2 for CM_E_NO_DEVICE, 1 for others
 *   --probe fork          lists, forks, lists in the child
 *   --probe again         lists twice */
bool device_probe_main(int argc, char **argv, int *status);

typedef struct probe_result {
    int status;       /* exit status; 128 + n for signal n */
    char text[16384]; /* standard output and error of the child */
} probe_result;

/* Runs `--probe COMMAND ARGUMENT` (NULL: none) with `environment`, a list such as "A=1 B='x y'" in
 * the shell's syntax.  Variables that matter to devices are unset before.  In it, $PLAIN names a
 * folder with PoCL's driver only, $BOTH one with the fake driver (whose GPU comes first) and PoCL,
 * $FAKE, $EMPTY and $BROKEN what they say, and $LAYER the fault layer. */
const probe_result *probe_run(const char *environment, const char *command, const char *argument);
/* The test fails, showing the output, unless it holds `text` (or, does not hold it). */
void probe_has(const probe_result *result, const char *text);
void probe_lacks(const probe_result *result, const char *text);
void probe_ended(const probe_result *result, int status);

#endif
