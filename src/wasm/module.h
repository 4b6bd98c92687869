// For code that is called often while a question is answered.
#pragma once

// Reports the progress of the answer to the page.
void ggs_module_tick(void);
