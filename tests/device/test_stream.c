/* test_stream.c - streams, buffers, programs and launches on the default device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knob.h"
#include "base/mem.h"
#include "device/suites.h"
#include "ops/ops.h"
#include "support/cm_test.h"
#include "support/device_pick.h"

static pick p;

static void setup(void)
{
    ck_assert_cm_ok(pick_open(&p));
}

static void teardown(void)
{
    pick_close(&p);
}

START_TEST(bytes_go_there_and_back)
{
    cmi_buffer *buffer = NULL;
    unsigned char out[1000], in[1000], *host = NULL;

    for (int i = 0; i < 1000; i++)
        out[i] = (unsigned char)(i * 7);
    ck_assert_cm_ok(cmi_buffer_create(p.device, sizeof out, &buffer));
    ck_assert_cm_ok(cmi_buffer_write(p.stream, buffer, 0, sizeof out, out));
    ck_assert_cm_ok(cmi_buffer_read(p.stream, buffer, 0, sizeof in, in));
    ck_assert_mem_eq(in, out, sizeof in);
    /* A part only, by map. */
    ck_assert_cm_ok(cmi_buffer_map(p.stream, buffer, 100, 50, CMI_MAP_READ_WRITE, (void **)&host));
    ck_assert_mem_eq(host, out + 100, 50);
    memset(host, 0xEE, 50);
    ck_assert_cm_ok(cmi_buffer_unmap(p.stream, buffer, host));
    ck_assert_cm_ok(cmi_buffer_fill(p.stream, buffer, 500, 8, 0x01020304));
    ck_assert_cm_ok(cmi_buffer_read(p.stream, buffer, 0, sizeof in, in));
    memset(out + 100, 0xEE, 50);
    const uint32_t pattern = 0x01020304;
    memcpy(out + 500, &pattern, 4);
    memcpy(out + 504, &pattern, 4);
    ck_assert_mem_eq(in, out, sizeof in);
    ck_assert_cm_ok(cmi_buffer_read(p.stream, buffer, 1000, 0, in)); /* nothing is legal */
    cmi_buffer_destroy(buffer);
}
END_TEST

START_TEST(parts_show_the_parent)
{
    size_t align = (size_t)cmi_device_get_facts(p.device)->info.align_bytes;
    cmi_buffer *parent = NULL, *part = NULL;
    uint32_t value = 0;

    ck_assert_cm_ok(cmi_buffer_create(p.device, 4 * align, &parent));
    ck_assert_cm_ok(cmi_buffer_slice(parent, 2 * align, align, &part));
    ck_assert_cm_ok(cmi_buffer_fill(p.stream, parent, 0, 4 * align, 1));
    ck_assert_cm_ok(cmi_buffer_fill(p.stream, part, 0, align, 2));
    ck_assert_cm_ok(cmi_buffer_read(p.stream, parent, 2 * align, 4, &value));
    ck_assert_uint_eq(value, 2);
    ck_assert_cm_ok(cmi_buffer_read(p.stream, parent, 2 * align - 4, 4, &value));
    ck_assert_uint_eq(value, 1);
    ck_assert_cm_ok(cmi_buffer_read(p.stream, parent, 3 * align, 4, &value));
    ck_assert_uint_eq(value, 1);
    cmi_buffer_destroy(part);
    cmi_buffer_destroy(parent);
}
END_TEST

START_TEST(too_large_is_refused_with_both_numbers)
{
    uint64_t limit = cmi_device_get_facts(p.device)->info.max_alloc_bytes;
    cmi_buffer *buffer = (cmi_buffer *)&p;
    char text[32];

    ck_assert_cm_status(cmi_buffer_create(p.device, (size_t)limit + 1, &buffer), CM_E_MEMORY);
    ck_assert_ptr_null(buffer);
    snprintf(text, sizeof text, "%llu", (unsigned long long)limit);
    ck_assert_message_has(text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)limit + 1);
    ck_assert_message_has(text);
}
END_TEST

static const cmi_formula plus = {.map = "x + h0", .gradient = "dy"};
static const cmi_formula times = {.map = "x * h0", .gradient = "dy * h0"};

/* Applies the formula to one element and expects the result. */
static void expect_map(const cmi_formula *formula, float h, float x, float want)
{
    cmi_view in, out;
    float got = 0;

    ck_assert_cm_ok(pick_put(&p, &x, 1, &in));
    ck_assert_cm_ok(pick_new(&p, 1, &out));
    ck_assert_cm_ok(cmi_op_map(p.stream, formula, (float[4]){h}, 1, in, out));
    ck_assert_cm_ok(pick_get(&p, out, &got));
    ck_assert_close(got, want, 0);
}

/* A site keeps its kernel's arguments: other values, other buffers, another order of launches, and
 * buffers that were freed and made anew (perhaps at the same address) must all arrive. */
START_TEST(sites_follow_the_sequence)
{
    for (int turn = 0; turn < 6; turn++) {
        pick_clear(&p);
        cmi_stream_rewind(p.stream, CMI_TRACK_OTHER);
        if (turn % 3 != 1) expect_map(&plus, (float)turn, 10, 10 + (float)turn);
        expect_map(&times, (float)turn, 3, 3 * (float)turn);
        expect_map(&plus, 1, (float)turn, 1 + (float)turn);
        if (turn % 2) expect_map(&times, -1, (float)turn, -(float)turn);
    }
}
END_TEST

