// For those parts of the module that are called again and again while a question is answered.
#pragma once

// Tells the page how far the answer is.
void ggs_module_tick(void);
