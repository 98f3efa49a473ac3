/* Runs a program several times, and writes what each run took.
 *
 *   timed FOLDER LIMIT COUNT PROGRAM...
 *   timed --rank FOLDER RUN PROGRAM...
 *   timed --again FOLDER PROGRAM...
 *   timed --pause
 *
 * Run i (from 0) works in FOLDER/i/work, and prints into FOLDER/i/stdout.txt and stderr.txt. Its variables are those of
 * FOLDER/variables, each ended by a zero byte. FOLDER/timed.jsonl gets one line per run, with seconds, KiB and counts.
 * Run 0 is a warm-up, in which the files that the program maps are noted in FOLDER/mapped. FOLDER/inside says what a program
 * sees of the machine. With --pause it only waits, to keep a container up. If COUNT is `look`, there is one run, in which
 * the program is watched (look.c) and not timed.
 *
 * With --again the program runs over and over in FOLDER/work until it fails. What it prints is dropped.
 *
 * With --rank it is started by mpirun, once per rank, and runs the program once. It writes FOLDER/RUN/ranks/RANK.json, with
 * the times at which the rank began and ended. In run 0 it also notes what carried the rank's messages, and rank 0 has the files
 * `inside` and `mapped` in FOLDER/RUN. If RUN is `look`, it is run 0, and each rank is watched: no rank has times. Rank 0 has
 * FOLDER/0/looked, and the others have FOLDER/0/ranks/RANK/looked.
 *
 * It is linked statically, so that the same bits run in every image and on the host.
 */
#define _GNU_SOURCE
#include "timed.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VARIABLES = 1024, CANNOT_START = 127, LOOK_MICROSECONDS = 2000 };
/* Open MPI's segments of shared memory that are told apart, and how much of their names. */
enum { SEGMENTS = 256, NAME_BYTES = 64 };
/* A rank's sockets that are looked at, and the kernel's number of a connection's state. */
enum { SOCKETS = 1024, ESTABLISHED = 1 };

/* The two addresses of a TCP connection, as the kernel's table has them. */
struct connection { char local[NAME_BYTES], remote[NAME_BYTES]; };
/* What carried a rank's messages: the most segments that it had at a look, and every connection that was seen. */
static struct { int segments, connections; struct connection ends[SOCKETS]; } carried;

/* Whether a run reached its limit, and whether a signal has asked this process to end. */
static volatile sig_atomic_t late, ending;
static int looks;
static pid_t running;

static void too_late(int number) {
    late = 1;
    if (number != SIGALRM) ending = 1;
    if (running > 0) kill(-running, SIGKILL);
}

static double now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + 1e-6 * (double)time.tv_usec; }

static void fail(const char *what) {
    fprintf(stderr, "timed: %s: %s\n", what, strerror(errno));
    exit(CANNOT_START);
}

/* The variables of a file, as execve takes them. */
static char **variables_of(const char *path) {
    static char *found[VARIABLES + 1];
    FILE *file = fopen(path, "r");
    size_t room = 0, number = 0;
    char *one = NULL;
    if (!file) fail(path);
    while (number < VARIABLES && getdelim(&one, &room, 0, file) > 0) {
        found[number++] = one;
        one = NULL;
        room = 0;
    }
    fclose(file);
    return found;
}

/* Reads the numbers of a cgroup's file, up to two. Returns how many it begins with: `max` is no number. */
static int numbers_of(const char *root, const char *group, const char *name, long *first, long *second) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s%s/%s", root, group, name);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int found = fscanf(file, "%ld %ld", first, second);
    fclose(file);
    return found;
}

/* Reads the quota of a cgroup of version 2 or 1: how many microseconds in a period of how many. Returns whether it has one. */
static int quota_of(const char *group, long *quota, long *period) {
    static const char *const version_1 = "/sys/fs/cgroup/cpu";
    long unused;
    if (numbers_of("/sys/fs/cgroup", group, "cpu.max", quota, period) == 2) return 1;
    return numbers_of(version_1, group, "cpu.cfs_quota_us", quota, &unused) == 1 && *quota > 0 &&
           numbers_of(version_1, group, "cpu.cfs_period_us", period, &unused) == 1;
}

