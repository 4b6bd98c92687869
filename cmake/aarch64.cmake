# Builds for AArch64 with Debian's cross compiler and the libraries that scripts/cross-root puts
# into GGSCOPE_CROSS_ROOT: cmake --preset aarch64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
if(DEFINED ENV{GGSCOPE_CROSS_ROOT})
    set(GGSCOPE_CROSS_ROOT $ENV{GGSCOPE_CROSS_ROOT})
else()
    get_filename_component(GGSCOPE_CROSS_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root ABSOLUTE)
endif()
if(NOT EXISTS ${GGSCOPE_CROSS_ROOT}/complete)
    message(FATAL_ERROR "${GGSCOPE_CROSS_ROOT} has no libraries for AArch64: run scripts/cross-root")
endif()
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT ${GGSCOPE_CROSS_ROOT}/sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR ${GGSCOPE_CROSS_ROOT}/run)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Without PKG_CONFIG_SYSROOT_DIR, which breaks at blanks in the path: CMake looks up libraries in
# the sysroot, and the compiler headers.
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
