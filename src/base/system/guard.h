// A file that shrinks under its mapping.
//
// Reading a mapped page that the file no longer has raises SIGBUS, which would end the program.
// With the guard such a page reads as zeros instead: the reader's checksums find that out, and
// reading ends with a sentence.
#pragma once

// For the whole process; once.
void ggs_guard_install(void);
