// A library that is loaded into a process: returns how often it was called, or fails to be found.
__attribute__((visibility("default"))) int ggscope_attach(const char * request);
int                                        ggscope_attach(const char * request) {
                                           static int calls;
                                           return request[0] == '-' ? -1 : ++calls;
}