/* The path of this process's cgroup that may have a quota: version 1's, and without it version 2's. */
static void own_group(char *group) {
    char line[PATH_BYTES];
    FILE *groups = fopen("/proc/self/cgroup", "r");
    *group = 0;
    while (groups && fgets(line, sizeof line, groups)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        int decides = 0, of_version_2 = !controllers[1];
        for (char *name = strtok(controllers + 1, ","); name; name = strtok(NULL, ",")) decides |= !strcmp(name, "cpu");
        if (decides || of_version_2) strcpy(group, path);
        if (decides) break;
    }
    if (groups) fclose(groups);
}

/* Writes the quota of this process's cgroup, or of the nearest one above it that has a quota. Without one it writes `max`.
 * In a container whose own cgroup is mounted, the path leads nowhere, and the last one above it is the container's. */
static void note_quota(FILE *target) {
    char group[PATH_BYTES], *last;
    long quota, period;
    own_group(group);
    int found = quota_of(group, &quota, &period);
    while (!found && (last = strrchr(group, '/'))) {
        *last = 0;
        found = quota_of(group, &quota, &period);
    }
    fprintf(target, "== cpu.max\n");
    if (found)
        fprintf(target, "%ld %ld\n", quota, period);
    else
        fprintf(target, "max\n");
}

/* Writes this process's namespaces, by the numbers that the kernel gives them. */
static void note_namespaces(FILE *target) {
    static const char *const names[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
    char path[PATH_BYTES], number[NAME_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/proc/self/ns/%s", names[i]);
        ssize_t length = readlink(path, number, sizeof number);
        if (length > 0) fprintf(target, "== %s\n%.*s\n", path, (int)length, number);
    }
}

/* Copies what a program reads there of the machine. A file that is not there is left out. */
static void note_inside(const char *folder) {
    static const char *const files[] = {
        "/proc/self/status", "/proc/self/cgroup", "/proc/self/limits", "/proc/self/mountinfo", "/proc/self/uid_map",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "/proc/sys/kernel/hostname", "/etc/os-release",
    };
    char path[PATH_BYTES], buffer[1 << 16];
    struct statfs shared;
    snprintf(path, sizeof path, "%s/inside", folder);
    FILE *target = fopen(path, "w");
    if (!target) fail(path);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *source = fopen(files[i], "r");
        if (!source) continue;
        size_t length = fread(buffer, 1, sizeof buffer - 1, source);
        fprintf(target, "== %s\n%.*s\n", files[i], (int)length, buffer);
        fclose(source);
    }
    note_quota(target);
    note_namespaces(target);
    if (!statfs("/dev/shm", &shared))
        fprintf(target, "== /dev/shm\n%llu\n", (unsigned long long)shared.f_blocks * (unsigned long long)shared.f_bsize);
    fclose(target);
}

size_t note_mapped(pid_t process, const char *folder, size_t before) {
    static char buffer[1 << 20];
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    int source = open(path, O_RDONLY);
    if (source < 0) return before;
    size_t length = 0;
    ssize_t got;
    while (length < sizeof buffer && (got = read(source, buffer + length, sizeof buffer - length)) > 0) length += (size_t)got;
    close(source);
    if (length <= before) return before;
    snprintf(path, sizeof path, "%s/mapped", folder);
    int target = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (target >= 0) {
        if (write(target, buffer, length) < 0) length = before;
        close(target);
    }
    return length;
}

