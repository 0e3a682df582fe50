/* test_model.c - runs the suites of src/model. */
#include "model/suites.h"
#include "support/cm_test.h"

int main(int argc, char **argv)
{
    Suite *suites[] = {suite_summary()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
