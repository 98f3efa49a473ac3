/* What every rank saw: written once by each rank to ranks/<rank>.json in its working directory.
 *
 * Linked into the benchmark, so that no environment variable has to reach it through a container. Only MPI_Init and
 * MPI_Finalize are wrapped: no MPI call of the benchmark itself passes through here. All of the work is done before the
 * benchmark begins or after it has ended.
 *
 * Where the ranks were (namespaces, cgroups, processors, memory nodes), what they ran (build identifiers of the executable
 * and its libraries as they were mapped), and what carried their messages (Open MPI's shared-memory segments mapped; bytes
 * that crossed the network interfaces of the rank's network namespace; whether single-copy reads between processes are allowed),
 * whether Open MPI yields the processor while it waits, and how often the kernel switched and migrated the rank meanwhile.
 * When the rank began and ended each piece of work that all ranks do side by side (time-work.patch): each multiplication of EP-DGEMM
 * and each triad of EP-STREAM. All ranks of a host have one clock.
 * Which kernels OpenBLAS chose for this processor, on how many threads, and which vector instructions the processor has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_INTERFACES 64
#define MAX_PIECES 64

extern char *openblas_get_corename(void);
extern int openblas_get_num_threads(void);

struct traffic { char name[32]; unsigned long long bytes; };

static struct traffic before[MAX_INTERFACES];
static int interfaces_before;
static double started, init_seconds;

/* Pieces of work: seconds of CLOCK_MONOTONIC at which each began and ended. */
static struct { double begun, ended; } work[MAX_PIECES];
static int pieces;

/* What the scheduler did to this process; -1 where the kernel does not tell. */
struct scheduling { long long voluntary, involuntary, migrations; };

static struct scheduling scheduled;

/* Bytes received and sent by each interface of this process's network namespace; returns how many interfaces. */
static int read_traffic(struct traffic *table) {
  FILE *f = fopen("/proc/self/net/dev", "r");
  char line[512];
  int n = 0;
  if (!f) return 0;
  while (n < MAX_INTERFACES && fgets(line, sizeof line, f)) {
    unsigned long long in, out;
    if (sscanf(line, " %31[^:]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", table[n].name, &in, &out) == 3)
      table[n++].bytes = in + out;
  }
  fclose(f);
  return n;
}

/* Value of "key:\tvalue" in /proc/self/status; empty if the kernel has no such line. */
static void status_value(const char *key, char *value, size_t size) {
  FILE *f = fopen("/proc/self/status", "r");
  char line[4096];
  value[0] = 0;
  if (!f) return;
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':') {
      char *start = line + strlen(key) + 1;
      start += strspn(start, " \t");
      start[strcspn(start, "\n")] = 0;
      snprintf(value, size, "%s", start);
    }
  fclose(f);
}

static struct scheduling read_scheduling(void) {
  struct scheduling found = {.migrations = -1};
  struct rusage usage;
  FILE *f = fopen("/proc/self/sched", "r");
  char line[256];
  getrusage(RUSAGE_SELF, &usage);
  found.voluntary = usage.ru_nvcsw;
  found.involuntary = usage.ru_nivcsw;
  if (!f) return found;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "se.nr_migrations : %lld", &found.migrations) == 1) break;
  fclose(f);
  return found;
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

/* Called by the benchmark. All ranks multiply side by side, so that their rate is possible. A profile has no such barrier: ranks wait
 * for each other in the reduction that follows, and the barrier would take that wait from it. */
void begin_together(void) {
  int profiled = 0;
  MPI_Pcontrol(4, &profiled);
  if (!profiled) MPI_Barrier(MPI_COMM_WORLD);
}

void work_begins(void) {
  if (pieces < MAX_PIECES) work[pieces].begun = seconds_now();
}

void work_ends(void) {
  if (pieces < MAX_PIECES) work[pieces++].ended = seconds_now();
}

static int mapped_segments(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  char line[4096], seen[256][64];
  int n = 0;
  if (!f) return -1;
  while (fgets(line, sizeof line, f)) {
    char *name = strstr(line, "vader_segment");
    int i;
    if (!name || n == 256) continue;
    name[strcspn(name, " \n")] = 0;
    for (i = 0; i < n && strncmp(seen[i], name, 63); i++);
    if (i == n) snprintf(seen[n++], 64, "%.63s", name);
  }
  fclose(f);
  return n;
}

