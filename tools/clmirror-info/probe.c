/* probe.c - asks every driver in a process of its own.
 *
 * The loader opens all drivers when the first OpenCL function is called and asks each for its
 * devices; a driver that crashes or hangs there takes the whole process with it.  So for each
 * `.icd` file that the loader would read, a child runs `clmirror-info --json` with OCL_ICD_VENDORS
 * naming that file alone, and we read what it prints and how it ends.
 *
 * Called by main.c before this process has made an OpenCL call. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include "info.h"

enum {
    ANSWER_BYTES = 1 << 18,
    DEADLINE_MS = 30000
}; /* a child itself gives up on a silent driver after 10 s twice */

static void add_driver(info_probe *probe, const char *path)
{
    if (probe->count < (int)(sizeof probe->drivers / sizeof probe->drivers[0]))
        snprintf(probe->drivers[probe->count++].file, sizeof probe->drivers[0].file, "%s", path);
}

static int by_file(const void *a, const void *b)
{
    return strcmp(((const info_driver *)a)->file, ((const info_driver *)b)->file);
}

/* The files that the loader would read: OCL_ICD_VENDORS names a folder, one file, or the default
 * applies. */
static void find_drivers(info_probe *probe)
{
    const char *vendors = getenv("OCL_ICD_VENDORS");
    const char *place = vendors && vendors[0] ? vendors : "/etc/OpenCL/vendors";
    struct stat found;
    if (stat(place, &found) == 0 && !S_ISDIR(found.st_mode)) {
        add_driver(probe, place);
        return;
    }
    DIR *folder = opendir(place);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        char path[512];
        if (dot == NULL || strcmp(dot, ".icd")) continue;
        int length = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path) add_driver(probe, path);
    }
    closedir(folder);
    qsort(probe->drivers, (size_t)probe->count, sizeof probe->drivers[0], by_file);
}

static _Noreturn void be_child(const char *self, const char *file, int output)
{
    char *const arguments[] = {(char *)"clmirror-info", (char *)"--json", NULL};
    if (setenv("OCL_ICD_VENDORS", file, 1) == 0 && dup2(output, STDOUT_FILENO) >= 0) {
        if (freopen("/dev/null", "w", stderr) != NULL) execv(self, arguments);
    }
    _exit(127);
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the child closes its output; false when it is silent beyond the deadline. */
static bool read_answer(int input, char *text, size_t bytes)
{
    long end = now_ms() + DEADLINE_MS;
    size_t used = 0;
    for (;;) {
        struct pollfd wait = {.fd = input, .events = POLLIN};
        long left = end - now_ms();
        if (left <= 0) return false;
        int ready = poll(&wait, 1, (int)left);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return false;
        ssize_t got = read(input, text + used, bytes - 1 - used);
        if (got <= 0 || used + (size_t)got == bytes - 1) break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return true;
}

static void count_devices(const cJSON *answer, info_driver *driver)
{
    const cJSON *platform, *device;
    cJSON_ArrayForEach(platform, cJSON_GetObjectItem(answer, "platforms"))
    {
        const char *reason = cJSON_GetStringValue(cJSON_GetObjectItem(platform, "reason"));
        driver->platforms++;
        if (reason && reason[0]) snprintf(driver->problem, sizeof driver->problem, "%s", reason);
        cJSON_ArrayForEach(device, cJSON_GetObjectItem(platform, "devices"))
        {
            driver->devices += cJSON_IsTrue(cJSON_GetObjectItem(device, "usable"));
        }
    }
    const char *problem = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "problem"));
    if (driver->platforms == 0)
        snprintf(driver->problem, sizeof driver->problem, "%s",
                 problem ? problem : "its answer makes no sense");
}

static void judge(info_driver *driver, bool answered, int status, const char *text)
{
    if (!answered) {
        snprintf(driver->problem, sizeof driver->problem, "did not end within %d s",
                 DEADLINE_MS / 1000);
    } else if (WIFSIGNALED(status)) {
        snprintf(driver->problem, sizeof driver->problem, "crashed: signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        cJSON *answer = cJSON_Parse(text);
        driver->ended = answer != NULL;
        if (answer) count_devices(answer, driver);
        /* It would hang the loader's own start-up as soon as a second driver is there to be sorted
         * with it. */
        if (strstr(driver->problem, "did not answer within")) driver->ended = false;
        if (answer == NULL)
            snprintf(driver->problem, sizeof driver->problem, "ended with status %d and no answer",
                     WEXITSTATUS(status));
        cJSON_Delete(answer);
    }
}

static void ask(const char *self, info_driver *driver)
{
    static char text[ANSWER_BYTES];
    int ends[2], status = 0;
    if (pipe(ends)) {
        snprintf(driver->problem, sizeof driver->problem, "pipe: %s", strerror(errno));
        return;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(self, driver->file, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        snprintf(driver->problem, sizeof driver->problem, "fork: %s", strerror(errno));
        close(ends[0]);
        return;
    }
    bool answered = read_answer(ends[0], text, sizeof text);
    close(ends[0]);
    if (!answered) kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    judge(driver, answered, status, text);
}

void info_probe_run(const char *self, info_probe *probe)
{
    memset(probe, 0, sizeof *probe);
    find_drivers(probe);
    for (int i = 0; i < probe->count; i++) {
        ask(self, &probe->drivers[i]);
        probe->dead += !probe->drivers[i].ended;
    }
}
