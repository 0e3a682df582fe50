/* dataset.c - from a source text to arrays in memory.
 *
 * A source is `KIND rest key=value ...`.  The trailing key=value words are options and are read by
 * base/config.c like those of a layer; the rest depends on the kind: the Fashion-MNIST files,
 * random numbers, or the name of a file format (see registry.def) with one or two files.  A data
 * set is read whole and never changes.
 *
 * Called by the user on any thread; nothing is shared between data sets. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/config.h"
#include "base/mem.h"
#include "base/rng.h"
#include "data/data.h"
#include "data/format.h"

#define FASHION        "fashion-mnist"
#define FASHION_FOLDER "/usr/share/datasets/fashion-mnist"

struct cm_dataset {
    cm_data data;
    void *x_memory, *y_memory;
};

typedef struct source_options {
    double scale;
    int64_t seed;
} source_options;

#define SCALE_FIELD(fallback)                                                                      \
    {                                                                                              \
        "scale", CMI_FIELD_FLOAT, offsetof(source_options, scale), fallback, 0, 0,                 \
            "factor of x on the device", NULL                                                      \
    }

static const cmi_field fashion_fields[] = {SCALE_FIELD("1/255"), {0}};
static const cmi_field file_fields[] = {SCALE_FIELD("1"), {0}};
static const cmi_field random_fields[] = {
    SCALE_FIELD("1"),
    {"seed", CMI_FIELD_INT, offsetof(source_options, seed), "0", 0, 9e18, "names the numbers",
     NULL},
    {0},
};

static const cmi_entry fashion_entry = {"fashion_mnist", "Fashion-MNIST", sizeof(source_options),
                                        fashion_fields};
static const cmi_entry file_entry = {"files", "arrays in files", sizeof(source_options),
                                     file_fields};
static const cmi_entry random_entry = {"random", "random numbers", sizeof(source_options),
                                       random_fields};

/* Whether a word is `key=...`. */
static bool is_option(const char *word)
{
    const char *p = word;
    while (isalpha((unsigned char)*p) || *p == '_')
        p++;
    return p > word && *p == '=';
}

/* Where the trailing options begin; *end is where the rest, without blanks behind it, ends.  Words
 * are taken from the end as long as they look like options, so blanks in a file name do no harm. */
static size_t find_options(const char *text, size_t *end)
{
    size_t options = strlen(text);
    for (;;) {
        size_t word = options;
        while (word > 0 && isspace((unsigned char)text[word - 1]))
            word--;
        *end = word;
        while (word > 0 && !isspace((unsigned char)text[word - 1]))
            word--;
        if (word == 0 || !is_option(text + word)) return options;
        options = word;
    }
}

static cm_status read_options(const cmi_entry *entry, const char *text, source_options *result)
{
    void *config = NULL;
    void *spec = NULL;
    size_t bytes = strlen(entry->name) + strlen(text) + 2;
    cm_status status;
    CM_TRY_GOTO(done, cmi_alloc(bytes, 1, &spec));
    snprintf(spec, bytes, "%s %s", entry->name, text);
    CM_TRY_GOTO(done, cmi_config_parse(entry, spec, &config));
    *result = *(source_options *)config;
    if (!isfinite(result->scale) || result->scale == 0)
        status = cmi_error(CM_E_INVALID,
                           "scale must be a finite number other than 0, such as scale=1/255");
done:
    cmi_config_free(entry, config);
    cmi_free(spec);
    return status;
}

/* Reads one file into a tensor that the data set owns from now on. */
static cm_status read_array(const cmi_file_format *format, const char *path, cm_tensor *tensor,
                            void **memory)
{
    cmi_file_array array;
    CM_TRY(cmi_format_read(format, path, &array));
    *tensor = array.tensor;
    *memory = array.memory;
    return CM_OK;
}

static const char *shape_text(const cm_tensor *tensor, char *text, size_t bytes)
{
    cmi_shape shape = {.rank = tensor->rank};
    for (int i = 0; i < tensor->rank; i++)
        shape.dim[i] = tensor->shape[i];
    return cmi_shape_text(&shape, false, text, bytes);
}

