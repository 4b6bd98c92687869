#include "trials/traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/text.h"

enum { OWN_REQUESTS = 16, OWN_AT_ONCE = 4, OWN_TOKENS = 24, MOST_AT_ONCE = 64, MOST_ANSWER = 64 << 20 };

void ggs_traffic_release(struct ggs_traffic * traffic) {
    for (unsigned i = 0; i < traffic->n; i++) free(traffic->request[i].body);
    free(traffic->request);
    *traffic = (struct ggs_traffic){0};
}

int ggs_traffic_own(struct ggs_traffic * traffic, struct ggs_error * error) {
    static const char * const subjects[] = {"the weather", "a train", "numbers", "the sea",
                                            "an old map",  "bread",   "a clock", "the moon"};
    *traffic                             = (struct ggs_traffic){.at_once = OWN_AT_ONCE};
    for (unsigned i = 0; i < OWN_REQUESTS; i++) {
        char            prompt[1024] = "";
        struct ggs_text body         = {0};
        struct ggs_json json;
        for (unsigned k = 0; k < 4 + i % 4 * 8; k++) { // a few words, or a page
            size_t used = strlen(prompt);
            snprintf(prompt + used, sizeof(prompt) - used, "Tell me about %s. ", subjects[(i / 2 + k) % 8]);
        }
        ggs_json_init(&json, ggs_json_to_text, &body, false);
        ggs_json_object(&json, NULL);
        ggs_json_string(&json, "prompt", prompt);
        ggs_json_u64(&json, "n_predict", OWN_TOKENS);
        ggs_json_u64(&json, "temperature", 0);
        ggs_json_u64(&json, "seed", 1);
        ggs_json_end(&json);
        ggs_json_finish(&json);
        struct ggs_traffic_request request = {.body = body.failed ? NULL : strdup(ggs_text_string(&body))};
        ggs_text_release(&body);
        if (request.body == NULL || !ggs_array_push(traffic->request, traffic->n, traffic->capacity, request)) {
            free(request.body);
            ggs_traffic_release(traffic);
            return ggs_fail_memory(error);
        }
    }
    return 0;
}

// ---- one request ----

static int dial(unsigned port) {
    struct sockaddr_in to   = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port)};
    struct timeval     wait = {.tv_sec = 1};
    int                fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr      = htonl(INADDR_LOOPBACK);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)); // to check for the server's end
    if (connect(fd, (const struct sockaddr *) &to, sizeof(to)) == 0) return fd;
    close(fd);
    return -1;
}

