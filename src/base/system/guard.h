// Survives a file that shrinks while it is mapped.
//
// Reading a mapped page beyond the end of its file raises SIGBUS, which would kill the program. The
// guard makes such a page read as zeros: the reader's checksums detect it, and reading fails with a
// sentence.
#pragma once

// Affects the whole process; call it once.
void ggs_guard_install(void);
