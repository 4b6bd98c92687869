#include "wasm/in-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "serve/snapshot.h"

struct place {
    struct ggs_snapshot *        snapshot; // NULL if it could not be opened
    struct ggs_error             error;    // reason
    struct ggs_experiments_state state;
};

struct ggs_experiments {
    struct place * places;
    uint64_t       n, capacity;
};

int ggs_experiments_new(struct ggs_experiments ** out, const char * const * directories, unsigned n,
                        const struct ggs_live * live, struct ggs_error * error) {
    (void) directories, (void) n, (void) live;
    *out = calloc(1, sizeof(**out));
    return *out == NULL ? ggs_fail_memory(error) : 0;
}

int ggs_experiments_add(struct ggs_experiments * experiments, const char * path, const char * directory,
                        const char * name, const char * state) {
    struct place place = {0};
    snprintf(place.state.directory, sizeof(place.state.directory), "%s", directory);
    snprintf(place.state.name, sizeof(place.state.name), "%s", name);
    if (ggs_snapshot_open(&place.snapshot, directory, path, false, &place.error) == 0) {
        place.state.generation     = experiments->n + 1;
        place.snapshot->index      = (unsigned) experiments->n;
        place.snapshot->generation = place.state.generation;
        memcpy(place.state.id, place.snapshot->id, sizeof(place.state.id));
    } else {
        memcpy(place.state.error, place.error.text, sizeof(place.error.text));
        state = "refused";
    }
    snprintf(place.state.state, sizeof(place.state.state), "%s", state);
    if (ggs_array_push(experiments->places, experiments->n, experiments->capacity, place))
        return (int) experiments->n - 1;
    ggs_snapshot_release(place.snapshot);
    return -1;
}

unsigned ggs_experiments_count(const struct ggs_experiments * experiments) {
    return (unsigned) experiments->n;
}

void ggs_experiments_state(struct ggs_experiments * experiments, unsigned index, struct ggs_experiments_state * state) {
    *state = experiments->places[index].state;
}

uint64_t ggs_experiments_generation(struct ggs_experiments * experiments, unsigned index) {
    return index < experiments->n ? experiments->places[index].state.generation : 0;
}

uint64_t ggs_experiments_changes(struct ggs_experiments * experiments) {
    return experiments->n;
}

int ggs_experiments_acquire(struct ggs_experiments * experiments, unsigned index, struct ggs_snapshot ** out,
                            struct ggs_error * error) {
    *out = NULL;
    if (index >= experiments->n)
        return ggs_fail(error, GGS_ABSENT, "there is no experiment %u: they are numbered from 0, and there are %u", index, (unsigned) experiments->n);
    struct place * place = &experiments->places[index];
    if (place->snapshot == NULL) {
        *error = place->error;
        return place->error.status;
    }
    *out = place->snapshot;
    atomic_fetch_add(&(*out)->holders, 1);
    return 0;
}
