/* test_spec.c - numbers, names, pieces of a model, pairs, and the decimal comma. */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <float.h>
#include <stdio.h>
#include <string.h>
#include "base/suites.h"
#include "base/config.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/shape.h"
#include "support/cm_test.h"

START_TEST(doubles_are_whole_texts)
{
    const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},      {"-1.5", -1.5}, {"+2", 2},       {".5", 0.5},
                {"5.", 5},     {"1e-3", 1e-3}, {"1E+3", 1000},  {"1e-320", 1e-320},
                {"-.5", -0.5}, {"0x10", 16},   {"1e308", 1e308}};
    const char *bad[] = {"",     " 1",     "1 ",    "1,5", "abc", "1x",  "nan", "inf",
                         "-inf", "NAN(1)", "1e999", "-",   ".",   "+-1", "1/2"};
    double value;
    for (int i = 0; i < CM_TEST_COUNT(good); i++) {
        ck_assert_msg(cmi_parse_double(good[i].text, &value) && value == good[i].value, "%s",
                      good[i].text);
    }
    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        value = 99;
        ck_assert_msg(!cmi_parse_double(bad[i], &value) && value == 99, "%s gave %g", bad[i],
                      value);
    }
}
END_TEST

START_TEST(integers_are_whole_texts)
{
    const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"+7", 7},
                {"010", 10},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"2K", 2048},
                {"1M", 1048576},
                {"-3G", -3221225472}};
    const char *bad[] = {"",
                         " 1",
                         "1 ",
                         "1.0",
                         "1e3",
                         "9223372036854775808",
                         "0x10",
                         "K",
                         "1KB",
                         "1k",
                         "9223372036854775807K",
                         "-"};
    int64_t value;
    for (int i = 0; i < CM_TEST_COUNT(good); i++) {
        ck_assert_msg(cmi_parse_int(good[i].text, &value) && value == good[i].value, "%s",
                      good[i].text);
    }
    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        value = 99;
        ck_assert_msg(!cmi_parse_int(bad[i], &value) && value == 99, "%s gave %" PRId64, bad[i],
                      value);
    }
}
END_TEST

START_TEST(doubles_print_short_and_read_back)
{
    const struct {
        double value;
        const char *text;
    } shown[] = {{0, "0"},
                 {0.1, "0.1"},
                 {1e-3, "0.001"},
                 {1e-7, "1e-07"},
                 {10, "10"},
                 {100000, "100000"},
                 {-2.5, "-2.5"},
                 {1e22, "1e+22"},
                 {1.0 / 3, "0.3333333333333333"},
                 {(double)0.1f, "0.10000000149011612"},
                 {INFINITY, "inf"},
                 {NAN, "nan"},
                 {-NAN, "nan"}};
    char text[64];
    for (int i = 0; i < CM_TEST_COUNT(shown); i++) {
        ck_assert_str_eq(cmi_print_double(shown[i].value, text, sizeof text), shown[i].text);
    }
    ck_assert_str_eq(cmi_print_double(0.25, text, 4), "0.2");
    cmi_rng rng;
    cmi_rng_init(&rng, 1, CMI_RNG_DATA, 0);
    for (int i = 0; i < 20000; i++) {
        double back = 0, value = ldexp(cmi_rng_normal(&rng), (int)cmi_rng_below(&rng, 2000) - 1000);
        ck_assert(cmi_parse_double(cmi_print_double(value, text, sizeof text), &back));
        ck_assert_msg(back == value, "%.17g printed as %s", value, text);
    }
    double back,
        edges[] = {DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, DBL_EPSILON, 999999999999999, 1e15};
    for (int i = 0; i < CM_TEST_COUNT(edges); i++) {
        ck_assert(cmi_parse_double(cmi_print_double(edges[i], text, sizeof text), &back) &&
                  back == edges[i]);
    }
}
END_TEST

