// RPC: ggml's protocol to a server. A run is sent, and its ops stay unknown; a recording of the
// server has them.
#include "capture/device/backend-kind.h"

const struct ggs_backend_kind ggs_backend_kind_rpc = {.asks = false};
