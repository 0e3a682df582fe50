/* test_base.c - runs the suites of src/base.  No OpenCL, no network, files only in a folder of
 * their own. */
#include "base/suites.h"
#include "support/cm_test.h"

int main(int argc, char **argv)
{
    Suite *suites[] = {suite_status(),   suite_mem(),      suite_thread(), suite_knob(),
                       suite_log(),      suite_clock(),    suite_hash(),   suite_shape(),
                       suite_spec(),     suite_registry(), suite_config(), suite_rng(),
                       suite_cachefile()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
