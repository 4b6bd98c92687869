// Prints the version of a libllama: "llama=0.5.0 ggml=0.25.1 commit=de3ff81". Prints "unknown" for
// releases without version functions. cmake/engine.cmake runs it with the path of the library.
#include <dlfcn.h>
#include <stdio.h>

static const char * ask(void * library, const char * function) {
    const char * (*version)(void) = (const char * (*) (void) ) dlsym(library, function);
    return version == NULL ? "unknown" : version();
}

int main(int argc, char ** argv) {
    void * library = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
    if (library == NULL) {
        puts(argc > 1 ? dlerror() : "usage: engine-version LIBRARY");
        return 1;
    }
    printf("llama=%s ggml=%s commit=%s \n", ask(library, "llama_version"), ask(library, "ggml_version"),
           ask(library, "ggml_commit"));
    return 0;
}
