/* test_gemm_sizes.c - every size near a tile's edge, whole numbers, so the products are exact.
 *
 * Operands stand between guard bands of not-a-number; C is filled with not-a-number where beta is 0
 * (B07), so that one read or write outside a matrix shows.  The kernel under test is the one that
 * CLMIRROR_GEMM chooses. */
#include <stdlib.h>
#include "device/gemm.h"
#include "device/suites.h"
#include "support/cm_test.h"
#include "support/device_pick.h"

enum { LARGEST = 41 };

static pick p;

static void setup(void)
{
    ck_assert_cm_ok(pick_open(&p));
}

static void teardown(void)
{
    pick_close(&p);
}

static float a_at(size_t i, size_t k)
{
    return (float)((3 * i + 5 * k) % 7) - 3;
}

static float b_at(size_t k, size_t j)
{
    return (float)((2 * k + 3 * j) % 5) - 2;
}

/* Fills the operands in the memory order of the transposition, and the expected product. */
static void fill(size_t m, size_t n, size_t k, bool ta, bool tb, float beta, float *a, float *b,
                 float *c, float *want)
{
    for (size_t i = 0; i < m; i++)
        for (size_t s = 0; s < k; s++)
            a[ta ? s * m + i : i * k + s] = a_at(i, s);
    for (size_t s = 0; s < k; s++)
        for (size_t j = 0; j < n; j++)
            b[tb ? j * k + s : s * n + j] = b_at(s, j);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t s = 0; s < k; s++)
                sum += (double)a_at(i, s) * (double)b_at(s, j);
            c[i * n + j] = (float)(i % 4) + (float)j;
            want[i * n + j] = (float)(sum + (double)(beta * c[i * n + j]));
        }
}

static void check(size_t m, size_t n, size_t k, bool ta, bool tb, float beta)
{
    float *memory = calloc(m * k + k * n + 3 * m * n, sizeof *memory);
    float *a = memory, *b = a + m * k, *c = b + k * n, *want = c + m * n, *got = want + m * n;
    cmi_gemm gemm = {.transpose_a = ta, .transpose_b = tb, .m = m, .n = n, .k = k, .beta = beta};

    fill(m, n, k, ta, tb, beta, a, b, c, want);
    pick_clear(&p);
    ck_assert_cm_ok(pick_put(&p, a, m * k, &gemm.a));
    ck_assert_cm_ok(pick_put(&p, b, k * n, &gemm.b));
    if (beta == 0.0f)
        ck_assert_cm_ok(pick_new(&p, m * n, &gemm.c));
    else
        ck_assert_cm_ok(pick_put(&p, c, m * n, &gemm.c));
    ck_assert_cm_ok(cmi_gemm_run(p.stream, &gemm));
    ck_assert_cm_ok(pick_get(&p, gemm.c, got));
    ck_assert_cm_ok(pick_check(&p));
    ck_assert_floats_equal(got, want, m * n);
    free(memory);
}

static int transposes[] = {0, 1, 2, 3};

/* B06: all m and n up to two tiles and a rest, k near every boundary. */
START_TEST(small_sizes)
{
    static const size_t ks[] = {1, 2, 7, 16, 17};
    bool ta = transposes[_i] & 1, tb = transposes[_i] & 2;

    for (size_t m = 1; m <= LARGEST; m += m < 18 ? 1 : 5)
        for (size_t n = 1; n <= LARGEST; n += n < 18 ? 1 : 4)
            check(m, n, ks[(m + n) % CM_TEST_COUNT(ks)], ta, tb, (m + n) % 3 ? 0.0f : 1.0f);
    for (size_t k = 1; k <= LARGEST; k++)
        check(5 + k % 3, 17 + k % 2, k, ta, tb, 0);
}
END_TEST

/* Several blocks of k and of rows, operands packed and in place, and the shapes of B01 and of a
 * layer. */
START_TEST(blocks_of_k)
{
    static const size_t shapes[][3] = {{13, 33, 1024}, {13, 33, 1025},  {7, 40, 2050},
                                       {3, 70, 1000},  {100, 100, 100}, {64, 10, 512},
                                       {200, 65, 20},  {520, 35, 300},  {521, 10, 257}};
    bool ta = transposes[_i] & 1, tb = transposes[_i] & 2;

    for (int s = 0; s < CM_TEST_COUNT(shapes); s++)
        for (int beta = 0; beta < 2; beta++)
            check(shapes[s][0], shapes[s][1], shapes[s][2], ta, tb, (float)beta);
}
END_TEST

Suite *suite_gemm_sizes(void)
{
    Suite *suite = suite_create("gemm_sizes");
    TCase *tcase = tcase_create("gemm_sizes");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, small_sizes, 0, CM_TEST_COUNT(transposes));
    tcase_add_loop_test(tcase, blocks_of_k, 0, CM_TEST_COUNT(transposes));
    suite_add_tcase(suite, tcase);
    return suite;
}