START_TEST(tracks_are_apart)
{
    for (int turn = 0; turn < 4; turn++) {
        cmi_stream_rewind(p.stream, turn % 2 ? CMI_TRACK_TRAIN : CMI_TRACK_EVALUATE);
        expect_map(turn % 2 ? &plus : &times, 2, 5, turn % 2 ? 7 : 10);
    }
}
END_TEST

START_TEST(steady_launches_make_nothing)
{
    float x[100] = {1};
    cmi_view view;

    ck_assert_cm_ok(pick_put(&p, x, 100, &view));
    uint64_t objects = 0, memory = 0, launches = 0;
    for (int turn = 0; turn < 50; turn++) {
        cmi_stream_rewind(p.stream, CMI_TRACK_OTHER);
        for (int i = 0; i < 5; i++)
            ck_assert_cm_ok(cmi_op_map(p.stream, &plus, (float[4]){(float)turn}, 100, view, view));
        ck_assert_cm_ok(cmi_stream_flush(p.stream));
        if (turn == 1) {
            objects = cmi_device_objects_total();
            memory = cmi_mem_total();
            launches = cmi_stream_launches(p.stream);
        }
    }
    ck_assert_uint_eq(cmi_device_objects_total(), objects);
    ck_assert_uint_eq(cmi_mem_total(), memory);
    ck_assert_uint_eq(cmi_stream_launches(p.stream), launches + 48 * 5);
}
END_TEST

START_TEST(a_formula_that_does_not_compile)
{
    static const cmi_formula wrong = {.map = "x + no_such_name", .gradient = "dy"};
    float x = 1;
    cmi_view view;

    ck_assert_cm_ok(pick_put(&p, &x, 1, &view));
    ck_assert_cm_status(cmi_op_map(p.stream, &wrong, (float[4]){0}, 1, view, view), CM_E_BUILD);
    ck_assert_message_has("pointwise.cl");
    ck_assert_message_has("-cl-std=CL1.2");
    ck_assert_message_has("no_such_name");
    /* The device goes on. */
    expect_map(&plus, 1, 1, 2);
}
END_TEST

START_TEST(kernels_from_a_folder)
{
    cmi_knob_override(CMI_KNOB_CL_DIR, "/nonexistent");
    static const cmi_formula fresh = {.map = "x - h0", .gradient = "-dy"};
    float x = 1;
    cmi_view view;

    ck_assert_cm_ok(pick_put(&p, &x, 1, &view));
    ck_assert_cm_status(cmi_op_map(p.stream, &fresh, (float[4]){0}, 1, view, view), CM_E_IO);
    ck_assert_message_has("/nonexistent/cm_prelude.h");
    ck_assert_message_has("CLMIRROR_CL_DIR");
    cmi_knob_override(CMI_KNOB_CL_DIR, NULL);
    expect_map(&fresh, 1, 1, 0);
}
END_TEST

START_TEST(everything_is_released)
{
    pick other;

    uint64_t before = cmi_device_objects_live();
    ck_assert_cm_ok(pick_open(&other));
    float x[3] = {1, 2, 3};
    cmi_view view;
    cmi_buffer *workspace = NULL;
    ck_assert_cm_ok(pick_put(&other, x, 3, &view));
    ck_assert_cm_ok(cmi_op_map(other.stream, &plus, (float[4]){0}, 3, view, view));
    ck_assert_cm_ok(cmi_stream_workspace(other.stream, 100, &workspace));
    ck_assert_cm_ok(cmi_stream_workspace(other.stream, 10000, &workspace));
    ck_assert_uint_ge(cmi_buffer_bytes(workspace), 10000);
    ck_assert_uint_gt(cmi_device_objects_live(), before);
    pick_close(&other);
    ck_assert_uint_eq(cmi_device_objects_live(), before);
}
END_TEST

START_TEST(facts_are_plausible)
{
    const cmi_device_facts *facts = cmi_device_get_facts(p.device);
    const char *shape = cmi_knob_text(CMI_KNOB_KERNEL_SHAPE);

    ck_assert(facts->vector == 1 || facts->vector == 4 || facts->vector == 8 ||
              facts->vector == 16);
    ck_assert_uint_ge(facts->units, 1);
    if (!strcmp(shape, "gpu")) ck_assert_int_eq(facts->shape, CMI_SHAPE_GPU);
    if (!strcmp(shape, "auto") && facts->info.kind == CM_DEVICE_CPU)
        ck_assert_int_eq(facts->shape, CMI_SHAPE_CPU);
    ck_assert_uint_eq(facts->vector == 1, facts->shape == CMI_SHAPE_GPU);
    ck_assert_uint_gt(facts->info.align_bytes, 0);
}
END_TEST

Suite *suite_stream(void)
{
    Suite *suite = suite_create("stream");
    TCase *tcase = tcase_create("stream");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, facts_are_plausible);
    tcase_add_test(tcase, bytes_go_there_and_back);
    tcase_add_test(tcase, parts_show_the_parent);
    tcase_add_test(tcase, too_large_is_refused_with_both_numbers);
    tcase_add_test(tcase, sites_follow_the_sequence);
    tcase_add_test(tcase, tracks_are_apart);
    tcase_add_test(tcase, steady_launches_make_nothing);
    tcase_add_test(tcase, a_formula_that_does_not_compile);
    tcase_add_test(tcase, kernels_from_a_folder);
    tcase_add_test(tcase, everything_is_released);
    suite_add_tcase(suite, tcase);
    return suite;
}
