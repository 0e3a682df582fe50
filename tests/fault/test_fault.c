/* test_fault.c - runs what needs the fault layer in its own process; CTest sets OPENCL_LAYERS. */
#include <string.h>
#include "fault/suites.h"
#include "support/cm_test.h"

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--child")) return exit_child(argv[2]);
    Suite *suites[] = {suite_layer(), suite_sweep(), suite_same(), suite_exit(), suite_device()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
