/* test_rows.c - column sums, softmax, dropout, formulas over elements, bytes to floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops_tests.h"

enum { MOST = 12000 };

static const size_t shapes[][2] = {{1, 1},   {1, 16},   {2, 15},   {7, 17},  {8, 8},
                                   {9, 3},   {16, 1},   {23, 5},   {31, 33}, {100, 2},
                                   {64, 10}, {3, 1000}, {1000, 11}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static float x[MOST], y[MOST], dy[MOST], got[MOST], want[MOST];

START_TEST(column_sums)
{
    size_t rows = shapes[_i][0], columns = shapes[_i][1];

    for (int beta = 0; beta < 2; beta++) {
        pick *p = fresh();
        cmi_view in, out;
        fill_whole(x, rows * columns, 100, 1);
        fill_whole(want, columns, 100, 2);
        ck_assert_cm_ok(pick_put(p, x, rows * columns, &in));
        ck_assert_cm_ok(beta ? pick_put(p, want, columns, &out) : pick_new(p, columns, &out));
        oracle_column_sums(rows, columns, (float)beta, x, want);
        ck_assert_cm_ok(cmi_op_column_sums(p->stream, rows, columns, (float)beta, in, out));
        ck_assert_cm_ok(pick_get(p, out, got));
        ck_assert_floats_equal(got, want, columns);
        ck_assert_cm_ok(pick_check(p));
    }
}
END_TEST

START_TEST(softmax)
{
    size_t rows = shapes[_i][0], columns = shapes[_i][1], n = rows * columns;

    for (int logarithm = 0; logarithm < 2; logarithm++) {
        pick *p = fresh();
        cmi_view vx, vy, vdy;
        fill_real(x, n, 3);
        fill_real(dy, n, 4);
        for (size_t i = 0; i < n; i++)
            x[i] *= 30; /* exponentials from 1e-26 on: the maximum must be taken away */
        if (columns > 2) x[1] = 200;
        ck_assert_cm_ok(pick_put(p, x, n, &vx));
        ck_assert_cm_ok(pick_new(p, n, &vy));
        ck_assert_cm_ok(pick_put(p, dy, n, &vdy));
        ck_assert_cm_ok(cmi_op_softmax(p->stream, logarithm, rows, columns, vx, vy));
        ck_assert_cm_ok(pick_get(p, vy, y));
        oracle_softmax(logarithm, rows, columns, x, want);
        ck_assert_floats_close(y, want, n, 1e-6, 4e-6);
        ck_assert_cm_ok(cmi_op_softmax_gradient(p->stream, logarithm, rows, columns, vy, vdy, vdy));
        ck_assert_cm_ok(pick_get(p, vdy, got));
        oracle_softmax_gradient(logarithm, rows, columns, y, dy, want);
        ck_assert_floats_close(got, want, n, logarithm ? 5e-5 : 2e-6, 1e-5);
        /* In place. */
        ck_assert_cm_ok(cmi_op_softmax(p->stream, logarithm, rows, columns, vx, vx));
        ck_assert_cm_ok(pick_get(p, vx, got));
        ck_assert_floats_bits(got, y, n);
        ck_assert_cm_ok(pick_check(p));
    }
}
END_TEST

START_TEST(dropout)
{
    static const float rates[] = {0.0f, 0.1f, 0.5f, 1.0f};
    size_t rows = shapes[_i][0], columns = shapes[_i][1], n = rows * columns;

    for (size_t k = 0; k < 4; k++) {
        pick *p = fresh();
        cmi_view vx, vy;
        oracle_dropout d = {.rows = rows,
                            .columns = columns,
                            .rate = rates[k],
                            .seed = 0x123456789abcull,
                            .layer = 3,
                            .step = 77,
                            .first_row = 5};
        cmi_draw draw = {
            .seed = d.seed, .layer = d.layer, .step = d.step, .first_row = d.first_row};
        fill_whole(x, n, 64, 5);
        ck_assert_cm_ok(pick_put(p, x, n, &vx));
        ck_assert_cm_ok(pick_new(p, n, &vy));
        ck_assert_cm_ok(cmi_op_dropout(p->stream, rows, columns, rates[k], draw, vx, vy));
        ck_assert_cm_ok(pick_get(p, vy, got));
        oracle_dropout_run(&d, x, want);
        ck_assert_floats_ulp(got, want, n, 1);
        ck_assert_cm_ok(pick_check(p));
    }
}
END_TEST