/* Labels are one class per row; float targets may have several columns.  More axes on the side of
 * the labels are most often the two files in the wrong order. */
static cm_status check_pair(const cm_dataset *dataset, const char *x_path, const char *y_path)
{
    const cm_tensor *x = &dataset->data.x, *y = &dataset->data.y;
    char x_text[256], y_text[256];
    shape_text(x, x_text, sizeof x_text);
    shape_text(y, y_text, sizeof y_text);
    const bool targets = y->dtype == CM_DTYPE_FLOAT32;
    if (y->rank > x->rank && (x->rank == 1 || !targets))
        return cmi_error(
            CM_E_SHAPE,
            "\"%.300s\" has shape %s and, as labels, \"%.300s\" has shape %s; are the two "
            "files swapped? images come first",
            x_path, x_text, y_path, y_text);
    if (y->rank > 1 && !targets && !(y->rank == 2 && y->shape[1] == 1))
        return cmi_error(CM_E_SHAPE,
                         "\"%.512s\": labels are %s, shape %s; one class number per row expected",
                         y_path, y->rank == 2 ? "two-dimensional" : "not one-dimensional", y_text);
    if (x->shape[0] != y->shape[0])
        return cmi_error(
            CM_E_SHAPE,
            "\"%.300s\" has %lld rows, \"%.300s\" has %lld labels; give files that belong "
            "together",
            x_path, (long long)x->shape[0], y_path, (long long)y->shape[0]);
    return CM_OK;
}

/* "IMAGES,LABELS" or "IMAGES"; `files` is changed. */
static cm_status open_files(cm_dataset *dataset, const cmi_file_format *format, char *files)
{
    char *comma = strchr(files, ',');
    if (comma && strchr(comma + 1, ','))
        return cmi_error(
            CM_E_INVALID,
            "more than one comma; %s:IMAGES,LABELS expected, and file names without commas",
            format->entry.name);
    if (comma) *comma = 0;
    if (!*files || (comma && !comma[1]))
        return cmi_error(CM_E_INVALID,
                         "a file name is missing; %s:IMAGES,LABELS or %s:IMAGES expected",
                         format->entry.name, format->entry.name);
    CM_TRY(read_array(format, files, &dataset->data.x, &dataset->x_memory));
    if (!comma) return CM_OK;
    CM_TRY(read_array(format, comma + 1, &dataset->data.y, &dataset->y_memory));
    return check_pair(dataset, files, comma + 1);
}

/* One file of Fashion-MNIST, packed or, if only that is there, unpacked. */
static cm_status read_fashion(const char *folder, const char *stem, cm_tensor *tensor,
                              void **memory)
{
    const char *suffix = ".gz";
    void *path = NULL;
    size_t bytes = strlen(folder) + strlen(stem) + 8;
    cm_status status;
    CM_TRY(cmi_alloc(bytes, 1, &path));
    snprintf(path, bytes, "%s/%s", folder, stem);
    if (access(path, F_OK) == 0) suffix = "";
    snprintf(path, bytes, "%s/%s.gz", folder, stem);
    if (access(path, F_OK) == 0) suffix = ".gz";
    snprintf(path, bytes, "%s/%s%s", folder, stem, suffix);
    status = read_array(cmi_format_find("idx", 3), path, tensor, memory);
    cmi_free(path);
    if (status == CM_E_IO) {
        cm_error error;
        cmi_error_save(&error);
        return cmi_error(
            CM_E_IO,
            "%.700s; install the Debian package dataset-fashion-mnist, or give the folder of "
            "the four files: \"" FASHION "=DIR\"",
            error.message);
    }
    return status;
}

