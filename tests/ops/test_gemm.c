/* test_gemm.c - the matrix product, both implementations: sizes around tiles and blocks of k, all
 * transpositions, bias, beta, activation. */
#include <math.h>
#include <stdlib.h>
#include "ops/ops_tests.h"

/* Tiles are 4 to 12 rows and 2 to 32 columns, blocks of k 384 long. */
static const size_t sizes[][3] = {{1, 1, 1},   {2, 3, 1},     {5, 7, 3},    {6, 16, 8},
                                  {7, 17, 13}, {11, 31, 65},  {12, 32, 4},  {13, 33, 17},
                                  {1, 64, 20}, {32, 2, 64},   {3, 5, 383},  {9, 10, 384},
                                  {4, 9, 385}, {25, 40, 800}, {64, 1, 127}, {70, 90, 130}};

enum { SIZES = sizeof sizes / sizeof sizes[0], MOST = 200 * 800 };

typedef struct matrices {
    float a[MOST], b[MOST], bias[256], c[MOST], want[MOST], bound[MOST];
} matrices;

static matrices *new_matrices(void)
{
    matrices *m = calloc(1, sizeof *m);

    ck_assert_ptr_nonnull(m);
    return m;
}

/* Runs the product on the device into m->c and in plain C into m->want. */
static void run(matrices *m, const cmi_gemm *shape, bool bias, cmi_gemm_choice choice)
{
    pick *p = fresh();
    cmi_gemm gemm = *shape;
    size_t count = gemm.m * gemm.n;
    uint64_t before = cmi_gemm_count(choice);

    ck_assert_cm_ok(pick_put(p, m->a, gemm.m * gemm.k, &gemm.a));
    ck_assert_cm_ok(pick_put(p, m->b, gemm.k * gemm.n, &gemm.b));
    ck_assert_cm_ok(gemm.beta != 0 ? pick_put(p, m->c, count, &gemm.c)
                                   : pick_new(p, count, &gemm.c));
    if (bias) ck_assert_cm_ok(pick_put(p, m->bias, gemm.n, &gemm.bias));
    for (size_t i = 0; i < count; i++)
        m->want[i] = m->c[i];
    oracle_gemm_run(&(oracle_gemm){.transpose_a = gemm.transpose_a,
                                   .transpose_b = gemm.transpose_b,
                                   .m = gemm.m,
                                   .n = gemm.n,
                                   .k = gemm.k,
                                   .a = m->a,
                                   .b = m->b,
                                   .bias = bias ? m->bias : NULL,
                                   .beta = gemm.beta,
                                   .c = m->want,
                                   .bound = m->bound});
    ck_assert_cm_ok(cmi_gemm_run_as(p->stream, &gemm, choice));
    ck_assert_uint_eq(cmi_gemm_count(choice), before + 1);
    ck_assert_cm_ok(pick_get(p, gemm.c, m->c));
    ck_assert_cm_ok(pick_check(p));
}

/* Whole numbers: every product and sum is exact, so the result must be too. */
static void exact(cmi_gemm_choice choice)
{
    matrices *m = new_matrices();

    for (int i = 0; i < SIZES; i++) {
        for (int way = 0; way < 4; way++) {
            cmi_gemm gemm = {.transpose_a = way & 1,
                             .transpose_b = way >> 1,
                             .m = sizes[i][0],
                             .n = sizes[i][1],
                             .k = sizes[i][2],
                             .beta = way == 1   ? 1.0f
                                     : way == 2 ? 0.5f
                                                : 0.0f};
            fill_whole(m->a, gemm.m * gemm.k, 4, (uint32_t)i);
            fill_whole(m->b, gemm.k * gemm.n, 4, (uint32_t)i + 100);
            fill_whole(m->bias, gemm.n, 9, (uint32_t)i + 200);
            fill_whole(m->c, gemm.m * gemm.n, 8, (uint32_t)i + 300);
            run(m, &gemm, (i + way) % 2, choice);
            ck_assert_floats_equal(m->c, m->want, gemm.m * gemm.n);
        }
    }
    free(m);
}

START_TEST(packed_exact)
{
    exact(CMI_GEMM_PACKED);
}
END_TEST

START_TEST(clblast_exact)
{
    exact(CMI_GEMM_CLBLAST);
}
END_TEST

/* Real numbers: at most 4 x 2^-24 sqrt(k) sum |a b| away, the growth of rounding errors in a random
 * walk. */
START_TEST(packed_rounding)
{
    matrices *m = new_matrices();

    for (int i = 0; i < SIZES; i++) {
        cmi_gemm gemm = {.m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2]};
        fill_real(m->a, gemm.m * gemm.k, (uint32_t)i);
        fill_real(m->b, gemm.k * gemm.n, (uint32_t)i + 100);
        run(m, &gemm, false, CMI_GEMM_PACKED);
        for (size_t e = 0; e < gemm.m * gemm.n; e++)
            ck_assert_close(m->c[e], m->want[e],
                            4 * 0x1p-24 * sqrt((double)gemm.k) * (double)m->bound[e]);
    }
    free(m);
}
END_TEST

/* The activation comes after bias and beta. */
START_TEST(activation)
{
    matrices *m = new_matrices();

    for (int choice = CMI_GEMM_PACKED; choice <= CMI_GEMM_CLBLAST; choice++) {
        cmi_gemm gemm = {
            .m = 13, .n = 21, .k = 400, .beta = 1, .activation = "(x <= 0.0f) ? (real)(0.0f) : x"};
        fill_whole(m->a, gemm.m * gemm.k, 2, 1);
        fill_whole(m->b, gemm.k * gemm.n, 2, 2);
        fill_whole(m->bias, gemm.n, 50, 3);
        fill_whole(m->c, gemm.m * gemm.n, 50, 4);
        run(m, &gemm, true, (cmi_gemm_choice)choice);
        for (size_t i = 0; i < gemm.m * gemm.n; i++)
            if (m->want[i] < 0) m->want[i] = 0;
        ck_assert_floats_equal(m->c, m->want, gemm.m * gemm.n);
    }
    free(m);
}
END_TEST

/* k = 0: act(bias + beta C), and the operands are not touched. */
START_TEST(no_terms)
{
    pick *p = fresh();
    float c[6] = {1, 2, 3, 4, 5, 6}, bias[3] = {10, 20, 30}, want[6] = {12, 24, 36, 18, 30, 42},
          got[6];
    cmi_gemm gemm = {.m = 2, .n = 3, .k = 0, .beta = 2};

    ck_assert_cm_ok(pick_new(p, 1, &gemm.a));
    ck_assert_cm_ok(pick_new(p, 1, &gemm.b));
    ck_assert_cm_ok(pick_put(p, c, 6, &gemm.c));
    ck_assert_cm_ok(pick_put(p, bias, 3, &gemm.bias));
    ck_assert_cm_ok(cmi_gemm_run(p->stream, &gemm));
    ck_assert_cm_ok(pick_get(p, gemm.c, got));
    ck_assert_floats_equal(got, want, 6);
    gemm.m = 0;
    ck_assert_cm_ok(cmi_gemm_run(p->stream, &gemm));
}
END_TEST

Suite *gemm_suite(void)
{
    Suite *suite = suite_create("gemm");
    TCase *tcase = tcase_create("gemm");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, packed_exact);
    tcase_add_test(tcase, packed_rounding);
    tcase_add_test(tcase, clblast_exact);
    tcase_add_test(tcase, activation);
    tcase_add_test(tcase, no_terms);
    suite_add_tcase(suite, tcase);
    return suite;
}
