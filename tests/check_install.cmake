# check_install.cmake - what `cmake --install` leaves can be used.
#
#   cmake -DBUILD=build -DCC=cc -DLIBDIR=lib -P tests/check_install.cmake
#
# Installs into BUILD/install-check, moves the tree (nothing may remember the prefix), and from there compiles, links
# and runs a small program three times: through pkg-config, and through find_package with the shared and the
# static library.  FLAGS names the sanitizers of the build.
cmake_minimum_required(VERSION 3.16)

set(work ${BUILD}/install-check)
set(prefix ${work}/moved)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/user)
set(sanitize "")
if(FLAGS)
    string(REPLACE ";" "," FLAGS "${FLAGS}")
    set(sanitize -fsanitize=${FLAGS})
endif()

# run(COMMAND...): stops with the command's output when it fails.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT result EQUAL 0)
        string(REPLACE ";" " " command "${ARGN}")
        message("${out}")
        message(FATAL_ERROR "${command}: ended with ${result}")
    endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${prefix})

file(WRITE ${work}/user/main.c "#include <clmirror/status.h>
#include <clmirror/version.h>
#include <string.h>

int main(void)
{
    return strcmp(cm_version(), CM_VERSION) || strcmp(cm_status_name(CM_OK), \"CM_OK\");
}
")

find_program(PKG_CONFIG pkg-config)
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs clmirror OUTPUT_VARIABLE flags RESULT_VARIABLE result
                ERROR_VARIABLE problem OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "pkg-config --cflags --libs clmirror: ${problem}")
endif()
separate_arguments(flags UNIX_COMMAND "${flags}")
run(${CC} -std=c11 -Wall -Werror ${sanitize} ${work}/user/main.c -o ${work}/user/by-pkg-config ${flags})
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR} ${work}/user/by-pkg-config)

file(WRITE ${work}/user/CMakeLists.txt "cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(clmirror REQUIRED COMPONENTS shared static)
link_libraries(${sanitize})
add_executable(with-shared main.c)
target_link_libraries(with-shared clmirror::clmirror)
add_executable(with-static main.c)
target_link_libraries(with-static clmirror::static)
")
run(${CMAKE_COMMAND} -S ${work}/user -B ${work}/user/build -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${work}/user/build)
run(${work}/user/build/with-shared)
run(${work}/user/build/with-static)
message(STATUS "installed, moved, and used through pkg-config and find_package")