/* Case E06.  Runs where such a locale is installed (LOCPATH counts). */
START_TEST(decimal_comma_of_the_program_changes_nothing)
{
    const char *names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",
                           "fr_FR.UTF-8", "it_IT.UTF-8", "es_ES.UTF-8",
                           "pt_BR.UTF-8", "nl_NL.UTF-8", "da_DK.UTF-8"};
    const char *found = NULL;
    for (int i = 0; i < CM_TEST_COUNT(names) && !found; i++) {
        found = setlocale(LC_ALL, names[i]);
        if (found && strcmp(localeconv()->decimal_point, ",") != 0) found = NULL;
    }
    if (!found) {
        setlocale(LC_ALL, "C");
        CM_TEST_SKIP("no locale with a decimal comma is installed");
    }
    char text[64];
    double value = 0;
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, "0,5"); /* the locale is really in force, */
    ck_assert(cmi_parse_double("0.1", &value));
    ck_assert(value == 0.1);
    ck_assert(!cmi_parse_double("0,1", &value));
    ck_assert_str_eq(cmi_print_double(0.001, text, sizeof text), "0.001");
    cmi_format(text, sizeof text, "rate=%g (%d, %.1f)", 0.5, 2621, 1234567.5);
    ck_assert_str_eq(text, "rate=0.5 (2621, 1234567.5)");
    ck_assert_str_eq(cmi_shape_text(&(cmi_shape){2, {2621, 4}}, false, text, sizeof text),
                     "(2621, 4)");
    cmi_error(CM_E_INVALID, "learning_rate=%g", 0.1);
    ck_assert_str_eq(cm_last_message(), "learning_rate=0.1");
    snprintf(text, sizeof text, "%.1f", 0.5);
    ck_assert_str_eq(text, "0,5"); /* and is again afterwards. */
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(names_end_at_blank_or_bracket)
{
    char name[16];
    const char *good[] = {"dense", "  dense units=3", "dense(units=3)", "dense\tunits=3",
                          "dense\nunits=3"};
    for (int i = 0; i < CM_TEST_COUNT(good); i++) {
        ck_assert_cm_ok(cmi_spec_name(good[i], name, sizeof name));
        ck_assert_str_eq(name, "dense");
    }
    const char *bad[] = {"",
                         "  ",
                         "3d",
                         "dense=3",
                         "max-pool",
                         "(a)",
                         "d\xc3\xa9nse",
                         "sixteen_letters_",
                         "seventeen_letters"};
    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        ck_assert_cm_status(cmi_spec_name(bad[i], name, sizeof name), CM_E_INVALID);
        ck_assert_str_eq(name, "");
    }
    ck_assert_message_has("17 characters");
    ck_assert_message_has("at most 15");
}
END_TEST

/* The pieces of `text`, each in angle brackets; "!" and the message when it is refused. */
static const char *pieces(const char *text, const char *separators)
{
    static char all[2048];
    char *spec = NULL;
    size_t length = 0;
    all[0] = '\0';
    for (;;) {
        const char *before = text;
        if (cmi_spec_next(&text, separators, &spec)) {
            if (text == before && !spec)
                snprintf(all + length, sizeof all - length, "!%s", cm_last_message());
            return all;
        }
        if (!spec) return *text ? "the cursor is not at the end" : all;
        length += (size_t)snprintf(all + length, sizeof all - length, "<%s>", spec);
        cmi_free(spec);
    }
}

START_TEST(model_text_falls_into_specs)
{
    ck_assert_str_eq(pieces("dense units=3; relu", ";\n"), "<dense units=3><relu>");
    ck_assert_str_eq(pieces(" dense units=3 \n\n ;;\r\n\trelu\r\n", ";\n"),
                     "<dense units=3><relu>");
    ck_assert_str_eq(pieces("", ";\n"), "");
    ck_assert_str_eq(pieces("  ; \n # only a remark", ";\n"), "");
    ck_assert_str_eq(pieces("# one; (two\na # three; )\n#\nb#\nc", ";\n"), "<a><b><c>");
    ck_assert_str_eq(pieces("residual layers=(dense(units=8);relu); flatten", ";\n"),
                     "<residual layers=(dense(units=8);relu)><flatten>");
    ck_assert_str_eq(pieces("a(x=(1,2),y=3),b, c", ","), "<a(x=(1,2),y=3)><b><c>");
    ck_assert_str_eq(pieces("a layers=(b; # first\n c)\nd", ";\n"), "<a layers=(b; \n c)><d>");
}
END_TEST

START_TEST(brackets_without_partner_are_placed)
{
    ck_assert_str_eq(pieces("relu; dense(units=3; x", ";\n"),
                     "<relu>!\"(\" at character 6 of \"dense(units=3; x\" has no partner");
    ck_assert_str_eq(pieces("a)b\nc", ";\n"), "!\")\" at character 2 of \"a)b...\" has no partner");
    ck_assert_str_eq(pieces("a(b)) ", ";\n"), "!\")\" at character 5 of \"a(b)) \" has no partner");
}
END_TEST

/* The pairs of a spec as "key:value;"; "!" and the message when it is refused. */
static const char *pairs_of(const char *spec)
{
    static char all[2048];
    char *key, *value;
    size_t length = 0;
    cmi_pairs pairs;
    all[0] = '\0';
    cm_status status = cmi_pairs_open(spec, &pairs);
    while (!status && !(status = cmi_pairs_next(&pairs, &key, &value)) && key) {
        length += (size_t)snprintf(all + length, sizeof all - length, "%s:%s;", key, value);
        cmi_free(key);
    }
    if (status) snprintf(all + length, sizeof all - length, "!%s", cm_last_message());
    return all;
}

