#include "cli/scaffold/man.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glossary.h"
#include "base/roff.h"
#include "base/system/file.h"
#include "cli/scaffold/verb.h"
#include "engine/runner-options.h"
#include "trials/trials.h"

#define MARK ".\\\" "

struct page {
    const struct ggs_command * commands;
    size_t                     n_commands;
    const char *               text;   // rest of the source
    const char *               shared; // shared-options.mdoc
    const struct ggs_command * command;
    struct ggs_verb            verb; // of the page
    bool                       failed;
};

static bool begins(const char * line, const char * with) {
    return strncmp(line, with, strlen(with)) == 0;
}

static const char * behind_line(const char * line) {
    line += strcspn(line, "\n");
    return *line == '\0' ? line : line + 1;
}

// ---- options ----

// Returns the text of an option: the lines after its mark, up to the next mark. NULL if there is no
// mark.
static const char * find_text(const char * texts, const char * name, size_t * length) {
    for (const char * line = texts; line != NULL && *line != '\0' && !begins(line, MARK "@end");
         line              = behind_line(line)) {
        if (!begins(line, MARK "--") || strcspn(line + strlen(MARK "--"), "\n") != strlen(name) ||
            !begins(line + strlen(MARK "--"), name))
            continue;
        const char * text = behind_line(line);
        const char * end  = text;
        while (*end != '\0' && !begins(end, MARK)) end = behind_line(end);
        *length = (size_t) (end - text);
        return text;
    }
    return NULL;
}

static void put_flag(const struct ggs_option * option, bool both) {
    bool optional = option->value != NULL && option->value[0] == '=';
    if (option->letter != 0 && both) printf("Fl %c , ", option->letter);
    printf("Fl -%s", option->name);
    if (option->value != NULL) printf(optional ? " Ns Op = Ns Ar %s" : " Ar %s", option->value + optional);
}

static void put_words(ggs_words words) {
    puts(".Bl -tag -width Ds -compact");
    for (unsigned i = 0; words(i).word != NULL; i++) {
        printf(".It Cm %s\n", words(i).word);
        if (words(i).text != NULL) ggs_roff_put(stdout, words(i).text);
    }
    puts(".El");
}

static void put_option(struct page * page, const struct ggs_option * option, bool own) {
    size_t       length;
    const char * text = find_text(page->text, option->name, &length);
    char         sentence[512];
    if (text == NULL && own) text = find_text(page->shared, option->name, &length);
    fputs(".It ", stdout);
    put_flag(option, true);
    snprintf(sentence, sizeof(sentence), "%s%s", option->help, option->words == NULL ? "." : ":");
    putchar('\n');
    ggs_roff_put(stdout, sentence);
    if (option->words != NULL) put_words(option->words);
    if (text != NULL) fwrite(text, 1, length, stdout);
}

static bool is_known(const struct page * page, const char * name, size_t length) {
    const struct ggs_option * option;
    const char *              title;
    for (unsigned i = 0; (option = ggs_verb_next_option(&page->verb, &i, &title)) != NULL;)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return true;
    return false;
}

// Writes the options by group, like --help; ggscope(1) has the common ones.
static void put_options(struct page * page) {
    const struct ggs_option * option;
    const char *              title, *above = NULL;
    bool                      own = page->verb.options[0].name != NULL;
    if (own) puts(".Bl -tag -width Ds");
    for (int group = 0; group < 10; group++)
        for (unsigned i = 0; (option = ggs_verb_next_option(&page->verb, &i, &title)) != NULL && title == NULL;)
            if (option->group == group) put_option(page, option, true);
    for (unsigned i = 0; (option = ggs_verb_next_option(&page->verb, &i, &title)) != NULL;) {
        if (title == NULL || title[0] == '\0') continue;
        if (title != above) printf("%s.Pp\n%s\n.Bl -tag -width Ds\n", own || above != NULL ? ".El\n" : "", title);
        above = title;
        put_option(page, option, false);
    }
    puts(".El");
    for (; *page->text != '\0' && !begins(page->text, MARK "@end"); page->text = behind_line(page->text)) {
        const char * name   = page->text + strlen(MARK "--");
        size_t       length = strcspn(page->text, "\n") - strlen(MARK "--");
        if (!begins(page->text, MARK "--") || is_known(page, name, length)) continue;
        fprintf(stderr, "ggscope: the man page of %s says something of --%.*s, which is not one of its options\n",
                page->command->name, (int) length, name);
        page->failed = true;
    }
    page->text = behind_line(page->text);
}

// ---- the command line ----

// "DIR [TEXT]": words, in brackets if optional. A page may write its own synopsis instead.
static void put_operands(const char * operands) {
    for (const char * word = operands; *word != '\0'; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        bool   option = word[0] == '[';
        printf(option ? ".Op Ar %.*s\n" : ".Ar %.*s\n", (int) length - 2 * option, word + option);
        word += length;
    }
}

static void put_synopsis(const struct page * page) {
    const struct ggs_option * option;
    const char *              title;
    bool                      others = false;
    printf(".Nm ggscope %s\n", page->command->name);
    for (unsigned i = 0; (option = ggs_verb_next_option(&page->verb, &i, &title)) != NULL;) {
        others |= title != NULL && title[0] != '\0';
        if (title != NULL) continue;
        fputs(".Op ", stdout);
        put_flag(option, false);
        putchar('\n');
    }
    if (others) puts(".Op Ar options");
    put_operands(page->verb.operands);
}

