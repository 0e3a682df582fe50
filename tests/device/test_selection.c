/* test_selection.c - selection texts: every documented form, and what is wrong with every other
 * (cases C05, C07, and TensorFlow's names).  One table per machine; every line is a process of its
 * own, started by probe.c. */
#include <stdio.h>
#include <string.h>
#include "device/probe.h"
#include "device/suites.h"
#include "support/cm_test.h"

#define L "OPENCL_LAYERS=$LAYER "
#define GPU2                                                                                       \
    "POCL_DEVICES='basic basic' " L "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU'"

/* A CPU, a GPU, an accelerator and another CPU. */
#define ALL_KINDS                                                                                  \
    "POCL_DEVICES='basic basic basic basic' " L "CLMIRROR_FAULT='"                                 \
    "clGetDeviceInfo.CL_DEVICE_TYPE@1 -> say GPU; "                                                \
    "clGetDeviceInfo.CL_DEVICE_TYPE@2 -> say ACCELERATOR; "                                        \
    "clGetDeviceInfo.CL_DEVICE_NAME@1 -> say Fuchs gross; "                                        \
    "clGetDeviceInfo.CL_DEVICE_NAME@3 -> say Fuchs 3090'"

/* With `error` NULL the text must give the choices, else a failure of that status with the text in
 * its message. */
typedef struct selection_case {
    const char *selection, *error, *text;
} selection_case;

static void check(const char *environment, const selection_case *wanted)
{
    const probe_result *choice = probe_run(environment, "select", wanted->selection);
    char text[256];
    if (wanted->error) {
        snprintf(text, sizeof text, "error %s", wanted->error);
        probe_has(choice, text);
        probe_has(choice, "0 choices");
        probe_ended(choice, strcmp(wanted->error, "CM_E_NO_DEVICE") ? 1 : 2);
        probe_has(choice, wanted->text);
    } else {
        snprintf(text, sizeof text, "choices: %s.\n", wanted->text);
        probe_has(choice, text);
        probe_ended(choice, 0);
    }
}

static const selection_case two_gpus[] = {
    {"", NULL, "0.0 0.1"},
    {"gpu", NULL, "0.0 0.1"},
    {"GPU", NULL, "0.0 0.1"},
    {"all", NULL, "0.0 0.1"},
    {"/GPU:0", NULL, "0.0"},
    {"/GPU:1", NULL, "0.1"},
    {"/gpu:1", NULL, "0.1"},
    {"GPU:1", NULL, "0.1"},
    {"gpu:0", NULL, "0.0"},
    {"/device:GPU:1", NULL, "0.1"},
    {"device:gpu:1", NULL, "0.1"},
    {"/job:localhost/replica:0/task:0/device:GPU:1", NULL, "0.1"},
    {"/job:localhost/replica:0/task:0/device:CPU:0", "CM_E_NO_DEVICE",
     "there are 0 CPUs; there is: 0.0 GPU"},
    {"/GPU:0,/GPU:1", NULL, "0.0 0.1"},
    {"/GPU:1,/GPU:0", NULL, "0.1 0.0"},
    {" /GPU:1 , GPU:0 ", NULL, "0.1 0.0"},
    {"gpu*3", NULL, "0.0(0/3 logical 1) 0.0(1/3 logical 1) 0.0(2/3 logical 1)"},
    {"/GPU:1*2,/GPU:0", NULL, "0.1(0/2 logical 1) 0.1(1/2 logical 1) 0.0"},
    {"/GPU:2", "CM_E_NO_DEVICE", "\"/GPU:2\": there are 2 GPUs; there is: 0.0 GPU"},
    {"cpu", "CM_E_NO_DEVICE", "there is no CPU; there is: 0.0 GPU"},
    {"accelerator", "CM_E_NO_DEVICE", "there is no accelerator"},
    {"/CPU:0", "CM_E_NO_DEVICE", "there are 0 CPUs"},
    {"/GPU", "CM_E_INVALID", "say /GPU:0"},
    {"/GPU:x", "CM_E_INVALID", "say /GPU:0"},
    {"GPU:", "CM_E_INVALID", "say /GPU:0"},
    {"GPU:-1", "CM_E_INVALID", "say /GPU:0"},
    {"/job:worker/replica:0/task:1/device:GPU:0", "CM_E_INVALID",
     "/job:localhost/replica:0/task:0"},
    {"gpu,/GPU:1", "CM_E_INVALID", "device 0.1 \"basic"},
    {"0.0,/GPU:0", "CM_E_INVALID", "is named twice"},
    {"0.0*2,0.0", "CM_E_INVALID", "say 0.0*2"},
    {"basic", "CM_E_INVALID", "is ambiguous, 2 devices"},
    {"basic:1", NULL, "0.1"},
    {"basic:2", "CM_E_NO_DEVICE", "only 2 devices have \"basic\" in the name"},
    {"gpu*0", "CM_E_INVALID", "say SEL*n"},
    {"gpu*x", "CM_E_INVALID", "say SEL*n"},
    {"gpu*", "CM_E_INVALID", "say SEL*n"},
    {"*2", "CM_E_INVALID", "say SEL*n"},
    {"gpu*65", "CM_E_INVALID", "n = 1 ... 64"},
    {"0.0*40,0.1*40", "CM_E_INVALID", "more than 64"},
    {"0.0,,0.1", "CM_E_INVALID", "item 2 of the list is empty"},
    {"0.0,", "CM_E_INVALID", "item 2 of the list is empty"},
    {"0", "CM_E_INVALID", "such as 0.0"},
    {"0.7", "CM_E_NO_DEVICE", "there is no device 0.7"},
    {"3.0", "CM_E_NO_DEVICE", "there is no device 3.0"},
    {"radeon", "CM_E_NO_DEVICE", "no device has \"radeon\" in its name"},
};

