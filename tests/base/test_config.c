/* test_config.c - a table with a field of every type: read, refuse, print back. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/suites.h"
#include "base/config.h"
#include "base/mem.h"
#include "support/cm_test.h"

typedef struct options {
    int64_t units, seed;
    double rate, clip;
    bool bias;
    int padding;
    char *path, *kernel, *regularizer;
    cmi_ints size;
    cmi_floats values;
} options;

static const char *const paddings[] = {"valid", "same", NULL};
static const cmi_field fields[] = {
    {"units", CMI_FIELD_INT, offsetof(options, units), NULL, 1, 1e9, "number of outputs", NULL},
    {"seed", CMI_FIELD_INT, offsetof(options, seed), "None", 0, 0, "seed", NULL},
    {"rate", CMI_FIELD_FLOAT, offsetof(options, rate), "1e-3", 0, 1, "rate", NULL},
    {"clip", CMI_FIELD_FLOAT, offsetof(options, clip), "None", 0, INFINITY, "limit", NULL},
    {"bias", CMI_FIELD_BOOL, offsetof(options, bias), "true", 0, 0, "add a bias", NULL},
    {"padding", CMI_FIELD_ENUM, offsetof(options, padding), "valid", 0, 0, "padding", paddings},
    {"path", CMI_FIELD_TEXT, offsetof(options, path), "None", 0, 0, "file", NULL},
    {"kernel", CMI_FIELD_SPEC, offsetof(options, kernel), "glorot(scale=2)", 0, 0, "initialiser",
     NULL},
    {"regularizer", CMI_FIELD_SPEC, offsetof(options, regularizer), "None", 0, 0, "penalty", NULL},
    {"size", CMI_FIELD_INTS, offsetof(options, size), "2,2", 1, 100, "window", NULL},
    {"values", CMI_FIELD_FLOATS, offsetof(options, values), "None", 0, 0, "numbers", NULL},
    {0},
};
static const cmi_entry thing = {"thing", "everything", sizeof(options), fields};
static const cmi_entry plain = {"plain", "no options", 0, NULL};

static options *parse(const char *spec)
{
    void *config = NULL;
    ck_assert_cm_ok(cmi_config_parse(&thing, spec, &config));
    return config;
}

START_TEST(defaults_fill_every_field)
{
    options *o = parse("thing units=7");
    ck_assert_int_eq(o->units, 7);
    ck_assert_int_eq(o->seed, CMI_INT_NONE);
    ck_assert(o->rate == 1e-3);
    ck_assert(isnan(o->clip));
    ck_assert(o->bias);
    ck_assert_int_eq(o->padding, 0);
    ck_assert_ptr_null(o->path);
    ck_assert_str_eq(o->kernel, "glorot scale=2");
    ck_assert_ptr_null(o->regularizer);
    ck_assert_int_eq(o->size.count, 2);
    ck_assert_int_eq(o->size.value[1], 2);
    ck_assert_int_eq(o->values.count, 0);
    cmi_config_free(&thing, o);
    cmi_config_free(&thing, NULL);
}
END_TEST

static void check_all_given(const char *spec)
{
    options *o = parse(spec);
    ck_assert_int_eq(o->units, 64);
    ck_assert_int_eq(o->seed, -3);
    ck_assert(o->rate == 1.0 / 255);
    ck_assert(o->clip == 0.5);
    ck_assert(!o->bias);
    ck_assert_int_eq(o->padding, 1);
    ck_assert_str_eq(o->path, "a,b/c.txt");
    ck_assert_str_eq(o->kernel, "ones");
    ck_assert_str_eq(o->regularizer, "l1l2 l1=0.1 l2=1,2 inner=f(x=1,y=2)");
    ck_assert_int_eq(o->size.count, 3);
    ck_assert_int_eq(o->size.value[2], 5);
    ck_assert_int_eq(o->values.count, 2);
    ck_assert(o->values.value[1] == -0.5);
    cmi_config_free(&thing, o);
}

START_TEST(all_types_in_both_forms)
{
    check_all_given("thing units=64 seed=-3 rate=1/255 clip=.5 bias=False padding=same "
                    "path=a,b/c.txt kernel=ones "
                    "regularizer=l1l2(l1=0.1,l2=1,2,inner=f(x=1,y=2)) size=3,4,5 values=1/2,-0.5");
    check_all_given("thing(units=64,seed=-3,rate=1/255,clip=.5,bias=0,padding=same,path=a,b/"
                    "c.txt,kernel=ones(),"
                    "regularizer=l1l2(l1=0.1,l2=1,2,inner=f(x=1,y=2)),size=3,4,5,values=1/2,-0.5)");
    check_all_given("Thing( values=1/2, -0.5, size=(3, 4, 5) ,regularizer=l1l2( l1=0.1 , l2=1, 2, "
                    "inner=f(x=1,y=2) ),\n"
                    "kernel=ones,path=a, "
                    "b/c.txt,padding=same,bias=false,clip=0.5,rate=1/255,seed=-3,units=64 )");
    options *o = parse("thing units=1 size=[7] values=(1,)");
    ck_assert_int_eq(o->size.count, 1);
    ck_assert_int_eq(o->size.value[0], 7);
    ck_assert_int_eq(o->values.count, 1);
    cmi_config_free(&thing, o);
}
END_TEST

START_TEST(none_where_it_has_a_meaning)
{
    options *o = parse("thing units=1 seed=None clip=None path=None kernel=None values=None");
    ck_assert_int_eq(o->seed, CMI_INT_NONE);
    ck_assert(isnan(o->clip));
    ck_assert_ptr_null(o->kernel);
    ck_assert_int_eq(o->values.count, 0);
    cmi_config_free(&thing, o);
}
END_TEST

/* Every refusal: the status, the outputs, and the whole message. */
static const struct {
    const char *spec, *message;
} refused[] = {
    {"thing", "thing: the key \"units\" must be given (number of outputs)"},
    {"thing units=None", "thing: units=None is not a whole number"},
    {"thing units=0", "thing: units=0 is out of range; it must be from 1 to 1000000000"},
    {"thing units=3.5", "thing: units=3.5 is not a whole number"},
    {"thing units=99999999999999999999", "thing: units=99999999999999999999 is not a whole number"},
    {"thing units=1 seed=-9223372036854775808",
     "thing: seed=-9223372036854775808 is not a whole number"},
    {"thing units=1 rate=None", "thing: rate=None is not a finite number"},
    {"thing units=1 rate=nan", "thing: rate=nan is not a finite number"},
    {"thing units=1 rate=inf", "thing: rate=inf is not a finite number"},
    {"thing units=1 rate=1/0", "thing: rate=1/0 is not a finite number"},
    {"thing units=1 rate=1/", "thing: rate=1/ is not a finite number"},
    {"thing units=1 rate=1/2/3", "thing: rate=1/2/3 is not a finite number"},
    {"thing units=1 rate=0,5", "thing: rate=0,5 is not a finite number"},
    {"thing units=1 rate=1.5", "thing: rate=1.5 is out of range; it must be from 0 to 1"},
    {"thing units=1 clip=-1", "thing: clip=-1 is out of range; it must be at least 0"},
    {"thing units=1 bias=yes", "thing: bias=yes is not true or false"},
    {"thing units=1 bias=None", "thing: bias=None is not true or false"},
    {"thing units=1 padding=sane",
     "thing: padding=sane is not known; did you mean \"same\"? valid are: valid, same"},
    {"thing units=1 padding=causal", "thing: padding=causal is not known; valid are: valid, same"},
    {"thing units=1 size=3,x", "thing: size=x is not a whole number"},
    {"thing units=1 size=3,", "thing: size= is not a whole number"},
    {"thing units=1 size=3,101", "thing: size=101 is out of range; it must be from 1 to 100"},
    {"thing units=1 size=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
     "thing: size=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 has more than 16 elements"},
    {"thing units=1 size=None", "thing: size=None is not a whole number"},
    {"thing units=1 kernel=3", "thing: kernel: \"3\" is not a name; expected: name key=value ..."},
    {"thing units=1 kernel=f(x)", "thing: kernel: \"x\" has no value; write x=value"},
    {"thing units=1 kernel=f(x=1)y",
     "thing: kernel: \"y\" stands behind the closing bracket; write name(key=value,...)"},
    {"thing units=1 units=2", "thing: the key \"units\" is given twice"},
    {"thing unit=1", "thing: unknown key \"unit\"; did you mean \"units\"? valid keys: units, "
                     "seed, rate, clip, bias, "
                     "padding, path, kernel, regularizer, size, values"},
    {"thing units = 1", "thing: blank before the \"=\" of \"units\"; write units=value"},
    {"thing(units=1", "thing: \"(\" at character 6 of \"thing(units=1\" has no partner"},
};

