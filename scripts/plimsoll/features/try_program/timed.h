/* What the parts of the timer share. */
#include <signal.h>
#include <sys/types.h>

enum { PATH_BYTES = 8192, FOLDER_BYTES = 4096 };

/* Copies the list of files that a process maps into FOLDER/mapped, if it is longer than `before`. Returns the longer one. */
size_t note_mapped(pid_t process, const char *folder, size_t before);

/* Stops the calling process, which is about to become a program, for look_at. Does nothing where it may not be traced. */
void wait_for_look(void);

/* Watches a program and all that it starts until it ends, or until `late` is set. Writes FOLDER/looked. */
void look_at(pid_t program, const char *folder, const volatile sig_atomic_t *late);
