/* Runs a program over and over and notes when each iteration began and ended.
 *
 *   iterate LOG OUTPUT BEGIN LIMIT COUNT PROGRAM [ARGUMENT...]
 *
 * The first iteration begins at BEGIN (seconds of CLOCK_MONOTONIC, which all containers of a host share), so that the members
 * of a pair start together. Output of iteration n goes to OUTPUT/n.out and OUTPUT/n.err; a line of JSON about it is appended to
 * LOG when it has ended. An iteration that takes longer than LIMIT seconds is killed. After COUNT iterations (0: no such end)
 * or on SIGTERM the loop ends; an iteration that is running then is killed and leaves no line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After an iteration that failed: a program that fails at once must not keep a processor busy. */
#define PAUSE 0.2

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
        while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
            ;
        double stop = now();
        setitimer(ITIMER_REAL, &none, NULL);
        /* What the program may have left running is not the next iteration's neighbour. */
        kill(-pid, SIGKILL);
        child = 0;
        if (ended)
            break;
        fprintf(log,
                "{\"iteration\": %d, \"begin\": %.6f, \"end\": %.6f, \"exit_code\": %d, \"signal\": %d, \"late\": %s, "
                "\"user_seconds\": %.6f, \"system_seconds\": %.6f, \"read_bytes\": %lld, \"written_bytes\": %lld}\n",
                number, begin, stop, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                late ? "true" : "false", seconds(used.ru_utime), seconds(used.ru_stime), 512LL * used.ru_inblock,
                512LL * used.ru_oublock);
        fflush(log);
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            sleep_until(now() + PAUSE);
    }
    return 0;
}
