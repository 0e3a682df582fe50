# Programs.cmake - the programs of tools/, in build/bin.
#
# A program is a folder with main.c.  It sees the public headers only and links the shared library, so that what it
# needs is exported; clmirror-bench measures internal pieces, links the static library and sees src/.  Each file of
# tools/examples is a program too.  A folder that does not exist yet is passed over.

# clmirror_program(NAME SOURCES...)
function(clmirror_program name)
    if(NOT ARGN)
        return()
    endif()
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE clmirror_options clmirror PkgConfig::CJSON Threads::Threads m)
    file(RELATIVE_PATH up /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/${up}")
endfunction()

foreach(tool IN ITEMS clmirror-info clmirror-train)
    file(GLOB sources CONFIGURE_DEPENDS tools/${tool}/*.c)
    clmirror_program(${tool} ${sources})
endforeach()

file(GLOB sources CONFIGURE_DEPENDS tools/clmirror-bench/*.c)
list(FILTER sources EXCLUDE REGEX "/bench_[^/]*$")
clmirror_registry_sources(benches tools/clmirror-bench)
if(sources)
    add_executable(clmirror-bench ${sources} ${benches})
    target_include_directories(clmirror-bench PRIVATE src tools/clmirror-bench)
    target_link_libraries(clmirror-bench PRIVATE
        clmirror_options clmirror_static clmirror_opencl_headers PkgConfig::CJSON Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

file(GLOB sources CONFIGURE_DEPENDS tools/examples/*.c)
foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    clmirror_program(${name} ${source})
endforeach()
