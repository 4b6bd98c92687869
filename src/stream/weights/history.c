#include "stream/weights/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/cache.h"
#include "stream/core.h"

enum { MOST_BYTES = 1 << 20, MOST_COUNT = 1000000, IDENTITY = 64 };

static const double TRUST = 16; // weight of a stored score in choices: a few tokens outweigh it

// ---- the file ----

// The file's size and a hash of its first 64 KiB and its last block: the same for a model that was
// moved or copied.
static bool identify(const struct ggs_stream_file * file, char identity[IDENTITY]) {
    char     block[4096];
    uint64_t hash = 0xcbf29ce484222325u, first = file->size < 65536 ? file->size : 65536;
    for (uint64_t at = 0; at <= first; at += sizeof(block)) {
        uint64_t from = at < first ? at : file->size - (file->size < sizeof(block) ? file->size : sizeof(block));
        ssize_t  n    = file->plain < 0 ? -1 : pread(file->plain, block, sizeof(block), (off_t) from);
        if (n <= 0) return false;
        for (ssize_t i = 0; i < n; i++) hash = (hash ^ (unsigned char) block[i]) * 0x100000001b3u;
    }
    snprintf(identity, IDENTITY, "%llu-%016llx", (unsigned long long) file->size, (unsigned long long) hash);
    return true;
}

static const struct ggs_stream_file * file_of(const struct ggs_expert_group * g) {
    return g->n_weights == 0 ? NULL : g->weights[0]->file;
}

static struct ggs_expert_group * group_at(struct ggs_stream * s, const struct ggs_stream_file * file, uint64_t offset) {
    for (size_t i = 0; i < s->weights.n_groups; i++) {
        struct ggs_expert_group * g = s->weights.groups[i];
        if (file_of(g) == file && g->weights[0]->offset == offset) return g;
    }
    return NULL;
}

// ---- loading ----

static void set_scores(struct ggs_expert_group * g) {
    uint64_t most = 0;
    for (uint32_t e = 0; e < g->n_experts; e++) most = g->chosen[e] > most ? g->chosen[e] : most;
    for (uint32_t e = 0; e < g->n_experts && most > 0; e++)
        g->score[e] = TRUST * g->weight * (double) g->chosen[e] / (double) most;
}

// Parses "OFFSET,COUNT,COUNT,...]" into its group. Returns the rest, NULL if it is invalid.
static const char * take_group(struct ggs_stream * s, const struct ggs_stream_file * file, const char * text) {
    char *                    end;
    uint64_t                  offset = strtoull(text, &end, 10), counts[GGS_HISTORY_EXPERTS];
    struct ggs_expert_group * g      = group_at(s, file, offset);
    uint32_t                  n      = 0;
    if (end == text) return NULL;
    for (; *end == ',' && n < GGS_HISTORY_EXPERTS; n++) {
        text      = end + 1;
        counts[n] = strtoull(text, &end, 10);
        if (end == text || counts[n] > MOST_COUNT) return NULL;
    }
    if (*end != ']') return NULL;
    if (g == NULL || g->n_experts != n || g->remembers || g->clock > 0) return end + 1;
    for (uint32_t e = 0; e < n; e++) g->chosen[e] = counts[e] / 2; // older choices count less
    set_scores(g);
    return end + 1;
}

static void load_file(struct ggs_stream * s, const struct ggs_stream_file * file) {
    char   identity[IDENTITY], path[PATH_MAX], begin[128];
    char * text = malloc(MOST_BYTES + 1);
    if (text != NULL && identify(file, identity) && ggs_cache_path("history", identity, path) &&
        ggs_cache_read(path, text, MOST_BYTES + 1)) {
        size_t length = (size_t) snprintf(begin, sizeof(begin), "{\"model\":\"%s\",\"layers\":[", identity);
        if (strncmp(text, begin, length) == 0) {
            const char * at = text + length;
            while (at != NULL && (at = strchr(at, '[')) != NULL) at = take_group(s, file, at + 1);
        }
    }
    free(text);
}

void ggs_history_load(struct ggs_stream * s) {
    ggs_stream_assert_locked(s);
    for (size_t i = 0; s->settings.history && i < s->weights.n_groups; i++) {
        struct ggs_expert_group * g = s->weights.groups[i];
        if (g->remembers || file_of(g) == NULL) continue;
        load_file(s, file_of(g));
        for (size_t k = i; k < s->weights.n_groups; k++) {
            if (file_of(s->weights.groups[k]) == file_of(g)) s->weights.groups[k]->remembers = true;
        }
    }
}

// ---- saving ----

// Appends "[OFFSET,COUNT,...]". Returns the length, or `size` if there is no room.
static size_t put_group(const struct ggs_expert_group * g, char * text, size_t length, size_t size) {
    uint64_t most = 0;
    for (uint32_t e = 0; e < g->n_experts; e++) most = g->chosen[e] > most ? g->chosen[e] : most;
    uint64_t less = most / MOST_COUNT + 1;
    length += (size_t) snprintf(text + length, size - length, "\n[%llu", (unsigned long long) g->weights[0]->offset);
    for (uint32_t e = 0; e < g->n_experts && length < size; e++)
        length += (size_t) snprintf(text + length, size - length, ",%llu", (unsigned long long) (g->chosen[e] / less));
    if (length + 8 >= size) return size;
    text[length++] = ']';
    return length;
}

static void save_file(struct ggs_stream * s, const struct ggs_stream_file * file) {
    char   identity[IDENTITY], path[PATH_MAX];
    char * text = malloc(MOST_BYTES);
    if (text != NULL && identify(file, identity) && ggs_cache_path("history", identity, path)) {
        size_t length = (size_t) snprintf(text, MOST_BYTES, "{\"model\":\"%s\",\"layers\":[", identity);
        bool   first  = true;
        for (size_t i = 0; i < s->weights.n_groups && length < MOST_BYTES; i++) {
            const struct ggs_expert_group * g = s->weights.groups[i];
            if (file_of(g) != file || g->n_experts > GGS_HISTORY_EXPERTS) continue;
            if (!first) text[length++] = ',';
            first  = false;
            length = put_group(g, text, length, MOST_BYTES);
        }
        if (length < MOST_BYTES) {
            memcpy(text + length, "]}\n", 3);
            ggs_cache_write(path, text, length + 3);
        }
    }
    free(text);
}

void ggs_history_save(struct ggs_stream * s) {
    const struct ggs_stream_file * saved = NULL;
    for (size_t i = 0; s->settings.history && i < s->weights.n_groups; i++) {
        const struct ggs_expert_group * g = s->weights.groups[i];
        if (file_of(g) == NULL || file_of(g) == saved || g->clock == 0) continue;
        saved = file_of(g);
        save_file(s, saved);
    }
}