static void become(const char *place, char **program, char **variables) {
    char path[PATH_BYTES];
    static const char *const names[] = {"stdout.txt", "stderr.txt"};
    /* A timer that is killed leaves no program. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing < 0 || dup2(nothing, 0) < 0) fail("/dev/null");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", place, names[i]);
        int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (file < 0 || dup2(file, i + 1) < 0) fail(path);
        close(file);
    }
    snprintf(path, sizeof path, "%s/work", place);
    if (chdir(path)) fail(path);
    if (looks) wait_for_look();
    environ = variables;
    execvp(program[0], program);
    fail(program[0]);
}

/* Runs a program over and over. Returns if it fails, or is killed. */
static int again(const char *folder, char **program) {
    char path[PATH_BYTES];
    int status;
    snprintf(path, sizeof path, "%s/variables", folder);
    char **variables = variables_of(path);
    snprintf(path, sizeof path, "%s/work", folder);
    if (chdir(path)) fail(path);
    for (char **one = variables; *one; one++)
        if (!strncmp(*one, "PATH=", 5)) setenv("PATH", *one + 5, 1);
    environ = variables;
    for (;;) {
        pid_t process = fork();
        if (process < 0) fail("fork");
        if (!process) {
            int nothing = open("/dev/null", O_RDWR);
            for (int i = 0; i < 3; i++) dup2(nothing, i);
            execvp(program[0], program);
            _exit(CANNOT_START);
        }
        if (waitpid(process, &status, 0) < 0) fail("waitpid");
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            fprintf(stderr, "%s failed (status %d)\n", program[0], WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
            return 1;
        }
    }
}

/* Kills what a program has left running. This process gets the children of a process that ends.
 * A child that has ended already is no such program, and others may be running beside it. */
static int end_left(void) {
    char path[PATH_BYTES];
    int found = 0, process;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int times = 0; times < 100;) {
        pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0) break;
        if (ended > 0) continue;
        found = 1;
        times++;
        FILE *list = fopen(path, "r");
        if (!list) break;
        while (fscanf(list, "%d", &process) == 1) kill(process, SIGKILL);
        fclose(list);
        usleep(LOOK_MICROSECONDS);
    }
    return found;
}

static void run(const char *folder, int number, double limit, char **program, char **variables, FILE *log) {
    char place[FOLDER_BYTES];
    struct rusage used;
    int status;
    snprintf(place, sizeof place, "%s/%d", folder, number);
    struct itimerval timer = {{0, 0}, {(time_t)limit, (suseconds_t)(1e6 * (limit - (double)(time_t)limit))}};
    late = 0;
    double begin = now();
    running = fork();
    if (running < 0) fail("fork");
    if (!running) become(place, program, variables);
    setpgid(running, running);
    if (ending) too_late(SIGTERM);
    setitimer(ITIMER_REAL, &timer, NULL);
    if (looks) {
        look_at(running, folder, &late);
        exit(0);
    }
    size_t noted = 0;
    while (number == 0) {
        noted = note_mapped(running, folder, noted);
        siginfo_t ended = {0};
        if (!waitid(P_PID, (id_t)running, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid) break;
        usleep(LOOK_MICROSECONDS);
    }
    while (wait4(running, &status, 0, &used) < 0)
        if (errno != EINTR) fail("wait4");
    double end = now();
    running = 0;
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    int left = end_left();
    fprintf(log,
            "{\"run\": %d, \"wall\": %.6f, \"user\": %.6f, \"system\": %.6f, \"memory\": %ld, \"minor_faults\": %ld, "
            "\"major_faults\": %ld, \"waits\": %ld, \"preempted\": %ld, \"code\": %d, \"signal\": %d, \"late\": %s, "
            "\"left\": %s}\n",
            number, end - begin, seconds(used.ru_utime), seconds(used.ru_stime), used.ru_maxrss, used.ru_minflt,
            used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, late ? "true" : "false", left ? "true" : "false");
    fflush(log);
    /* Nothing may follow a run that went wrong. */
    if (late || left || !WIFEXITED(status)) exit(0);
}

/* Variables by which Open MPI's launcher tells a rank who it is. */
static int is_of_launcher(const char *variable) {
    static const char *const begins[] = {"OMPI_", "PMIX_", "ORTE_", "OPAL_"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(variable, begins[i], strlen(begins[i]))) return 1;
    return 0;
}

/* The launcher's variables, then those of a file. */
static char **variables_of_rank(const char *path) {
    static char *found[2 * VARIABLES + 1];
    size_t number = 0;
    for (char **one = environ; *one && number < VARIABLES; one++)
        if (is_of_launcher(*one)) found[number++] = *one;
    for (char **one = variables_of(path); *one; one++) found[number++] = *one;
    return found;
}

/* Open MPI's segments of shared memory that a process maps: its own, and those of the ranks that it shares memory with. */
static int segments_of(pid_t process) {
    char path[PATH_BYTES], line[PATH_BYTES], seen[SEGMENTS][NAME_BYTES];
    int number = 0, i;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *maps = fopen(path, "r");
    if (!maps) return 0;
    while (number < SEGMENTS && fgets(line, sizeof line, maps)) {
        char *name = strstr(line, "vader_segment");
        if (!name) continue;
        name[strcspn(name, " \n")] = 0;
        for (i = 0; i < number && strncmp(seen[i], name, NAME_BYTES - 1); i++);
        if (i == number) snprintf(seen[number++], NAME_BYTES, "%.*s", NAME_BYTES - 1, name);
    }
    fclose(maps);
    return number;
}

/* Sockets that a process has open, by the numbers that the kernel's tables give them. Returns how many there are. */
static int sockets_of(pid_t process, unsigned long *found) {
    char path[PATH_BYTES], target[NAME_BYTES];
    int number = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", process);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (struct dirent *one; number < SOCKETS && (one = readdir(folder));) {
        ssize_t length = readlinkat(dirfd(folder), one->d_name, target, sizeof target - 1);
        if (length <= 0) continue;
        target[length] = 0;
        number += sscanf(target, "socket:[%lu]", &found[number]) == 1;
    }
    closedir(folder);
    return number;
}

