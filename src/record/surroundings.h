// What a recording is made under, beyond what ggscope itself sets: the disk that holds the model,
// how the kernel treats memory, what the processors can do, how busy the machine is. Goes into
// experiment.json ("conditions"); what cannot be read is left out.
#pragma once

struct json_object;

// When the program starts. `model` may be NULL. A few small files of /proc and /sys: about 0.3 ms.
struct json_object * ggs_surroundings_begin(const char * model);
// When it has ended: adds what may have changed.
void ggs_surroundings_end(struct json_object * conditions);
