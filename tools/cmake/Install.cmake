# Install.cmake - headers, both libraries, programs, the pkg-config file and the CMake package.
#
# A user's find_package(clmirror) gives clmirror::clmirror (shared) and, where OpenCL, CLBlast and zlib can be found
# too, clmirror::static.  Both packages find their files relative to themselves, so the tree may be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/clmirror)
install(DIRECTORY include/clmirror DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(target IN ITEMS clmirror clmirror_static)
    install(TARGETS ${target} EXPORT ${target}-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(EXPORT ${target}-targets NAMESPACE clmirror:: DESTINATION ${package_dir})
endforeach()
foreach(tool IN ITEMS clmirror-info clmirror-train clmirror-bench)
    if(TARGET ${tool})
        install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
endforeach()

configure_package_config_file(tools/cmake/clmirrorConfig.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/generated/clmirrorConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/generated/clmirrorConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/cmake/clmirror.pc.in ${CMAKE_CURRENT_BINARY_DIR}/generated/clmirror.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/clmirrorConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/generated/clmirrorConfigVersion.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/generated/clmirror.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
