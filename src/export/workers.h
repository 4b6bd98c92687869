// Files that do not depend on each other are written by as many processes as this one has cores:
// each takes the next piece of work until none is left.
#pragma once

struct ggs_error;
struct ggs_export;

// Calls `write` for each piece from 0 to n - 1, in this process or a copy of it. What it changes in
// memory is lost but for export->result, which is summed up. Returns the first failure; pieces that
// others had begun are complete then.
int ggs_workers_run(struct ggs_export * export, unsigned n,
                    int (*write)(struct ggs_export * export, unsigned piece, struct ggs_error * error),
                    struct ggs_error * error);
