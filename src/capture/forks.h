// Forks of a program that was running when this library was loaded.
#pragma once

// Waits until no other thread is in a fork that it began before, for a moment at most. glibc runs
// only those handlers in a child that were registered when its fork began, so the child of such a
// fork would be recorded as if it were this process.
void ggs_forks_await(void);