static void put_settings(void) {
    puts(".Bl -tag -width tokens_to_generate -compact");
    for (int i = 0; i < GGS_RUN_OPTIONS; i++) {
        const struct ggs_runner_form * form = &ggs_runner_forms[i];
        if (form->key != NULL) printf(".It Li %s\n.Fl -%s\n", form->key, form->name);
    }
    puts(".El");
}

// ---- verbs ----

static void put_verbs(const struct page * page) {
    for (size_t i = 0; i < page->n_commands; i++) {
        const struct ggs_command * command = &page->commands[i];
        if (i == 0 || strcmp(command->group, page->commands[i - 1].group) != 0)
            printf("%s.Pp\n%s:\n.Bl -tag -width Ds -compact\n", i == 0 ? "" : ".El\n", command->group);
        printf(".It Xr ggscope-%s 1\n%s\n", command->name, command->summary);
    }
    puts(".El");
}

// Those of sweep include figures of the machine.
static void put_figures(const struct page * page) {
    size_t n =
        page->command != NULL && strcmp(page->command->name, "sweep") == 0 ? ggs_trial_figure_count() : ggs_n_figures;
    puts(".Bl -tag -width prompt_tokens_per_s -compact");
    for (unsigned i = 0; i < n; i++) printf(".It Li %s\n%s\n", ggs_trial_figure(i)->name, ggs_trial_figure(i)->text);
    puts(".El");
}

static void put_glossary(void) {
    puts(".Bl -tag -width Ds -compact");
    for (const struct ggs_term * term = ggs_glossary; term->word != NULL; term++) {
        printf(".It %s\n", term->word);
        ggs_roff_put(stdout, term->meaning);
    }
    puts(".El");
}

// Lists the pages in alphabetical order, including ggscope-engine(1).
static void put_pages(const struct page * page) {
    for (const char *last = "", *next; last != NULL; last = next) {
        next = strcmp(last, "engine") < 0 ? "engine" : NULL;
        for (size_t i = 0; i < page->n_commands; i++) {
            const char * name = page->commands[i].name;
            if (strcmp(name, last) > 0 && (next == NULL || strcmp(name, next) < 0)) next = name;
        }
        if (next != NULL) printf(".Xr ggscope-%s 1 ,\n", next);
    }
}

// ---- the page ----

// ".../ggscope-stats.1" is the page of stats.
static void find_verb(struct page * page, const char * source) {
    const char * name = ggs_file_name(source);
    for (size_t i = 0; i < page->n_commands; i++) {
        char file[64];
        snprintf(file, sizeof(file), "ggscope-%s.1", page->commands[i].name);
        if (strcmp(name, file) != 0) continue;
        page->command = &page->commands[i];
        page->verb    = ggs_verb_of(page->command->function);
    }
}

static char * read_text(const char * path) {
    struct ggs_mapping file;
    if (ggs_mapping_open(&file, path, NULL) < 0) return NULL;
    char * text = calloc(1, (size_t) file.size + 1);
    if (text != NULL && file.size > 0) memcpy(text, file.data, (size_t) file.size);
    ggs_mapping_close(&file);
    return text;
}

static void put_line(struct page * page) {
    const char * line = page->text;
    page->text        = behind_line(line);
    if (begins(line, MARK "@name") && page->command != NULL) {
        printf(".Nm ggscope-%s\n.Nd %s\n", page->command->name, page->command->summary);
    } else if (begins(line, MARK "@synopsis") && page->command != NULL) {
        put_synopsis(page);
    } else if (begins(line, MARK "@options") && page->command != NULL) {
        put_options(page);
    } else if (begins(line, MARK "@settings")) {
        put_settings();
    } else if (begins(line, MARK "@verbs")) {
        put_verbs(page);
    } else if (begins(line, MARK "@glossary")) {
        put_glossary();
    } else if (begins(line, MARK "@figures")) {
        put_figures(page);
    } else if (begins(line, MARK "@pages")) {
        put_pages(page);
    } else if (begins(line, MARK "@")) {
        fprintf(stderr, "ggscope: no verb has this page, or there is no such mark: %.*s\n", (int) strcspn(line, "\n"),
                line);
        page->failed = true;
    } else {
        fwrite(line, 1, (size_t) (page->text - line), stdout);
    }
}

int ggs_man_write(const struct ggs_command * commands, size_t n_commands, const char * source) {
    struct page page = {.commands = commands, .n_commands = n_commands};
    char        path[PATH_MAX];
    size_t      folder = (size_t) (ggs_file_name(source) - source);
    snprintf(path, sizeof(path), "%.*sshared-options.mdoc", (int) folder, source);
    char *text = read_text(source), *shared = read_text(path);
    if (text == NULL || shared == NULL) {
        fprintf(stderr, "ggscope: cannot read %s: %s\n", text == NULL ? source : path, strerror(errno));
        page.failed = true;
    } else {
        page.text = text, page.shared = shared;
        find_verb(&page, source);
        while (*page.text != '\0') put_line(&page);
    }
    free(text);
    free(shared);
    return page.failed ? 1 : 0;
}
