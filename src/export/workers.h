// Writes independent files in as many processes as there are cores: each takes the next piece of
// work until none is left.
#pragma once

struct ggs_error;
struct ggs_export;

// Calls `write` for each piece from 0 to n - 1, in this process or a fork of it. Its changes to
// memory are lost, except for export->result, which is summed up. Returns the first failure; pieces
// that other processes had begun are then complete.
int ggs_workers_run(struct ggs_export * export, unsigned n,
                    int (*write)(struct ggs_export * export, unsigned piece, void * context, struct ggs_error * error),
                    void * context, struct ggs_error * error);

// The same for ranges of the requested token steps: while `write` runs, export->options requests
// one range only.
int ggs_workers_steps(struct ggs_export * export,
                      int (*write)(struct ggs_export * export, void * context, struct ggs_error * error),
                      void * context, struct ggs_error * error);
