/* test_rows.c - shards, order of an epoch, gathering rows, slices, checks of a user's arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <clmirror/dataset.h>
#include "data/data.h"
#include "data_tests.h"

/* Case A05: the shares that the table names; A01: one row on any number of ranks. */
START_TEST(a05_shares)
{
    static const struct {
        int64_t rows;
        int ranks, share[8];
    } want[] = {{10, 4, {3, 3, 2, 2}}, {9, 4, {3, 2, 2, 2}}, {4, 3, {2, 1, 1}},
                {32, 3, {11, 11, 10}}, {1, 4, {1, 0, 0, 0}}, {1, 8, {1, 0, 0, 0, 0, 0, 0, 0}}};
    for (int i = 0; i < CM_TEST_COUNT(want); i++)
        for (int rank = 0; rank < want[i].ranks; rank++) {
            int64_t begin, end;
            cmi_shard(want[i].rows, want[i].ranks, rank, &begin, &end);
            ck_assert_int_eq(end - begin, want[i].share[rank]);
        }
}
END_TEST

START_TEST(shards_cover_the_batch)
{
    for (int64_t rows = 0; rows <= 50; rows++)
        for (int ranks = 1; ranks <= 13; ranks++) {
            int64_t begin, end, next = 0, most = 0, least = rows;
            for (int rank = 0; rank < ranks; rank++) {
                cmi_shard(rows, ranks, rank, &begin, &end);
                ck_assert_int_eq(begin, next);
                ck_assert_int_ge(end, begin);
                if (end - begin > most) most = end - begin;
                if (end - begin < least) least = end - begin;
                next = end;
            }
            ck_assert_int_eq(next, rows);
            ck_assert_int_le(most - least, 1);
            ck_assert_int_eq(cmi_shard_max(rows, ranks), most);
        }
}
END_TEST

enum { ROWS = 1000 };

static void check_permutation(const uint32_t *order, int rows)
{
    char seen[ROWS] = {0};
    for (int i = 0; i < rows; i++) {
        ck_assert_uint_lt(order[i], (unsigned)rows);
        ck_assert_int_eq(seen[order[i]], 0);
        seen[order[i]] = 1;
    }
}

START_TEST(order_is_a_function_of_seed_and_epoch)
{
    uint32_t a[ROWS], b[ROWS];
    cmi_epoch_order(7, 3, ROWS, true, a);
    check_permutation(a, ROWS);
    cmi_epoch_order(7, 3, ROWS, true, b);
    ck_assert_mem_eq(a, b, sizeof a);
    cmi_epoch_order(7, 4, ROWS, true, b);
    check_permutation(b, ROWS);
    ck_assert_mem_ne(a, b, sizeof a);
    cmi_epoch_order(8, 3, ROWS, true, b);
    ck_assert_mem_ne(a, b, sizeof a);
    for (int rows = 0; rows < 20; rows++) {
        cmi_epoch_order(1, 0, rows, true, a);
        check_permutation(a, rows);
    }
}
END_TEST

START_TEST(order_without_shuffle)
{
    uint32_t order[ROWS];
    cmi_epoch_order(7, 3, ROWS, false, order);
    for (unsigned i = 0; i < ROWS; i++)
        ck_assert_uint_eq(order[i], i);
}
END_TEST

/* Over 10,000 epochs each of 10 rows stands at each place about 1000 times.  The sum of the squared
 * deviations over 1000 has 81 degrees of freedom: mean 81, deviation 12.7; 30 to 145 is five
 * deviations to either side. */
START_TEST(order_is_uniform)
{
    enum { N = 10, EPOCHS = 10000 };
    int count[N][N] = {{0}};
    double chi2 = 0;
    uint32_t order[N];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        cmi_epoch_order(1, epoch, N, true, order);
        for (int place = 0; place < N; place++)
            count[place][order[place]]++;
    }
    for (int i = 0; i < N * N; i++) {
        double difference = count[i / N][i % N] - EPOCHS / N;
        chi2 += difference * difference / (EPOCHS / N);
    }
    ck_assert_double_gt(chi2, 30);
    ck_assert_double_lt(chi2, 145);
}
END_TEST

