// What lies where in the model's files, and how often it was touched: docs/schemas/map.schema.json and heat.schema.json.
//
// The places of the map are the rows of both: arrays of the same length, in the same order.
#pragma once

#include "analyze/machine/machine-heat.h"
#include "analyze/ops/heat.h"

struct ggs_json;

void ggs_map_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map);
// "files": the GGUF files that the engine opened.
void ggs_map_write_files(struct ggs_json * json, const struct ggs_trace * trace);

void ggs_heat_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_model_map * map,
                    const struct ggs_heat * heat, const struct ggs_machine_heat * machine);