/* Checks that the files are images and labels, and gives the images their axis of channels. */
static cm_status check_fashion(cm_dataset *dataset, const char *folder)
{
    cm_tensor *x = &dataset->data.x, *y = &dataset->data.y;
    if (x->rank != 3 || x->dtype != CM_DTYPE_UINT8 || y->rank != 1)
        return cmi_error(
            CM_E_FORMAT,
            "\"%.512s\": not the files of Fashion-MNIST: images of %d dimensions and labels "
            "of %d, 3 (uint8) and 1 expected",
            folder, x->rank, y->rank);
    x->shape[x->rank++] = 1;
    return check_pair(dataset, "images", "labels");
}

/* What follows "fashion-mnist": "", ":test", "=DIR", "=DIR:test"; `rest` is changed. */
static cm_status open_fashion(cm_dataset *dataset, char *rest)
{
    const char *folder = FASHION_FOLDER;
    size_t length = strlen(rest);
    bool test = length >= 5 && strcmp(rest + length - 5, ":test") == 0;
    if (test) rest[length - 5] = 0;
    if (*rest == '=' && rest[1])
        folder = rest + 1;
    else if (*rest)
        return cmi_error(CM_E_INVALID,
                         "nothing, :test, =DIR or =DIR:test expected behind " FASHION);
    CM_TRY(read_fashion(folder, test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte",
                        &dataset->data.x, &dataset->x_memory));
    CM_TRY(read_fashion(folder, test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte",
                        &dataset->data.y, &dataset->y_memory));
    return check_fashion(dataset, folder);
}

/* "1000x28x28x1,10" -> shape and classes; `text` is changed. */
static bool parse_random(char *text, cm_tensor *x, int64_t *classes)
{
    char *comma = strchr(text, ','), *next = text;
    if (!comma || !cmi_parse_int(comma + 1, classes)) return false;
    *comma = 0;
    for (x->rank = 0; next && x->rank < CM_MAX_RANK; x->rank++) {
        char *size = next;
        next = strchr(size, 'x');
        if (next) *next++ = 0;
        if (!isdigit((unsigned char)*size) || !cmi_parse_int(size, &x->shape[x->rank]))
            return false;
    }
    return !next && x->rank >= 2;
}

static cm_status check_random(const cm_tensor *x, int64_t classes)
{
    char text[256];
    for (int i = 0; i < x->rank; i++)
        if (x->shape[i] < 1)
            return cmi_error(CM_E_INVALID, "random: shape %s has a size of 0; at least 1 expected",
                             shape_text(x, text, sizeof text));
    if (classes < 1 || classes > INT32_MAX)
        return cmi_error(CM_E_INVALID, "random: %lld classes; 1 to %ld expected",
                         (long long)classes, (long)INT32_MAX);
    return cmi_tensor_check(x, "random");
}

static cm_status fill_random(cm_dataset *dataset, int64_t classes, uint64_t seed)
{
    cm_data *data = &dataset->data;
    const int64_t rows = data->x.shape[0], count = rows * cmi_tensor_row_count(&data->x);
    cmi_rng rng;
    CM_TRY(cmi_alloc((size_t)count, sizeof(float), &dataset->x_memory));
    CM_TRY(cmi_alloc((size_t)rows, sizeof(int32_t), &dataset->y_memory));
    float *x = dataset->x_memory;
    int32_t *y = dataset->y_memory;
    cmi_rng_init(&rng, seed, CMI_RNG_DATA, 0);
    for (int64_t i = 0; i < count; i++)
        x[i] = cmi_rng_float(&rng);
    cmi_rng_init(&rng, seed, CMI_RNG_DATA, 1);
    for (int64_t i = 0; i < rows; i++)
        y[i] = (int32_t)cmi_rng_below(&rng, (uint64_t)classes);
    data->x.data = x;
    data->y = CM_INT32(y, rows);
    return CM_OK;
}