START_TEST(gather_rows)
{
    float x[6][2][3], got[4][2][3];
    uint8_t y[6] = {10, 11, 12, 13, 14, 15}, classes[5] = {0, 0, 0, 0, 99};
    const uint32_t order[4] = {5, 0, 3, 3};
    for (int i = 0; i < 36; i++)
        ((float *)x)[i] = (float)i;
    cm_tensor tensor = CM_FLOAT32(x, 6, 2, 3), labels = CM_UINT8(y, 6);
    cmi_gather(&tensor, order, 4, got);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            ck_assert_int_eq((int)((float *)got)[6 * i + j], 6 * (int)order[i] + j);
    cmi_gather(&labels, order, 4, classes);
    ck_assert(classes[0] == 15 && classes[1] == 10 && classes[2] == 13 && classes[3] == 13 &&
              classes[4] == 99);
    cmi_gather(&labels, order, 0, classes);
    ck_assert_int_eq(classes[0], 15);
    ck_assert_uint_eq(cmi_tensor_row_bytes(&tensor), 24);
    ck_assert_int_eq(cmi_tensor_row_count(&labels), 1);
    ck_assert_int_eq(cmi_tensor_row_shape(&tensor).rank, 2);
    ck_assert_int_eq(cmi_tensor_row_shape(&labels).rank, 0);
}
END_TEST

START_TEST(slices)
{
    float x[6][2] = {{0}}, weight[6] = {0};
    int32_t y[6] = {0, 1, 2, 3, 4, 5};
    cm_data data = {
        .x = CM_FLOAT32(x, 6, 2), .y = CM_INT32(y, 6), .sample_weight = CM_FLOAT32(weight, 6)};
    static const int64_t want[][4] = {{0, 6, 0, 6},
                                      {2, 5, 2, 5},
                                      {-3, 4, 0, 4},
                                      {4, 100, 4, 6},
                                      {7, 9, 6, 6},
                                      {5, 2, 5, 5},
                                      {INT64_MIN, INT64_MAX, 0, 6},
                                      {-5, -2, 0, 0}};
    data.x.scale = 0.5;
    for (int i = 0; i < CM_TEST_COUNT(want); i++) {
        cm_data part = cm_data_slice(&data, want[i][0], want[i][1]);
        int64_t rows = want[i][3] - want[i][2];
        ck_assert_int_eq(part.x.shape[0], rows);
        ck_assert_int_eq(part.y.shape[0], rows);
        ck_assert_int_eq(part.sample_weight.shape[0], rows);
        ck_assert_ptr_eq(part.x.data, x + want[i][2]);
        ck_assert_ptr_eq(part.y.data, y + want[i][2]);
        ck_assert_ptr_eq(part.sample_weight.data, weight + want[i][2]);
        ck_assert(part.x.scale == 0.5 && part.x.shape[1] == 2);
    }
    /* what makes no sense stays as it is, for the check to find; no array stays none */
    data.y = (cm_tensor){0};
    data.x.shape[1] = INT64_MAX;
    cm_data part = cm_data_slice(&data, 1, 3);
    ck_assert_int_eq(part.x.shape[0], 6);
    ck_assert_int_eq(part.y.dtype, CM_DTYPE_NONE);
    ck_assert_int_eq(cm_data_slice(NULL, 0, 1).x.dtype, CM_DTYPE_NONE);
}
END_TEST

static float numbers[12];
static int32_t classes[12];

static cm_data good(void)
{
    return (cm_data){.x = CM_FLOAT32(numbers, 6, 2), .y = CM_INT32(classes, 6)};
}

