/* Runs a program over and over and notes when each iteration began and ended.
 *
 *   iterate LOG OUTPUT BEGIN LIMIT COUNT PROGRAM [ARGUMENT...]
 *
 * The first iteration begins at BEGIN (seconds of CLOCK_MONOTONIC, which all containers of a host share), so that the members
 * of a pair start together. Output of iteration n goes to OUTPUT/n.out and OUTPUT/n.err; a line of JSON about it is appended to
 * LOG when it has ended. An iteration that takes longer than LIMIT seconds is killed. After COUNT iterations (0: no such end)
 * or on SIGTERM the loop ends; an iteration that is running then is killed and leaves no line.
 *
 * Processes that a program has started and left are this one's children then. Those that do not end by themselves are killed,
 * and the line names one of them: such an iteration was not all of what the program does.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After an iteration that failed: a program that fails at once must not keep a processor busy. */
#define PAUSE 0.2
/* For so long (s) what a program has left may go on: it may be ending. */
#define PATIENCE 1.0

static volatile sig_atomic_t child, ended, late;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void sleep_until(double when)
{
    struct timespec t = {(time_t)when, (long)((when - (time_t)when) * 1e9)};
    while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void end(int signal)
{
    (void)signal;
    ended = 1;
    if (child > 0)
        kill(-child, SIGKILL);
}

static void too_long(int signal)
{
    (void)signal;
    late = 1;
    if (child > 0)
        kill(-child, SIGKILL);
}

static void redirect(const char *folder, int number, const char *kind, int descriptor)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", folder, number, kind);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || dup2(file, descriptor) < 0)
        _exit(126);
    close(file);
}

static pid_t start(char **command, const char *folder, int number)
{
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        signal(SIGTERM, SIG_DFL);
        signal(SIGALRM, SIG_DFL);
        redirect(folder, number, "out", STDOUT_FILENO);
        redirect(folder, number, "err", STDERR_FILENO);
        execv(command[0], command);
        _exit(127);
    }
    if (pid > 0)
        setpgid(pid, pid);
    return pid;
}

/* The parent of a process, its process group, and its name in letters that a line of the log may hold; 0 if it is gone. */
static pid_t parent_of(const char *process, pid_t *group, char name[16])
{
    char path[300], line[512];
    snprintf(path, sizeof path, "/proc/%s/stat", process);
    FILE *stat = fopen(path, "r");
    if (!stat)
        return 0;
    size_t length = fread(line, 1, sizeof line - 1, stat);
    fclose(stat);
    line[length] = 0;
    /* A name may hold parentheses itself. */
    char *from = strchr(line, '('), *to = strrchr(line, ')');
    int parent = 0;
    if (!from || !to || sscanf(to + 1, " %*c %d %d", &parent, group) != 2)
        return 0;
    snprintf(name, 16, "%.*s", (int)(to - from - 1), from + 1);
    for (char *letter = name; *letter; letter++)
        if (!isalnum((unsigned char)*letter) && !strchr("+-._", *letter))
            *letter = '?';
    return parent;
}

/* Kill the children that there are, with their process groups, and name one of them. While it is not waited for, a child keeps
 * its number, and that of its group. */
static void kill_children(char name[16])
{
    DIR *all = opendir("/proc");
    struct dirent *each;
    char found[16];
    pid_t group;
    while (all && (each = readdir(all)))
        if (isdigit((unsigned char)each->d_name[0]) && parent_of(each->d_name, &group, found) == getpid()) {
            if (found[0])
                snprintf(name, 16, "%s", found);
            kill(group == getpgrp() ? atoi(each->d_name) : -group, SIGKILL);
        }
    if (all)
        closedir(all);
}

/* End what a program has left, with a name of it if it has not ended by itself: the end of a process hands its own children on
 * to this one. Whether all have ended: what hangs in the kernel does not. */
static int end_what_is_left(char name[16])
{
    double patience = now() + PATIENCE, last = patience + PATIENCE;
    pid_t one;
    name[0] = 0;
    while ((one = waitpid(-1, NULL, WNOHANG)) >= 0) {
        if (one > 0)
            continue;
        int over = ended || late || now() > patience;
        if (over) {
            if (!name[0])
                strcpy(name, "?");
            kill_children(name);
        }
        if (now() > last)
            return 0;
        struct timespec moment = {0, over ? 20000000 : 1000000};
        nanosleep(&moment, NULL);
    }
    return 1;
}

static double seconds(struct timeval t)
{
    return t.tv_sec + t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: iterate LOG OUTPUT BEGIN LIMIT COUNT PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    FILE *log = fopen(argv[1], "a");
    if (!log) {
        perror(argv[1]);
        return 1;
    }
    double limit = atof(argv[4]);
    int count = atoi(argv[5]);
    struct sigaction on_end = {.sa_handler = end}, on_alarm = {.sa_handler = too_long};
    sigaction(SIGTERM, &on_end, NULL);
    sigaction(SIGALRM, &on_alarm, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1)) {
        perror("prctl");
        return 1;
    }
    sleep_until(atof(argv[3]));
    for (int number = 1; !ended && (count == 0 || number <= count); number++) {
        struct itimerval timer = {.it_value = {(time_t)limit, (long)((limit - (time_t)limit) * 1e6)}}, none = {0};
        late = 0;
        double begin = now();
        pid_t pid = start(argv + 6, argv[2], number);
        if (pid < 0) {
            perror("fork");
            return 1;
        }
        child = pid;
        if (ended)
            kill(-pid, SIGKILL);
        setitimer(ITIMER_REAL, &timer, NULL);
        int status;
        struct rusage used;
        /* What it leaves while it runs is buried, too. */
        for (pid_t one = 0; one != pid && (one >= 0 || errno == EINTR);)
            one = wait4(-1, &status, 0, &used);
        double stop = now();
        setitimer(ITIMER_REAL, &none, NULL);
        child = 0;
        char left[16];
        int alone = end_what_is_left(left);
        if (ended)
            break;
        fprintf(log,
                "{\"iteration\": %d, \"begin\": %.6f, \"end\": %.6f, \"exit_code\": %d, \"signal\": %d, \"late\": %s, "
                "\"left\": \"%s\", \"user_seconds\": %.6f, \"system_seconds\": %.6f, \"read_bytes\": %lld, "
                "\"written_bytes\": %lld}\n",
                number, begin, stop, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                late ? "true" : "false", left, seconds(used.ru_utime), seconds(used.ru_stime), 512LL * used.ru_inblock,
                512LL * used.ru_oublock);
        fflush(log);
        if (!alone)
            return 1;
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            sleep_until(now() + PAUSE);
    }
    return 0;
}
