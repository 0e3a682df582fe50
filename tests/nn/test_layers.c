/* test_layers.c - configuration errors and shapes of the layers, and the behaviour that gradients
 * do not show: leaving the last activation out, dropout outside training. */
#include <math.h>
#include <string.h>
#include "nn/activation.h"
#include "nn/nn_tests.h"
#include "support/layer_run.h"

static void refuse(const char *spec, const char *in, cm_status expected, const char *part)
{
    layer_run run;
    cmi_shape shape = shape_of_text(in);
    cm_status status = layer_run_open(&run, spec, &shape, 1);

    ck_assert_msg(status == expected, "%s: got %s, expected %s; %s", spec, cm_status_name(status),
                  cm_status_name(expected), cm_last_message());
    ck_assert_message_has(part);
    layer_run_close(&run);
}

START_TEST(refusals)
{
    refuse("dense", "3", CM_E_INVALID, "units");
    refuse("dense units=0", "3", CM_E_INVALID, "units=0");
    refuse("dense units=4 activation=rleu", "3", CM_E_NOT_FOUND, "relu");
    refuse("dense units=4", "", CM_E_SHAPE, "(None,)");
    refuse("dense units=4 unit=3", "3", CM_E_INVALID, "unknown key \"unit\"");
    refuse("activation", "3", CM_E_INVALID, "activation");
    refuse("activation activation=nothing", "3", CM_E_NOT_FOUND, "nothing");
    refuse("relu negative_slope=-1", "3", CM_E_INVALID, "negative_slope=-1");
    refuse("softmax axis=1", "3,4", CM_E_UNSUPPORTED, "axis=1");
    refuse("reshape target_shape=3,5", "4,6", CM_E_SHAPE, "(None, 3, 5)");
    refuse("reshape target_shape=3,5", "4,6", CM_E_SHAPE, "(None, 4, 6)");
    refuse("reshape target_shape=-1,5", "4,6", CM_E_SHAPE, "(None, 4, 6)");
    refuse("reshape target_shape=-1,-1", "4,6", CM_E_SHAPE, "only one");
    refuse("reshape target_shape=0,24", "4,6", CM_E_SHAPE, "0");
    refuse("reshape target_shape=1,1,1,1,1,1,1,1,24", "4,6", CM_E_SHAPE, "9 axes");
    refuse("reshape", "4,6", CM_E_INVALID, "target_shape");
    refuse("dropout", "3", CM_E_INVALID, "rate");
    refuse("dropout rate=1.5", "3", CM_E_INVALID, "rate=1.5");
    refuse("rescaling", "3", CM_E_INVALID, "scale");
    refuse("input", "3", CM_E_INVALID, "shape");
    refuse("input shape=4", "3", CM_E_SHAPE, "(None, 4)");
    refuse("denze units=4", "3", CM_E_NOT_FOUND, "dense");
}
END_TEST

static void infers(const char *spec, const char *in, const char *out, bool alias)
{
    layer_run run;
    cmi_shape shape = shape_of_text(in), want = shape_of_text(out);

    ck_assert_cm_ok(layer_run_open(&run, spec, &shape, 1));
    ck_assert_msg(cmi_shape_equal(&run.spec.out, &want), "%s of %s has rank %d", spec, in,
                  run.spec.out.rank);
    ck_assert_msg(run.spec.alias == alias, "%s: alias", spec);
    layer_run_close(&run);
}

START_TEST(shapes)
{
    infers("dense units=4", "3", "4", false);
    infers("dense units=4", "5,6,3", "5,6,4", false);
    infers("flatten", "5,6,3", "90", true);
    infers("flatten", "", "1", true);
    infers("reshape target_shape=-1", "5,6", "30", true);
    infers("reshape target_shape=3,-1,2", "5,6", "3,5,2", true);
    infers("activation activation=linear", "5,6", "5,6", true);
    infers("activation activation=relu", "5,6", "5,6", false);
    infers("dropout rate=0", "5", "5", true);
    infers("input shape=2,3", "2,3", "2,3", true);
}
END_TEST

