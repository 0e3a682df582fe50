/* report_step.c - the lines and rows of `clmirror-bench step`. */
#include <string.h>
#include "report_step.h"

enum { TEXT = 256 };

const char *step_side_text(const step_side *side)
{
    static char texts[2][TEXT];
    static int turn;
    const char *devices = side->devices && side->devices[0] ? side->devices : "default";
    char *text = texts[turn = !turn];
    snprintf(text, TEXT, "%s%s%s", devices, side->strategy ? ", " : "",
             side->strategy ? side->strategy : "");
    return text;
}

void step_print_head(const step_side sides[], int count)
{
    for (int i = 0; i < count; i++) {
        printf("%s: ", step_side_text(&sides[i]));
        for (int d = 0; d < sides[i].replicas; d++)
            printf("%s%s", d ? ", " : "", sides[i].names[d]);
        puts("");
    }
    printf("\n%-24s %8s  %9s %9s %9s %10s %10s %12s %8s\n", "devices", "replicas", "step min",
           "median", "p95", "steps/s", "samples/s", "first epoch", "peak MB");
    fflush(stdout);
}

void step_report_side(bench_run *run, const char *name, const step_side *side,
                      const bench_stats *stats, double batch)
{
    char least[24], median[24], most[24], first[24];
    double steps = 1 / stats->median;
    printf("%-24s %8d  %s %s %s %10.1f %10.0f %12s %8.0f\n", step_side_text(side), side->replicas,
           bench_time_text(stats->min, least, sizeof least),
           bench_time_text(stats->median, median, sizeof median),
           bench_time_text(stats->p95, most, sizeof most), steps, steps * batch,
           bench_time_text(side->first_epoch_s, first, sizeof first), side->peak_mb);
    cJSON *row = bench_row(run, "step");
    cJSON_AddStringToObject(row, "case", name);
    cJSON *devices = cJSON_AddArrayToObject(row, "devices");
    for (int i = 0; devices && i < side->replicas; i++)
        cJSON_AddItemToArray(devices, cJSON_CreateString(side->names[i]));
    cJSON_AddNumberToObject(row, "replicas", side->replicas);
    cJSON_AddNumberToObject(row, "steps_per_s", steps);
    cJSON_AddNumberToObject(row, "samples_per_s", steps * batch);
    cJSON_AddNumberToObject(row, "first_epoch_s", side->first_epoch_s);
    cJSON_AddNumberToObject(row, "peak_rss_mb", side->peak_mb);
}

static const cmi_stage stages[] = {CMI_STAGE_GATHER,   CMI_STAGE_FORWARD, CMI_STAGE_LOSS,
                                   CMI_STAGE_BACKWARD, CMI_STAGE_REDUCE,  CMI_STAGE_UPDATE};
enum { SHOWN = sizeof stages / sizeof stages[0] };

static void profile_head(const step_side *side)
{
    printf("\ntime of a step on %s, waiting for the device after each stage\n%-8s",
           step_side_text(side), "replica");
    for (int s = 0; s < SHOWN; s++)
        printf(" %9s", cmi_stage_name(stages[s]));
    printf(" %9s %12s %9s\n", "sum", "of it waits", "launches");
}

void step_report_profile(bench_run *run, const char *name, const step_side *side,
                         const cmi_profile *profile)
{
    char text[24], key[32];
    profile_head(side);
    for (int rank = 0; rank < side->replicas; rank++) {
        const cmi_profile *p = &profile[rank];
        double steps = p->steps ? (double)p->steps : 1, sum = 0;
        cJSON *row = bench_row(run, "step");
        cJSON_AddStringToObject(row, "case", name);
        cJSON *times = cJSON_AddObjectToObject(row, "profile");
        cJSON_AddStringToObject(times, "device", side->names[rank]);
        cJSON_AddNumberToObject(times, "replica", rank);
        printf("%-8d", rank);
        for (int s = 0; s < SHOWN; s++) {
            double seconds = 1e-9 * (double)p->stage_ns[stages[s]] / steps;
            sum += seconds;
            printf(" %s", bench_time_text(seconds, text, sizeof text));
            snprintf(key, sizeof key, "%s_s", cmi_stage_name(stages[s]));
            cJSON_AddNumberToObject(times, key, seconds);
        }
        double waits = 1e-9 * (double)p->waited_ns / steps;
        printf(" %s", bench_time_text(sum, text, sizeof text));
        printf(" %12s %9.1f\n", bench_time_text(waits, text, sizeof text),
               (double)p->launches / steps);
        cJSON_AddNumberToObject(times, "waiting_s", waits);
        cJSON_AddNumberToObject(times, "launches", (double)p->launches / steps);
    }
}

double step_peak_mb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lu kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return (double)kilobytes / 1024;
}
