#include "capture/describe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/code/unoptimised.h"
#include "base/secrets.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "preload/ggml-abi.h"
#include "preload/objects.h"
#include "trace/spool.h"

// ---- the process ----

void ggs_describe_process(void) {
    char executable[PATH_MAX] = "";
    if (readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0) executable[0] = '\0';
    struct ggs_journal_process process = {
        .pid = (uint32_t) getpid(), .tick_is_ns = ggs_ticks_are_ns, .page_size = (uint32_t) sysconf(_SC_PAGESIZE)};
    ggs_ticks_pair(&process.ticks, &process.monotonic_ns);
    process.realtime_ns       = ggs_ticks_utc(process.monotonic_ns);
    struct ggs_piece pieces[] = {{&process, sizeof(process)}, {executable, strlen(executable) + 1}};
    ggs_journal_append(GGS_JOURNAL_PROCESS, pieces, 2);
}

// ---- the engine ----

struct text {
    char   data[65536];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text * text, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->data + text->used, sizeof(text->data) - text->used, format, arguments);
    va_end(arguments);
    if (n > 0) text->used += (size_t) n;
    if (text->used >= sizeof(text->data)) text->used = sizeof(text->data) - 1;
}

static void add_build_id(struct text * text, const struct dl_phdr_info * info) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const char * at  = (const char *) (info->dlpi_addr + segment->p_vaddr);
        const char * end = at + segment->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) * note = (const ElfW(Nhdr) *) at;
            const char *    name    = at + sizeof(*note);
            const uint8_t * id      = (const uint8_t *) name + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
                for (unsigned k = 0; k < note->n_descsz; k++) add(text, "%02x", id[k]);
                return;
            }
            at = (const char *) id + ((note->n_descsz + 3u) & ~3u);
        }
    }
}

// True for an addon with ggml inside.
static bool holds_engine(const struct dl_phdr_info * info) {
    uintptr_t address = (uintptr_t) ggs_abi_address();
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static int add_library(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    const char * path           = info->dlpi_name == NULL ? "" : info->dlpi_name;
    const char * name           = strrchr(path, '/');
    char         self[PATH_MAX] = "";
    bool         named = name != NULL && (strncmp(name, "/libggml", 8) == 0 || strncmp(name, "/libllama", 9) == 0);
    if (!named && !holds_engine(info)) return 0;
    if (path[0] == '\0') path = readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ? "/proc/self/exe" : self;
    add(data, "library=%s\nbuild_id=", path);
    add_build_id(data, info);
    add(data, "\n");
    return 0;
}

// A record ends with its line, so a line break inside is written as \n.
static void add_argument(struct text * text, const char * word) {
    add(text, "argument=");
    for (; *word != '\0'; word++) {
        if (*word == '\n') {
            add(text, "\\n");
        } else if (*word == '\\') {
            add(text, "\\\\");
        } else {
            add(text, "%c", *word);
        }
    }
    add(text, "\n");
}

static void add_command_line(struct text * text) {
    char               raw[32768];
    struct ggs_secrets secrets = {0};
    int                fd      = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, raw, sizeof(raw) - 1);
    close(fd);
    for (ssize_t i = 0; i < n; i += (ssize_t) strlen(raw + i) + 1) {
        raw[n]      = '\0';
        char * word = ggs_secrets_hide(&secrets, raw + i);
        if (word != NULL) add_argument(text, word);
        free(word);
    }
}

static unsigned long long n_loaded; // libraries ever loaded when the engine was last described

static int count_loaded(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    *(unsigned long long *) data = info->dlpi_adds;
    return 1;
}

// The working directory and the command line. Read once: the program may change directory or enter
// a sandbox.
static const char * beginning(void) {
    static struct text text; // one thread at a time
    char               here[PATH_MAX];
    if (text.used > 0) return text.data;
    if (getcwd(here, sizeof(here)) != NULL) add(&text, "directory=%s\n", here);
    add_command_line(&text);
    return text.data;
}

// Sanitizers make an engine several times slower. Their runtimes are found by a function that each
// has.
static void add_build(struct text * text) {
    static const struct {
        const char *name, *function;
    } sanitizers[] = {{"address", "__asan_init"}, {"thread", "__tsan_init"}, {"memory", "__msan_init"}};
    for (size_t i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
        if (dlsym(RTLD_DEFAULT, sanitizers[i].function) != NULL) add(text, "sanitizer=%s\n", sanitizers[i].name);
    enum { LOOKED_AT = 24 };
    const uint8_t * code = ggs_abi_find("ggml_nbytes");
    if (code != NULL && ggs_code_is_unoptimised(code, LOOKED_AT)) add(text, "optimised=no\n");
}

// CPUs that the program may use: it may have been started by taskset or numactl. OpenMP may bind
// the main thread to one of several, and the engine may do so later: read once.
static void add_usable_cores(struct text * text) {
    static int cores = -1; // 0: unknown
    cpu_set_t  usable;
    bool bound = getenv("OMP_PROC_BIND") != NULL || getenv("OMP_PLACES") != NULL || getenv("GOMP_CPU_AFFINITY") != NULL;
    if (cores < 0 && (bound || ggs_capture.attached)) cores = 0;
    if (cores < 0) cores = sched_getaffinity(getpid(), sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable) : 0;
    if (cores > 0) add(text, "usable_cores=%d\n", cores);
}

void ggs_describe_engine(void) {
    static struct text text; // one thread at a time
    text.used = 0;
    add(&text, "capture=%s\n", GGSCOPE_VERSION);
    add(&text, "ggml_version=%s\n", ggs_engine.version == NULL ? "unknown" : ggs_engine.version());
    add(&text, "ggml_commit=%s\n", ggs_engine.commit == NULL ? "unknown" : ggs_engine.commit());
    const char * (*llama_version)(void) = (const char * (*) (void) ) ggs_abi_find("llama_version");
    if (llama_version != NULL) add(&text, "llama_version=%s\n", llama_version());
    add_build(&text);
    add_usable_cores(&text);
    ggs_objects_visit(add_library, &text);
    add(&text, "%s", beginning());
    ggs_journal_text(GGS_JOURNAL_ENGINE, text.data);
    ggs_objects_visit(count_loaded, &n_loaded);
}

bool ggs_describe_is_current(void) {
    unsigned long long now = 0;
    ggs_objects_visit(count_loaded, &now);
    return now == n_loaded;
}
