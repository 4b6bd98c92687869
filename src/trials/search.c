#include "trials/search.h"

#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 60, PAIRS = 5 };
static const double SAME    = 0.02; // a smaller gain does not count
static const double NOTHING = 0.01; // a smaller effect of a part is none
static const double LARGE   = 0.10; // a bound that is worth a run before anything is measured
static const double USUAL   = 0.02; // noise, if nothing is known
static const double BESIDE  = 0.25; // the same for each CPU that other programs use, as a share of all

// One round: settings, the first of them the current one. Others differ from it in one value.
struct round {
    unsigned n, knob[GGS_SEARCH_KNOBS * GGS_SEARCH_VALUES], value[GGS_SEARCH_KNOBS * GGS_SEARCH_VALUES];
    struct ggs_search_setting setting[GGS_SEARCH_KNOBS * GGS_SEARCH_VALUES];
    double                    time[GGS_SEARCH_KNOBS * GGS_SEARCH_VALUES];
};
enum { NO_KNOB = GGS_SEARCH_KNOBS, MOST_SETTINGS = GGS_SEARCH_KNOBS * GGS_SEARCH_VALUES };

static bool same(const struct ggs_search_setting * a, const struct ggs_search_setting * b) {
    return memcmp(a, b, sizeof(*a)) == 0;
}

struct ggs_search_setting ggs_search_start(const struct ggs_search * search) {
    struct ggs_search_setting start = {0};
    for (unsigned k = 0; k < search->n_knobs; k++) start.value[k] = (uint8_t) search->knob[k].start;
    return start;
}

// ---- what was measured ----

// Times of a setting by round; returns their number.
static unsigned times_of(const struct ggs_search * search, const struct ggs_search_setting * setting, double * times) {
    unsigned n = 0;
    for (unsigned i = 0; i < search->n_runs && n < MOST_ROUNDS; i++)
        if (same(&search->run[i].setting, setting) && isfinite(search->run[i].time)) times[n++] = search->run[i].time;
    return n;
}

static double time_in(const struct ggs_search * search, const struct ggs_search_setting * setting, unsigned round) {
    for (unsigned i = 0; i < search->n_runs; i++)
        if (search->run[i].round == round && same(&search->run[i].setting, setting)) return search->run[i].time;
    return NAN;
}

static unsigned pairs_of(const struct ggs_search * search, const struct ggs_search_setting * a,
                         const struct ggs_search_setting * b, double * x, double * y) {
    unsigned n = 0;
    for (unsigned round = 0; round < search->n_rounds && n < MOST_ROUNDS; round++) {
        x[n] = time_in(search, a, round), y[n] = time_in(search, b, round);
        n += isfinite(x[n]) && isfinite(y[n]);
    }
    return n;
}

static bool is_first_of_its_setting(const struct ggs_search * search, unsigned run) {
    for (unsigned i = 0; i < run; i++)
        if (same(&search->run[i].setting, &search->run[run].setting)) return false;
    return true;
}

// Half of the differences between two runs of one setting are below 0.954 standard deviations, if
// most runs are undisturbed.
double ggs_search_noise(const struct ggs_search * search) {
    struct ggs_search_setting start           = ggs_search_start(search);
    double   differences[GGS_SEARCH_RUNS + 2] = {0.954 * (USUAL + BESIDE * search->others)}, times[MOST_ROUNDS + 1];
    unsigned seen                             = 1;
    for (unsigned i = 0; i < search->n_runs; i++) {
        if (!is_first_of_its_setting(search, i)) continue;
        unsigned n = times_of(search, &search->run[i].setting, times);
        // The first run may find a cold page cache: if it is much slower, it tells no noise.
        bool counts = n > 0 && same(&search->run[i].setting, &start) && search->first < (1 + LARGE) * times[0];
        if (counts) times[n++] = search->first;
        for (unsigned k = 1; k < n; k++) differences[seen++] = fabs(log(times[k] / times[k - 1]));
    }
    return ggs_sample_median(differences, seen) / 0.954;
}

// ---- effects ----