/* Whether Open MPI yields the processor while it waits: asked for, or its own decision where it sees more ranks than slots. Read
 * where its progress engine reads it; MPI's own interface to such variables takes a tenth of a second to begin. */
static const char *yields_when_idle(void) {
  const bool *yields = dlsym(RTLD_DEFAULT, "opal_progress_yield_when_idle");
  return !yields ? "unknown" : *yields ? "yes" : "no";
}

/* Whether one process may read another's memory directly, which Open MPI uses for large messages. */
static const char *single_copy(void) {
  char from = 1, to = 0;
  struct iovec local = {&to, 1}, remote = {&from, 1};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) return "allowed";
  return errno == EPERM ? "refused" : "unavailable";
}

/* The widest vector instructions that this process may use, as OpenBLAS asks for them: its AVX-512 kernels need AVX512VL. Asked
 * here, since a virtual machine may have another processor than its host. */
static const char *vector_instructions(void) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512vl")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  return __builtin_cpu_supports("avx") ? "AVX" : "SSE";
#else
  return getauxval(AT_HWCAP) & HWCAP_SVE ? "SVE" : "NEON";
#endif
}

static int write_object(struct dl_phdr_info *info, size_t size, void *out) {
  /* The main program has no name here; /proc/self/exe would be the loader on bare metal. */
  const char *name = info->dlpi_name[0] ? info->dlpi_name : program_invocation_name;
  int i;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const char *note, *end;
    if (header->p_type != PT_NOTE) continue;
    note = (const char *)(info->dlpi_addr + header->p_vaddr);
    end = note + header->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) < end) {
      const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)note;
      const char *label = note + sizeof *n;
      const unsigned char *bytes = (const unsigned char *)label + ((n->n_namesz + 3) & ~3u);
      if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(label, "GNU", 4)) {
        unsigned k;
        fprintf(out, ",\n  [\"%s\", \"", strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
        for (k = 0; k < n->n_descsz; k++) fprintf(out, "%02x", bytes[k]);
        fprintf(out, "\"]");
        return 0;
      }
      note = (const char *)bytes + ((n->n_descsz + 3) & ~3u);
    }
  }
  return 0;
}

static void write_namespaces(FILE *out) {
  static const char *kinds[] = {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"};
  char path[64], target[128];
  unsigned i, written = 0;
  fprintf(out, "\"namespaces\": {");
  for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    ssize_t n;
    snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
    n = readlink(path, target, sizeof target - 1);
    if (n < 0) continue;
    target[n] = 0;
    fprintf(out, "%s\"%s\": \"%s\"", written++ ? ", " : "", kinds[i], target);
  }
  fprintf(out, "},\n");
}

static void write_cgroups(FILE *out) {
  FILE *f = fopen("/proc/self/cgroup", "r");
  char line[4096];
  int written = 0;
  fprintf(out, "\"cgroups\": [");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    fprintf(out, "%s\"%s\"", written++ ? ", " : "", line);
  }
  if (f) fclose(f);
  fprintf(out, "],\n");
}

