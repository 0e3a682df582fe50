/* test_train.c - the tests of training: N devices train like one, the lesson's programs, the
 * calls, bad input.
 *
 * `test_train equality` (or equality_all, bits, cases, seed, fit, callbacks, scope, life, refuse,
 * data, numbers) runs one part; ids such as A01 name the re-enacted reports.  Strategies are kept
 * between tests (support/train_models.h), so the last act is to forget them and to look whether
 * every OpenCL object and every block of memory went. */
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "device/device.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

/* 0 when nothing is left behind; a failed test may have left anything. */
static int leaks(void)
{
    rig_forget();
    if (!cmi_device_objects_live() && !cmi_mem_live()) return 0;
    printf("left behind: %llu OpenCL objects, %llu blocks of memory\n",
           (unsigned long long)cmi_device_objects_live(), (unsigned long long)cmi_mem_live());
    return 1;
}

int main(int argc, char **argv)
{
    int status = 0;

    if (child_main(argc, argv, &status)) return status;
    Suite *suites[] = {suite_progress(),   suite_equality(), suite_bits(),   suite_cases(),
                       suite_cases_rest(), suite_seed(),     suite_fit(),    suite_callbacks(),
                       suite_scope(),      suite_life(),     suite_refuse(), suite_data(),
                       suite_numbers()};
    status = cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
    return leaks() ? EXIT_FAILURE : status;
}
