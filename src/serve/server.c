#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "answer/server-answers.h"
#include "base/system/clock.h"
#include "serve/assets.h"
#include "serve/auth.h"
#include "serve/clients.h"
#include "serve/site.h"
#include "serve/sse.h"

enum {
    CONNECTIONS_MOST  = 400,
    CONNECTION_MEMORY = 24 << 10, // also limits the headers
    STALL_SECONDS     = 60,       // a client that receives nothing for this long is disconnected
    TICK_MS           = 50,
    TEND_MS           = 250,
    COMMENT_TICKS     = 15000 / TICK_MS,
};

// ---- state ----

struct request {
    char                    target[GGS_TARGET_LENGTH];
    unsigned                only; // the only experiment that this client may see, or GGS_EXPERIMENTS_ALL
    bool                    too_long, begun, waiting;
    struct ggs_waiter       waiter;
    struct MHD_Connection * connection;
};

struct ggs_server {
    struct ggs_experiments * experiments;
    struct ggs_auth          auth;
    struct ggs_jobs *        jobs;
    struct ggs_sse *         events;
    struct MHD_Daemon *      daemon;
    int                      socket;
    char                     address[128];
    struct ggs_clients       clients;
    pthread_t                ticker, keeper;
    bool                     has_ticker, has_keeper;
    pthread_mutex_t          sleep_lock;
    pthread_cond_t           sleep;
    bool                     stopping;
};

// ---- replies ----

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Sends the response with the common headers and releases it.
static enum MHD_Result send_response(struct MHD_Connection * connection, unsigned status,
                                     struct MHD_Response * response) {
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, "Content-Security-Policy", policy);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    if (MHD_get_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL) == NULL)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_text(struct MHD_Connection * connection, unsigned status, const char * type,
                                 const char * text) {
    struct MHD_Response * response =
        MHD_create_response_from_buffer(strlen(text), (void *) (uintptr_t) text, MHD_RESPMEM_MUST_COPY);
    if (response != NULL) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (response != NULL && status == 405) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return send_response(connection, status, response);
}

static enum MHD_Result send_error(struct MHD_Connection * connection, unsigned status, const char * sentence) {
    char text[512];
    snprintf(text, sizeof(text), "{\"error\":\"%s\"}", sentence); // a constant without quotes
    return send_text(connection, status, ggs_type_json, text);
}

static bool takes_gzip(struct MHD_Connection * connection) {
    const char * accepted = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    return accepted != NULL && strstr(accepted, "gzip") != NULL;
}

static void let_answer_go(void * reply) {
    ggs_reply_drop(reply);
}

// Takes ownership of the reply.
static enum MHD_Result send_answer(struct MHD_Connection * connection, struct ggs_reply * reply) {
    struct MHD_Response * response;
    unsigned              status = reply->status;
    const char *          type   = reply->type;
    bool                  gzip   = reply->gzip && takes_gzip(connection);
    if (reply->gzip && !gzip) {
        struct ggs_text plain = {0};
        bool            whole = ggs_inflate(reply->body.data, reply->body.length, &plain);
        ggs_reply_drop(reply);
        if (!whole) {
            ggs_text_release(&plain);
            return MHD_NO;
        }
        response = MHD_create_response_from_buffer(plain.length, plain.data, MHD_RESPMEM_MUST_FREE);
    } else {
        response = MHD_create_response_from_buffer_with_free_callback_cls(reply->body.length, reply->body.data,
                                                                          let_answer_go, reply);
        if (response == NULL) ggs_reply_drop(reply);
    }
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
    if (gzip) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    return send_response(connection, status, response);
}

static enum MHD_Result send_asset(struct MHD_Connection * connection, const struct ggs_asset * asset) {
    const char * known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH);
    bool         same  = known != NULL && strstr(known, asset->etag) != NULL;
    struct MHD_Response * response;
    if (same) {
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else if (takes_gzip(connection)) {
        response =
            MHD_create_response_from_buffer(asset->size, (void *) (uintptr_t) asset->data, MHD_RESPMEM_PERSISTENT);
        if (response != NULL) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    } else {
        struct ggs_text plain = {0};
        if (!ggs_inflate(asset->data, asset->size, &plain)) {
            ggs_text_release(&plain);
            return MHD_NO;
        }
        response = MHD_create_response_from_buffer(plain.length, plain.data, MHD_RESPMEM_MUST_FREE);
    }
    if (response == NULL) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, asset->type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, asset->etag);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "private, no-cache");
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Accept-Encoding");
    return send_response(connection, same ? 304 : 200, response);
}