START_TEST(dense_says_what_it_keeps)
{
    layer_run run;
    cmi_shape in = {2, {3, 5}};

    ck_assert_cm_ok(layer_run_open(
        &run, "dense units=7 activation=gelu bias_initializer=constant(value=2)", &in, 1));
    ck_assert_int_eq(run.spec.params, 2);
    ck_assert_int_eq(run.spec.saved, 1);
    ck_assert_int_eq(run.spec.saved_count[0], 21);
    ck_assert(!run.spec.needs_y && run.spec.needs_x);
    ck_assert_str_eq(run.spec.param[0].name, "kernel");
    ck_assert_str_eq(run.spec.param[0].initializer, "glorot_uniform");
    ck_assert_str_eq(run.spec.param[1].initializer, "constant value=2");
    ck_assert_int_eq(run.spec.param[0].shape.dim[0], 5);
    ck_assert_int_eq(run.spec.param[0].shape.dim[1], 7);
    layer_run_close(&run);
    ck_assert_cm_ok(layer_run_open(&run, "dense units=7 activation=relu use_bias=false", &in, 1));
    ck_assert_int_eq(run.spec.params, 1);
    ck_assert_int_eq(run.spec.saved, 0);
    ck_assert(run.spec.needs_y);
    ck_assert_str_eq(run.layer->final_activation(run.config), "relu");
    layer_run_close(&run);
}
END_TEST

enum { ROWS = 4, IN = 6, OUT = 5 };

/* `linear` gives what the layer without activation gives, forward and backward. */
static void compare_linear(const char *spec, const char *plain, const char *in)
{
    float x[ROWS * IN], w[IN * OUT], b[OUT], dy[ROWS * IN], y[2][ROWS * IN], dx[2][ROWS * IN],
        dw[2][IN * OUT], db[2][OUT];
    const char *const specs[2] = {spec, plain};
    cmi_shape shape = shape_of_text(in);
    size_t outs = 0;

    fill_range(x, ROWS * IN, -2, 2, 1);
    fill_range(w, IN * OUT, -1, 1, 2);
    fill_range(b, OUT, -1, 1, 3);
    fill_range(dy, ROWS * IN, -1, 1, 4);
    for (int i = 0; i < 2; i++) {
        layer_run run;
        ck_assert_cm_ok(layer_run_open(&run, specs[i], &shape, ROWS));
        run.linear = i == 0;
        run.x = x;
        run.dy = dy;
        run.y = y[i];
        run.dx = dx[i];
        run.params[0] = w;
        run.params[1] = b;
        run.grads[0] = dw[i];
        run.grads[1] = db[i];
        outs = run.out_count;
        ck_assert_cm_ok(layer_run_go(&run, fresh()));
        if (run.spec.params) {
            ck_assert_floats_close(dw[i], dw[0], IN * OUT, 1e-6, 0);
            ck_assert_floats_close(db[i], db[0], OUT, 1e-6, 0);
        }
        layer_run_close(&run);
    }
    ck_assert_floats_equal(y[0], y[1], ROWS * outs);
    ck_assert_floats_equal(dx[0], dx[1], ROWS * IN);
}

START_TEST(linear)
{
    compare_linear("dense units=5 activation=softmax", "dense units=5", "6");
    compare_linear("dense units=5 activation=sigmoid", "dense units=5", "6");
    compare_linear("dense units=5 activation=gelu", "dense units=5", "6");
    compare_linear("softmax", "activation activation=linear", "6");
    compare_linear("activation activation=softmax", "activation activation=linear", "6");
    compare_linear("activation activation=sigmoid", "activation activation=linear", "6");
}
END_TEST

