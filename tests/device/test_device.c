/* test_device.c - runs the suites of src/device.  Started with --probe it is a child that shows the
 * device list. */
#include "device/probe.h"
#include "device/suites.h"
#include "support/cm_test.h"

int main(int argc, char **argv)
{
    int status = 0;

    if (device_probe_main(argc, argv, &status)) return status;
    Suite *suites[] = {suite_platform(),   suite_selection(), suite_stream(),
                       suite_gemm_sizes(), suite_cache(),     suite_choice()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