/* What follows "random:"; `text` is changed. */
static cm_status open_random(cm_dataset *dataset, char *text, uint64_t seed)
{
    cm_tensor *x = &dataset->data.x;
    int64_t classes = 0;
    if (!parse_random(text, x, &classes))
        return cmi_error(CM_E_INVALID,
                         "random:ROWSxF,CLASSES expected, for example random:1000x20,2 or "
                         "random:100x28x28x1,10, with at most %d sizes",
                         CM_MAX_RANK);
    x->dtype = CM_DTYPE_FLOAT32;
    x->data = text; /* only so that the check sees data; fill_random sets it */
    CM_TRY(check_random(x, classes));
    return fill_random(dataset, classes, seed);
}

static cm_status unknown_source(void)
{
    char names[256];
    cmi_format_names(names, sizeof names);
    return cmi_error(CM_E_INVALID,
                     "not known; valid are " FASHION ", " FASHION ":test, " FASHION
                     "=DIR, FORMAT:IMAGES,LABELS "
                     "(FORMAT is one of: %s), and random:ROWSxF,CLASSES",
                     names);
}

/* Dispatches on the kind; `body` is changed. */
static cm_status open_body(cm_dataset *dataset, char *body, const char *option_text)
{
    const size_t word = strcspn(body, ":");
    const cmi_file_format *format = body[word] ? cmi_format_find(body, word) : NULL;
    const size_t fashion = strlen(FASHION);
    source_options chosen;
    if (format) {
        cmi_entry entry = file_entry;
        entry.name = format->entry.name;
        CM_TRY(read_options(&entry, option_text, &chosen));
        CM_TRY(open_files(dataset, format, body + word + 1));
    } else if (strncmp(body, "random:", 7) == 0) {
        CM_TRY(read_options(&random_entry, option_text, &chosen));
        CM_TRY(open_random(dataset, body + 7, (uint64_t)chosen.seed));
    } else if (strncmp(body, FASHION, fashion) == 0 &&
               strchr(":=", body[fashion])) { /* or the end */
        CM_TRY(read_options(&fashion_entry, option_text, &chosen));
        CM_TRY(open_fashion(dataset, body + fashion));
    } else {
        return unknown_source();
    }
    dataset->data.x.scale = chosen.scale;
    return CM_OK;
}

cm_status cm_dataset_open(const char *source, cm_dataset **dataset)
{
    char *text = NULL;
    cm_status status;
    cmi_error_clear();
    if (!dataset)
        return cmi_error(CM_E_INVALID, "cm_dataset_open: no place for the data set (NULL)");
    *dataset = NULL;
    if (!source) return cmi_error(CM_E_INVALID, "cm_dataset_open: no source text (NULL)");
    CM_TRY(cmi_strdup(source + strspn(source, " \t\r\n"), &text));
    CM_TRY_GOTO(fail, CMI_NEW(1, dataset));
    size_t end, start = find_options(text, &end);
    const char *option_text = text + start;
    if (end < start) text[end] = 0;
    CM_TRY_GOTO(fail, open_body(*dataset, text, option_text));
    cmi_free(text);
    return CM_OK;
fail:
    if (status == CM_E_INVALID) cmi_error_prefix("data source \"%.300s\"", source);
    cmi_free(text);
    cm_dataset_destroy(*dataset);
    *dataset = NULL;
    return status;
}

void cm_dataset_destroy(cm_dataset *dataset)
{
    if (!dataset) return;
    cmi_free(dataset->x_memory);
    cmi_free(dataset->y_memory);
    cmi_free(dataset);
}

cm_data cm_dataset_data(const cm_dataset *dataset)
{
    return dataset ? dataset->data : (cm_data){0};
}

void cm_dataset_validation_source(const char *source, char *text, size_t bytes)
{
    const size_t fashion = strlen(FASHION);
    if (!text || bytes == 0) return;
    text[0] = 0;
    if (!source) return;
    source += strspn(source, " \t\r\n");
    if (strncmp(source, FASHION, fashion) != 0 || !strchr("= \t\r\n", source[fashion])) return;
    size_t end, options = find_options(source, &end);
    if (end >= 5 && strncmp(source + end - 5, ":test", 5) == 0) return;
    snprintf(text, bytes, "%.*s:test%s%s", (int)end, source, source[options] ? " " : "",
             source + options);
}