// ---- jobs ----

static void do_work(void * context, const char * key, struct ggs_job_progress * progress, struct ggs_reply * reply) {
    struct ggs_server * server = context;
    ggs_site_answer(server->experiments, key, progress, reply);
}

static void wake_request(void * context, struct ggs_waiter * waiter) {
    const struct request * request = waiter->owner;
    (void) context;
    MHD_resume_connection(request->connection);
}

static enum MHD_Result begin_work(struct ggs_server * server, struct MHD_Connection * connection,
                                  struct request * request) {
    char                  key[GGS_KEY_LENGTH];
    enum ggs_kind_of_work work = ggs_site_work(server->experiments, request->only, request->target, key);
    if (work == GGS_WORK_NONE) return send_error(connection, 404, "there is nothing at this address");
    struct ggs_reply * reply = ggs_jobs_find(server->jobs, key);
    if (reply != NULL) return send_answer(connection, reply);
    request->waiting      = true;
    request->connection   = connection;
    request->waiter.owner = request;
    MHD_suspend_connection(connection); // first, because the worker may finish before this function does
    ggs_jobs_wait(server->jobs, key, work == GGS_WORK_SLOW, &request->waiter);
    return MHD_YES;
}

static enum MHD_Result end_work(struct ggs_server * server, struct MHD_Connection * connection,
                                struct request * request) {
    double             progress;
    char               text[64];
    struct ggs_reply * reply = ggs_jobs_collect(server->jobs, &request->waiter, &progress);
    request->waiting         = false;
    if (reply != NULL) return send_answer(connection, reply);
    if (progress < 0) return send_error(connection, 503, "the server is busy: try again later");
    snprintf(text, sizeof(text), "{\"progress\":%.3f}", progress);
    return send_text(connection, 202, ggs_type_json, text);
}

// ---- events ----

// `number`: the experiment's number for this client.
static void describe(struct ggs_server * server, unsigned index, unsigned number, struct ggs_text * data, bool * gone) {
    struct ggs_experiments_state state;
    struct ggs_snapshot *        snapshot = NULL;
    const struct ggs_overview *  overview;
    struct ggs_json              json;
    struct ggs_error             error = {0};
    ggs_experiments_state(server->experiments, index, &state);
    *gone = ggs_experiments_acquire(server->experiments, index, &snapshot, &error) < 0;
    ggs_json_init(&json, ggs_json_to_text, data, false);
    ggs_json_object(&json, NULL);
    ggs_json_u64(&json, "index", number);
    if (*gone) {
        ggs_json_string(&json, "error", error.text);
    } else {
        ggs_json_string(&json, "state", state.state);
        ggs_json_bool(&json, "live", state.live);
        if (ggs_snapshot_overview(snapshot, &overview, &error) == 0) {
            ggs_json_u64(&json, "tokens", overview->steps);
            ggs_json_u64(&json, "ops", overview->ops);
            ggs_json_i64(&json, "end_ns", overview->end_ns);
        }
    }
    ggs_json_end(&json);
    ggs_json_finish(&json);
    ggs_snapshot_release(snapshot);
}

static enum MHD_Result send_events(struct ggs_server * server, struct MHD_Connection * connection,
                                   const struct request * request) {
    struct MHD_Response * response = ggs_sse_listen(server->events, connection, request->only, "retry: 2000\n\n");
    if (response == NULL) return send_error(connection, 503, "too many pages are open: close some");
    ggs_clients_stream(&server->clients, connection);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
    return send_response(connection, 200, response);
}

// ---- access ----

static enum MHD_Result send_stranger(struct MHD_Connection * connection) {
    return send_text(
        connection, 403, ggs_type_html,
        "<!doctype html><meta charset=\"utf-8\"><title>ggscope</title><h1>ggscope</h1>"
        "<p>Recordings are private: use the whole address that <code>ggscope serve</code> printed, with its token.</p>\n");
}

// Redirects to the path with a slash, because relative URLs of the page start behind the last
// slash.
static enum MHD_Result send_slash(struct MHD_Connection * connection, const char * part, size_t length) {
    char                  location[GGS_LINK_LENGTH + 8];
    struct MHD_Response * response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    snprintf(location, sizeof(location), "/%.*s/", (int) length, part);
    MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, location);
    return send_response(connection, 303, response);
}

