/* test_platform.c - the device list: missing, empty, broken, silent and doubled drivers (cases C01,
 * C02, C04, C06, C08, D08).  Every case is a process of its own, started by probe.c. */
#include <stdio.h>
#include <string.h>
#include "device/probe.h"
#include "device/suites.h"
#include "support/cm_test.h"

#define L "OPENCL_LAYERS=$LAYER "

START_TEST(c01_no_runtime)
{
    static const char *const environments[] = {"OCL_ICD_VENDORS=/nowhere/at-all",
                                               "OCL_ICD_VENDORS=$EMPTY", "OCL_ICD_VENDORS=$BROKEN",
                                               L "CLMIRROR_FAULT='clGetPlatformIDs -> say 0'",
                                               L "CLMIRROR_FAULT='clGetPlatformIDs -> -1001'"};
    const probe_result *list = probe_run(environments[_i], "list", NULL);
    probe_ended(list, 0);
    probe_has(list, "devices 0 problem [no OpenCL platform");
    probe_has(list, "OCL_ICD_VENDORS");
    probe_has(list, "ocl-icd-libopencl1");
    probe_has(list, "pocl-opencl-icd");
    for (int i = 0; i < 3; i++) {
        static const char *const selections[] = {"", "gpu", "0.0"};
        const probe_result *choice = probe_run(environments[_i], "select", selections[i]);
        probe_ended(choice, 2);
        probe_has(choice, "error CM_E_NO_DEVICE");
        probe_has(choice, "pocl-opencl-icd");
        probe_has(choice, "0 choices");
    }
}
END_TEST

/* The empty platform comes first, by a driver that leaves the count untouched, or in the loader's
 * own order. */
START_TEST(c02_empty_platform_first)
{
    static const char *const environments[] = {
        "OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceIDs@0 -> -1'",
        "OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceIDs@0 -> say 0'",
        "OCL_ICD_VENDORS=$BOTH CLMIRROR_FAKE_DEVICES=0",
        "OCL_ICD_VENDORS=$BOTH CLMIRROR_FAKE_DEVICES=0 OCL_ICD_PLATFORM_SORT=none"};
    const probe_result *list = probe_run(environments[_i], "list", NULL);
    int fake = strstr(list->text, "platform 0 [Fake platform]") ? 0 : 1;
    char text[64];
    probe_has(list, "devices 0 reason [no device");
    snprintf(text, sizeof text, "device %d.0 CPU [pthread", 1 - fake);
    probe_has(list, text);
    probe_has(list, "problem []");
    snprintf(text, sizeof text, "1 choices: %d.0.", 1 - fake);
    probe_has(probe_run(environments[_i], "select", ""), text);
    snprintf(text, sizeof text, "%d.0", 1 - fake);
    probe_ended(probe_run(environments[_i], "select", text), 0);
    snprintf(text, sizeof text, "%d.0", fake);
    probe_ended(probe_run(environments[_i], "select", text), 2);
}
END_TEST

START_TEST(other_codes_skip_the_platform)
{
    static const struct {
        const char *code, *reason;
    } cases[] = {{"-6", "CL_OUT_OF_HOST_MEMORY (-6); perhaps the device file may not be read"},
                 {"-30", "CL_INVALID_VALUE (-30)"},
                 {"-9", "(-9)"}};
    char environment[256];
    snprintf(environment, sizeof environment,
             "OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceIDs@0 -> %s'", cases[_i].code);
    const probe_result *list = probe_run(environment, "list", NULL);
    probe_has(list, cases[_i].reason);
    probe_has(list, "device 1.0 CPU [pthread");
    probe_has(probe_run(environment, "select", ""), "1 choices: 1.0.");
}
END_TEST

/* A device that fails one of its queries is listed with the query and the code, and not used. */
START_TEST(failing_query_makes_unusable)
{
    static const char *const queries[] = {"CL_DEVICE_NAME",
                                          "CL_DEVICE_TYPE",
                                          "CL_DEVICE_VENDOR",
                                          "CL_DEVICE_VERSION",
                                          "CL_DRIVER_VERSION",
                                          "CL_DEVICE_MAX_COMPUTE_UNITS",
                                          "CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT",
                                          "CL_DEVICE_GLOBAL_MEM_SIZE",
                                          "CL_DEVICE_MAX_MEM_ALLOC_SIZE",
                                          "CL_DEVICE_LOCAL_MEM_SIZE",
                                          "CL_DEVICE_MAX_WORK_GROUP_SIZE",
                                          "CL_DEVICE_HOST_UNIFIED_MEMORY",
                                          "CL_DEVICE_MEM_BASE_ADDR_ALIGN",
                                          "CL_DEVICE_EXTENSIONS"};
    char environment[256], text[128];
    snprintf(environment, sizeof environment,
             "POCL_DEVICES='basic basic' " L "CLMIRROR_FAULT='clGetDeviceInfo.%s@0 -> -5'",
             queries[_i]);
    const probe_result *list = probe_run(environment, "list", NULL);
    snprintf(text, sizeof text, "usable 0 duplicate -1 reason [%s: CL_OUT_OF_RESOURCES (-5)]",
             queries[_i]);
    probe_has(list, text);
    probe_has(probe_run(environment, "select", ""), "1 choices: 0.1.");
    const probe_result *choice = probe_run(environment, "select", "0.0");
    probe_ended(choice, 2);
    probe_has(choice, queries[_i]);
}
END_TEST

