/* test_scope.c - which model belongs to which strategy, on which thread: scopes opened, nested,
 * ended twice, forgotten. */
#include "support/cm_test.h"
#include "support/ranks.h"
#include "support/train_models.h"
#include "train/suites.h"

/* C11: (a) is in test_seed.c. */
START_TEST(c11_made_under_one_fit_under_another)
{
    cm_strategy *one = rig_strategy(RIG_ALL, NULL), *other = rig_strategy(rig_parts(2), NULL);
    cm_data data = RIG_DATA(8);
    cm_model *model = NULL;

    ck_assert_cm_ok(rig_make_m1(one, &model));
    ck_assert_cm_ok(cm_strategy_scope_begin(other));
    ck_assert_cm_status(cm_model_compile(model, NULL), CM_E_SCOPE);
    ck_assert_message_has("another strategy");
    ck_assert_cm_status(cm_model_fit(model, &data, NULL, NULL), CM_E_SCOPE);
    ck_assert_message_has("belongs to another strategy");
    ck_assert_cm_ok(cm_strategy_scope_end(other));
    /* Its own scope, or none, is right. */
    ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
    ck_assert_cm_ok(cm_strategy_scope_begin(one));
    ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
    ck_assert_cm_ok(cm_strategy_scope_end(one));
    cm_model_destroy(model);
}
END_TEST

START_TEST(c11_strategy_destroyed_before_fit)
{
    cm_strategy *strategy = NULL;
    cm_data data = RIG_DATA(8);
    cm_model *built = NULL, *fresh = NULL;
    float values[8 * 16];

    ck_assert_cm_ok(cm_mirrored_strategy_create(RIG_ALL, NULL, &strategy));
    ck_assert_cm_ok(rig_make_m1(strategy, &built));
    ck_assert_cm_ok(rig_make_m1(strategy, &fresh));
    ck_assert_cm_ok(cm_model_fit(built, &data, NULL, NULL));
    cm_strategy_destroy(strategy);
    ck_assert_cm_status(cm_model_fit(built, &data, NULL, NULL), CM_E_STATE);
    ck_assert_message_has("was destroyed");
    ck_assert_cm_status(cm_model_fit(fresh, &data, NULL, NULL), CM_E_STATE);
    ck_assert_cm_status(cm_model_get_weight(built, 0, values, 8 * 16), CM_E_STATE);
    ck_assert_cm_status(cm_model_compile(fresh, NULL), CM_E_STATE);
    ck_assert_int_eq(cm_model_weight_count(built), 0);
    ck_assert_int_eq(cm_model_replica_rows(built, 0), 0);
    cm_model_destroy(built);
    cm_model_destroy(fresh);
}
END_TEST

START_TEST(c11_nested_and_ended_twice)
{
    cm_strategy *one = rig_strategy(RIG_ALL, NULL), *other = rig_strategy(RIG_ONE, NULL);

    ck_assert_cm_status(cm_strategy_scope_end(one), CM_E_SCOPE);
    ck_assert_message_has("not open");
    ck_assert_cm_ok(cm_strategy_scope_begin(one));
    ck_assert_cm_status(cm_strategy_scope_begin(one), CM_E_SCOPE);
    ck_assert_message_has("a scope is open on this thread");
    ck_assert_cm_status(cm_strategy_scope_begin(other), CM_E_SCOPE);
    ck_assert_message_has("of another strategy");
    ck_assert_cm_status(cm_strategy_scope_end(other), CM_E_SCOPE);
    ck_assert_cm_ok(cm_strategy_scope_end(one));
    ck_assert_cm_status(cm_strategy_scope_end(one), CM_E_SCOPE);
    ck_assert_cm_status(cm_strategy_scope_begin(NULL), CM_E_INVALID);
    ck_assert_cm_status(cm_strategy_scope_end(NULL), CM_E_INVALID);
    /* destroy closes a scope that its own thread left open */
    cm_strategy *third = NULL;
    ck_assert_cm_ok(cm_mirrored_strategy_create(RIG_ONE, NULL, &third));
    ck_assert_cm_ok(cm_strategy_scope_begin(third));
    cm_strategy_destroy(third);
    ck_assert_cm_ok(cm_strategy_scope_begin(one));
    ck_assert_cm_ok(cm_strategy_scope_end(one));
}
END_TEST

