/* Watches a program from the kernel's side (ptrace): system calls that were refused, folders in which it wrote,
 * memory in huge pages, malloc arenas, tasks at once, and copies from process to process. It slows the program, so such a
 * run is never timed.
 *
 * FOLDER/looked has lines of a word, a number, and a text:
 *   traced 1 -            whether it was watched
 *   EPERM 3 mbind         refused calls: the error, how often, and the call
 *   written 61267 /work   the kind of the file system (statfs) of a folder with a file opened for writing, or a new name
 *   huge 2048 -           KiB of memory in transparent huge pages, at most
 *   arenas 2 -            malloc arenas of glibc, at most
 *   tasks 3 -             processes and threads at once, at most
 *   copies 300 -          calls that copied from or to another process's memory; only if it was watched
 */
#define _GNU_SOURCE
#include "timed.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 1024, TASKS = 4096, FOLDERS = 64, SAMPLE_NANOSECONDS = 20000000 };
enum { ENTRY = 1, EXIT = 2, CALL_STOP = SIGTRAP | 0x80, OPTIONS = 0x7f | PTRACE_O_EXITKILL };
#define ARENA ((uint64_t)1 << 26)
#define GET_CALL 0x420e

/* Names of this machine's system calls, which the build has written. */
static const struct { long number; const char *name; } NAMES[] = {
#include "calls.h"
    {-1, "?"},
};
static const struct { int number; const char *name; } REFUSALS[] = {{EPERM, "EPERM"}, {EACCES, "EACCES"}, {ENOSYS, "ENOSYS"}};
enum { KINDS = sizeof REFUSALS / sizeof *REFUSALS };
/* Calls that make a name: the argument with the folder that a relative name begins in (-1: the working folder), and the name. */
static const struct { long number; int folder, name; } MAKERS[] = {
#ifdef SYS_rename
    {SYS_rename, -1, 1},
#endif
#ifdef SYS_mkdir
    {SYS_mkdir, -1, 0},
#endif
#ifdef SYS_renameat
    {SYS_renameat, 2, 3},
#endif
    {SYS_renameat2, 2, 3},
    {SYS_mkdirat, 0, 1},
};

/* As PTRACE_GET_SYSCALL_INFO writes it. */
struct call {
    uint8_t op, pad[3];
    uint32_t arch;
    uint64_t instruction, stack;
    union {
        struct { uint64_t number, arguments[6]; } entry;
        struct { int64_t value; uint8_t is_error; } exit;
    };
};

static struct task { pid_t process; int in_call; long number; int writes, folder; uint64_t name; } tasks[TASKS];
static struct { char path[FOLDER_BYTES]; unsigned long kind; } written[FOLDERS];
static unsigned long refused[CALLS][KINDS], huge, arenas, most_tasks, copies;
static size_t number_tasks, number_written, noted;

void wait_for_look(void) {
    if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL)) raise(SIGSTOP);
}

static struct task *task_of(pid_t process, int *is_new) {
    *is_new = 0;
    for (size_t i = 0; i < number_tasks; i++)
        if (tasks[i].process == process) return &tasks[i];
    *is_new = 1;
    if (number_tasks == TASKS) return NULL;
    tasks[number_tasks] = (struct task){.process = process};
    if (number_tasks + 1 > most_tasks) most_tasks = number_tasks + 1;
    return &tasks[number_tasks++];
}

static void forget(pid_t process) {
    for (size_t i = 0; i < number_tasks; i++)
        if (tasks[i].process == process) tasks[i] = tasks[--number_tasks];
}

/* What a task does: kernels before 5.3 do not say it, and there the registers do. */
static int call_of(struct task *task, struct call *call) {
    if (ptrace(GET_CALL, task->process, sizeof *call, call) > 0) return call->op == ENTRY || call->op == EXIT;
#ifdef __x86_64__
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    if (ptrace(PTRACE_GETREGSET, task->process, NT_PRSTATUS, &all)) return 0;
    call->op = task->in_call ? EXIT : ENTRY;
    if (call->op == ENTRY) {
        call->entry.number = registers.orig_rax;
        call->entry.arguments[0] = registers.rdi;
        call->entry.arguments[1] = registers.rsi;
        call->entry.arguments[2] = registers.rdx;
        call->entry.arguments[3] = registers.r10;
    } else {
        call->exit.value = (int64_t)registers.rax;
        call->exit.is_error = call->exit.value < 0 && call->exit.value > -4096;
    }
    return 1;
#else
    return 0;
#endif
}