static int holds(const unsigned long *sockets, int number, unsigned long one) {
    for (int i = 0; i < number; i++)
        if (sockets[i] == one) return 1;
    return 0;
}

/* The established TCP connections of a process. Returns how many there are. */
static int connections_of(pid_t process, struct connection *found) {
    static const char *const tables[] = {"tcp", "tcp6"};
    static unsigned long sockets[SOCKETS];
    char path[PATH_BYTES], line[512];
    int own = sockets_of(process, sockets), number = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(path, sizeof path, "/proc/%d/net/%s", process, tables[i]);
        FILE *table = fopen(path, "r");
        if (!table) continue;
        while (number < SOCKETS && fgets(line, sizeof line, table)) {
            struct connection one;
            unsigned long socket;
            unsigned state;
            int read = sscanf(line, " %*[^:]: %63s %63s %x %*s %*s %*s %*s %*s %lu", one.local, one.remote, &state, &socket);
            if (read == 4 && state == ESTABLISHED && holds(sockets, own, socket)) found[number++] = one;
        }
        fclose(table);
    }
    return number;
}

/* Whether processes here may read each other's memory, by which Open MPI copies a large message once. */
static const char *single_copy(void) {
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) return "allowed";
    return errno == EPERM ? "refused" : "unavailable";
}

static void become_rank(const char *place, char **program, char **variables) {
    char path[PATH_BYTES];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof path, "%s/work", place);
    if (chdir(path)) fail(path);
    if (looks) wait_for_look();
    environ = variables;
    execvp(program[0], program);
    fail(program[0]);
}

/* Keeps a connection that was not seen before. Two ranks that connect at once drop one of two connections, so what is
 * open at one look, even the fuller one, need not be what carries messages. */
static void keep(const struct connection *one) {
    for (int i = 0; i < carried.connections; i++)
        if (!strcmp(carried.ends[i].local, one->local) && !strcmp(carried.ends[i].remote, one->remote)) return;
    if (carried.connections < SOCKETS) carried.ends[carried.connections++] = *one;
}

/* Looks at a rank until it ends. */
static void watch_rank(pid_t rank, const char *place, int is_first) {
    static struct connection ends[SOCKETS];
    for (size_t noted = 0;;) {
        int segments = segments_of(rank), connections = connections_of(rank, ends);
        if (segments > carried.segments) carried.segments = segments;
        for (int i = 0; i < connections; i++) keep(&ends[i]);
        if (is_first) noted = note_mapped(rank, place, noted);
        siginfo_t ended = {0};
        if (!waitid(P_PID, (id_t)rank, &ended, WEXITED | WNOHANG | WNOWAIT) && ended.si_pid) return;
        usleep(LOOK_MICROSECONDS);
    }
}