// Sends the link that opens only this experiment.
static enum MHD_Result send_link(struct ggs_server * server, struct MHD_Connection * connection, unsigned index) {
    struct ggs_experiments_state state;
    struct ggs_text              text = {0};
    struct ggs_json              json;
    char                         part[GGS_LINK_LENGTH + 1], path[GGS_LINK_LENGTH + 3];
    ggs_experiments_state(server->experiments, index, &state);
    if (!ggs_auth_link(&server->auth, state.id, part))
        return send_error(connection, 409, "the experiment cannot be shown, and so there is no link to it");
    snprintf(path, sizeof(path), "/%s/", part);
    struct ggs_link link = {path, server->auth.loopback};
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_object_write(&json, NULL, &ggs_link_object, &link, NULL);
    ggs_json_finish(&json);
    enum MHD_Result result = text.failed ? MHD_NO : send_text(connection, 200, ggs_type_json, ggs_text_string(&text));
    ggs_text_release(&text);
    return result;
}

// Returns N for "/api/x/N/link" of an existing experiment; GGS_EXPERIMENTS_ALL for other paths.
static unsigned find_link(const struct ggs_server * server, const struct request * request) {
    unsigned index;
    int      end = 0;
    if (sscanf(request->target, "/api/x/%5u/link%n", &index, &end) != 1 || end == 0 || request->target[end] != '\0')
        return GGS_EXPERIMENTS_ALL;
    if (request->only != GGS_EXPERIMENTS_ALL) return index == 0 ? request->only : GGS_EXPERIMENTS_ALL;
    return index < ggs_experiments_count(server->experiments) ? index : GGS_EXPERIMENTS_ALL;
}

// Handles the path below the part that granted access.
static enum MHD_Result route(struct ggs_server * server, struct MHD_Connection * connection, struct request * request) {
    const char * target = request->target;
    size_t       path   = strcspn(target, "?");
    unsigned     linked = find_link(server, request);
    if (path == strlen("/api/events") && memcmp(target, "/api/events", path) == 0)
        return send_events(server, connection, request);
    if (linked != GGS_EXPERIMENTS_ALL) return send_link(server, connection, linked);
    const struct ggs_asset * asset = ggs_asset_find(target, path);
    return asset != NULL ? send_asset(connection, asset) : begin_work(server, connection, request);
}

