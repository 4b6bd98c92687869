# Writes build-facts.h, the build information of `ggscope version`. An unchanged file is not
# rewritten, so that nothing is compiled again.
#   cmake -DSOURCE=... -DOUTPUT=... -DCOMPILER=... -DMACHINE=... -DTYPE=... -P build-facts.cmake
# The commit is that of the repository; in an archive of `make dist` it is in commit.txt.
file(READ ${SOURCE}/cmake/commit.txt commit)
string(STRIP "${commit}" commit)
if(commit MATCHES "Format:")
    execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude=* OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(WRITE ${OUTPUT}.new "#define GGSCOPE_COMMIT \"${commit}\"
#define GGSCOPE_COMPILER \"${COMPILER}\"
#define GGSCOPE_MACHINE \"${MACHINE}\"
#define GGSCOPE_BUILD_TYPE \"${TYPE}\"
")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUTPUT}.new ${OUTPUT})
