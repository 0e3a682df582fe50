/* test_gradients.c - backward of every registered layer against central differences of its forward,
 * over all its specimens.
 *
 * The number whose gradient is taken is F = sum of y dy.  Its derivative by one element e comes
 * from four values,
 *     (8 (F(e+h) - F(e-h)) - (F(e+2h) - F(e-2h))) / 12h,
 * whose error is of order h^4, with h a power of two so that e +- h is exact.  The sums are taken
 * in double, so what is left is the rounding of y, some 1e-7 / h.  Where the same with h/2 gives
 * something else there is a kink between the points, and the element is skipped; of each specimen
 * most elements must remain. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "nn/nn_tests.h"
#include "support/layer_run.h"

enum { ROWS = 3, MAX_SPECIMENS = 256 };
#define STEP 0x1p-5f

static struct {
    const cmi_layer *layer;
    const struct cmi_specimen *specimen;
} specimens[MAX_SPECIMENS];

static int collect(void)
{
    int count = 0;

    for (size_t i = 0; i < cmi_layer_registry.count; i++) {
        const cmi_layer *layer = (const cmi_layer *)(const void *)cmi_layer_registry.entries[i];
        for (const struct cmi_specimen *s = layer->specimens; s && s->spec && count < MAX_SPECIMENS;
             s++) {
            specimens[count].layer = layer;
            specimens[count++].specimen = s;
        }
    }
    return count;
}

typedef struct trial {
    layer_run run;
    const char *spec;
    pick *pick;
    float *x, *dy, *y, *dx, *params[CMI_MAX_PARAMS], *grads[CMI_MAX_PARAMS];
    int checked, skipped;
} trial;

static float *array(size_t count)
{
    float *values = calloc(count + 1, sizeof *values);

    ck_assert_ptr_nonnull(values);
    return values;
}

static void begin(trial *t, const struct cmi_specimen *specimen)
{
    cmi_shape in = shape_of_text(specimen->in);

    *t = (trial){.spec = specimen->spec, .pick = fresh()};
    ck_assert_cm_ok(layer_run_open(&t->run, specimen->spec, &in, ROWS));
    size_t ins = ROWS * t->run.in_count, outs = ROWS * t->run.out_count;
    fill_range(t->x = array(ins), ins, -2.5, 2.5, 1);
    fill_range(t->dy = array(outs), outs, -1, 1, 2);
    t->y = array(outs);
    t->dx = array(ins);
    for (int i = 0; i < t->run.spec.params; i++) {
        size_t count = t->run.param_count[i];
        fill_range(t->params[i] = array(count), count, -0.7, 0.7, 10 + (uint32_t)i);
        t->run.params[i] = t->params[i];
        t->run.grads[i] = t->grads[i] = array(count);
    }
    t->run.draw = (cmi_draw){.seed = 5, .layer = 2, .step = 3, .first_row = 4};
    t->run.x = t->x;
    t->run.y = t->y;
    t->run.dx = t->dx;
}

static void end(trial *t)
{
    free(t->x);
    free(t->dy);
    free(t->y);
    free(t->dx);
    for (int i = 0; i < t->run.spec.params; i++) {
        free(t->params[i]);
        free(t->grads[i]);
    }
    layer_run_close(&t->run);
}

static void go(trial *t, const float *dy)
{
    t->run.dy = dy;
    cm_status status = layer_run_go(&t->run, t->pick);
    ck_assert_msg(!status, "%s: %s", t->spec, cm_last_message());
}

/* F with *element moved by `by`. */
static double moved(trial *t, float *element, float by)
{
    float kept = *element;
    double sum = 0;

    *element = kept + by;
    go(t, NULL);
    *element = kept;
    for (size_t i = 0; i < ROWS * t->run.out_count; i++)
        sum += (double)t->y[i] * (double)t->dy[i];
    return sum;
}

static double slope(trial *t, float *element, float h)
{
    return (8 * (moved(t, element, h) - moved(t, element, -h)) -
            (moved(t, element, 2 * h) - moved(t, element, -2 * h))) /
           (12 * (double)h);
}

