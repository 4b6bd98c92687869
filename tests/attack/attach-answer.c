// A library to load into a process: returns the number of its calls, or fails to be found.
extern unsigned long                                 ggscope_attach_block;
__attribute__((visibility("default"))) unsigned long ggscope_attach_block;

__attribute__((visibility("default"))) int ggscope_attach(const char * request);
int                                        ggscope_attach(const char * request) {
                                           static int calls;
                                           return request[0] == '-' ? -1 : ++calls;
}