static cm_status begin_elsewhere(int rank, void *strategy)
{
    return rank ? cm_strategy_scope_end(strategy) : cm_strategy_scope_begin(strategy);
}

static cm_status own_scope(int rank, void *strategies)
{
    cm_strategy *mine = ((cm_strategy **)strategies)[rank];
    cm_data data = RIG_DATA(40);
    cm_model *model = NULL;
    cm_status status = rig_make_m1(mine, &model);

    if (!status) status = cm_model_fit(model, &data, &(cm_fit_options){.epochs = 5}, NULL);
    if (!status && cm_model_replica_rows(model, 0) == 0) status = CM_E_STATE;
    cm_model_destroy(model);
    return status;
}

START_TEST(c11_scopes_and_threads)
{
    cm_strategy *both[] = {rig_strategy(RIG_ALL, NULL), rig_strategy(rig_parts(2), NULL)};
    rank_group threads;

    (void)RIG_DATA(40); /* the table is made by this thread */
    ck_assert_cm_ok(cm_strategy_scope_begin(both[0]));
    ranks_start(&threads, 2, begin_elsewhere, both[0]);
    ranks_join(&threads);
    ck_assert_int_eq(ranks_ended_with(&threads, CM_E_SCOPE), 2);
    ck_assert(cm_test_contains(threads.one[0].error.message, "open on another thread"));
    ck_assert_cm_ok(cm_strategy_scope_end(both[0]));
    /* Two threads, a strategy and a scope each, at the same time. */
    ranks_run(2, own_scope, both);
}
END_TEST

/* A model without a scope trains on one device, whatever strategies there are. */
START_TEST(model_without_a_scope)
{
    cm_data data = RIG_DATA(33);
    cm_model *model = NULL;

    (void)rig_strategy(RIG_ALL, NULL);
    ck_assert_cm_ok(rig_make_m1(NULL, &model));
    ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
    ck_assert_int_eq(cm_model_replica_rows(model, 0), 33);
    ck_assert_int_eq(cm_model_replica_rows(model, 1), 0);
    cm_model_destroy(model);
}
END_TEST

static void call_elsewhere(void *user, int epoch, const cm_logs *logs)
{
    rank_group *thread = user;

    (void)epoch;
    (void)logs;
    ranks_start(thread, 1, thread->body, thread->argument);
    ranks_join(thread);
}

static cm_status read_a_weight(int rank, void *model)
{
    float values[16];

    (void)rank;
    return cm_model_get_weight(model, 1, values, 16);
}

/* A second caller gets CM_E_STATE instead of a wait, also for what the callback itself may do. */
START_TEST(one_call_at_a_time)
{
    cm_data data = RIG_DATA(8);
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});
    rank_group thread = {.body = read_a_weight, .argument = r.model};
    cm_callbacks callbacks = {.user = &thread, .epoch_end = call_elsewhere};

    ck_assert_cm_ok(cm_model_fit(
        r.model, &data, &(cm_fit_options){.callbacks = &callbacks, .callbacks_count = 1}, NULL));
    ck_assert_int_eq(thread.one[0].error.status, CM_E_STATE);
    ck_assert(cm_test_contains(thread.one[0].error.message, "another call is running"));
    rig_close(&r);
}
END_TEST

Suite *suite_scope(void)
{
    Suite *suite = suite_create("scope");
    TCase *tests = tcase_create("scope");

    tcase_add_test(tests, c11_made_under_one_fit_under_another);
    tcase_add_test(tests, c11_strategy_destroyed_before_fit);
    tcase_add_test(tests, c11_nested_and_ended_twice);
    tcase_add_test(tests, c11_scopes_and_threads);
    tcase_add_test(tests, model_without_a_scope);
    tcase_add_test(tests, one_call_at_a_time);
    suite_add_tcase(suite, tests);
    return suite;
}
