# Man pages: the program fills in the generated parts of docs/man, such as options
# (src/cli/scaffold/man.h).
file(GLOB man_sources CONFIGURE_DEPENDS docs/man/*.1 docs/man/*.3 docs/man/*.5)
set(man_pages ${contract_man})
foreach(source ${man_sources})
    get_filename_component(name ${source} NAME)
    set(page ${CMAKE_BINARY_DIR}/man/${name})
    add_custom_command(OUTPUT ${page} COMMAND ggscope __man ${source} > ${page}.new COMMAND ${CMAKE_COMMAND} -E rename ${page}.new ${page}
        DEPENDS ggscope ${source} ${PROJECT_SOURCE_DIR}/docs/man/shared-options.mdoc COMMENT "" VERBATIM)
    list(APPEND man_pages ${page})
endforeach()
add_custom_target(man ALL DEPENDS ${man_pages})
foreach(section 1 3 5)
    set(pages ${man_pages})
    list(FILTER pages INCLUDE REGEX "\\.${section}$")
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
