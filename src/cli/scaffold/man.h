// Generates man pages from docs/man: ggscope __man SOURCE writes a page to standard output. The
// source is mdoc(7) with marks for generated parts:
//
//     .\" @name                 name and summary of the page's verb: ggscope-VERB.1
//     .\" @synopsis             its command line
//     .\" @options              its options, up to
//     .\" @end
//     .\" @settings             the keys of a settings file that are options
//     .\" @verbs                all verbs by group
//     .\" @pages                all verbs, as a list of cross references
//
// Between @options and @end a line `.\" --NAME` begins further text for that option, beyond its
// line in --help. shared-options.mdoc beside the source has texts for options of several verbs.
#pragma once

#include <stddef.h>

#include "cli/commands.h"

int ggs_man_write(const struct ggs_command * commands, size_t n_commands, const char * source);
