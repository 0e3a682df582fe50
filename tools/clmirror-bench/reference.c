/* reference.c - finds OpenBLAS and calls it.
 *
 * Only a library that exports openblas_get_config counts: what is called libblas may be the slow
 * reference implementation.  Two variables that make OpenBLAS choose kernels for another machine
 * are removed first, so that the reference is the one a user would get. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "reference.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* cblas.h */

typedef void sgemm_function(int order, int transpose_a, int transpose_b, int m, int n, int k,
                            float alpha, const float *a, int lda, const float *b, int ldb,
                            float beta, float *c, int ldc);

static void *library;
static sgemm_function *sgemm;
static char *(*get_config)(void);
static void (*set_threads)(int);
static int (*get_threads)(void);

/* POSIX lets an object pointer carry a function; C does not, so the bytes are copied. */
static bool symbol(const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void forget(const char *variable)
{
    if (!getenv(variable)) return;
    printf("%s=\"%s\" is ignored: the reference chooses for this machine\n", variable,
           getenv(variable));
    unsetenv(variable);
}

/* The real file that a function comes from; /proc/self/maps knows it without extensions of the C
 * library. */
static void print_path(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], path[4096] = "unknown";
    unsigned long begin, end, wanted = 0;
    memcpy(&wanted, &address, sizeof address);
    while (maps && fgets(line, sizeof line, maps)) {
        const char *slash = strchr(line, '/');
        if (sscanf(line, "%lx-%lx", &begin, &end) != 2 || wanted < begin || wanted >= end || !slash)
            continue;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(slash, "\n"), slash);
        break;
    }
    if (maps) fclose(maps);
    printf("reference: %s\n", path);
}

bool reference_open(int threads)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    forget("OPENBLAS_CORETYPE");
    forget("OPENBLAS_L2_SIZE");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) continue;
        if (symbol("openblas_get_config", &get_config) &&
            symbol("openblas_set_num_threads", &set_threads) &&
            symbol("openblas_get_num_threads", &get_threads) && symbol("cblas_sgemm", &sgemm)) {
            void *address = NULL;
            memcpy(&address, &sgemm, sizeof address);
            set_threads(threads);
            print_path(address);
            printf("           %s, %d thread%s\n", get_config(), get_threads(),
                   get_threads() == 1 ? "" : "s");
            return true;
        }
        dlclose(library);
    }
    fputs("clmirror-bench: --reference: no OpenBLAS (libopenblas.so.0 with openblas_get_config); "
          "install the package "
          "libopenblas0-pthread\n",
          stderr);
    return false;
}

void reference_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const float *a,
                    const float *b, float *c)
{
    sgemm(ROW_MAJOR, transpose_a ? TRANSPOSE : NO_TRANSPOSE, transpose_b ? TRANSPOSE : NO_TRANSPOSE,
          m, n, k, 1.0f, a, transpose_a ? m : k, b, transpose_b ? k : n, 0.0f, c, n);
}