bool ggs_traffic_is_taken(unsigned port) {
    int fd = dial(port);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

unsigned ggs_traffic_free_port(void) {
    struct sockaddr_in at     = {.sin_family = AF_INET};
    socklen_t          length = sizeof(at);
    int                fd     = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr        = htonl(INADDR_LOOPBACK);
    bool good                 = fd >= 0 && bind(fd, (const struct sockaddr *) &at, sizeof(at)) == 0 &&
                getsockname(fd, (struct sockaddr *) &at, &length) == 0;
    if (fd >= 0) close(fd);
    return good ? ntohs(at.sin_port) : 0;
}

static bool send_all(int fd, const char * text, size_t length) {
    while (length > 0) {
        ssize_t n = send(fd, text, length, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        length -= (size_t) n;
    }
    return true;
}

static bool is_complete(const struct ggs_text * text) {
    const char * all  = ggs_text_string(text);
    const char * body = strstr(all, "\r\n\r\n");
    const char * says = strcasestr(all, "\r\nContent-Length:");
    if (body == NULL || says == NULL || says > body) return false;
    return strlen(body + 4) >= strtoull(says + 17, NULL, 10);
}

// Returns the status of the answer and its text; 0 if there is none.
static int ask(struct ggs_traffic_run * run, const char * method, const char * path, const char * body,
               struct ggs_text * answer) {
    uint64_t        until = ggs_clock_now() + GGS_TRAFFIC_PATIENCE_S * UINT64_C(1000000000);
    struct ggs_text head  = {0};
    char            part[16384];
    ssize_t         n  = -1;
    int             fd = dial(run->port), status = 0;
    if (fd < 0) return 0;
    ggs_text_printf(&head,
                    "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\nContent-Type: application/json\r\n"
                    "Content-Length: %zu\r\n\r\n",
                    method, path, run->port, strlen(body));
    bool sent =
        send_all(fd, ggs_text_string(&head), strlen(ggs_text_string(&head))) && send_all(fd, body, strlen(body));
    while (sent && answer->length < MOST_ANSWER && !is_complete(answer)) {
        n = recv(fd, part, sizeof(part), 0);
        if (n > 0) ggs_text_append(answer, part, (size_t) n);
        if (n == 0) break;
        if (n > 0 || errno == EINTR) continue;
        if ((errno != EAGAIN && errno != EWOULDBLOCK) || atomic_load(&run->ended) || ggs_clock_now() > until) break;
    }
    close(fd);
    ggs_text_release(&head);
    if (n >= 0 && sscanf(ggs_text_string(answer), "HTTP/1.%*d %d", &status) != 1) status = 0;
    return status;
}

static void fail(struct ggs_traffic_run * run, const char * format, unsigned request, int status) {
    pthread_mutex_lock(&run->lock);
    if (run->said[0] == '\0') snprintf(run->said, sizeof(run->said), format, request, status);
    pthread_mutex_unlock(&run->lock);
}

// ---- all requests ----

static void rest(uint64_t ns) {
    struct timespec time = {.tv_sec = (time_t) (ns / 1000000000), .tv_nsec = (long) (ns % 1000000000)};
    nanosleep(&time, NULL);
}

static void keep_answer(struct ggs_traffic_run * run, unsigned i, const char * answer) {
    const char *    body = strstr(answer, "\r\n\r\n");
    struct ggs_text text = {0};
    if (body != NULL) ggs_json_append_to(ggs_json_member(ggs_json_read(body + 4, strlen(body + 4)), "content"), &text);
    run->answers[i] = strdup(ggs_text_string(&text));
    ggs_text_release(&text);
}

static void * work(void * context) {
    struct ggs_traffic_run * run = context;
    unsigned                 i;
    while ((i = atomic_fetch_add(&run->next, 1)) < run->traffic->n && !atomic_load(&run->ended)) {
        const struct ggs_traffic_request * request = &run->traffic->request[i];
        struct ggs_text                    answer  = {0};
        uint64_t                           now     = ggs_clock_now();
        while (now < run->first_ns + request->at_ns && !atomic_load(&run->ended)) {
            uint64_t left = run->first_ns + request->at_ns - now;
            rest(left < 100000000 ? left : 100000000);
            now = ggs_clock_now();
        }
        int status   = ask(run, "POST", "/completion", request->body, &answer);
        run->took[i] = ggs_clock_now() - now;
        if (status == 200)
            keep_answer(run, i, ggs_text_string(&answer));
        else
            fail(run, status == 0 ? "request %u had no answer" : "request %u had the answer %d", i + 1, status);
        ggs_text_release(&answer);
        if (status != 200) break;
    }
    return NULL;
}

static bool wait_until_ready(struct ggs_traffic_run * run) {
    uint64_t until = ggs_clock_now() + GGS_TRAFFIC_PATIENCE_S * UINT64_C(1000000000);
    while (!atomic_load(&run->ended) && ggs_clock_now() < until) {
        struct ggs_text answer = {0};
        int             status = ask(run, "GET", "/health", "", &answer);
        ggs_text_release(&answer);
        if (status == 200) return true;
        rest(20000000);
    }
    fail(run, "the server was not ready: GET /health", 0, 0);
    return false;
}

static void ask_all(struct ggs_traffic_run * run) {
    pthread_t threads[MOST_AT_ONCE];
    unsigned  n = 0, most = run->traffic->at_once < MOST_AT_ONCE ? run->traffic->at_once : MOST_AT_ONCE;
    run->first_ns = ggs_clock_now();
    while (n < most && pthread_create(&threads[n], NULL, work, run) == 0) n++;
    if (n == 0) fail(run, "cannot start a thread", 0, 0);
    for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
    uint64_t sum = 0;
    for (unsigned i = 0; i < run->traffic->n; i++) sum += run->took[i];
    run->done       = run->said[0] == '\0' && n > 0;
    run->request_ns = (double) sum / (double) run->traffic->n;
}

static void * follow(void * context) {
    struct ggs_traffic_run * run = context;
    if (wait_until_ready(run)) ask_all(run);
    // Programs that ignore SIGINT end with the next signal; the caller waits for all of them.
    static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
    for (size_t i = 0; i < 3 && !atomic_load(&run->ended); i++) {
        syscall(SYS_pidfd_send_signal, run->process, signals[i], NULL, 0);
        for (unsigned k = 0; k < 1500 && !atomic_load(&run->ended); k++) rest(20000000);
    }
    return NULL;
}

bool ggs_traffic_is_server(const char * const * words, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (strcmp(ggs_file_name(words[i]), "llama-server") == 0) return true;
    return false;
}

bool ggs_traffic_start(struct ggs_traffic_run * run, const struct ggs_traffic * traffic, unsigned port, pid_t process) {
    *run         = (struct ggs_traffic_run){.traffic = traffic, .port = port};
    run->process = (int) syscall(SYS_pidfd_open, process, 0);
    run->answers = calloc(traffic->n + 1, sizeof(*run->answers));
    run->took    = calloc(traffic->n + 1, sizeof(*run->took));
    pthread_mutex_init(&run->lock, NULL);
    if (run->process < 0 || run->answers == NULL || run->took == NULL) {
        fail(run, "this kernel has no process descriptors, or there is no memory", 0, 0);
        return false;
    }
    run->running = pthread_create(&run->thread, NULL, follow, run) == 0;
    if (!run->running) fail(run, "cannot start a thread", 0, 0);
    return run->running;
}

void ggs_traffic_join(struct ggs_traffic_run * run) {
    atomic_store(&run->ended, true);
    if (run->running) pthread_join(run->thread, NULL);
    run->running = false;
    if (run->process >= 0) close(run->process);
    run->process = -1;
}

int ggs_traffic_write(const struct ggs_traffic_run * run, const char * path, struct ggs_error * error) {
    FILE * file = fopen(path, "we");
    if (file == NULL) return ggs_fail_errno(error, "cannot write %s", path);
    for (unsigned i = 0; i < run->traffic->n; i++)
        fprintf(file, "%s\n", run->answers[i] == NULL ? "" : run->answers[i]);
    return fclose(file) != 0 ? ggs_fail_errno(error, "cannot write %s", path) : 0;
}

void ggs_traffic_run_release(struct ggs_traffic_run * run) {
    for (unsigned i = 0; run->answers != NULL && i < run->traffic->n; i++) free(run->answers[i]);
    free(run->answers);
    free(run->took);
    run->answers = NULL;
    run->took    = NULL;
}