static double middle(const struct ggs_search_effect * effect) {
    return ggs_sample_median(effect->log, effect->n);
}

static double error_of(const struct ggs_search * search, unsigned n) {
    return ggs_search_noise(search) * sqrt(2.0 / n);
}

enum verdict { OPEN, BETTER, WORSE };

// `simpler`: the value is the program's own, and wins if the current one brings nothing.
static enum verdict judge(const struct ggs_search * search, const struct ggs_search_effect * effect, bool simpler) {
    unsigned n = effect->n;
    if (effect->failed) return WORSE;
    if (n == 0) return OPEN;
    double d = middle(effect), error = error_of(search, n);
    double worth = simpler ? NOTHING : -NOTHING; // below that it is the better one
    bool   last  = n >= GGS_SEARCH_TRIES || n >= search->rounds;
    // One of two runs may have been disturbed, so a single comparison decides only what is obvious.
    if (n == 1 && !last) return d > fmax(2.5 * error, LARGE) ? WORSE : d < -2 * LARGE ? BETTER : OPEN;
    if (d > fmax(2 * error, worth)) return WORSE;
    if (d < fmin(-2 * error, worth)) return BETTER;
    if (simpler && d + error < worth) return BETTER;
    if (!simpler && d > 0) return WORSE;
    return !last ? OPEN : d < worth ? BETTER : WORSE;
}

// What brought little may bring more since other knobs have moved: it is tried again, once. Returns
// false if there is nothing.
static bool look_again(struct ggs_search * search) {
    bool any = false;
    for (unsigned k = 0; search->moved > LARGE && k < search->n_knobs; k++)
        for (unsigned v = 0; v < search->knob[k].n; v++) {
            struct ggs_search_effect * effect = &search->effect[k][v];
            if (effect->failed || effect->n == 0 || search->best.value[k] != search->knob[k].start) continue;
            if (fabs(middle(effect)) > LARGE || v == search->best.value[k]) continue;
            *effect            = (struct ggs_search_effect){0};
            search->settled[k] = false;
            any                = true;
        }
    search->moved = -INFINITY;
    return any;
}

// The knob's current value becomes `value`: effects are those relative to it from here on.
static void move(struct ggs_search * search, unsigned k, unsigned value) {
    struct ggs_search_effect *list = search->effect[k], *to = &list[value], *from = &list[search->best.value[k]];
    double                    d = to->n > 0 ? middle(to) : 0;
    search->moved += fabs(d);
    *from = (struct ggs_search_effect){.n = to->n, .rejected = true, .failed = from->failed};
    for (unsigned i = 0; i < to->n; i++) from->log[i] = -to->log[i];
    for (unsigned v = 0; v < search->knob[k].n; v++)
        for (unsigned i = 0; &list[v] != to && &list[v] != from && i < list[v].n; i++) list[v].log[i] -= d;
    *to                   = (struct ggs_search_effect){0};
    search->best.value[k] = (uint8_t) value;
    search->settled[k] |= value == search->knob[k].start;
}

// ---- what to try ----

// The most that a knob can gain, as a share of the time of the best setting: what is small in a
// slow program is large in a fast one.
static double bound_of(const struct ggs_search * search, unsigned k) {
    double gain = ggs_search_gain(search).value;
    return gain > 0 && gain < 1 ? search->knob[k].bound / gain : search->knob[k].bound;
}

// True if neighbours of the current value are worth runs.
static bool matters(const struct ggs_search * search, unsigned k) {
    const struct ggs_search_knob *   knob = &search->knob[k];
    const struct ggs_search_effect * own  = &search->effect[k][knob->start];
    double                           tell = search->n_rounds == 0 ? LARGE : fmax(SAME, 2 * ggs_search_noise(search));
    if (search->settled[k]) return false;
    if (search->best.value[k] != knob->start && (own->n > 0 || own->failed)) return own->failed || middle(own) > SAME;
    return bound_of(search, k) >= tell;
}