/* A mask belongs to the row of the global batch: two halves draw what the whole draws. */
START_TEST(dropout_cut)
{
    enum { ROWS = 10, COLUMNS = 13, CUT = 3 };
    pick *p = fresh();
    cmi_view vx, whole, upper, lower;
    cmi_draw draw = {.seed = 9, .layer = 1, .step = 2, .first_row = 0};
    float halves[ROWS * COLUMNS];

    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = 1;
    ck_assert_cm_ok(pick_put(p, x, ROWS * COLUMNS, &vx));
    ck_assert_cm_ok(pick_new(p, ROWS * COLUMNS, &whole));
    ck_assert_cm_ok(pick_new(p, CUT * COLUMNS, &upper));
    ck_assert_cm_ok(pick_new(p, (ROWS - CUT) * COLUMNS, &lower));
    ck_assert_cm_ok(cmi_op_dropout(p->stream, ROWS, COLUMNS, 0.5f, draw, vx, whole));
    ck_assert_cm_ok(cmi_op_dropout(p->stream, CUT, COLUMNS, 0.5f, draw, vx, upper));
    draw.first_row = CUT;
    ck_assert_cm_ok(cmi_op_dropout(p->stream, ROWS - CUT, COLUMNS, 0.5f, draw, vx, lower));
    ck_assert_cm_ok(pick_get(p, whole, got));
    ck_assert_cm_ok(pick_get(p, upper, halves));
    ck_assert_cm_ok(pick_get(p, lower, halves + CUT * COLUMNS));
    ck_assert_floats_bits(halves, got, ROWS * COLUMNS);
}
END_TEST

/* Sizes around the vector and the strip of 1,024 elements. */
static const size_t lengths[] = {1, 7, 15, 16, 17, 100, 1023, 1024, 1025, 4097};

START_TEST(formulas)
{
    static const cmi_formula formula = {"x * h0 + h1", "dy * h2 + x * h3 + y"};
    const float h[4] = {2, 3, 5, 7};
    size_t n = lengths[_i];
    pick *p = fresh();
    cmi_view vx, vy, vdy;

    fill_whole(x, n, 50, 6);
    fill_whole(dy, n, 50, 7);
    ck_assert_cm_ok(pick_put(p, x, n, &vx));
    ck_assert_cm_ok(pick_new(p, n, &vy));
    ck_assert_cm_ok(pick_put(p, dy, n, &vdy));
    ck_assert_cm_ok(cmi_op_map(p->stream, &formula, h, n, vx, vy));
    ck_assert_cm_ok(pick_get(p, vy, got));
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i] + 3;
    ck_assert_floats_equal(got, y, n);
    ck_assert_cm_ok(cmi_op_map_gradient(p->stream, &formula, h, n, vdy, vx, vy, vdy));
    ck_assert_cm_ok(pick_get(p, vdy, got));
    for (size_t i = 0; i < n; i++)
        want[i] = dy[i] * 5 + x[i] * 7 + y[i];
    ck_assert_floats_equal(got, want, n);
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

START_TEST(from_uint8)
{
    size_t n = lengths[_i];
    unsigned char bytes[4097 + 8];
    pick *p = fresh();
    cmi_view packed, out;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    memset(x, 0, sizeof x);
    memcpy(x, bytes, sizeof bytes);
    ck_assert_cm_ok(pick_put(p, x, (sizeof bytes + 3) / 4, &packed));
    ck_assert_cm_ok(pick_new(p, n, &out));
    packed.offset = packed.offset * 4 + 1; /* in bytes, at an odd place */
    ck_assert_cm_ok(cmi_op_from_uint8(p->stream, n, 0.5f, packed, out));
    ck_assert_cm_ok(pick_get(p, out, got));
    for (size_t i = 0; i < n; i++)
        want[i] = 0.5f * (float)bytes[i + 1];
    ck_assert_floats_equal(got, want, n);
}
END_TEST

Suite *rows_suite(void)
{
    Suite *suite = suite_create("rows");
    TCase *tcase = tcase_create("rows");
    int lengths_count = (int)(sizeof lengths / sizeof lengths[0]);

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, column_sums, 0, SHAPES);
    tcase_add_loop_test(tcase, softmax, 0, SHAPES);
    tcase_add_loop_test(tcase, dropout, 0, SHAPES);
    tcase_add_test(tcase, dropout_cut);
    tcase_add_loop_test(tcase, formulas, 0, lengths_count);
    tcase_add_loop_test(tcase, from_uint8, 0, lengths_count);
    suite_add_tcase(suite, tcase);
    return suite;
}