static enum MHD_Result let_in(struct ggs_server * server, struct MHD_Connection * connection,
                              struct request * request) {
    const char * part   = request->target + 1;
    size_t       length = strcspn(request->target, "/?") == 0 ? strcspn(part, "/?") : 0;
    char         id[GGS_UUID_LENGTH];
    if (request->too_long) return send_error(connection, 414, "the address is too long");
    if (!ggs_auth_host_ok(&server->auth,
                          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
        return send_error(connection, 403,
                          "the Host header names another machine: use the address that ggscope serve printed");
    enum ggs_visitor visitor = length == 0 ? GGS_VISITOR_STRANGER : ggs_auth_visitor(&server->auth, part, length, id);
    if (visitor == GGS_VISITOR_STRANGER)
        return strstr(request->target, "/api/") != NULL
                   ? send_error(connection, 403, "the token is missing: use the address that ggscope serve printed")
                   : send_stranger(connection);
    ggs_clients_trust(&server->clients, connection);
    request->only = visitor == GGS_VISITOR_OF_ALL ? GGS_EXPERIMENTS_ALL : ggs_experiments_find(server->experiments, id);
    if (visitor == GGS_VISITOR_OF_ONE && request->only == GGS_EXPERIMENTS_ALL)
        return send_error(connection, 410, "the experiment of this link was moved or removed");
    if (part[length] != '/') return send_slash(connection, part, length);
    memmove(request->target, part + length, strlen(part + length) + 1);
    return route(server, connection, request);
}

// ---- callbacks of the daemon ----

static void * begin_request(void * context, const char * uri, struct MHD_Connection * connection) {
    (void) context, (void) connection;
    struct request * request = calloc(1, sizeof(*request));
    if (request == NULL) return NULL;
    request->too_long = strlen(uri) >= sizeof(request->target);
    if (!request->too_long) memcpy(request->target, uri, strlen(uri) + 1);
    return request;
}

static enum MHD_Result handle(void * context, struct MHD_Connection * connection, const char * url, const char * method,
                              const char * version, const char * upload, size_t * upload_size,
                              void ** request_context) {
    struct ggs_server * server  = context;
    struct request *    request = *request_context;
    (void) url, (void) version, (void) upload;
    if (request == NULL) return MHD_NO;
    if (request->waiting) return end_work(server, connection, request);
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return send_error(connection, 405, "nothing can be changed here: only GET and HEAD are understood");
    if (!request->begun) { // the headers are complete; a body may follow
        request->begun = true;
        return MHD_YES;
    }
    if (*upload_size > 0) { // the body of a GET is ignored
        *upload_size = 0;
        return MHD_YES;
    }
    ggs_clients_begin(&server->clients, connection);
    return let_in(server, connection, request);
}

static void end_request(void * context, struct MHD_Connection * connection, void ** request_context,
                        enum MHD_RequestTerminationCode why) {
    struct ggs_server * server  = context;
    struct request *    request = *request_context;
    double              progress;
    (void) why;
    if (request != NULL && request->waiting)
        ggs_reply_drop(ggs_jobs_collect(server->jobs, &request->waiter, &progress));
    free(request);
    *request_context = NULL;
    ggs_clients_end(&server->clients, connection);
}

// The daemon's messages are about misbehaving clients and of no use.
static void ignore(void * context, const char * format, va_list arguments) {
    (void) context, (void) format, (void) arguments;
}

// ---- timers ----

// False at shutdown.
static bool sleep_ms(struct ggs_server * server, unsigned ms) {
    struct timespec until = ggs_clock_in_ms(CLOCK_MONOTONIC, ms);
    pthread_mutex_lock(&server->sleep_lock);
    while (!server->stopping && pthread_cond_timedwait(&server->sleep, &server->sleep_lock, &until) != ETIMEDOUT)
        continue;
    bool go_on = !server->stopping;
    pthread_mutex_unlock(&server->sleep_lock);
    return go_on;
}

static void * run_ticker(void * context) {
    struct ggs_server * server = context;
    for (unsigned tick = 1; sleep_ms(server, TICK_MS); tick++) {
        ggs_jobs_tick(server->jobs);
        if (tick % (1000 / TICK_MS) == 0) ggs_clients_hang_up(&server->clients);
        if (tick % COMMENT_TICKS == 0) ggs_sse_comment(server->events);
    }
    return NULL;
}

static void send_change(void * context, unsigned index) {
    struct ggs_server * server = context;
    struct ggs_text     data   = {0},
                    alone      = {
                             0}; // for clients that see all experiments, and for those that see only this one, as number 0
    bool gone;
    describe(server, index, index, &data, &gone);
    describe(server, index, 0, &alone, &gone);
    if (!data.failed && !alone.failed)
        ggs_sse_send(server->events, index, gone ? "gone" : "experiment", ggs_text_string(&data),
                     ggs_text_string(&alone));
    ggs_text_release(&data);
    ggs_text_release(&alone);
}

static void * run_keeper(void * context) {
    struct ggs_server * server = context;
    while (sleep_ms(server, TEND_MS)) {
        ggs_experiments_refresh(server->experiments, send_change, server);
    }
    return NULL;
}

// ---- start and stop ----

static int open_socket(struct ggs_server * server, const struct ggs_server_options * options,
                       struct ggs_error * error) {
    union {
        struct sockaddr     any;
        struct sockaddr_in  v4;
        struct sockaddr_in6 v6;
    } place             = {0};
    const char * where  = options->address == NULL ? "127.0.0.1" : options->address;
    bool         six    = strchr(where, ':') != NULL;
    socklen_t    size   = six ? sizeof(place.v6) : sizeof(place.v4);
    int          one    = 1;
    place.any.sa_family = six ? AF_INET6 : AF_INET;
    if (inet_pton(place.any.sa_family, where, six ? (void *) &place.v6.sin6_addr : (void *) &place.v4.sin_addr) != 1)
        return ggs_fail(error, GGS_USAGE, "'%.60s' is not a numeric address to listen at", where);
    *(six ? &place.v6.sin6_port : &place.v4.sin_port) = htons(options->port);
    server->socket = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->socket < 0) return ggs_fail_errno(error, "cannot make a socket");
    setsockopt(server->socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(server->socket, &place.any, size) != 0 || listen(server->socket, SOMAXCONN) != 0)
        return ggs_fail_errno(error, "cannot listen at %s port %u; choose another port with --port (0: any free one)",
                              where, options->port);
    if (getsockname(server->socket, &place.any, &size) != 0) return ggs_fail_errno(error, "cannot find the port");
    uint16_t port     = ntohs(six ? place.v6.sin6_port : place.v4.sin_port);
    bool     loopback = six ? IN6_IS_ADDR_LOOPBACK(&place.v6.sin6_addr) : ntohl(place.v4.sin_addr.s_addr) >> 24 == 127;
    int      status   = ggs_auth_make(&server->auth, loopback, port, error);
    bool     anywhere = strcmp(where, "0.0.0.0") == 0 || strcmp(where, "::") == 0;
    snprintf(server->address, sizeof(server->address), "http://%s%s%s:%u/%s/", six && !anywhere ? "[" : "",
             anywhere ? "127.0.0.1" : where, six && !anywhere ? "]" : "", port, server->auth.token);
    return status;
}

static int start_daemon(struct ggs_server * server, struct ggs_error * error) {
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC;
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, ignore, NULL, MHD_OPTION_LISTEN_SOCKET,
        server->socket, MHD_OPTION_CONNECTION_LIMIT, (unsigned) CONNECTIONS_MOST, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t) CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) STALL_SECONDS,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, server, MHD_OPTION_NOTIFY_COMPLETED, end_request, server,
        MHD_OPTION_NOTIFY_CONNECTION, ggs_clients_notify, &server->clients, MHD_OPTION_END);
    if (server->daemon == NULL) return ggs_fail(error, GGS_IO, "cannot start the server");
    server->socket = -1; // the daemon closes it
    return 0;
}