START_TEST(on_two_gpus)
{
    check(GPU2, &two_gpus[_i]);
}
END_TEST

static const selection_case all_kinds[] = {
    {"", NULL, "0.1"},
    {"cpu", NULL, "0.0 0.3"},
    {"Accelerator", NULL, "0.2"},
    {"all", NULL, "0.0 0.1 0.2 0.3"},
    {"/CPU:1", NULL, "0.3"},
    {"/accelerator:0,/CPU:0", NULL, "0.2 0.0"},
    {"gross", NULL, "0.1"},
    {"FUCHS 3", NULL, "0.3"},
    {"3090", NULL, "0.3"},
    {"language: fuchs 3", NULL, "0.3"},
    {"fuchs", "CM_E_INVALID", "0.1 GPU"},
    {"cpu*2,gpu", NULL, "0.0(0/2 logical 1) 0.0(1/2 logical 1) 0.1"},
};

START_TEST(on_all_kinds)
{
    check(ALL_KINDS, &all_kinds[_i]);
}
END_TEST

/* The default goes down the kinds. */
START_TEST(default_accelerator_before_cpu)
{
    check("POCL_DEVICES='basic basic' " L
          "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE@1 -> say ACCELERATOR'",
          &(selection_case){"", NULL, "0.1"});
}
END_TEST

/* pthread offers partition by counts; its units are said, so that the test does not depend on the
 * machine. */
static const selection_case parts[] = {
    {"cpu*1", NULL, "0.0"},
    {"cpu*2", NULL, "0.0(0/2 sub 4) 0.0(1/2 sub 3)"},
    {"cpu*3", NULL, "0.0(0/3 sub 3) 0.0(1/3 sub 2) 0.0(2/3 sub 2)"},
    {"0.0 *3", NULL, "0.0(0/3 sub 3) 0.0(1/3 sub 2) 0.0(2/3 sub 2)"},
    {"pthread*2", NULL, "0.0(0/2 sub 4) 0.0(1/2 sub 3)"},
    {"cpu*7", NULL,
     "0.0(0/7 sub 1) 0.0(1/7 sub 1) 0.0(2/7 sub 1) 0.0(3/7 sub 1) 0.0(4/7 sub 1) 0.0(5/7 sub 1) "
     "0.0(6/7 sub 1)"},
    {"cpu*8", NULL,
     "0.0(0/8 logical 1) 0.0(1/8 logical 1) 0.0(2/8 logical 1) 0.0(3/8 logical 1) 0.0(4/8 logical "
     "1) "
     "0.0(5/8 logical 1) 0.0(6/8 logical 1) 0.0(7/8 logical 1)"},
};

START_TEST(on_a_partitionable_device)
{
    check("POCL_DEVICES=pthread " L
          "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_MAX_COMPUTE_UNITS -> say 7; "
          "clGetDeviceInfo.CL_DEVICE_PARTITION_MAX_SUB_DEVICES -> say 7'",
          &parts[_i]);
}
END_TEST

/* The driver's own limit, below its units, decides too. */
START_TEST(limit_of_sub_devices)
{
    check("POCL_DEVICES=pthread " L
          "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_MAX_COMPUTE_UNITS -> say 7; "
          "clGetDeviceInfo.CL_DEVICE_PARTITION_MAX_SUB_DEVICES -> say 2'",
          &(selection_case){"cpu*3", NULL,
                            "0.0(0/3 logical 3) 0.0(1/3 logical 2) 0.0(2/3 logical 2)"});
}
END_TEST

