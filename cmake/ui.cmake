# The page: npm builds ui/ into build/ui, which is compressed and built into the program. Without
# ui/ a small page replaces it.
add_executable(embed cmake/embed.c)
target_link_libraries(embed PRIVATE PkgConfig::XXHASH PkgConfig::ZLIB)
target_compile_options(embed PRIVATE -fno-sanitize=all)
target_link_options(embed PRIVATE -fno-sanitize=all)
set(ui_assets ${CMAKE_BINARY_DIR}/ui-assets.c)

if(EXISTS ${PROJECT_SOURCE_DIR}/ui/package.json)
    find_program(NPM npm)
    find_program(NODE NAMES node nodejs)
    if(NOT NPM OR NOT NODE)
        message(FATAL_ERROR "The page needs node and npm to be built: run scripts/bootstrap build, or install the packages nodejs and npm.")
    endif()
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/ui/node_modules)
        message(FATAL_ERROR "The page's packages are not installed: run scripts/bootstrap build, which does so by ui/package-lock.json.")
    endif()
    file(GLOB_RECURSE ui_sources CONFIGURE_DEPENDS ui/src/*)
    list(REMOVE_ITEM ui_sources ${PROJECT_SOURCE_DIR}/ui/src/api.ts) # generated: cmake/contract.cmake
    file(GLOB ui_files CONFIGURE_DEPENDS ui/*.json ui/*.mjs ui/*.html)
    set(ui_folder ${CMAKE_BINARY_DIR}/ui)
    add_custom_command(OUTPUT ${ui_assets}
        COMMAND ${CMAKE_COMMAND} -E copy_if_different ${contract_types} ${PROJECT_SOURCE_DIR}/ui/src/api.ts
        COMMAND ${CMAKE_COMMAND} -E env GGSCOPE_UI_OUT=${ui_folder} GGSCOPE_WASM=${wasm_module} ${NPM} --prefix ${PROJECT_SOURCE_DIR}/ui --silent run build
        COMMAND embed ${ui_assets} ${ui_folder}
        DEPENDS embed ${wasm_module} ${contract_types} ${ui_sources} ${ui_files}
        COMMENT "Building the page" VERBATIM)
else()
    set(ui_folder ${PROJECT_SOURCE_DIR}/src/serve/placeholder)
    add_custom_command(OUTPUT ${ui_assets} COMMAND embed ${ui_assets} ${ui_folder} 
        DEPENDS embed ${ui_folder}/index.html ${ui_folder}/report.html VERBATIM)
endif()
