/* Time and number of calls of every MPI function that HPCC communicates with, by section and rank.
 *
 * Preloaded in profiling runs only (LD_PRELOAD): the benchmark itself is the one that measuring runs have. The main program
 * names each section as it begins with MPI_Pcontrol(3, name) (mark-sections.patch), on every rank; what lies before the first
 * and after the last is "outside". Each rank writes ranks/<rank>.profile.json as it leaves MPI:
 *
 *   {"rank": 0, "sections": [{"name": .., "wall_seconds": .., "outside_seconds": .., "functions": {"MPI_Send": [calls, seconds]}}]}
 *
 * `outside_seconds` is what passed between leaving one function and entering the next.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_SECTIONS 32

/* Functions by name, parameters and arguments. tests/containers checks that none is missing that the benchmark imports. */
#define FUNCTIONS(F) \
  F(Send, (const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c), (b, n, t, d, tag, c)) \
  F(Ssend, (const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c), (b, n, t, d, tag, c)) \
  F(Recv, (void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Status *st), (b, n, t, s, tag, c, st)) \
  F(Sendrecv, (const void *b, int n, MPI_Datatype t, int d, int tag, void *rb, int rn, MPI_Datatype rt, int s, int rtag, \
               MPI_Comm c, MPI_Status *st), (b, n, t, d, tag, rb, rn, rt, s, rtag, c, st)) \
  F(Isend, (const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, d, tag, c, r)) \
  F(Issend, (const void *b, int n, MPI_Datatype t, int d, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, d, tag, c, r)) \
  F(Irecv, (void *b, int n, MPI_Datatype t, int s, int tag, MPI_Comm c, MPI_Request *r), (b, n, t, s, tag, c, r)) \
  F(Iprobe, (int s, int tag, MPI_Comm c, int *flag, MPI_Status *st), (s, tag, c, flag, st)) \
  F(Wait, (MPI_Request *r, MPI_Status *st), (r, st)) \
  F(Waitall, (int n, MPI_Request r[], MPI_Status st[]), (n, r, st)) \
  F(Waitany, (int n, MPI_Request r[], int *i, MPI_Status *st), (n, r, i, st)) \
  F(Test, (MPI_Request *r, int *flag, MPI_Status *st), (r, flag, st)) \
  F(Testany, (int n, MPI_Request r[], int *i, int *flag, MPI_Status *st), (n, r, i, flag, st)) \
  F(Cancel, (MPI_Request *r), (r)) \
  F(Barrier, (MPI_Comm c), (c)) \
  F(Alltoall, (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c), (b, n, t, rb, rn, rt, c)) \
  F(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c)) \
  F(Gather, (const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, int root, MPI_Comm c), \
            (b, n, t, rb, rn, rt, root, c)) \
  F(Reduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (b, rb, n, t, o, root, c)) \
  F(Allreduce, (const void *b, void *rb, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (b, rb, n, t, o, c))

#define INDEX(name, parameters, arguments) F_##name,
enum { FUNCTIONS(INDEX) COUNT };
#define NAME(name, parameters, arguments) "MPI_" #name,
static const char *names[] = {FUNCTIONS(NAME)};

struct section {
  char name[64];
  double wall, outside, seconds[COUNT];
  unsigned long long calls[COUNT];
};

static struct section sections[MAX_SECTIONS] = {{.name = "outside"}};
static struct section *current = sections;
static int number = 1;
static int over;           /* the benchmark has ended */
static double begun, left; /* when the section began; when the last function was left */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void note(int function, double entered) {
  double end = now();
  current->outside += entered - left;
  current->seconds[function] += end - entered;
  current->calls[function]++;
  left = end;
}

#define WRAPPER(name, parameters, arguments) \
  int MPI_##name parameters { \
    double entered = now(); \
    int result = PMPI_##name arguments; \
    note(F_##name, entered); \
    return result; \
  }
FUNCTIONS(WRAPPER)

static void close_section(void) {
  double end = now();
  current->outside += end - left;
  current->wall += end - begun;
  begun = left = end;
}

/* Level 3: the section of that name begins. Level 4: says that there is a profile (begin_together in rank_report.c). Level 0: the
 * benchmark is over. Any other level: no section is going on. */
int MPI_Pcontrol(const int level, ...) {
  const char *name = "outside";
  va_list more;
  int i;
  va_start(more, level);
  if (level == 3) name = va_arg(more, const char *);
  if (level == 4) *va_arg(more, int *) = 1;
  va_end(more);
  if (over || level == 4) return MPI_SUCCESS;
  close_section();
  over = level == 0;
  for (i = 0; i < number && strncmp(sections[i].name, name, sizeof sections[i].name - 1); i++);
  if (i == number) {
    if (number == MAX_SECTIONS) return MPI_SUCCESS; /* counted as part of the one before */
    snprintf(sections[number++].name, sizeof sections[0].name, "%s", name);
  }
  current = &sections[i];
  return MPI_SUCCESS;
}

static void report(void) {
  char path[64], temporary[64];
  int rank, i, f, written;
  FILE *out;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Pcontrol(0);
  snprintf(path, sizeof path, "ranks/%d.profile.json", rank);
  snprintf(temporary, sizeof temporary, "ranks/%d.profile.part", rank);
  out = fopen(temporary, "w");
  if (!out) return;
  fprintf(out, "{\"rank\": %d, \"sections\": [", rank);
  for (i = 0; i < number; i++) {
    const struct section *s = &sections[i];
    fprintf(out, "%s\n{\"name\": \"%s\", \"wall_seconds\": %.9f, \"outside_seconds\": %.9f, \"functions\": {", i ? "," : "",
            s->name, s->wall, s->outside);
    for (f = written = 0; f < COUNT; f++)
      if (s->calls[f])
        fprintf(out, "%s\"%s\": [%llu, %.9f]", written++ ? ", " : "", names[f], s->calls[f], s->seconds[f]);
    fprintf(out, "}}");
  }
  fprintf(out, "]}\n");
  if (!fclose(out)) rename(temporary, path);
}

/* The main program has an MPI_Init and an MPI_Finalize of its own (rank_report.c), which come before any that is preloaded; what
 * they call does not. */
int PMPI_Init(int *argc, char ***argv) {
  int (*next)(int *, char ***) = dlsym(RTLD_NEXT, "PMPI_Init");
  int result = next(argc, argv);
  begun = left = now();
  return result;
}

int PMPI_Finalize(void) {
  int (*next)(void) = dlsym(RTLD_NEXT, "PMPI_Finalize");
  report();
  return next();
}