static bool is_wanted(const struct ggs_search * search, unsigned k, unsigned v) {
    const struct ggs_search_knob *   knob    = &search->knob[k];
    const struct ggs_search_effect * effect  = &search->effect[k][v];
    unsigned                         current = search->best.value[k];
    if (v == current || effect->rejected || effect->failed || effect->n >= GGS_SEARCH_TRIES) return false;
    if (v == knob->start || v == knob->remedy || knob->each) return true;
    if (!matters(search, k)) return false;
    return !knob->ordered || v + 1 == current || v == current + 1;
}

static void put(struct round * round, const struct ggs_search_setting * setting, unsigned knob, unsigned value) {
    for (unsigned i = 0; i < round->n; i++)
        if (same(&round->setting[i], setting) && round->knob[i] == NO_KNOB) {
            if (i > 0) round->knob[i] = knob, round->value[i] = value; // the program's own setting
            return;
        }
    if (round->n == MOST_SETTINGS) return;
    round->setting[round->n] = *setting, round->knob[round->n] = knob, round->value[round->n++] = value;
}

// Adds the settings that differ from the current one in one value. Returns their number.
static unsigned put_neighbours(const struct ggs_search * search, struct round * round) {
    unsigned n = 0;
    for (unsigned k = 0; k < search->n_knobs; k++)
        for (unsigned v = 0; v < search->knob[k].n; v++) {
            struct ggs_search_setting setting = search->best;
            if (!is_wanted(search, k, v)) continue;
            setting.value[k] = (uint8_t) v;
            put(round, &setting, k, v);
            n++;
        }
    return n;
}

static int measure(struct ggs_search * search, struct round * round, struct ggs_error * error) {
    for (unsigned i = 0; i < round->n; i++) round->time[i] = NAN;
    if (search->n_runs + round->n > GGS_SEARCH_RUNS) return 1;
    int status = search->measure(search->context, round->setting, round->n, round->time, error);
    for (unsigned i = 0; status >= 0 && i < round->n; i++) {
        if (isnan(round->time[i])) continue;
        search->run[search->n_runs++] =
            (struct ggs_search_run){.setting = round->setting[i], .round = search->n_rounds, .time = round->time[i]};
        if (round->knob[i] == NO_KNOB) continue;
        struct ggs_search_effect * effect = &search->effect[round->knob[i]][round->value[i]];
        effect->failed |= isinf(round->time[i]);
        if (isfinite(round->time[i]) && isfinite(round->time[0]) && effect->n < GGS_SEARCH_TRIES)
            effect->log[effect->n++] = log(round->time[i] / round->time[0]);
    }
    search->n_rounds++;
    search->stopped |= status == 1;
    return status;
}

// ---- the search ----

// Judges all values that were tried, and moves to the better ones. Returns how many knobs moved.
static unsigned decide(struct ggs_search * search, unsigned * clearest) {
    unsigned moves = 0;
    double   most  = INFINITY;
    for (unsigned k = 0; k < search->n_knobs; k++) {
        unsigned best = search->knob[k].n;
        for (unsigned v = 0; v < search->knob[k].n; v++) {
            struct ggs_search_effect * effect = &search->effect[k][v];
            if (v == search->best.value[k] || effect->rejected || (effect->n == 0 && !effect->failed)) continue;
            enum verdict verdict = judge(search, effect, v == search->knob[k].start);
            effect->rejected     = verdict == WORSE;
            if (verdict != BETTER) continue;
            if (best == search->knob[k].n || middle(effect) < middle(&search->effect[k][best])) best = v;
        }
        if (best == search->knob[k].n) continue;
        if (middle(&search->effect[k][best]) < most) most = middle(&search->effect[k][best]), *clearest = k;
        move(search, k, best);
        moves++;
    }
    return moves;
}

