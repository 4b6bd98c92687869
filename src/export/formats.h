// The formats, one function each.
#pragma once

struct ggs_error;
struct ggs_export;

int ggs_export_json(struct ggs_export * export, struct ggs_error * error);
int ggs_export_buffers(struct ggs_export * export, struct ggs_error * error);
int ggs_export_csv(struct ggs_export * export, struct ggs_error * error);
int ggs_export_sqlite(struct ggs_export * export, struct ggs_error * error);
int ggs_export_parquet(struct ggs_export * export, struct ggs_error * error);
int ggs_export_chrome(struct ggs_export * export, struct ggs_error * error);
int ggs_export_perfetto(struct ggs_export * export, struct ggs_error * error);
int ggs_export_dot(struct ggs_export * export, struct ggs_error * error);
int ggs_export_fio(struct ggs_export * export, struct ggs_error * error);
int ggs_export_ggmlviz(struct ggs_export * export, struct ggs_error * error);