static void report(double benchmark_seconds, struct scheduling ended) {
  struct traffic after[MAX_INTERFACES];
  struct rusage usage;
  char path[64], temporary[64], host[256] = "", cpus[1024], mems[1024];
  int rank, n, i, j;
  FILE *out;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "ranks/%d.json", rank);
  snprintf(temporary, sizeof temporary, "ranks/%d.part", rank);
  out = fopen(temporary, "w");
  if (!out) return; /* no ranks/ folder: nobody asked */
  gethostname(host, sizeof host - 1);
  status_value("Cpus_allowed_list", cpus, sizeof cpus);
  status_value("Mems_allowed_list", mems, sizeof mems);
  getrusage(RUSAGE_SELF, &usage);
  fprintf(out, "{\"rank\": %d, \"hostname\": \"%s\", \"cpus_allowed\": \"%s\", \"mems_allowed\": \"%s\",\n", rank, host, cpus, mems);
  write_namespaces(out);
  write_cgroups(out);
  fprintf(out, "\"init_seconds\": %.6f, \"benchmark_seconds\": %.6f, \"cpu_seconds\": %.6f,\n", init_seconds, benchmark_seconds,
          usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
  fprintf(out, "\"work\": [");
  for (i = 0; i < pieces; i++) fprintf(out, "%s[%.6f, %.6f]", i ? ", " : "", work[i].begun, work[i].ended);
  fprintf(out, "],\n");
  fprintf(out, "\"yields_when_idle\": \"%s\",\n", yields_when_idle());
  fprintf(out, "\"blas\": {\"kernels\": \"%s\", \"threads\": %d, \"processor\": \"%s\"},\n", openblas_get_corename(),
          openblas_get_num_threads(), vector_instructions());
  fprintf(out, "\"context_switches\": {\"voluntary\": %lld, \"involuntary\": %lld}, \"migrations\": ",
          ended.voluntary - scheduled.voluntary, ended.involuntary - scheduled.involuntary);
  if (ended.migrations < 0) fprintf(out, "null,\n");
  else fprintf(out, "%lld,\n", ended.migrations - scheduled.migrations);
  fprintf(out, "\"shared_memory_segments\": %d, \"single_copy\": \"%s\",\n\"network_bytes\": {", mapped_segments(), single_copy());
  n = read_traffic(after);
  for (i = 0; i < n; i++) {
    unsigned long long bytes = after[i].bytes;
    for (j = 0; j < interfaces_before; j++)
      if (!strcmp(after[i].name, before[j].name)) bytes -= before[j].bytes;
    fprintf(out, "%s\"%s\": %llu", i ? ", " : "", after[i].name, bytes);
  }
  fprintf(out, "},\n\"objects\": [[\"\", \"\"]");
  dl_iterate_phdr(write_object, out);
  fprintf(out, "]}\n");
  if (!fclose(out)) rename(temporary, path);
}

/* Something counts events during this run: it made the pipe ranks/control before the ranks were started. */
static bool counted(void) { return !access("ranks/control", F_OK); }

/* Rank 0 tells the counter, at the other end of the pipe, to begin or to end, and waits for its answer: what starts the ranks would
 * otherwise be counted with them, and is more than they are. The counter needs a moment on each processor, which the ranks keep
 * busy. No answer within ten seconds: the counts will be too small, and are compared with the ranks' own. */
static void tell_counter(const char *command) {
  struct pollfd answer = {.events = POLLIN};
  char word[16];
  int rank, pipe;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 || (pipe = open("ranks/control", O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) return;
  answer.fd = open("ranks/answer", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (write(pipe, command, strlen(command)) < 0) perror("ranks/control");
  else if (answer.fd < 0 || poll(&answer, 1, 10000) < 1 || read(answer.fd, word, sizeof word) < 1)
    fprintf(stderr, "ranks/answer: the counter did not answer\n");
  if (answer.fd >= 0) close(answer.fd);
  close(pipe);
}

/* A barrier that sleeps: ranks that wait in MPI's own may yield the processor thousands of times, and all of it is counted. */
static void wait_for_all(void) {
  MPI_Request all;
  int there = 0;
  PMPI_Ibarrier(MPI_COMM_WORLD, &all);
  while (PMPI_Test(&all, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS && !there) usleep(1000);
}

/* An empty ranks/<rank>.begun: its time tells how long a run that was stopped had been going. */
static void mark_beginning(void) {
  char path[64];
  int rank;
  FILE *file;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "ranks/%d.begun", rank);
  file = fopen(path, "w");
  if (file) fclose(file);
}

int MPI_Init(int *argc, char ***argv) {
  double begun = seconds_now();
  int result = PMPI_Init(argc, argv);
  started = seconds_now();
  init_seconds = started - begun;
  interfaces_before = read_traffic(before);
  mark_beginning();
  if (counted()) {
    tell_counter("enable\n");
    wait_for_all(); /* No rank begins before the counter has. */
  }
  scheduled = read_scheduling();
  return result;
}

int MPI_Finalize(void) {
  double now = seconds_now();
  struct scheduling ended = read_scheduling();
  if (counted()) {
    wait_for_all(); /* The counter does not end before the last rank has. */
    tell_counter("disable\n");
  }
  MPI_Pcontrol(0);
  report(now - started, ended);
  return PMPI_Finalize();
}