// All remedies together end the program: the fastest setting that does not is the current one.
static void recover(struct ggs_search * search, const struct round * round) {
    unsigned best  = round->n;
    search->failed = true;
    for (unsigned i = 1; i < round->n; i++)
        if (isfinite(round->time[i]) && (best == round->n || round->time[i] < round->time[best])) best = i;
    struct ggs_search_setting all = search->best;
    search->best                  = best < round->n ? round->setting[best] : ggs_search_start(search);
    memset(search->effect, 0, sizeof(search->effect));
    unsigned differ = 0, which = 0;
    for (unsigned k = 0; k < search->n_knobs; k++)
        if (search->best.value[k] != all.value[k]) differ++, which = k;
    if (differ == 1) search->effect[which][all.value[which]].failed = true;
}

// The state before knobs moved.
struct before {
    struct ggs_search_setting best;
    struct ggs_search_effect  effect[GGS_SEARCH_KNOBS][GGS_SEARCH_VALUES];
    bool                      settled[GGS_SEARCH_KNOBS];
};

static void remember(struct before * before, const struct ggs_search * search) {
    before->best = search->best;
    memcpy(before->effect, search->effect, sizeof(before->effect));
    memcpy(before->settled, search->settled, sizeof(before->settled));
}

// Several knobs moved at once, and what helps alone may not help together. If the new setting is
// slower, only the clearest move stays.
static void take_back(struct ggs_search * search, const struct before * before, unsigned clearest,
                      const struct round * round, unsigned at) {
    double d = log(round->time[0] / round->time[at]);
    if (!(d > fmax(SAME, error_of(search, 1)))) return;
    struct ggs_search_setting moved = search->best;
    memcpy(search->effect, before->effect, sizeof(search->effect));
    memcpy(search->settled, before->settled, sizeof(search->settled));
    search->best = before->best;
    for (unsigned k = 0; k < search->n_knobs; k++) {
        if (moved.value[k] == search->best.value[k]) continue;
        if (k == clearest)
            move(search, k, moved.value[k]);
        else
            search->effect[k][moved.value[k]].rejected = true;
    }
}

static int climb(struct ggs_search * search, struct ggs_error * error) {
    struct before             before;
    struct ggs_search_setting start = ggs_search_start(search);
    struct round              round = {.n = 0};
    unsigned                  moves = 0, clearest = 0;
    put(&round, &search->best, NO_KNOB, 0);
    put(&round, &start, NO_KNOB, 0);
    unsigned neighbours = put_neighbours(search, &round);
    int      status     = neighbours == 0 && round.n == 1 ? 0 : measure(search, &round, error);
    while (status == 0 && round.n > 1 && search->n_rounds < MOST_ROUNDS) {
        if (isinf(round.time[0])) {
            if (search->n_rounds > 1) search->best = start;
            if (search->n_rounds > 1) return 0;
            recover(search, &round);
        }
        if (moves > 1) take_back(search, &before, clearest, &round, round.n - 1);
        remember(&before, search);
        moves   = isinf(round.time[0]) ? 0 : decide(search, &clearest);
        round.n = 0;
        put(&round, &search->best, NO_KNOB, 0);
        neighbours = put_neighbours(search, &round);
        if (moves > 1) put(&round, &before.best, NO_KNOB, 0);
        if (neighbours == 0 && moves < 2 && (!look_again(search) || (neighbours = put_neighbours(search, &round)) == 0))
            break;
        status = measure(search, &round, error);
    }
    return status;
}

static bool is_clear(const struct ggs_search * search) {
    struct ggs_search_setting start = ggs_search_start(search);
    double                    x[MOST_ROUNDS + 1], y[MOST_ROUNDS], fastest = INFINITY, slowest = 0;
    unsigned                  own = times_of(search, &start, x), n = times_of(search, &search->best, y);
    if (isfinite(search->first)) x[own++] = search->first;
    for (unsigned i = 0; i < own; i++) fastest = fmin(fastest, x[i]);
    for (unsigned i = 0; i < n; i++) slowest = fmax(slowest, y[i]);
    if (own >= 3 && n >= 3 && log(fastest / slowest) > fmax(LARGE, 3 * ggs_search_noise(search))) return true;
    n                      = pairs_of(search, &start, &search->best, x, y);
    struct ggs_ratio wide  = ggs_sample_ratio_within(x, y, n, 0.99);
    struct ggs_ratio noise = ggs_search_control(search);
    if (n < PAIRS || isnan(wide.value)) return false;
    if (wide.value > 1 - SAME && wide.high > 1) return true; // nothing that would count
    return ggs_ratio_differs(&wide, &noise) || (wide.low >= 1 - SAME && wide.high <= 1 + SAME);
}

