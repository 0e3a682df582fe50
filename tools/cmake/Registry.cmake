# Registry.cmake - from the registry.def lists and the plain lists to source files.
#
# A registry.def is an X-macro list that C includes and this file reads, so that a descriptor is one file and one
# line:
#
#   CM_LAYER(dense)                               src/nn/layer_dense.c
#   CM_INIT_IN(variance_scaling, glorot_uniform)  src/nn/init_variance_scaling.c, shared by a family
#   CM_LOSS_ALIAS(mse, mean_squared_error)        no file
#
# Comments and preprocessor lines are skipped; anything else that looks like a call is an error.

# Kind of registry line -> beginning of the file's name.
set(CLMIRROR_PREFIX_LAYER layer)
set(CLMIRROR_PREFIX_LOSS loss)
set(CLMIRROR_PREFIX_METRIC metric)
set(CLMIRROR_PREFIX_OPTIMIZER optim)
set(CLMIRROR_PREFIX_INIT init)
set(CLMIRROR_PREFIX_ACTIVATION activation)
set(CLMIRROR_PREFIX_COLLECTIVE coll)
set(CLMIRROR_PREFIX_LINK link)
set(CLMIRROR_PREFIX_FORMAT format)
set(CLMIRROR_PREFIX_BENCH bench)

# The sources that FOLDER/registry.def names, each once, in order of first appearance.
function(clmirror_registry_sources out folder)
    set(sources "")
    set(def ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/registry.def)
    if(EXISTS ${def})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${def})
        file(READ ${def} text)
        string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
        string(REGEX REPLACE "(//|#)[^\n]*" "" text "${text}")
        string(REGEX MATCHALL "[A-Za-z_0-9]+ *\\([^()]*\\)" calls "${text}")
        foreach(call IN LISTS calls)
            if(call MATCHES "^CM_[A-Z_]+_ALIAS *\\(")
                continue()
            endif()
            set(prefix "")
            if(call MATCHES "^CM_([A-Z]+)(_IN)? *\\( *([a-z0-9_]+) *(, *[a-z0-9_]+ *)?\\)$")
                set(prefix "${CLMIRROR_PREFIX_${CMAKE_MATCH_1}}")
            endif()
            if(NOT prefix)
                message(FATAL_ERROR "${folder}/registry.def: \"${call}\" is not a known registry line")
            endif()
            list(APPEND sources ${folder}/${prefix}_${CMAKE_MATCH_3}.c)
        endforeach()
        list(REMOVE_DUPLICATES sources)
    endif()
    clmirror_existing(sources ${sources})
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# The sources FOLDER/NAME.c for a plain list of names.
function(clmirror_plain_sources out folder)
    list(TRANSFORM ARGN PREPEND ${folder}/)
    list(TRANSFORM ARGN APPEND .c)
    clmirror_existing(sources ${ARGN})
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

# A listed file that is not there is an error, here rather than in the middle of a build.
function(clmirror_existing out)
    foreach(file IN LISTS ARGN)
        if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
            message(FATAL_ERROR "${file} is listed but does not exist")
        endif()
    endforeach()
    set(${out} ${ARGN} PARENT_SCOPE)
endfunction()
