/* test_rng.c - Philox against the known answers of Random123, and the streams drawn from it. */
#include <math.h>
#include "base/suites.h"
#include "base/rng.h"
#include "support/cm_test.h"

typedef struct answer {
    uint32_t counter[4], key[2], out[4];
} answer;

/* The three vectors of philox4x32-10 in Random123's kat_vectors. */
static const answer known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

START_TEST(known_answers)
{
    for (int i = 0; i < CM_TEST_COUNT(known); i++) {
        uint32_t out[4];
        cmi_philox(known[i].counter, known[i].key, out);
        for (int word = 0; word < 4; word++) {
            ck_assert_msg(out[word] == known[i].out[word], "vector %d word %d: %08x, expected %08x",
                          i, word, out[word], known[i].out[word]);
        }
    }
}
END_TEST

START_TEST(stream_is_the_blocks_of_its_name)
{
    cmi_rng rng;
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    cmi_rng_init(&rng, 0x0123456789abcdef, CMI_RNG_DROPOUT, 0xfedcba9876543210);
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t out[4];
        cmi_philox((const uint32_t[4]){block, CMI_RNG_DROPOUT, 0x76543210, 0xfedcba98}, key, out);
        for (int word = 0; word < 4; word++)
            ck_assert_uint_eq(cmi_rng_u32(&rng), out[word]);
    }
}
END_TEST

START_TEST(names_give_different_streams)
{
    cmi_rng a, b, c, d;
    cmi_rng_init(&a, 1, CMI_RNG_WEIGHTS, 0);
    cmi_rng_init(&b, 2, CMI_RNG_WEIGHTS, 0);
    cmi_rng_init(&c, 1, CMI_RNG_SHUFFLE, 0);
    cmi_rng_init(&d, 1, CMI_RNG_WEIGHTS, 1);
    uint32_t first[4] = {cmi_rng_u32(&a), cmi_rng_u32(&b), cmi_rng_u32(&c), cmi_rng_u32(&d)};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(first[i], first[j]);
    }
}
END_TEST

/* With a fixed seed these are fixed numbers; the bounds are 5 standard errors of a fair source. */
START_TEST(floats_and_normals_have_their_moments)
{
    enum { COUNT = 100000 };
    cmi_rng rng;
    double sum = 0, square = 0;
    cmi_rng_init(&rng, 7, CMI_RNG_DATA, 0);
    for (int i = 0; i < COUNT; i++) {
        float value = cmi_rng_float(&rng);
        ck_assert(value >= 0.0f && value < 1.0f);
        sum += (double)value;
    }
    ck_assert_close(sum / COUNT, 0.5, 5 * sqrt(1.0 / 12 / COUNT));
    sum = 0;
    for (int i = 0; i < COUNT; i++) {
        double value = cmi_rng_normal(&rng);
        ck_assert(isfinite(value));
        sum += value;
        square += value * value;
    }
    ck_assert_close(sum / COUNT, 0.0, 5 * sqrt(1.0 / COUNT));
    ck_assert_close(square / COUNT, 1.0, 5 * sqrt(2.0 / COUNT));
}
END_TEST

START_TEST(below_stays_below_and_is_fair)
{
    enum { COUNT = 60000, SIDES = 6 };
    int seen[SIDES] = {0};
    cmi_rng rng;
    cmi_rng_init(&rng, 7, CMI_RNG_SHUFFLE, 0);
    for (int i = 0; i < COUNT; i++)
        seen[cmi_rng_below(&rng, SIDES)]++;
    for (int i = 0; i < SIDES; i++)
        ck_assert_close(seen[i], COUNT / SIDES, 5 * sqrt(COUNT * 5.0 / 36));
    ck_assert_uint_eq(cmi_rng_below(&rng, 1), 0);
    /* 2^64 is n and a third of n: unless draws above n are thrown away, the lowest third comes
     * twice as often. */
    uint64_t n = (uint64_t)3 << 62;
    int low = 0;
    for (int i = 0; i < COUNT; i++) {
        uint64_t drawn = cmi_rng_below(&rng, n);
        ck_assert(drawn < n);
        low += drawn < n / 3;
    }
    ck_assert_close(low, COUNT / 3, 5 * sqrt(COUNT * 2.0 / 9));
}
END_TEST

Suite *suite_rng(void)
{
    Suite *suite = suite_create("rng");
    TCase *tests = tcase_create("rng");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, known_answers);
    tcase_add_test(tests, stream_is_the_blocks_of_its_name);
    tcase_add_test(tests, names_give_different_streams);
    tcase_add_test(tests, floats_and_normals_have_their_moments);
    tcase_add_test(tests, below_stays_below_and_is_fair);
    suite_add_tcase(suite, tests);
    return suite;
}