// Compares the setting found with the program's own.
static int confirm(struct ggs_search * search, struct ggs_error * error) {
    struct ggs_search_setting start = ggs_search_start(search);
    double                    x[MOST_ROUNDS + 1], y[MOST_ROUNDS + 1];
    int                       status = 0;
    while (status == 0 && !same(&start, &search->best) && !is_clear(search)) {
        struct round round = {.n = 0};
        if (pairs_of(search, &start, &search->best, x, y) >= search->rounds) break;
        put(&round, &search->best, NO_KNOB, 0);
        put(&round, &start, NO_KNOB, 0);
        status = measure(search, &round, error);
        if (isinf(round.time[0]) || isinf(round.time[1])) search->best = start;
    }
    return status;
}

int ggs_search_run(struct ggs_search * search, struct ggs_error * error) {
    search->best = ggs_search_start(search);
    for (unsigned k = 0; k < search->n_knobs; k++) search->best.value[k] = (uint8_t) search->knob[k].remedy;
    int status = climb(search, error);
    if (status == 0) status = confirm(search, error);
    return status < 0 ? status : 0;
}

// ---- results ----

static struct ggs_ratio range_of(const double * x, unsigned n, const double * y, unsigned m) {
    struct ggs_ratio ratio = {ggs_sample_median(y, m) / ggs_sample_median(x, n), INFINITY, 0};
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < m; k++) {
            ratio.low  = fmin(ratio.low, y[k] / x[i]);
            ratio.high = fmax(ratio.high, y[k] / x[i]);
        }
    return n == 0 || m == 0 ? (struct ggs_ratio){NAN, NAN, NAN} : ratio;
}

struct ggs_ratio ggs_search_gain(const struct ggs_search * search) {
    struct ggs_search_setting start = ggs_search_start(search);
    double                    x[MOST_ROUNDS + 1], y[MOST_ROUNDS + 1];
    unsigned                  n = pairs_of(search, &start, &search->best, x, y);
    if (n >= 3) return ggs_sample_ratio(x, y, n);
    n          = times_of(search, &start, x);
    unsigned m = times_of(search, &search->best, y);
    return range_of(x, n, y, m);
}

bool ggs_search_is_better(const struct ggs_search * search) {
    struct ggs_ratio gain = ggs_search_gain(search), control = ggs_search_control(search);
    return gain.high < 1 - SAME && (isnan(control.low) || gain.value < control.low);
}

struct ggs_ratio ggs_search_control(const struct ggs_search * search) {
    struct ggs_search_setting start = ggs_search_start(search);
    double                    times[MOST_ROUNDS + 1], x[MOST_ROUNDS], y[MOST_ROUNDS];
    unsigned                  n = times_of(search, &start, times), pairs = 0;
    if (n < 2 && n > 0 && isfinite(search->first)) times[n++] = search->first;
    for (unsigned i = 0; i + 1 < n; i += 2) x[pairs] = times[i], y[pairs++] = times[i + 1];
    struct ggs_ratio ratio = ggs_sample_ratio(x, y, pairs);
    double           noise = 2 * ggs_search_noise(search);
    ratio.low              = fmin(ratio.low, exp(-noise));
    ratio.high             = fmax(ratio.high, exp(noise));
    return ratio;
}

struct ggs_ratio ggs_search_ratio(const struct ggs_search * search, unsigned knob, unsigned value) {
    const struct ggs_search_effect * effect = &search->effect[knob][value];
    if (effect->n == 0) return (struct ggs_ratio){NAN, NAN, NAN};
    double d = middle(effect), error = 2 * error_of(search, effect->n);
    return (struct ggs_ratio){exp(d), exp(d - error), exp(d + error)};
}