/* P+R of the case is PoCL and the fake driver, both CPUs called alike by the layer. */
START_TEST(c05_two_platforms_of_one_name)
{
    const char *environment = "OCL_ICD_VENDORS=$BOTH " L
                              "CLMIRROR_FAULT='clGetPlatformInfo.CL_PLATFORM_NAME -> say Same; "
                              "clGetDeviceInfo.CL_DEVICE_TYPE -> say CPU'";
    check(environment, &(selection_case){"Same", "CM_E_INVALID", "is ambiguous, 2 devices"});
    check(environment,
          &(selection_case){"Same", "CM_E_INVALID", "0.0 CPU \"Same: fake 0\" (or \"Same:0\")"});
    check(environment, &(selection_case){"Same", "CM_E_INVALID", "(or \"Same:1\")"});
    check(environment, &(selection_case){"Same:0", NULL, "0.0"});
    check(environment, &(selection_case){"Same:1", NULL, "1.0"});
    check(environment, &(selection_case){"same: fake", NULL, "0.0"});
    check(environment, &(selection_case){"1.0,0.0", NULL, "1.0 0.0"});
}
END_TEST

/* Hardware that is certainly the same is not ambiguous. */
START_TEST(name_of_a_certain_duplicate)
{
    check(L "CLMIRROR_FAULT='clGetPlatformIDs -> say twice'",
          &(selection_case){"pthread", NULL, "0.0"});
}
END_TEST

START_TEST(cpus_of_the_first_platform_only)
{
    const char *environment =
        "OCL_ICD_VENDORS=$BOTH POCL_DEVICES='basic basic' CLMIRROR_FAKE_DEVICES=3 " L
        "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say CPU'";
    check(environment, &(selection_case){"", NULL, "0.0 0.1 0.2"});
    check(environment, &(selection_case){"cpu", NULL, "0.0 0.1 0.2"});
    check(environment, &(selection_case){"all", NULL, "0.0 0.1 0.2"});
    check(environment, &(selection_case){"/CPU:3", "CM_E_NO_DEVICE", "there are 3 CPUs"});
    check(environment, &(selection_case){"0.0,1.1", NULL, "0.0 1.1"});
}
END_TEST

START_TEST(c07_hidden_by_environment)
{
    const char *environment =
        "POCL_DEVICES=basic CUDA_VISIBLE_DEVICES=1 ROCR_VISIBLE_DEVICES= GPU_DEVICE_ORDINAL=0";
    check(environment, &(selection_case){"/GPU:1", "CM_E_NO_DEVICE", "CUDA_VISIBLE_DEVICES=\"1\""});
    check(environment, &(selection_case){"gpu", "CM_E_NO_DEVICE", "ROCR_VISIBLE_DEVICES=\"\""});
    check(environment, &(selection_case){"5.0", "CM_E_NO_DEVICE", "POCL_DEVICES=\"basic\""});
    check(environment, &(selection_case){"radeon", "CM_E_NO_DEVICE", "GPU_DEVICE_ORDINAL=\"0\""});
}
END_TEST

START_TEST(from_the_environment)
{
    const char *environment = "POCL_DEVICES='basic basic' CLMIRROR_DEVICES=";
    char text[128];
    snprintf(text, sizeof text, "%s0.1", environment);
    check(text, &(selection_case){"", NULL, "0.1"});
    check(text, &(selection_case){"  ", NULL, "0.1"});
    check(text, &(selection_case){"0.0", NULL, "0.0"});
    snprintf(text, sizeof text, "%s/GPU:0", environment);
    check(text, &(selection_case){"", "CM_E_NO_DEVICE", "CLMIRROR_DEVICES=\"/GPU:0\""});
    snprintf(text, sizeof text, "%s' '", environment);
    check(text, &(selection_case){"", NULL, "0.0 0.1"});
}
END_TEST

START_TEST(very_long_text)
{
    char text[1200];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    check("POCL_DEVICES=basic",
          &(selection_case){text, "CM_E_INVALID", "a selection of 1199 characters"});
    text[1000] = '\0';
    check("POCL_DEVICES=basic", &(selection_case){text, "CM_E_NO_DEVICE", "no device has"});
}
END_TEST

Suite *suite_selection(void)
{
    Suite *suite = suite_create("selection");
    TCase *forms = tcase_create("forms"), *others = tcase_create("others");
    tcase_add_loop_test(forms, on_two_gpus, 0, CM_TEST_COUNT(two_gpus));
    tcase_add_loop_test(forms, on_all_kinds, 0, CM_TEST_COUNT(all_kinds));
    tcase_add_loop_test(forms, on_a_partitionable_device, 0, CM_TEST_COUNT(parts));
    tcase_add_test(others, limit_of_sub_devices);
    tcase_add_test(others, default_accelerator_before_cpu);
    tcase_add_test(others, c05_two_platforms_of_one_name);
    tcase_add_test(others, name_of_a_certain_duplicate);
    tcase_add_test(others, cpus_of_the_first_platform_only);
    tcase_add_test(others, c07_hidden_by_environment);
    tcase_add_test(others, from_the_environment);
    tcase_add_test(others, very_long_text);
    tcase_set_timeout(forms, 60);
    tcase_set_timeout(others, 60);
    suite_add_tcase(suite, forms);
    suite_add_tcase(suite, others);
    return suite;
}
