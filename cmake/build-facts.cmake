# Writes build-facts.h, what `ggscope version` says of the build; only if it changed, so that nothing is compiled again without need.
#   cmake -DSOURCE=... -DOUTPUT=... -DCOMPILER=... -DMACHINE=... -DTYPE=... -P build-facts.cmake
# The commit is the repository's, or in an archive of `make dist` the one that git wrote into commit.txt.
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