START_TEST(data_that_fits)
{
    cm_data data = good();
    ck_assert_cm_ok(cmi_data_check(&data, "fit", true));
    data.sample_weight = CM_FLOAT32(numbers, 6);
    ck_assert_cm_ok(cmi_data_check(&data, "fit", true));
    data.y = (cm_tensor){0};
    ck_assert_cm_ok(cmi_data_check(&data, "predict", false));
}
END_TEST

enum { SPOILS = 19 };

/* One thing wrong in turn. */
static const char *spoil(int which, cm_data *data, cm_status *status)
{
    *status = CM_E_SHAPE;
    switch (which) {
    case 0:
        data->y = CM_INT32(classes, 9);
        return "x has 6 rows, y has 9";
    case 1:
        data->sample_weight = CM_FLOAT32(numbers, 5);
        return "sample_weight has 5";
    case 2:
        data->sample_weight = CM_FLOAT32(numbers, 6, 2);
        return "sample_weight has shape (6, 2)";
    case 3:
        data->x.shape[1] = 0;
        return "x: shape (6, 0): size 0 of axis 1";
    case 4:
        data->x.shape[0] = -1;
        return "size -1 of axis 0";
    case 5:
        data->x = CM_FLOAT32(numbers, 1, INT64_MAX, 4);
        return "too large";
    case 6:
        data->x = CM_FLOAT32(numbers, 4294967296, 4294967296);
        return "too large";
    case 7:
        data->x = CM_UINT8(numbers, 4294967296, 1);
        return "4294967296 rows; at most 4294967295";
    default:
        break;
    }
    if (which == SPOILS - 1) { /* 2^63 bytes, one more than a pointer difference can be */
        data->x = CM_UINT8(numbers, 2147483648, 4294967296);
        return "too large";
    }
    *status = CM_E_INVALID;
    switch (which) {
    case 8:
        data->x = (cm_tensor){0};
        return "no x";
    case 9:
        data->y = (cm_tensor){0};
        return "no y";
    case 10:
        data->x.shape[0] = data->y.shape[0] = 0;
        return "no samples";
    case 11:
        data->x.data = NULL;
        return "no data (NULL)";
    case 12:
        data->x.rank = 0;
        return "0 axes";
    case 13:
        data->y.rank = 9;
        return "y: 9 axes";
    case 14:
        data->x.dtype = (cm_dtype)77;
        return "type 77";
    case 15:
        data->x.scale = (double)INFINITY;
        return "scale inf";
    case 16:
        data->sample_weight = CM_INT32(classes, 6);
        return "must be float32";
    default:
        break;
    }
    static float weights[6] = {1, 1, 1, (float)NAN, 1, 1};
    *status = CM_E_NUMERIC;
    data->sample_weight = CM_FLOAT32(weights, 6);
    return "sample_weight of row 3 is nan";
}

START_TEST(data_that_does_not_fit)
{
    cm_data data = good();
    cm_status status;
    const char *fact = spoil(_i, &data, &status);
    ck_assert_cm_status(cmi_data_check(&data, "fit", true), status);
    ck_assert_message_has(fact);
    ck_assert_msg(strncmp(cm_last_message(), "fit: ", 5) == 0, "%s", cm_last_message());
}
END_TEST

Suite *rows_suite(void)
{
    Suite *suite = suite_create("rows");
    TCase *shard = tcase_create("shard"), *order = tcase_create("order"),
          *tensor = tcase_create("tensor");
    tcase_add_test(shard, a05_shares);
    tcase_add_test(shard, shards_cover_the_batch);
    tcase_add_test(order, order_is_a_function_of_seed_and_epoch);
    tcase_add_test(order, order_without_shuffle);
    tcase_add_test(order, order_is_uniform);
    tcase_add_test(tensor, gather_rows);
    tcase_add_test(tensor, slices);
    tcase_add_test(tensor, data_that_fits);
    tcase_add_loop_test(tensor, data_that_does_not_fit, 0, SPOILS);
    suite_add_tcase(suite, shard);
    suite_add_tcase(suite, order);
    suite_add_tcase(suite, tensor);
    return suite;
}
