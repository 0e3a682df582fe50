/* values.c - tensors of golden files, comparing, and the report.  See golden.h.  Main thread. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/golden.h"
#include "support/cm_test.h"

void golden_fail(golden_report *report, const char *fmt, ...)
{
    va_list arguments;

    if (report->failed) return;
    report->failed = true;
    int length = snprintf(report->failure, sizeof report->failure,
                          "%s: ", report->spec ? report->spec : "file");
    if (length < 0 || (size_t)length >= sizeof report->failure) return;
    va_start(arguments, fmt);
    vsnprintf(report->failure + length, sizeof report->failure - (size_t)length, fmt, arguments);
    va_end(arguments);
}

/* Whether `text` is one of the entries of the list already. */
static bool listed(const char *list, const char *text)
{
    size_t length = strlen(text);

    for (const char *at = list; (at = strstr(at, text)); at++)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ',')) return true;
    return false;
}

void golden_unsupported(golden_report *report, const char *what)
{
    size_t length = strlen(report->unsupported);

    if (listed(report->unsupported, what)) return; /* the case with weights after the one without */
    snprintf(report->unsupported + length, sizeof report->unsupported - length, "%s%s",
             length ? ", " : "", what);
}

bool golden_refused(golden_report *report, cm_status status)
{
    char word[64], quoted[80];

    if (!status) return false;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(report->spec, " "), report->spec);
    snprintf(quoted, sizeof quoted, "\"%s\"", word);
    if (status == CM_E_NOT_FOUND)
        golden_unsupported(report,
                           cm_test_contains(cm_last_message(), quoted) ? word : report->spec);
    else if (cm_test_contains(cm_last_message(), "unknown key"))
        golden_unsupported(report, report->spec);
    else
        golden_fail(report, "%s: %s", cm_status_name(status), cm_last_message());
    return true;
}

static bool read_shape(const cJSON *item, golden_tensor *tensor)
{
    const cJSON *size;
    int64_t count = 0;

    cJSON_ArrayForEach(size, item)
    {
        if (tensor->shape.rank == CMI_MAX_RANK || !cJSON_IsNumber(size)) return false;
        tensor->shape.dim[tensor->shape.rank++] = (int64_t)size->valuedouble;
    }
    if (!cmi_shape_count(&tensor->shape, &count)) return false;
    tensor->count = (size_t)count;
    return true;
}

bool golden_tensor_read(const cJSON *item, const char *name, golden_report *report,
                        golden_tensor *tensor)
{
    const cJSON *shape = cJSON_GetObjectItem(item, "shape"),
                *data = cJSON_GetObjectItem(item, "data"), *number;
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItem(item, "dtype"));
    size_t i = 0;

    memset(tensor, 0, sizeof *tensor);
    if (!cJSON_IsArray(shape) || !cJSON_IsArray(data) || !dtype || !read_shape(shape, tensor) ||
        (size_t)cJSON_GetArraySize(data) != tensor->count) {
        golden_fail(report, "%s is no tensor, or its data do not fill its shape", name);
        return false;
    }
    tensor->whole = !strcmp(dtype, "int32");
    tensor->values = calloc(tensor->count + 1, sizeof *tensor->values);
    tensor->ints = calloc(tensor->count + 1, sizeof *tensor->ints);
    CM_ASSERT(tensor->values && tensor->ints);
    cJSON_ArrayForEach(number, data)
    {
        /* Infinities and not-a-number are written as words. */
        const char *word = cJSON_GetStringValue(number);
        double value = word                   ? strtod(word, NULL)
                       : cJSON_IsNull(number) ? (double)NAN
                                              : number->valuedouble;
        tensor->values[i] = (float)value;
        tensor->ints[i++] = tensor->whole ? (int32_t)value : 0;
    }
    return true;
}

void golden_tensor_free(golden_tensor *tensor)
{
    free(tensor->values);
    free(tensor->ints);
    memset(tensor, 0, sizeof *tensor);
}

cmi_shape golden_row_shape(const golden_tensor *tensor)
{
    cmi_shape row = {.rank = tensor->shape.rank > 0 ? tensor->shape.rank - 1 : 0};

    for (int i = 0; i < row.rank; i++)
        row.dim[i] = tensor->shape.dim[i + 1];
    return row;
}

bool golden_compare(golden_report *report, const char *name, const float *got,
                    const golden_tensor *want, double absolute, double relative)
{
    char text[512];
    const double bounds[2] = {absolute, relative};

    report->compared++;
    if (cm_test_compare(got, want->values, want->count, CM_TEST_CLOSE, bounds, text)) return true;
    golden_fail(report, "%s: %s", name, text);
    return false;
}

double golden_largest(const golden_tensor *tensor, double floor)
{
    double largest = floor;

    for (size_t i = 0; i < tensor->count; i++)
        if (fabs((double)tensor->values[i]) > largest) largest = fabs((double)tensor->values[i]);
    return largest;
}

bool golden_compare_scaled(golden_report *report, const char *name, const float *got,
                           const golden_tensor *want)
{
    return golden_compare(report, name, got, want, 1e-5 * golden_largest(want, 1.0), 0.0);
}

bool golden_compare_number(golden_report *report, const char *name, double got, double want,
                           double tolerance)
{
    report->compared++;
    if (cm_test_near(got, want, tolerance)) return true;
    golden_fail(report, "%s: got %.9g, expected %.9g, difference %.3g, tolerance %.3g", name, got,
                want, got - want, tolerance);
    return false;
}
