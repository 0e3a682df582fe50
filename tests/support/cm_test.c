/* cm_test.c - the frame of the test programs: comparing, skipping, running.
 *
 * Check runs each test in a process of its own unless CK_FORK=no, so the count of skipped cases
 * lies in a page that parent and children share.  A skipped case passes for Check; the count lets
 * cm_test_main() print it and fail a program in which nothing else was executed.  All of this runs
 * on the main thread. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "support/cm_test.h"

static int *skips; /* shared between Check's processes; NULL outside cm_test_main() */

/* Distance in representable numbers: the bits of a float, read as an integer that grows with its
 * value. */
static double ulps_between(float a, float b)
{
    int32_t ia = 0, ib = 0;
    memcpy(&ia, &a, sizeof ia);
    memcpy(&ib, &b, sizeof ib);
    int64_t la = ia < 0 ? (int64_t)INT32_MIN - ia : ia;
    int64_t lb = ib < 0 ? (int64_t)INT32_MIN - ib : ib;
    return (double)(la > lb ? la - lb : lb - la);
}

int cm_test_near(double got, double want, double tol)
{
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return (isinf(got) && isinf(want)) && (got > 0) == (want > 0);
    return fabs(got - want) <= tol;
}

static int obeys(float got, float want, cm_test_rule rule, const double bounds[2])
{
    switch (rule) {
    case CM_TEST_CLOSE:
        return cm_test_near((double)got, (double)want, bounds[0] + bounds[1] * fabs((double)want));
    case CM_TEST_ULP:
        if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
        return ulps_between(got, want) <= bounds[0];
    case CM_TEST_EQUAL:
        return cm_test_near((double)got, (double)want, 0);
    case CM_TEST_BITS:
        break;
    }
    return memcmp(&got, &want, sizeof got) == 0;
}

int cm_test_compare(const float *got, const float *want, size_t count, cm_test_rule rule,
                    const double bounds[2], char text[512])
{
    size_t bad = 0, first = 0, worst = 0;
    double largest = -1;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)got[i] - (double)want[i]);
        if (difference > largest) largest = difference, worst = i;
        if (obeys(got[i], want[i], rule, bounds)) continue;
        if (!bad++) first = i;
    }
    if (!bad) return 1;
    snprintf(
        text, 512,
        "element %zu of %zu: got %.9g (%a), expected %.9g (%a), %g ulp apart; %zu of %zu differ; "
        "largest difference %.3g at element %zu",
        first, count, (double)got[first], (double)got[first], (double)want[first],
        (double)want[first], ulps_between(got[first], want[first]), bad, count, largest, worst);
    return 0;
}

int cm_test_contains(const char *text, const char *part)
{
    return text && strstr(text, part) != NULL;
}

void cm_test_skip(const char *file, int line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("skipped: %s:%d: ", file, line);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
    if (skips) ++*skips;
}

int cm_test_main(int argc, char **argv, Suite *const suites[], int count)
{
    void *page =
        mmap(NULL, sizeof *skips, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) skips = page;
    SRunner *runner = srunner_create(NULL);
    for (int i = 0; i < count; i++)
        srunner_add_suite(runner, suites[i]);
    if (argc > 1)
        srunner_run(runner, NULL, argv[1], CK_ENV);
    else
        srunner_run_all(runner, CK_ENV);
    int run = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    int skipped = skips ? *skips : 0;
    srunner_free(runner);
    skips = NULL;
    if (page != MAP_FAILED) munmap(page, sizeof *skips);
    printf("%d cases executed, %d failed, %d skipped\n", run - skipped, failed, skipped);
    if (run - skipped <= 0) printf("no case was executed: that counts as a failure\n");
    return failed || run - skipped <= 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
