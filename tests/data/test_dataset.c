/* test_dataset.c - source texts: pairs of files (case E05), Fashion-MNIST, random numbers,
 * options. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <clmirror/dataset.h>
#include "base/mem.h"
#include "data/data.h"
#include "data_tests.h"

static const char *pair(const char *images, const char *labels)
{
    static char source[8192];
    snprintf(source, sizeof source, "idx:%s,%s", case_path(images), case_path(labels));
    return source;
}

static cm_status open_pair(const char *images, const char *labels)
{
    cm_dataset *dataset = NULL;
    cm_status status = cm_dataset_open(pair(images, labels), &dataset);
    ck_assert((dataset != NULL) == (status == CM_OK));
    cm_dataset_destroy(dataset);
    return status;
}

START_TEST(images_and_labels)
{
    cm_dataset *dataset = NULL;
    ck_assert_cm_ok(
        cm_dataset_open(pair("images-6x5x4.idx3-ubyte.gz", "labels-6.idx1-ubyte"), &dataset));
    cm_data data = cm_dataset_data(dataset);
    ck_assert_cm_ok(cmi_data_check(&data, "fit", true));
    ck_assert_int_eq(data.x.rank, 3);
    ck_assert_int_eq(data.y.rank, 1);
    ck_assert_mem_eq(data.y.data, "\1\4\7\0\3\6", 6);
    ck_assert(data.x.scale == 1); /* as in Keras, uint8 is not scaled unless asked */
    ck_assert_int_eq(data.sample_weight.dtype, CM_DTYPE_NONE);
    cm_dataset_destroy(dataset);
}
END_TEST

START_TEST(e05_rows_differ)
{
    ck_assert_cm_status(open_pair("images-6x5x4.idx3-ubyte", "labels-9.idx1-ubyte"), CM_E_SHAPE);
    ck_assert_message_has("images-6x5x4.idx3-ubyte\" has 6 rows");
    ck_assert_message_has("labels-9.idx1-ubyte\" has 9 labels");
}
END_TEST

START_TEST(e05_swapped)
{
    ck_assert_cm_status(open_pair("labels-6.idx1-ubyte", "images-6x5x4.idx3-ubyte"), CM_E_SHAPE);
    ck_assert_message_has("swapped?");
    ck_assert_cm_status(open_pair("labels-9.idx1-ubyte", "images-6x5x4.idx3-ubyte.gz"), CM_E_SHAPE);
    ck_assert_message_has("swapped?");
    ck_assert_cm_status(open_pair("images-6x5x4.idx3-ubyte", "images-6x5x4.idx3-ubyte"),
                        CM_E_SHAPE);
    ck_assert_message_has("not one-dimensional");
}
END_TEST

/* Never 40 labels. */
START_TEST(e01_two_dimensional_labels)
{
    ck_assert_cm_status(open_pair("ints-5x8.idx2-int", "ints-5x8.idx2-int"), CM_E_SHAPE);
    ck_assert_message_has("two-dimensional");
    ck_assert_message_has("(5, 8)");
}
END_TEST

/* A column of labels, and float targets of several columns, are in order. */
START_TEST(label_columns)
{
    static const unsigned char column[] = {0, 0, 0x08, 2, 0, 0, 0, 3, 0, 0, 0, 1, 5, 6, 7};
    char source[8192];
    cm_dataset *dataset = NULL;
    folder_make();
    folder_write("column", column, sizeof column);
    snprintf(source, sizeof source, "idx:%s,%s", case_path("floats-3x2.idx2-float"),
             folder_path("column"));
    ck_assert_cm_ok(cm_dataset_open(source, &dataset));
    cm_dataset_destroy(dataset);
    folder_remove();
    ck_assert_cm_ok(open_pair("doubles-3x2.idx2-double", "floats-3x2.idx2-float"));
}
END_TEST

typedef struct source_case {
    const char *text;
    const char *fact;
    cm_status status;
} source_case;

