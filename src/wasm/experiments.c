#include "wasm/experiments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "serve/exhibit.h"

struct place {
    struct ggs_exhibit *   exhibit; // NULL where it could not be opened
    struct ggs_error       error;   // why not
    struct ggs_shelf_state state;
};

struct ggs_shelf {
    struct place * places;
    uint64_t       n, capacity;
};

int ggs_shelf_new(struct ggs_shelf ** out, const char * const * directories, unsigned n, const struct ggs_live * live,
                  struct ggs_error * error) {
    (void) directories, (void) n, (void) live;
    *out = calloc(1, sizeof(**out));
    return *out == NULL ? ggs_fail_memory(error) : 0;
}

int ggs_experiments_add(struct ggs_shelf * shelf, const char * path, const char * directory, const char * name,
                        const char * state) {
    struct place place = {0};
    snprintf(place.state.directory, sizeof(place.state.directory), "%s", directory);
    snprintf(place.state.name, sizeof(place.state.name), "%s", name);
    if (ggs_exhibit_open(&place.exhibit, directory, path, &place.error) == 0) {
        place.state.generation    = shelf->n + 1;
        place.exhibit->index      = (unsigned) shelf->n;
        place.exhibit->generation = place.state.generation;
        memcpy(place.state.id, place.exhibit->id, sizeof(place.state.id));
    } else {
        memcpy(place.state.error, place.error.text, sizeof(place.error.text));
        state = "refused";
    }
    snprintf(place.state.state, sizeof(place.state.state), "%s", state);
    if (ggs_array_push(shelf->places, shelf->n, shelf->capacity, place)) return (int) shelf->n - 1;
    ggs_shelf_give_back(place.exhibit);
    return -1;
}

unsigned ggs_shelf_count(const struct ggs_shelf * shelf) {
    return (unsigned) shelf->n;
}

void ggs_shelf_state(struct ggs_shelf * shelf, unsigned index, struct ggs_shelf_state * state) {
    *state = shelf->places[index].state;
}

uint64_t ggs_shelf_generation(struct ggs_shelf * shelf, unsigned index) {
    return index < shelf->n ? shelf->places[index].state.generation : 0;
}

uint64_t ggs_shelf_changes(struct ggs_shelf * shelf) {
    return shelf->n;
}

int ggs_shelf_take(struct ggs_shelf * shelf, unsigned index, struct ggs_exhibit ** out, struct ggs_error * error) {
    *out = NULL;
    if (index >= shelf->n)
        return ggs_fail(error, GGS_ABSENT, "there is no experiment %u here; they are numbered from 0 to %u", index,
                        (unsigned) shelf->n - 1);
    struct place * place = &shelf->places[index];
    if (place->exhibit == NULL) {
        *error = place->error;
        return place->error.status;
    }
    *out = place->exhibit;
    atomic_fetch_add(&(*out)->holders, 1);
    return 0;
}
