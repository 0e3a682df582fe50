/* test_fault.c - runs what needs the fault layer in its own process; CTest sets OPENCL_LAYERS. */
#include "fault/suites.h"
#include "support/cm_test.h"

int main(int argc, char **argv)
{
    Suite *suites[] = {suite_layer()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