static void check(trial *t, const char *name, float *elements, const float *gradient, size_t count)
{
    /* All elements of small tensors, about 40 of large ones. */
    for (size_t i = 0; i < count; i += 1 + count / 40) {
        float *e = &elements[i];
        *e = rintf(*e * 1024) /
             1024; /* so that e +- h are floats; the caller has rounded before backward */
        double want = slope(t, e, STEP), closer = slope(t, e, STEP / 2),
               tolerance = 2e-3 * fmax(1, fabs(want));
        if (fabs(want - closer) > tolerance) {
            t->skipped++;
            continue;
        }
        t->checked++;
        if (!(fabs((double)gradient[i] - closer) <= tolerance)) /* also when it is not a number */
            ck_abort_msg("%s: d%s[%zu] is %.6g, by differences %.6g", t->spec, name, i,
                         (double)gradient[i], closer);
    }
}

static void round_all(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = rintf(values[i] * 1024) / 1024;
}

START_TEST(gradients)
{
    trial t;

    begin(&t, specimens[_i].specimen);
    round_all(t.x, ROWS * t.run.in_count);
    for (int i = 0; i < t.run.spec.params; i++)
        round_all(t.params[i], t.run.param_count[i]);
    go(&t, t.dy);
    check(&t, "x", t.x, t.dx, ROWS * t.run.in_count);
    for (int i = 0; i < t.run.spec.params; i++)
        check(&t, t.run.spec.param[i].name, t.params[i], t.grads[i], t.run.param_count[i]);
    ck_assert_msg(t.checked > t.skipped, "%s: %d elements checked, %d skipped", t.spec, t.checked,
                  t.skipped);
    end(&t);
}
END_TEST

/* grad_beta 1 adds to what is there; without want_dx and want_grads nothing is written; the inputs
 * stay. */
START_TEST(beta_and_wants)
{
    trial t;

    begin(&t, specimens[_i].specimen);
    if (!t.run.spec.alias) {
        float *once[CMI_MAX_PARAMS] = {NULL};
        go(&t, t.dy);
        for (int i = 0; i < t.run.spec.params; i++) {
            once[i] = array(t.run.param_count[i]);
            for (size_t e = 0; e < t.run.param_count[i]; e++) {
                once[i][e] = t.grads[i][e] + 3;
                t.grads[i][e] = 3;
            }
        }
        t.run.grad_beta = 1;
        go(&t, t.dy);
        for (int i = 0; i < t.run.spec.params; i++) {
            ck_assert_floats_close(t.grads[i], once[i], t.run.param_count[i], 2e-6, 2e-6);
            free(once[i]);
        }
        t.run.grad_beta = 0;
        t.run.skip_dx = t.run.skip_grads = true;
        go(&t, t.dy);
        t.run.skip_dx = t.run.skip_grads = false;
    }
    end(&t);
}
END_TEST

/* Not-a-number in other rows does not spread into the first one. */
START_TEST(rows_are_apart)
{
    trial t;

    begin(&t, specimens[_i].specimen);
    go(&t, t.dy);
    float *y = array(t.run.out_count), *dx = array(t.run.in_count);
    for (size_t i = 0; i < t.run.out_count; i++)
        y[i] = t.y[i];
    for (size_t i = 0; i < t.run.in_count; i++)
        dx[i] = t.dx[i];
    for (size_t i = t.run.in_count; i < ROWS * t.run.in_count; i++)
        t.x[i] = NAN;
    go(&t, t.dy);
    ck_assert_floats_bits(t.y, y, t.run.out_count);
    ck_assert_floats_bits(t.dx, dx, t.run.in_count);
    free(y);
    free(dx);
    end(&t);
}
END_TEST

Suite *layer_gradient_suite(void)
{
    Suite *suite = suite_create("gradients");
    TCase *tcase = tcase_create("gradients");
    int count = collect();

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, gradients, 0, count);
    tcase_add_loop_test(tcase, beta_and_wants, 0, count);
    tcase_add_loop_test(tcase, rows_are_apart, 0, count);
    suite_add_tcase(suite, tcase);
    return suite;
}