static int is_for_writing(pid_t process, long number, const uint64_t *arguments) {
    int flags = 0;
#ifdef SYS_open
    if (number == SYS_open) flags = (int)arguments[1];
#endif
#ifdef SYS_creat
    if (number == SYS_creat) return 1;
#endif
#ifdef SYS_openat2
    /* Its flags are the first word of a struct. */
    if (number == SYS_openat2) flags = (int)ptrace(PTRACE_PEEKDATA, process, (void *)arguments[2], NULL);
#endif
    if (number == SYS_openat) flags = (int)arguments[2];
    return (flags & O_ACCMODE) != O_RDONLY;
}

/* Notes the folder that a link in /proc leads to, or the folder of the file that it leads to. */
static void note_folder(const char *link, int is_folder) {
    char target[FOLDER_BYTES];
    struct statfs found;
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0 || target[0] != '/' || statfs(link, &found)) return;
    target[length] = 0;
    char *last = is_folder ? target + length : strrchr(target, '/');
    *(last == target ? last + 1 : last) = 0;
    for (size_t i = 0; i < number_written; i++)
        if (!strcmp(written[i].path, target)) return;
    if (number_written == FOLDERS) return;
    strcpy(written[number_written].path, target);
    written[number_written++].kind = (unsigned long)found.f_type;
}

static void note_opened(pid_t process, long descriptor) {
    char path[FOLDER_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd/%ld", (int)process, descriptor);
    note_folder(path, 0);
}

/* Notes the folder in which a call has made a name. The name is in the task's memory. */
static void note_named(const struct task *task) {
    char name[FOLDER_BYTES], path[PATH_BYTES];
    int process = (int)task->process;
    snprintf(path, sizeof path, "/proc/%d/mem", process);
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    if (memory < 0) return;
    ssize_t length = pread(memory, name, sizeof name - 1, (off_t)task->name);
    close(memory);
    if (length <= 0) return;
    name[length] = 0;
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '/'; end--) name[end - 1] = 0;
    char *last = strrchr(name, '/');
    *(last ? last + 1 : name) = 0;
    if (name[0] == '/') snprintf(path, sizeof path, "/proc/%d/root%s", process, name);
    else if (task->folder == AT_FDCWD) snprintf(path, sizeof path, "/proc/%d/cwd/%s", process, name);
    else snprintf(path, sizeof path, "/proc/%d/fd/%d/%s", process, task->folder, name);
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
    note_folder(path, 1);
    close(folder);
}

static void note_entry(struct task *task, const struct call *call) {
    const uint64_t *arguments = call->entry.arguments;
    task->in_call = 1;
    task->number = (long)call->entry.number;
    task->writes = is_for_writing(task->process, task->number, arguments);
    task->name = 0;
    for (size_t i = 0; i < sizeof MAKERS / sizeof *MAKERS; i++)
        if (MAKERS[i].number == task->number) {
            task->folder = MAKERS[i].folder < 0 ? AT_FDCWD : (int)arguments[MAKERS[i].folder];
            task->name = arguments[MAKERS[i].name];
        }
}

static void note_call(struct task *task) {
    struct call call = {0};
    if (!call_of(task, &call)) return;
    if (call.op == ENTRY) {
        note_entry(task, &call);
        return;
    }
    if (task->in_call && task->number >= 0 && task->number < CALLS && call.exit.is_error)
        for (int i = 0; i < KINDS; i++) refused[task->number][i] += call.exit.value == -REFUSALS[i].number;
    int copied = task->number == SYS_process_vm_readv || task->number == SYS_process_vm_writev;
    if (task->in_call && copied && !call.exit.is_error) copies++;
    if (task->in_call && task->writes && !call.exit.is_error) note_opened(task->process, call.exit.value);
    if (task->in_call && task->name && !call.exit.is_error) note_named(task);
    task->in_call = 0;
}