static const source_case wrong[] = {
    {"", "not known; valid are fashion-mnist", CM_E_INVALID},
    {"mnist", "\"mnist\"", CM_E_INVALID},
    {"idx", "not known", CM_E_INVALID},
    {"csv:a.csv", "one of: idx", CM_E_INVALID},
    {"idx:", "a file name is missing", CM_E_INVALID},
    {"idx:,labels", "a file name is missing", CM_E_INVALID},
    {"idx:images,", "a file name is missing", CM_E_INVALID},
    {"idx:a,b,c", "more than one comma", CM_E_INVALID},
    {"idx:a scal=1", "scal", CM_E_INVALID},
    {"idx:a scale=x", "scale", CM_E_INVALID},
    {"idx:a scale=0", "scale must be a finite number other than 0", CM_E_INVALID},
    {"idx:a seed=1", "seed", CM_E_INVALID},
    {"idx:/no/such file here scale=2", "/no/such file here: ", CM_E_IO},
    {"fashion-mnistx", "not known", CM_E_INVALID},
    {"fashion-mnist:train", ":test", CM_E_INVALID},
    {"fashion-mnist=", "=DIR", CM_E_INVALID},
    {"fashion-mnist=/no/such/folder", "dataset-fashion-mnist", CM_E_IO},
    {"fashion-mnist=/no/such/folder:test", "/no/such/folder/t10k-images-idx3-ubyte.gz", CM_E_IO},
    {"random:", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:x4,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x-4,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x4.5,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x4,4,4", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:1x1x1x1x1x1x1x1x1,4", "at most 8 sizes", CM_E_INVALID},
    {"random:0x4,4", "a size of 0", CM_E_INVALID},
    {"random:4x0,4", "a size of 0", CM_E_INVALID},
    {"random:10x4,0", "0 classes", CM_E_INVALID},
    {"random:10x4,-1", "-1 classes", CM_E_INVALID},
    {"random:10x4,2147483648", "2147483648 classes", CM_E_INVALID},
    {"random:4294967296x4294967296,2", "too large", CM_E_SHAPE},
    {"random:9223372036854775807x2,2", "too large", CM_E_SHAPE},
    {"random:4294967296x1,2", "at most 4294967295", CM_E_SHAPE},
    {"random:99999999999999999999x1,2", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
    {"random:10x4,4 seed=-1", "seed", CM_E_INVALID},
    {"random:10x4,4 what", "random:ROWSxF,CLASSES expected", CM_E_INVALID},
};

START_TEST(wrong_sources)
{
    const source_case *c = &wrong[_i];
    const uint64_t live = cmi_mem_live();
    cm_dataset *dataset = (cm_dataset *)&dataset;
    cm_status status = cm_dataset_open(c->text, &dataset);
    ck_assert_msg(status == c->status, "\"%s\": %s: %s", c->text, cm_status_name(status),
                  cm_last_message());
    ck_assert_message_has(c->fact);
    ck_assert_ptr_null(dataset);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

START_TEST(no_pointers)
{
    cm_dataset *dataset = NULL;
    ck_assert_cm_status(cm_dataset_open(NULL, &dataset), CM_E_INVALID);
    ck_assert_cm_status(cm_dataset_open("random:1x1,1", NULL), CM_E_INVALID);
    cm_dataset_destroy(NULL);
    ck_assert_int_eq(cm_dataset_data(NULL).x.dtype, CM_DTYPE_NONE);
    ck_assert_cm_ok(cm_dataset_open("random:1x1,1", &dataset));
    ck_assert_int_eq(cm_last_status(), CM_OK); /* the old failure is gone */
    cm_dataset_destroy(dataset);
}
END_TEST

START_TEST(options)
{
    char source[8192];
    cm_dataset *dataset = NULL;
    folder_make();
    folder_copy("with 2 blanks", "images-6x5x4.idx3-ubyte");
    snprintf(source, sizeof source, "  idx:%s   scale=1/255  ", folder_path("with 2 blanks"));
    ck_assert_cm_ok(cm_dataset_open(source, &dataset));
    ck_assert(cm_dataset_data(dataset).x.scale == 1.0 / 255);
    cm_dataset_destroy(dataset);
    folder_remove();
    ck_assert_cm_ok(cm_dataset_open("random:3x2,2 scale=0.5 seed=7", &dataset));
    ck_assert(cm_dataset_data(dataset).x.scale == 0.5);
    cm_dataset_destroy(dataset);
}
END_TEST

START_TEST(random_numbers)
{
    cm_dataset *one = NULL, *same = NULL, *other = NULL;
    int count[10] = {0};
    double sum = 0;
    ck_assert_cm_ok(cm_dataset_open("random:500x4x3x2,10", &one));
    ck_assert_cm_ok(cm_dataset_open("random:500x4x3x2,10 seed=0", &same));
    ck_assert_cm_ok(cm_dataset_open("random:500x4x3x2,10 seed=1", &other));
    cm_data data = cm_dataset_data(one);
    const float *x = data.x.data;
    const int32_t *y = data.y.data;
    ck_assert_cm_ok(cmi_data_check(&data, "fit", true));
    ck_assert(data.x.dtype == CM_DTYPE_FLOAT32 && data.x.rank == 4 &&
              data.y.dtype == CM_DTYPE_INT32);
    ck_assert(data.x.shape[0] == 500 && data.x.shape[1] == 4 && data.x.shape[2] == 3 &&
              data.x.shape[3] == 2);
    for (int i = 0; i < 12000; i++) {
        ck_assert(x[i] >= 0 && x[i] < 1);
        sum += (double)x[i];
    }
    ck_assert_close(sum / 12000, 0.5, 0.02); /* deviation of the mean: 0.0026 */
    for (int i = 0; i < 500; i++) {
        ck_assert(y[i] >= 0 && y[i] < 10);
        count[y[i]]++;
    }
    for (int i = 0; i < 10; i++)
        ck_assert(count[i] > 15 && count[i] < 85); /* 50 expected, deviation 6.7 */
    ck_assert_mem_eq(x, cm_dataset_data(same).x.data, 12000 * sizeof *x);
    ck_assert_mem_eq(y, cm_dataset_data(same).y.data, 500 * sizeof *y);
    ck_assert_mem_ne(x, cm_dataset_data(other).x.data, 12000 * sizeof *x);
    ck_assert_mem_ne(y, cm_dataset_data(other).y.data, 500 * sizeof *y);
    cm_dataset_destroy(one);
    cm_dataset_destroy(same);
    cm_dataset_destroy(other);
}
END_TEST

START_TEST(validation_sources)
{
    static const char *const want[][2] = {
        {"fashion-mnist", "fashion-mnist:test"},
        {"fashion-mnist:test", ""},
        {"fashion-mnist=/a b/c", "fashion-mnist=/a b/c:test"},
        {"fashion-mnist=/a:test", ""},
        {"fashion-mnist scale=1", "fashion-mnist:test scale=1"},
        {"fashion-mnist=/a scale=1/3", "fashion-mnist=/a:test scale=1/3"},
        {"fashion-mnist:test scale=1", ""},
        {"fashion-mnistx", ""},
        {"idx:a,b", ""},
        {"random:3x2,2", ""},
        {"", ""},
    };
    char text[64];
    for (int i = 0; i < CM_TEST_COUNT(want); i++) {
        memset(text, 'x', sizeof text);
        cm_dataset_validation_source(want[i][0], text, sizeof text);
        ck_assert_str_eq(text, want[i][1]);
    }
    cm_dataset_validation_source("fashion-mnist", text, 8);
    ck_assert_str_eq(text, "fashion");
    cm_dataset_validation_source(NULL, text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* The four files in a folder of one's own, packed or not, and one of them missing. */
START_TEST(fashion_folder)
{
    char source[256];
    cm_dataset *dataset = NULL;
    snprintf(source, sizeof source, "fashion-mnist=%s", folder_make());
    folder_copy("train-images-idx3-ubyte.gz", "images-6x5x4.idx3-ubyte.gz");
    folder_copy("train-labels-idx1-ubyte", "labels-6.idx1-ubyte");
    ck_assert_cm_ok(cm_dataset_open(source, &dataset));
    cm_data data = cm_dataset_data(dataset);
    ck_assert_int_eq(data.x.rank, 4);
    ck_assert(data.x.shape[0] == 6 && data.x.shape[1] == 5 && data.x.shape[2] == 4 &&
              data.x.shape[3] == 1);
    ck_assert(data.x.scale == 1.0 / 255);
    cm_dataset_destroy(dataset);
    strcat(source, ":test scale=2");
    ck_assert_cm_status(cm_dataset_open(source, &dataset), CM_E_IO);
    ck_assert_message_has("t10k-images-idx3-ubyte.gz");
    ck_assert_message_has("dataset-fashion-mnist");
    ck_assert_message_has("fashion-mnist=DIR");
    folder_copy("t10k-images-idx3-ubyte", "labels-6.idx1-ubyte");
    folder_copy("t10k-labels-idx1-ubyte", "labels-6.idx1-ubyte");
    ck_assert_cm_status(cm_dataset_open(source, &dataset), CM_E_FORMAT);
    ck_assert_message_has("images of 1 dimensions");
    folder_remove();
}
END_TEST

static void check_fashion(const char *source, int64_t rows, const char *first)
{
    cm_dataset *dataset = NULL;
    ck_assert_cm_ok(cm_dataset_open(source, &dataset));
    cm_data data = cm_dataset_data(dataset);
    ck_assert_cm_ok(cmi_data_check(&data, "fit", true));
    ck_assert_int_eq(data.x.dtype, CM_DTYPE_UINT8);
    ck_assert_int_eq(data.x.rank, 4);
    ck_assert(data.x.shape[0] == rows && data.x.shape[1] == 28 && data.x.shape[2] == 28 &&
              data.x.shape[3] == 1);
    ck_assert(data.x.scale == 1.0 / 255);
    ck_assert_int_eq(data.y.shape[0], rows);
    ck_assert_mem_eq(data.y.data, first, 5);
    int64_t count[10] = {0};
    for (int64_t i = 0; i < rows; i++)
        count[((const uint8_t *)data.y.data)[i] % 10]++;
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(count[i], rows / 10);
    cm_dataset_destroy(dataset);
}

START_TEST(fashion_mnist)
{
    if (access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK) != 0)
        CM_TEST_SKIP("the Debian package dataset-fashion-mnist is not installed");
    check_fashion("fashion-mnist", 60000, "\11\0\0\3\0");
    check_fashion("fashion-mnist:test", 10000, "\11\2\1\1\6");
}
END_TEST

Suite *dataset_suite(void)
{
    Suite *suite = suite_create("dataset");
    TCase *files = tcase_create("files"), *sources = tcase_create("sources"),
          *fashion = tcase_create("fashion");
    tcase_add_test(files, images_and_labels);
    tcase_add_test(files, e05_rows_differ);
    tcase_add_test(files, e05_swapped);
    tcase_add_test(files, e01_two_dimensional_labels);
    tcase_add_test(files, label_columns);
    tcase_add_loop_test(sources, wrong_sources, 0, CM_TEST_COUNT(wrong));
    tcase_add_test(sources, no_pointers);
    tcase_add_test(sources, options);
    tcase_add_test(sources, random_numbers);
    tcase_add_test(sources, validation_sources);
    tcase_add_test(fashion, fashion_folder);
    tcase_add_test(fashion, fashion_mnist);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, sources);
    suite_add_tcase(suite, fashion);
    return suite;
}