/* Writes what carried a rank's messages, as the last keys of its report. */
static void report_carried(FILE *report) {
    fprintf(report, "\"shared_memory_segments\": %d, \"single_copy\": \"%s\", ", carried.segments, single_copy());
    fprintf(report, "\"connections\": [");
    for (int i = 0; i < carried.connections; i++)
        fprintf(report, "%s[\"%s\", \"%s\"]", i ? ", " : "", carried.ends[i].local, carried.ends[i].remote);
    fprintf(report, "]}\n");
}

static int run_rank(const char *folder, const char *word, char **program) {
    char place[FOLDER_BYTES], path[PATH_BYTES], part[PATH_BYTES];
    const char *named = getenv("OMPI_COMM_WORLD_RANK");
    struct rusage used;
    int status;
    if (!named) {
        fprintf(stderr, "timed: no rank of Open MPI's\n");
        return CANNOT_START;
    }
    int rank = atoi(named), number = atoi(word);
    looks = !strcmp(word, "look");
    snprintf(place, sizeof place, "%s/%d", folder, number);
    snprintf(path, sizeof path, "%s/variables", folder);
    char **variables = variables_of_rank(path);
    for (char **one = variables; *one; one++)
        if (!strncmp(*one, "PATH=", 5)) setenv("PATH", *one + 5, 1);
    if (number == 0 && rank == 0) note_inside(place);
    double begin = now();
    running = fork();
    if (running < 0) fail("fork");
    if (!running) become_rank(place, program, variables);
    if (looks) {
        snprintf(part, sizeof part, "%s/ranks/%d", place, rank);
        look_at(running, rank ? part : place, &late);
        return 0;
    }
    if (number == 0) watch_rank(running, place, rank == 0);
    while (wait4(running, &status, 0, &used) < 0)
        if (errno != EINTR) fail("wait4");
    double end = now();
    int left = end_left();
    snprintf(path, sizeof path, "%s/ranks/%d.json", place, rank);
    snprintf(part, sizeof part, "%s/ranks/%d.part", place, rank);
    FILE *report = fopen(part, "w");
    if (!report) fail(part);
    fprintf(report,
            "{\"rank\": %d, \"begun\": %.6f, \"ended\": %.6f, \"user\": %.6f, \"system\": %.6f, \"memory\": %ld, "
            "\"minor_faults\": %ld, \"major_faults\": %ld, \"waits\": %ld, \"preempted\": %ld, \"left\": %s, ",
            rank, begin, end, seconds(used.ru_utime), seconds(used.ru_stime), used.ru_maxrss, used.ru_minflt, used.ru_majflt,
            used.ru_nvcsw, used.ru_nivcsw, left ? "true" : "false");
    report_carried(report);
    if (fclose(report) || rename(part, path)) fail(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words) {
    if (count == 2 && !strcmp(words[1], "--pause"))
        for (;;) pause();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (count > 3 && !strcmp(words[1], "--again")) return again(words[2], words + 3);
    if (count > 4 && !strcmp(words[1], "--rank")) return run_rank(words[2], words[3], words + 4);
    if (count < 5) {
        fprintf(stderr, "usage: timed FOLDER LIMIT COUNT PROGRAM...\n");
        return 2;
    }
    char path[PATH_BYTES];
    const char *folder = words[1];
    snprintf(path, sizeof path, "%s/variables", folder);
    char **variables = variables_of(path);
    snprintf(path, sizeof path, "%s/timed.jsonl", folder);
    FILE *log = fopen(path, "w");
    if (!log) fail(path);
    /* execvp looks for the program in the PATH of this process. */
    for (char **one = variables; *one; one++)
        if (!strncmp(*one, "PATH=", 5)) setenv("PATH", *one + 5, 1);
    struct sigaction action = {.sa_handler = too_late}, before;
    sigaction(SIGALRM, &action, NULL);
    /* Ctrl-C ends a run as its limit does, with all that the program has started. In the background it may be ignored. */
    sigaction(SIGTERM, &action, NULL);
    if (!sigaction(SIGINT, NULL, &before) && before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
    note_inside(folder);
    looks = !strcmp(words[3], "look");
    for (int i = 0; i < (looks ? 1 : atoi(words[3])) && !ending; i++) run(folder, i, atof(words[2]), words + 4, variables, log);
    fclose(log);
    return 0;
}
