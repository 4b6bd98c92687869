// server-host http MODEL --port N [--pieces P]: answers GET /health and POST /completion one after
// the other, as a server of one slot does, until SIGINT. A prompt is computed in pieces of P tokens
// (1): a setting that matters. Tokens are made up; their numbers are those asked for.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server-host.h"

enum { MOST_PROMPT = 40, MOST_GENERATED = 2 };

static volatile sig_atomic_t stopped;

static void stop(int number) {
    (void) number;
    stopped = 1;
}

static int number_behind(const char * text, const char * key, int otherwise) {
    const char * at = strstr(text, key);
    return at == NULL ? otherwise : (int) strtol(at + strlen(key), NULL, 10);
}

// Tokens of the prompt: as many as the array has, or one for four letters.
static int prompt_tokens(const char * body) {
    const char * at = strstr(body, "\"prompt\":");
    int          n  = 1;
    if (at == NULL) return 1;
    at += 9;
    if (*at != '[') {
        n = (int) strcspn(at + 1, "\"") / 4;
    } else {
        for (; *at != ']' && *at != '\0'; at++) n += *at == ',';
    }
    return n < 1 ? 1 : n > MOST_PROMPT ? MOST_PROMPT : n;
}

static void answer_completion(struct server * server, int pieces, int client, const char * body) {
    int prompt = prompt_tokens(body), generate = number_behind(body, "\"n_predict\":", 1), done = 0;
    if (generate > MOST_GENERATED) generate = MOST_GENERATED;
    if (generate < 1) generate = 1;
    seq_rm(server->memory, 0, -1, -1);
    struct request * request = new_request(server->number, 0, 0);
    while (done < prompt) {
        int n = prompt - done < pieces ? prompt - done : pieces;
        feed(server, 0, done, n, done + n == prompt);
        done += n;
    }
    request->prompt    = prompt;
    request->generated = generate;
    for (int i = 1; i < generate; i++) feed(server, 0, prompt + i - 1, 1, true);
    char content[64];
    int  length = snprintf(content, sizeof(content), "{\"content\":\"%d after %d\"}", generate, prompt);
    dprintf(client, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length,
            content);
}

static void answer(struct server * server, int pieces, int client) {
    static char  text[1 << 20];
    size_t       used = 0;
    const char * body = NULL;
    ssize_t      n;
    while (used + 1 < sizeof(text) && (n = read(client, text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t) n;
        text[used] = '\0';
        body       = strstr(text, "\r\n\r\n");
        if (body != NULL && strlen(body + 4) >= (size_t) number_behind(text, "Content-Length: ", 0)) break;
    }
    if (body == NULL) return;
    if (strncmp(text, "POST /completion ", 17) == 0)
        answer_completion(server, pieces, client, body);
    else
        dprintf(client, "HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\n{}",
                strncmp(text, "GET /health ", 12) == 0 ? "200 OK" : "404 Not Found");
}

void serve_http(struct server * server, int argc, char ** argv) {
    int                port = 0, pieces = 1, one = 1;
    struct sigaction   action = {.sa_handler = stop}; // without SA_RESTART: accept ends
    struct sockaddr_in at     = {.sin_family = AF_INET};
    for (int i = 0; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0) port = (int) strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--pieces") == 0) pieces = (int) strtol(argv[i + 1], NULL, 10);
    }
    if (pieces < 1) die("computing prompts in pieces of less than one token");
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port        = htons((uint16_t) port);
    int door           = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(door, (const struct sockaddr *) &at, sizeof(at)) != 0 || listen(door, 64) != 0) die("listening");
    while (!stopped) {
        int client = accept(door, NULL, NULL);
        if (client < 0) continue;
        answer(server, pieces, client);
        close(client);
    }
    close(door);
}
