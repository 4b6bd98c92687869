#include "export/export.h"
#include "export/formats.h"
#include "base/error.h"
#define S(n) int n(struct ggs_export * e, struct ggs_error * error) { (void) e; return ggs_fail(error, GGS_UNSUPPORTED, "not yet"); }
S(ggs_export_json) S(ggs_export_chrome) S(ggs_export_perfetto) S(ggs_export_dot) S(ggs_export_fio) S(ggs_export_ggmlviz)