START_TEST(dropout_outside_training)
{
    float x[ROWS * IN], y[ROWS * IN], dx[ROWS * IN];
    cmi_shape in = {1, {IN}};
    layer_run run;

    fill_range(x, ROWS * IN, 1, 2, 1);
    ck_assert_cm_ok(layer_run_open(&run, "dropout rate=0.5", &in, ROWS));
    run.x = run.dy = x;
    run.y = y;
    run.dx = dx;
    run.training = false;
    ck_assert_cm_ok(layer_run_go(&run, fresh()));
    ck_assert_floats_bits(y, x, ROWS * IN);
    ck_assert_floats_bits(dx, x, ROWS * IN);
    /* In training kept elements are doubled, and some of both kinds exist; backward drops the same
     * ones. */
    run.training = true;
    ck_assert_cm_ok(layer_run_go(&run, fresh()));
    int kept = 0;
    for (size_t i = 0; i < ROWS * IN; i++) {
        ck_assert(y[i] == 0 || y[i] == 2 * x[i]);
        kept += y[i] != 0;
    }
    ck_assert_int_gt(kept, 0);
    ck_assert_int_lt(kept, ROWS * IN);
    ck_assert_floats_bits(dx, y, ROWS * IN);
    layer_run_close(&run);
}
END_TEST

START_TEST(activation_lookup)
{
    const cmi_activation *activation = NULL;

    ck_assert_cm_ok(cmi_activation_find(NULL, &activation));
    ck_assert(cmi_activation_is_linear(activation));
    ck_assert_cm_ok(cmi_activation_find("None", &activation));
    ck_assert(cmi_activation_is_linear(activation));
    ck_assert_cm_ok(cmi_activation_find("swish", &activation));
    ck_assert_str_eq(activation->entry.name, "silu");
    ck_assert_cm_status(cmi_activation_find("relu7", &activation), CM_E_NOT_FOUND);
    ck_assert_message_has("relu6");
}
END_TEST

/* What a diverged model makes must stay visible, and infinities must not turn into not-a-number
 * where Keras keeps them. */
START_TEST(activation_extremes)
{
    static const char *const bounded[] = {"relu",     "relu6",        "sigmoid",   "tanh",
                                          "softplus", "hard_sigmoid", "hard_tanh", "log_sigmoid",
                                          "elu",      "selu",         "leaky_relu"};
    float x[4] = {NAN, 1000, -1000, 0}, y[4];

    for (size_t i = 0; i < cmi_activation_registry.count; i++) {
        const cmi_activation *activation =
            (const cmi_activation *)(const void *)cmi_activation_registry.entries[i];
        pick *p = fresh();
        cmi_view vx, vy;
        ck_assert_cm_ok(pick_put(p, x, 4, &vx));
        ck_assert_cm_ok(pick_new(p, 4, &vy));
        ck_assert_cm_ok(cmi_activation_forward(activation, p->stream, 4, 1, vx, vy));
        ck_assert_cm_ok(pick_get(p, vy, y));
        ck_assert_msg(isnan(y[0]), "%s makes %g of not-a-number", activation->entry.name,
                      (double)y[0]);
        for (size_t k = 0; k < sizeof bounded / sizeof bounded[0]; k++)
            if (!strcmp(bounded[k], activation->entry.name))
                ck_assert_msg(isfinite(y[1]) && isfinite(y[2]), "%s: %g, %g", bounded[k],
                              (double)y[1], (double)y[2]);
        ck_assert_cm_ok(pick_check(p));
    }
}
END_TEST

Suite *layer_suite(void)
{
    Suite *suite = suite_create("layers");
    TCase *tcase = tcase_create("layers");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, refusals);
    tcase_add_test(tcase, shapes);
    tcase_add_test(tcase, dense_says_what_it_keeps);
    tcase_add_test(tcase, linear);
    tcase_add_test(tcase, dropout_outside_training);
    tcase_add_test(tcase, activation_lookup);
    tcase_add_test(tcase, activation_extremes);
    suite_add_tcase(suite, tcase);
    return suite;
}
