// RPC: ggml's own protocol to a server. A run is sent and nothing is known of its ops, which a
// recording of the server has.
#include "capture/device/backend-kind.h"

const struct ggs_backend_kind ggs_backend_kind_rpc = {.prefix = "RPC", .remote = true};
