// What a client knows about its servers' memory: which buffers are there, and that their weights
// come from its own model file.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "trace/join/merge.h"

static int read_tensors(struct ggs_reader * reader, struct ggs_tensor ** tensors, uint64_t * n,
                        struct ggs_error * error) {
    struct ggs_cursor * cursor;
    uint64_t            rows   = ggs_reader_rows(reader, GGS_TABLE_TENSORS);
    int                 status = ggs_cursor_open(&cursor, reader, GGS_TABLE_TENSORS, error);
    *n                         = 0;
    *tensors                   = calloc(rows + 1, sizeof(**tensors));
    if (status >= 0 && *tensors == NULL) status = ggs_fail_memory(error);
    while (status >= 0 && *n < rows && (status = ggs_cursor_next(cursor, &(*tensors)[*n], error)) > 0) ++*n;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

// Both graphs have the same nodes, with the same sources in the same order.
static void hand_over(const struct ggs_join_part * client, const struct ggs_tensor * tensors, uint64_t n,
                      const struct ggs_graph * sent, struct ggs_join_part * server, const struct ggs_graph * done) {
    for (uint64_t node = 0; node < sent->n_nodes && node < done->n_nodes; node++) {
        uint64_t c = sent->first_edge[node], s = done->first_edge[node];
        for (; c < sent->first_edge[node + 1] && s < done->first_edge[node + 1]; c++, s++) {
            uint64_t from = sent->edges[c].tensor, to = done->edges[s].tensor;
            if (sent->edges[c].slot != done->edges[s].slot || from == 0 || from > n || to == 0 ||
                to > server->n_tensors)
                continue;
            const struct ggs_tensor * tensor = &tensors[from - 1];
            bool                      mapped = tensor->source == GGS_SOURCE_DISK;
            uint64_t                  file   = mapped ? tensor->file : tensor->origin_file;
            if (file == 0 || file >= client->n_files || tensor->view != 0) continue;
            server->origins[to - 1] =
                (struct ggs_join_origin){client->files[file], mapped ? tensor->file_offset : tensor->origin_offset};
        }
    }
}

static int compare_graphs(const struct ggs_join_part * client, const struct ggs_tensor * tensors, uint64_t n,
                          uint64_t graph, struct ggs_join_part * server, uint64_t other, struct ggs_error * error) {
    struct ggs_graph *sent = NULL, *done = NULL;
    int               status = ggs_reader_graph(client->reader, graph, &sent, error);
    if (status == 0) status = ggs_reader_graph(server->reader, other, &done, error);
    if (status == 0) hand_over(client, tensors, n, sent, server, done);
    ggs_graph_free(sent);
    ggs_graph_free(done);
    return status;
}

static int of_client(struct ggs_join_part * parts, uint32_t i, struct ggs_error * error) {
    struct ggs_join_part * client  = &parts[i];
    struct ggs_tensor *    tensors = NULL;
    struct ggs_map         seen    = {0};
    uint64_t               n       = 0;
    int                    status  = read_tensors(client->reader, &tensors, &n, error);
    for (uint64_t r = 0; status == 0 && r < client->side->n; r++) {
        const struct ggs_join_run * run = &client->side->runs[r];
        if (!run->remote || run->peer_source == UINT32_MAX) continue;
        struct ggs_join_part *      server = &parts[run->peer_source];
        const struct ggs_join_run * done   = &server->side->runs[run->peer_run];
        // Graphs of one shape read the same weights, so one of them is enough.
        uint64_t   key[] = {run->peer_source, run->signature};
        uint64_t * known = ggs_map_put(&seen, ggs_map_key_of(key, sizeof(key)));
        if (known == NULL) {
            status = ggs_fail_memory(error);
        } else if (*known == 0) {
            *known = 1;
            if (server->origins == NULL) {
                server->n_tensors = ggs_reader_rows(server->reader, GGS_TABLE_TENSORS);
                server->origins   = calloc(server->n_tensors + 1, sizeof(*server->origins));
                if (server->origins == NULL) status = ggs_fail_memory(error);
            }
            if (status == 0) status = compare_graphs(client, tensors, n, run->graph, server, done->graph, error);
        }
    }
    ggs_map_release(&seen);
    free(tensors);
    return status;
}

// A buffer's type has the name of the backend that computes there.
static int name_peers(struct ggs_join_part * parts, uint32_t i, struct ggs_error * error) {
    struct ggs_join_part *  client = &parts[i];
    const struct ggs_join * join   = client->join;
    struct ggs_cursor *     cursor;
    struct ggs_buffer       row;
    uint64_t                capacity = 0;
    int                     status   = ggs_cursor_open(&cursor, client->reader, GGS_TABLE_BUFFERS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        const char * type = ggs_reader_string(client->reader, row.type);
        for (uint64_t k = 0; k < join->n_links && row.buffer <= 1 << 24; k++) {
            const struct ggs_join_link * link = &join->links[k];
            if (link->client != i || link->server == UINT32_MAX ||
                strcmp(ggs_reader_string(client->reader, link->backend), type) != 0)
                continue;
            if (!ggs_array_reserve(client->peers, capacity, row.buffer + 1)) {
                status = ggs_fail_memory(error);
                break;
            }
            while (client->n_peers <= row.buffer) client->peers[client->n_peers++] = 0;
            client->peers[row.buffer] = parts[link->server].process + 1;
        }
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_join_origins(struct ggs_join_part * parts, uint32_t n, struct ggs_error * error) {
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < n; i++) {
        bool client = false;
        for (uint64_t k = 0; k < parts[i].join->n_links; k++) client |= parts[i].join->links[k].client == i;
        if (client) status = of_client(parts, i, error);
        if (client && status == 0) status = name_peers(parts, i, error);
    }
    return status;
}
