# Generates the contract of the JSON answers from their tables (src/contract): schemas, the page's
# types, ggscope-json(5).
file(GLOB contract_sources CONFIGURE_DEPENDS src/contract/*.c)
add_executable(contract ${contract_sources} src/engine/run/run-result.c)
target_link_libraries(contract PRIVATE answer record)

set(contract_types ${CMAKE_BINARY_DIR}/contract/api.ts)
set(contract_man ${CMAKE_BINARY_DIR}/man/ggscope-json.5)
add_custom_command(OUTPUT ${contract_types} ${contract_man}
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/schemas
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/contract ${CMAKE_BINARY_DIR}/man ${CMAKE_BINARY_DIR}/schemas
    COMMAND contract schemas ${CMAKE_BINARY_DIR}/schemas
    COMMAND contract man ${contract_man}
    COMMAND contract typescript ${contract_types}
    DEPENDS contract COMMENT "Writing the schemas" VERBATIM)
add_custom_target(schemas ALL DEPENDS ${contract_types})
install(DIRECTORY ${CMAKE_BINARY_DIR}/schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ggscope/schemas)