/* An arena begins at a multiple of its size. Its unused end can be neither read nor written. */
static unsigned long arenas_of(FILE *maps) {
    static char line[PATH_BYTES];
    uint64_t begin, end, arena = 0, reached = 0;
    unsigned long found = 0;
    char mode[8], rest[8];
    while (fgets(line, sizeof line, maps)) {
        int fields = sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", &begin, &end, mode, rest);
        if (fields < 3) continue;
        if (arena && begin == reached && !strcmp(mode, "---p") && end >= arena + ARENA) found++;
        arena = 0;
        if (fields == 3 && begin % ARENA == 0 && !strcmp(mode, "rw-p")) {
            if (end == begin + ARENA) found++;
            else arena = begin, reached = end;
        }
    }
    return found;
}

static void sample(pid_t process, const char *folder) {
    char path[PATH_BYTES], line[256];
    unsigned long now, sum = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)process);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %lu", &now) == 1) sum += now;
    if (file) fclose(file);
    if (sum > huge) huge = sum;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    if (!(file = fopen(path, "r"))) return;
    if ((now = arenas_of(file)) > arenas) arenas = now;
    fclose(file);
    noted = note_mapped(process, folder, noted);
}

static int64_t nanoseconds(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static void kill_all(void) {
    for (size_t i = 0; i < number_tasks; i++) kill(tasks[i].process, SIGKILL);
}

static void watch(pid_t program, const char *folder, const volatile sig_atomic_t *late) {
    int status, is_new;
    int64_t last = 0;
    for (;;) {
        pid_t process = waitpid(-1, &status, __WALL);
        if (process < 0 && errno != EINTR) return;
        if (*late) kill_all();
        if (process < 0) continue;
        if (!WIFSTOPPED(status)) {
            forget(process);
            if (process == program) kill_all();
            continue;
        }
        struct task *task = task_of(process, &is_new);
        int stop = WSTOPSIG(status), event = status >> 16, signal = 0;
        if (stop == CALL_STOP && task) note_call(task);
        else if (stop != CALL_STOP && !event && !(is_new && stop == SIGSTOP)) signal = stop;
        if (event == PTRACE_EVENT_EXIT || nanoseconds() - last > SAMPLE_NANOSECONDS) {
            sample(process, folder);
            last = nanoseconds();
        }
        ptrace(PTRACE_SYSCALL, process, NULL, (void *)(long)signal);
    }
}

static const char *name_of(long number) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].number == number) return NAMES[i].name;
    return "unknown";
}

void look_at(pid_t program, const char *folder, const volatile sig_atomic_t *late) {
    char path[PATH_BYTES];
    int status, is_new;
    snprintf(path, sizeof path, "%s/looked", folder);
    FILE *file = fopen(path, "w");
    if (!file) return;
    while (waitpid(program, &status, WUNTRACED) < 0 && errno == EINTR) continue;
    int traced = WIFSTOPPED(status) && !ptrace(PTRACE_SETOPTIONS, program, NULL, (void *)(long)OPTIONS);
    if (WIFSTOPPED(status)) {
        task_of(program, &is_new);
        ptrace(traced ? PTRACE_SYSCALL : PTRACE_DETACH, program, NULL, NULL);
        watch(program, folder, late);
    }
    fprintf(file, "traced %d -\nhuge %lu -\narenas %lu -\ntasks %lu -\n", traced, huge, arenas, most_tasks);
    if (traced) fprintf(file, "copies %lu -\n", copies);
    for (long call = 0; call < CALLS; call++)
        for (int i = 0; i < KINDS; i++)
            if (refused[call][i]) fprintf(file, "%s %lu %s\n", REFUSALS[i].name, refused[call][i], name_of(call));
    for (size_t i = 0; i < number_written; i++) fprintf(file, "written %lu %s\n", written[i].kind, written[i].path);
    fclose(file);
}
