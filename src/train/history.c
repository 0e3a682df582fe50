/* history.c - the numbers of every epoch, by name.
 *
 * A name gets a column when it is first seen; columns keep that order.  val_ columns are shorter
 * than the others when validation does not run in every epoch.  One thread. */
#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "train/train.h"

typedef struct column {
    char *name;
    double *values;
    int count;
} column;

struct cm_history {
    int *epochs;
    int epoch_count;
    column *columns;
    int column_count;
};

cm_status cmi_history_create(cm_history **history)
{
    return CMI_NEW(1, history);
}

static cm_status find_column(cm_history *history, const char *name, column **out)
{
    for (int i = 0; i < history->column_count; i++)
        if (!strcmp(history->columns[i].name, name)) {
            *out = &history->columns[i];
            return CM_OK;
        }
    CM_TRY(cmi_realloc((size_t)history->column_count + 1, sizeof *history->columns,
                       (void **)&history->columns));
    column *made = &history->columns[history->column_count];
    *made = (column){0};
    CM_TRY(cmi_strdup(name, &made->name));
    history->column_count++;
    *out = made;
    return CM_OK;
}

cm_status cmi_history_add(cm_history *history, int epoch, const cm_logs *logs)
{
    CM_TRY(cmi_realloc((size_t)history->epoch_count + 1, sizeof *history->epochs,
                       (void **)&history->epochs));
    for (int i = 0; i < logs->count; i++) {
        column *c = NULL;
        CM_TRY(find_column(history, logs->name[i], &c));
        CM_TRY(cmi_realloc((size_t)c->count + 1, sizeof *c->values, (void **)&c->values));
        c->values[c->count++] = logs->value[i];
    }
    history->epochs[history->epoch_count++] = epoch;
    return CM_OK;
}

int cm_history_epochs(const cm_history *history)
{
    return history ? history->epoch_count : 0;
}

int cm_history_epoch(const cm_history *history, int i)
{
    return history && i >= 0 && i < history->epoch_count ? history->epochs[i] : -1;
}

int cm_history_names(const cm_history *history)
{
    return history ? history->column_count : 0;
}

const char *cm_history_name(const cm_history *history, int i)
{
    return history && i >= 0 && i < history->column_count ? history->columns[i].name : NULL;
}

const double *cm_history_values(const cm_history *history, const char *name, int *count)
{
    if (count) *count = 0;
    for (int i = 0; history && name && i < history->column_count; i++)
        if (!strcmp(history->columns[i].name, name)) {
            if (count) *count = history->columns[i].count;
            return history->columns[i].values;
        }
    return NULL;
}

double cm_history_last(const cm_history *history, const char *name)
{
    int count = 0;
    const double *values = cm_history_values(history, name, &count);

    return count ? values[count - 1] : (double)NAN;
}

void cm_history_destroy(cm_history *history)
{
    if (!history) return;
    for (int i = 0; i < history->column_count; i++) {
        cmi_free(history->columns[i].name);
        cmi_free(history->columns[i].values);
    }
    cmi_free(history->columns);
    cmi_free(history->epochs);
    cmi_free(history);
}
