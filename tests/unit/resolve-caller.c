// A library that calls back, as an engine calls functions that are hooked. Built a second time with
// the name of the hooked function, it is a wrapper. See test-resolve.c.
__attribute__((visibility("default"))) void * resolve_caller(void * (*hook)(void) );

void * resolve_caller(void * (*hook)(void) ) {
    void * volatile result = hook(); // no jump: the return address lies in this library
    return result;
}
