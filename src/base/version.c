/* version.c - the version of the library that runs.
 *
 * CM_VERSION tells what a program was compiled with; cm_version() what it was linked with.  They
 * differ when a shared library was replaced, which is why the text is returned by a function.
 * Any thread. */
#include <clmirror/version.h>

const char *cm_version(void)
{
    return CM_VERSION;
}