START_TEST(unavailable_and_without_compiler)
{
    const char *environment = "POCL_DEVICES='basic basic' " L
                              "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_AVAILABLE@0 -> say 0; "
                              "clGetDeviceInfo.CL_DEVICE_COMPILER_AVAILABLE@1 -> say 0'";
    const probe_result *list = probe_run(environment, "list", NULL);
    probe_has(list, "the device is not available: CL_DEVICE_NOT_AVAILABLE (-2)");
    probe_has(list, "no compiler for this device: CL_COMPILER_NOT_AVAILABLE (-3)");
    probe_has(list, "problem [no usable OpenCL device: platform 0");
    probe_ended(probe_run(environment, "select", ""), 2);
}
END_TEST

START_TEST(kinds_are_bits)
{
    const char *environment =
        "POCL_DEVICES='basic basic basic' " L
        "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE@0 -> say GPU|CPU|ACCELERATOR; "
        "clGetDeviceInfo.CL_DEVICE_TYPE@1 -> say GPU|ACCELERATOR; "
        "clGetDeviceInfo.CL_DEVICE_TYPE@2 -> say ACCELERATOR'";
    const probe_result *list = probe_run(environment, "list", NULL);
    probe_has(list, "device 0.0 CPU");
    probe_has(list, "device 0.1 GPU");
    probe_has(list, "device 0.2 accelerator");
}
END_TEST

START_TEST(names_lose_their_padding)
{
    const probe_result *list = probe_run("OCL_ICD_VENDORS=$FAKE", "list", NULL);
    probe_has(list, "device 0.0 GPU [fake 0] units 4 parts 0 fp64 1 usable 1");
}
END_TEST

/* (a) every platform twice, (b) every device twice in one answer, (c) two drivers with one PCI
 * address, then UUID. */
START_TEST(c04_same_hardware_twice)
{
    static const struct {
        const char *environment, *chosen, *both, *kept;
    } cases[] = {
        {L "CLMIRROR_FAULT='clGetPlatformIDs -> say twice'", "1 choices: 0.0.", "0.0,1.0",
         "0.0 CPU"},
        {L "CLMIRROR_FAULT='clGetDeviceIDs -> say twice'", "1 choices: 0.0.", "0.0,0.1", "0.0 CPU"},
        {"OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU; "
         "clGetDeviceInfo.CL_DEVICE_EXTENSIONS -> say cl_khr_pci_bus_info; "
         "clGetDeviceInfo.CL_DEVICE_PCI_BUS_INFO_KHR -> say 0:65:0.0'",
         "1 choices: 0.0.", "0.0,1.0", "0.0 GPU"},
        {"OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU; "
         "clGetDeviceInfo.CL_DEVICE_EXTENSIONS -> say cl_khr_device_uuid; "
         "clGetDeviceInfo.CL_DEVICE_UUID_KHR -> say 00112233445566778899aabbccddeeff'",
         "1 choices: 0.0.", "0.0,1.0", "0.0 GPU"},
        {"OCL_ICD_VENDORS=$BOTH " L "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say CPU'",
         "1 choices: 0.0.", "1.0,0.0", "0.0 CPU"},
        {"OCL_ICD_VENDORS=$BOTH " L
         "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say ACCELERATOR; "
         "clGetDeviceInfo.CL_DEVICE_NAME -> say Same card; "
         "clGetDeviceInfo.CL_DEVICE_MAX_COMPUTE_UNITS -> say 8; "
         "clGetDeviceInfo.CL_DEVICE_GLOBAL_MEM_SIZE -> say 4096'",
         "1 choices: 0.0.", "0.0,1.0", "0.0 accelerator"}};
    const probe_result *choice = probe_run(cases[_i].environment, "select", "");
    probe_has(choice, cases[_i].chosen);
    probe_has(choice, "are taken for the same hardware");
    probe_has(choice, cases[_i].kept);
    const char *warning = strstr(choice->text, "to use both");
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_null(strstr(warning + 1, "to use both"));
    choice = probe_run(cases[_i].environment, "select", cases[_i].both);
    probe_ended(choice, 0);
    probe_has(choice, "2 choices:");
    probe_lacks(choice, "same hardware");
    probe_lacks(probe_run(cases[_i].environment, "list", NULL), "same hardware");
}
END_TEST

