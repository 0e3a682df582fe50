/* test_update.c - the update of parameters over a table of blocks, the sums of squares, and the
 * sums of an epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops_tests.h"

/* Two tensors: 4,096 + 5 elements in two blocks, and 37 in one, with gaps that no block covers. */
enum { FIRST = 3, LONG = 4101, SECOND = 4112, SHORT = 37, ARENA = 4160, BLOCKS = 3 };
static const int32_t table[4 * BLOCKS] = {FIRST,  4096,  0, 0, FIRST + 4096, 5, 0, 0,
                                          SECOND, SHORT, 1, 0};

static float p0[ARENA], g0[ARENA], m0[ARENA], v0[ARENA], got[ARENA];

static bool in_tensor(size_t i)
{
    return (i >= FIRST && i < FIRST + LONG) || (i >= SECOND && i < SECOND + SHORT);
}

/* The gaps of g hold not-a-number, which must reach nothing; those of p hold a mark. */
static void fill(void)
{
    fill_real(p0, ARENA, 21);
    fill_real(g0, ARENA, 22);
    memset(m0, 0, sizeof m0);
    memset(v0, 0, sizeof v0);
    for (size_t i = 0; i < ARENA; i++)
        if (!in_tensor(i)) g0[i] = NAN, p0[i] = 12345.0f;
}

static cmi_update prepare(pick *p)
{
    cmi_update update = {.slots = 2, .blocks = BLOCKS};

    ck_assert_cm_ok(pick_put_ints(p, table, 4 * BLOCKS, &update.table));
    update.table.offset /= 4;
    ck_assert_cm_ok(pick_put(p, p0, ARENA, &update.params));
    ck_assert_cm_ok(pick_put(p, g0, ARENA, &update.grads));
    ck_assert_cm_ok(pick_put(p, m0, ARENA, &update.slot[0]));
    ck_assert_cm_ok(pick_put(p, v0, ARENA, &update.slot[1]));
    return update;
}

START_TEST(adam)
{
    oracle_adam a = {.rate = 0.01, .beta_1 = 0.9, .beta_2 = 0.99, .epsilon = 1e-7, .decay = 0.001};
    pick *p = fresh();

    fill();
    cmi_update update = prepare(p);
    update.body = "s0 += (g - s0) * h1; s1 += (g * g - s1) * h2; p -= s0 * h0 / (sqrt(s1) + h3);";
    update.decay = (float)a.decay;
    update.h[1] = (float)(1 - a.beta_1);
    update.h[2] = (float)(1 - a.beta_2);
    update.h[3] = (float)a.epsilon;
    for (a.step = 1; a.step <= 3; a.step++) {
        double t = (double)a.step;
        update.h[0] = (float)(a.rate * sqrt(1 - pow(a.beta_2, t)) / (1 - pow(a.beta_1, t)));
        cmi_stream_rewind(p->stream, CMI_TRACK_OTHER);
        ck_assert_cm_ok(cmi_op_update(p->stream, &update));
        oracle_adam_run(&a, LONG, g0 + FIRST, p0 + FIRST, m0 + FIRST, v0 + FIRST);
        oracle_adam_run(&a, SHORT, g0 + SECOND, p0 + SECOND, m0 + SECOND, v0 + SECOND);
    }
    ck_assert_cm_ok(pick_get(p, update.params, got));
    ck_assert_floats_close(got, p0, ARENA, 2e-7, 2e-7);
    ck_assert_cm_ok(pick_get(p, update.slot[1], got));
    ck_assert_floats_close(got, v0, ARENA, 1e-8, 1e-6);
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

/* Order of a step: factor of the tensor, limit, decay, update; in powers of two, so exact. */
START_TEST(clip_then_decay)
{
    const float factors[2] = {0.5f, 0.25f};
    pick *p = fresh();

    fill();
    for (size_t i = 0; i < ARENA; i++)
        if (in_tensor(i)) p0[i] = 8, g0[i] = (float)((int)(i % 9) - 4);
    cmi_update update = prepare(p);
    update.slots = 0;
    update.body = "p -= h0 * g;";
    update.h[0] = 2;
    update.decay = 0.125f;
    update.limit = 1.0f;
    ck_assert_cm_ok(pick_put(p, factors, 2, &update.factor));
    ck_assert_cm_ok(cmi_op_update(p->stream, &update));
    for (size_t i = 0; i < ARENA; i++) {
        if (!in_tensor(i)) continue;
        float g = g0[i] * factors[i >= SECOND];
        p0[i] = 7 - 2 * (g > 1 ? 1 : g < -1 ? -1 : g);
    }
    ck_assert_cm_ok(pick_get(p, update.params, got));
    ck_assert_floats_equal(got, p0, ARENA);
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

START_TEST(square_sums)
{
    float want[BLOCKS] = {0};
    pick *p = fresh();
    cmi_view partial;

    fill();
    for (size_t i = 0; i < ARENA; i++)
        if (in_tensor(i)) g0[i] = (float)((int)(i % 17) - 8);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < table[4 * b + 1]; i++)
            want[b] += g0[table[4 * b] + i] * g0[table[4 * b] + i];
    cmi_update update = prepare(p);
    ck_assert_cm_ok(pick_new(p, BLOCKS, &partial));
    ck_assert_cm_ok(cmi_op_square_sums(p->stream, BLOCKS, update.table, update.grads, partial));
    ck_assert_cm_ok(pick_get(p, partial, got));
    ck_assert_floats_equal(got, want, BLOCKS);
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

static const size_t items[] = {1, 2, 63, 64, 65, 1000};

/* Sums of an epoch: what was there, plus the items; array 0 by its factor; the step's share for the
 * control floats. The first sum is so large that a single float would lose what is added. */
START_TEST(fold)
{
    enum { ARRAYS = 3, STRIDE = 1001 };
    static float values[ARRAYS * STRIDE];
    float sums[2 * ARRAYS] = {33554432, 0, 100, 0, 0, 0}, control = 0;
    size_t n = items[_i];
    pick *p = fresh();
    cmi_view vv, vs, vc;

    fill_whole(values, ARRAYS * STRIDE, 10, 31);
    ck_assert_cm_ok(pick_put(p, values, ARRAYS * STRIDE, &vv));
    ck_assert_cm_ok(pick_put(p, sums, 2 * ARRAYS, &vs));
    ck_assert_cm_ok(pick_new(p, 1, &vc));
    ck_assert_cm_ok(cmi_op_fold(p->stream, n, ARRAYS, STRIDE, 3.0f, 0.5f, vv, vs, vc));
    ck_assert_cm_ok(pick_get(p, vs, got));
    ck_assert_cm_ok(pick_get(p, vc, &control));
    for (size_t a = 0; a < ARRAYS; a++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)values[a * STRIDE + i];
        if (a == 0) ck_assert_close(control, 0.5 * sum, 0);
        ck_assert_close((double)got[2 * a] + (double)got[2 * a + 1],
                        (double)sums[2 * a] + sum * (a == 0 ? 3 : 1), 0);
    }
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

Suite *update_suite(void)
{
    Suite *suite = suite_create("update");
    TCase *tcase = tcase_create("update");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, adam);
    tcase_add_test(tcase, clip_then_decay);
    tcase_add_test(tcase, square_sums);
    tcase_add_loop_test(tcase, fold, 0, (int)(sizeof items / sizeof items[0]));
    suite_add_tcase(suite, tcase);
    return suite;
}