static int start_threads(struct ggs_server * server, struct ggs_error * error) {
    server->has_ticker = pthread_create(&server->ticker, NULL, run_ticker, server) == 0;
    server->has_keeper = server->has_ticker && pthread_create(&server->keeper, NULL, run_keeper, server) == 0;
    return server->has_keeper ? 0 : ggs_fail(error, GGS_MEMORY, "cannot start a thread");
}

int ggs_server_start(struct ggs_server ** out, struct ggs_experiments * experiments,
                     const struct ggs_server_options * options, struct ggs_error * error) {
    struct ggs_server * server = calloc(1, sizeof(*server));
    pthread_condattr_t  clock;
    *out = NULL;
    if (server == NULL) return ggs_fail_memory(error);
    server->experiments = experiments;
    server->socket      = -1;
    ggs_clients_init(&server->clients);
    pthread_mutex_init(&server->sleep_lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&server->sleep, &clock);
    pthread_condattr_destroy(&clock);
    struct ggs_jobs_options jobs = {
        .work = do_work, .wake = wake_request, .context = server, .quick_threads = 2, .slow_threads = 2};
    int status = open_socket(server, options, error);
    if (status == 0) status = ggs_sse_new(&server->events, error);
    if (status == 0) status = ggs_jobs_new(&server->jobs, &jobs, error);
    if (status == 0) status = start_daemon(server, error);
    if (status == 0) status = start_threads(server, error);
    if (status < 0) {
        ggs_server_stop(server);
        return status;
    }
    *out = server;
    return 0;
}

void ggs_server_stop(struct ggs_server * server) {
    if (server == NULL) return;
    pthread_mutex_lock(&server->sleep_lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->sleep);
    pthread_mutex_unlock(&server->sleep_lock);
    if (server->has_ticker) pthread_join(server->ticker, NULL);
    if (server->has_keeper) pthread_join(server->keeper, NULL);
    // Suspended connections must be resumed before the daemon stops.
    if (server->jobs != NULL) ggs_jobs_stop(server->jobs);
    if (server->events != NULL) ggs_sse_end(server->events);
    if (server->daemon != NULL) MHD_stop_daemon(server->daemon);
    if (server->socket >= 0) close(server->socket);
    ggs_jobs_free(server->jobs);
    ggs_sse_free(server->events);
    pthread_cond_destroy(&server->sleep);
    pthread_mutex_destroy(&server->sleep_lock);
    ggs_clients_release(&server->clients);
    free(server);
}

const char * ggs_server_address(const struct ggs_server * server) {
    return server->address;
}