START_TEST(refusals_say_what_is_valid)
{
    uint64_t live = cmi_mem_live();
    void *config = &config;
    ck_assert_cm_status(cmi_config_parse(&thing, refused[_i].spec, &config), CM_E_INVALID);
    ck_assert_str_eq(cm_last_message(), refused[_i].message);
    ck_assert_ptr_null(config);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

START_TEST(entry_without_options)
{
    void *config = &config;
    char text[16];
    ck_assert_cm_ok(cmi_config_parse(&plain, "plain()", &config));
    ck_assert_ptr_null(config);
    ck_assert_uint_eq(cmi_config_print(&plain, NULL, text, sizeof text), 5);
    ck_assert_str_eq(text, "plain");
    cmi_config_free(&plain, config);
    ck_assert_cm_status(cmi_config_parse(&plain, "plain a=1", &config), CM_E_INVALID);
    ck_assert_str_eq(cm_last_message(), "plain: unknown key \"a\"; plain has no keys");
}
END_TEST

/* What is printed for a spec; reading that again must print the same. */
static void check_print(const char *spec, const char *expected)
{
    char text[512], again[512];
    options *o = parse(spec);
    ck_assert_uint_eq(cmi_config_print(&thing, o, text, sizeof text), strlen(expected));
    ck_assert_str_eq(text, expected);
    options *back = parse(text);
    cmi_config_print(&thing, back, again, sizeof again);
    ck_assert_str_eq(again, text);
    ck_assert(back->rate == o->rate);
    ck_assert_int_eq(back->units, o->units);
    cmi_config_free(&thing, back);
    cmi_config_free(&thing, o);
}

START_TEST(print_shows_what_differs_and_reads_back)
{
    check_print("thing units=7", "thing units=7");
    check_print(
        "thing bias=1 units=7 rate=0.001 kernel=glorot(scale=2) size=2,2 padding=valid seed=None",
        "thing units=7");
    check_print("thing units=7 rate=1/3 bias=0 padding=same seed=5",
                "thing units=7 seed=5 rate=0.3333333333333333 bias=false padding=same");
    check_print("thing(units=7,kernel=ones,path=a,b,size=3,3,values=1/4,1e-7)",
                "thing units=7 path=a,b kernel=ones size=3,3 values=0.25,1e-07");
    check_print("thing units=7 kernel=None regularizer=l1l2(l1=0.1,l2=1,2,inner=f(x=1,y=2))",
                "thing units=7 kernel=None regularizer=l1l2(l1=0.1,l2=1,2,inner=f(x=1,y=2))");
}
END_TEST

START_TEST(print_tells_the_room_it_needs)
{
    options *o = parse("thing units=123 path=abcdef");
    const char whole[] = "thing units=123 path=abcdef";
    char text[sizeof whole];
    for (size_t bytes = 0; bytes <= sizeof whole; bytes++) {
        memset(text, '#', sizeof text);
        ck_assert_uint_eq(cmi_config_print(&thing, o, text, bytes), sizeof whole - 1);
        if (bytes == 0) ck_assert_int_eq(text[0], '#');
        if (bytes == 0) continue;
        ck_assert_uint_eq(strlen(text), bytes - 1);
        ck_assert_int_eq(strncmp(text, whole, bytes - 1), 0);
    }
    cmi_config_free(&thing, o);
}
END_TEST

/* No buffer on the way may cut: a path and a nested spec of 5,000 characters come back whole. */
START_TEST(long_values_stay_whole)
{
    enum { LENGTH = 5000 };
    static char spec[3 * LENGTH], printed[3 * LENGTH], value[LENGTH + 1];
    memset(value, 'v', LENGTH);
    strcpy(spec, "thing units=1 path=");
    strcat(spec, value);
    strcat(spec, " kernel=f(x=");
    strcat(spec, value);
    strcat(spec, ")");
    options *o = parse(spec);
    ck_assert_str_eq(o->path, value);
    ck_assert_uint_eq(strlen(o->kernel), LENGTH + 4);
    ck_assert_uint_eq(cmi_config_print(&thing, o, printed, sizeof printed), strlen(spec));
    ck_assert_str_eq(printed, spec);
    cmi_config_free(&thing, o);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    const char *spec = "thing units=7 path=a,b kernel=f(a=1,b=2) regularizer=l2(l2=0.1) values=1,2";
    uint64_t live = cmi_mem_live(), k;
    for (k = 1; k < 100; k++) {
        void *config = &config;
        cmi_mem_fail_at(k);
        cm_status status = cmi_config_parse(&thing, spec, &config);
        cmi_mem_fail_at(0);
        if (!status) {
            cmi_config_free(&thing, config);
            break;
        }
        ck_assert_cm_status(status, CM_E_MEMORY);
        ck_assert_message_has("bytes");
        ck_assert_ptr_null(config);
        ck_assert_uint_eq(cmi_mem_live(), live);
    }
    ck_assert_uint_gt(k, 10);
    ck_assert_uint_lt(k, 100);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

/* Whatever bytes come, parsing ends in a status, frees everything, and what it accepts it prints
 * and reads. */
START_TEST(damaged_specs_are_survived)
{
    const char spec[] = "thing(units=7, path=a,b kernel=f(a=1,b=(2;3)),values=1/2, 2)";
    const char replacements[] = "(),= ;#\n\"x";
    uint64_t live = cmi_mem_live();
    for (size_t place = 0; place < sizeof spec - 1; place++) {
        for (size_t r = 0; r < sizeof replacements; r++) { /* the last is the zero: cut */
            char damaged[sizeof spec], text[512];
            void *config;
            memcpy(damaged, spec, sizeof spec);
            damaged[place] = replacements[r];
            if (cmi_config_parse(&thing, damaged, &config)) continue;
            cmi_config_print(&thing, config, text, sizeof text);
            cmi_config_free(&thing, config);
            cmi_config_free(&thing, parse(text));
        }
    }
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

static void no_faults(void)
{
    cmi_mem_fail_at(0);
}

Suite *suite_config(void)
{
    Suite *suite = suite_create("config");
    TCase *tests = tcase_create("config");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, no_faults, no_faults);
    tcase_add_test(tests, defaults_fill_every_field);
    tcase_add_test(tests, all_types_in_both_forms);
    tcase_add_test(tests, none_where_it_has_a_meaning);
    tcase_add_loop_test(tests, refusals_say_what_is_valid, 0, CM_TEST_COUNT(refused));
    tcase_add_test(tests, entry_without_options);
    tcase_add_test(tests, print_shows_what_differs_and_reads_back);
    tcase_add_test(tests, print_tells_the_room_it_needs);
    tcase_add_test(tests, long_values_stay_whole);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, damaged_specs_are_survived);
    suite_add_tcase(suite, tests);
    return suite;
}