START_TEST(pairs_of_both_forms)
{
    ck_assert_str_eq(pairs_of("flatten"), "");
    ck_assert_str_eq(pairs_of("flatten()"), "");
    ck_assert_str_eq(pairs_of(" flatten( ) "), "");
    ck_assert_str_eq(pairs_of("conv filters=3 kernel_size=3,3\n  padding=same "),
                     "filters:3;kernel_size:3,3;padding:same;");
    ck_assert_str_eq(pairs_of("conv(filters=3,kernel_size=3,3,padding=same)"),
                     "filters:3;kernel_size:3,3;padding:same;");
    ck_assert_str_eq(pairs_of("conv( filters=3 , kernel_size=3 , 3,\n padding=same )"),
                     "filters:3;kernel_size:3,3;padding:same;");
    ck_assert_str_eq(pairs_of("conv kernel_size=3, 3 filters=4"), "kernel_size:3,3;filters:4;");
    ck_assert_str_eq(pairs_of("decay(boundaries=100,200,values=1.0,0.5)"),
                     "boundaries:100,200;values:1.0,0.5;");
    ck_assert_str_eq(pairs_of("bidirectional layer=lstm(units=4,a=1,2) merge=sum"),
                     "layer:lstm(units=4,a=1,2);merge:sum;");
    ck_assert_str_eq(pairs_of("b(layer=r(inner=d(units=4, x=1)),merge=sum)"),
                     "layer:r(inner=d(units=4, x=1));merge:sum;");
    ck_assert_str_eq(pairs_of("r layers=(dense(units=8);relu)"), "layers:(dense(units=8);relu);");
    ck_assert_str_eq(pairs_of("c path=a/b.txt rule=x==y"), "path:a/b.txt;rule:x==y;");
}
END_TEST

START_TEST(mistakes_in_pairs_are_explained)
{
    ck_assert_str_eq(pairs_of("d units = 3"),
                     "!blank before the \"=\" of \"units\"; write units=value");
    ck_assert_str_eq(pairs_of("d(a=1, units =3)"),
                     "a:1;!blank before the \"=\" of \"units\"; write units=value");
    ck_assert_str_eq(pairs_of("d units= 3"),
                     "!blank behind the \"=\" of \"units\"; write units=value");
    ck_assert_str_eq(pairs_of("d units="), "!\"units=\" has no value");
    ck_assert_str_eq(pairs_of("d units= a=1"), "!\"units=\" has no value");
    ck_assert_str_eq(pairs_of("d(units=,a=1)"), "!\"units=\" has no value");
    ck_assert_str_eq(pairs_of("d(units=)"), "!\"units=\" has no value");
    ck_assert_str_eq(pairs_of("d units"), "!\"units\" has no value; write units=value");
    ck_assert_str_eq(pairs_of("d(units)"), "!\"units\" has no value; write units=value");
    ck_assert_str_eq(pairs_of("d 64 a=1"), "!\"64\" stands where key=value was expected");
    ck_assert_str_eq(pairs_of("d a=1 2"), "a:1;!\"2\" stands where key=value was expected");
    ck_assert_str_eq(pairs_of("d(a=1 2)"), "a:1;!\"2\" stands where key=value was expected");
    ck_assert_str_eq(pairs_of("d(a=1) b=2"),
                     "!\"b=2\" stands behind the closing bracket; write name(key=value,...)");
    ck_assert_str_eq(pairs_of("d(a=1"), "!\"(\" at character 2 of \"d(a=1\" has no partner");
    ck_assert_str_eq(pairs_of("d a=f(b=1"), "!\"(\" at character 4 of \"a=f(b=1\" has no partner");
    ck_assert_str_eq(pairs_of("d a=1)"), "!\")\" at character 4 of \"a=1)\" has no partner");
}
END_TEST

START_TEST(texts_fail_cleanly_without_memory)
{
    uint64_t live = cmi_mem_live();
    const char *cursor = "dense units=3";
    char *spec = NULL, *key, *value;
    cmi_pairs pairs;
    cmi_mem_fail_at(1);
    ck_assert_cm_status(cmi_spec_next(&cursor, ";", &spec), CM_E_MEMORY);
    ck_assert_ptr_null(spec);
    ck_assert_str_eq(cursor, "dense units=3");
    ck_assert_cm_ok(cmi_pairs_open(cursor, &pairs));
    cmi_mem_fail_at(1);
    ck_assert_cm_status(cmi_pairs_next(&pairs, &key, &value), CM_E_MEMORY);
    ck_assert_ptr_null(key);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

Suite *suite_spec(void)
{
    Suite *suite = suite_create("spec");
    TCase *tests = tcase_create("spec");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, doubles_are_whole_texts);
    tcase_add_test(tests, integers_are_whole_texts);
    tcase_add_test(tests, doubles_print_short_and_read_back);
    tcase_add_test(tests, decimal_comma_of_the_program_changes_nothing);
    tcase_add_test(tests, names_end_at_blank_or_bracket);
    tcase_add_test(tests, model_text_falls_into_specs);
    tcase_add_test(tests, brackets_without_partner_are_placed);
    tcase_add_test(tests, pairs_of_both_forms);
    tcase_add_test(tests, mistakes_in_pairs_are_explained);
    tcase_add_test(tests, texts_fail_cleanly_without_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