START_TEST(c04_control)
{
    const probe_result *choice = probe_run("POCL_DEVICES='basic basic'", "select", "");
    probe_has(choice, "2 choices: 0.0 0.1.");
    probe_lacks(choice, "same hardware");
    /* Two GPUs of two platforms with addresses of their own. */
    choice = probe_run("OCL_ICD_VENDORS=$BOTH " L
                       "CLMIRROR_FAULT='clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU; "
                       "clGetDeviceInfo.CL_DEVICE_NAME -> say Same card; "
                       "clGetDeviceInfo.CL_DEVICE_EXTENSIONS -> say cl_khr_pci_bus_info; "
                       "clGetDeviceInfo.CL_DEVICE_PCI_BUS_INFO_KHR@1 -> say 0:65:1.0; "
                       "clGetDeviceInfo.CL_DEVICE_PCI_BUS_INFO_KHR@0 -> say 0:65:0.0'",
                       "select", "gpu");
    probe_has(choice, "2 choices: 0.0 1.0.");
    probe_lacks(choice, "same hardware");
}
END_TEST

START_TEST(c06_hanging_driver)
{
    static const char *const rules[] = {"clGetDeviceInfo@0 -> hang", "clGetDeviceIDs@0 -> hang",
                                        "clGetDeviceInfo.CL_DEVICE_TYPE@0 -> hang"};
    char environment[256];
    snprintf(environment, sizeof environment,
             "OCL_ICD_VENDORS=$BOTH CLMIRROR_TIMEOUT_MS=2000 " L "CLMIRROR_FAULT='%s'", rules[_i]);
    const probe_result *list = probe_run(environment, "again", NULL);
    probe_ended(list, 0);
    probe_has(list, "platform 0 [Fake platform] devices 0 reason [did not answer within 2.0 s");
    probe_has(list, "OCL_ICD_VENDORS");
    probe_has(list, "device 1.0 CPU [pthread");
    probe_has(list, "rules fired 1\n"); /* the second list does not ask it again */
    probe_has(probe_run(environment, "select", ""), "1 choices: 1.0.");
}
END_TEST

/* The loader asks every driver while it starts, before it has answered anything. */
START_TEST(c06_hanging_loader)
{
    const char *environment = "OCL_ICD_VENDORS=$BOTH CLMIRROR_TIMEOUT_MS=400 CLMIRROR_FAKE_HANG=1";
    const probe_result *list = probe_run(environment, "again", NULL);
    probe_ended(list, 0);
    probe_has(list, "devices 0 problem [the OpenCL loader did not answer within 0.4 s");
    probe_has(list, "clmirror-info --probe");
}
END_TEST

START_TEST(c08_cache_folder_not_writable)
{
    const probe_result *choice =
        probe_run("-u POCL_CACHE_DIR HOME=/proc/nowhere XDG_CACHE_HOME=/proc/nope", "select", "");
    probe_ended(choice, 2);
    probe_has(choice, "POCL_CACHE_DIR");
}
END_TEST

/* D08: a child of a process that has used OpenCL gets a clear error; the parent goes on. */
START_TEST(d08_fork)
{
    const probe_result *both = probe_run("POCL_DEVICES=basic", "fork", NULL);
    probe_ended(both, 0);
    probe_has(both, "error CM_E_STATE: this process");
    probe_has(both, "fork()");
    const char *first = strstr(both->text, "device 0.0 CPU [basic");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first + 1, "device 0.0 CPU [basic"));
}
END_TEST

Suite *suite_platform(void)
{
    Suite *suite = suite_create("platform");
    TCase *missing = tcase_create("missing"), *broken = tcase_create("broken"),
          *twice = tcase_create("twice");
    TCase *silent = tcase_create("silent");
    tcase_add_loop_test(missing, c01_no_runtime, 0, 5);
    tcase_add_loop_test(missing, c02_empty_platform_first, 0, 4);
    tcase_add_test(missing, c08_cache_folder_not_writable);
    tcase_add_loop_test(broken, other_codes_skip_the_platform, 0, 3);
    tcase_add_loop_test(broken, failing_query_makes_unusable, 0, 14);
    tcase_add_test(broken, unavailable_and_without_compiler);
    tcase_add_test(broken, kinds_are_bits);
    tcase_add_test(broken, names_lose_their_padding);
    tcase_add_test(broken, d08_fork);
    tcase_add_loop_test(twice, c04_same_hardware_twice, 0, 6);
    tcase_add_test(twice, c04_control);
    tcase_add_loop_test(silent, c06_hanging_driver, 0, 3);
    tcase_add_test(silent, c06_hanging_loader);
    TCase *const cases[] = {missing, broken, twice, silent};
    for (int i = 0; i < CM_TEST_COUNT(cases); i++) {
        tcase_set_timeout(cases[i], 60);
        suite_add_tcase(suite, cases[i]);
    }
    return suite;
}
