/* child.c - starts this program again for what needs a process of its own: another environment,
 * and how a process ends.
 *
 * Main thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/cm_test.h"
#include "train/suites.h"

static const struct {
    const char *name;
    int (*run)(void);
} parts[] = {{"exit_alive", child_exit_alive},
             {"exit_callback", child_exit_callback},
             {"gpu_names", child_gpu_names},
             {"too_large", child_too_large}};

int child_main(int argc, char **argv, int *status)
{
    if (argc != 3 || strcmp(argv[1], "--child")) return 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strcmp(parts[i].name, argv[2])) {
            *status = parts[i].run();
            return 1;
        }
    fprintf(stderr, "no part \"%s\"\n", argv[2]);
    *status = 99;
    return 1;
}

const child_result *child_run(const char *environment, const char *part)
{
    static child_result result;
    static char line[4096];
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    ck_assert_int_gt(length, 0);
    self[length] = '\0';
    snprintf(line, sizeof line, "exec env %s '%s' --child %s 2>&1", environment, self, part);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t used = fread(result.text, 1, sizeof result.text - 1, pipe);
    result.text[used] = '\0';
    int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return &result;
}
